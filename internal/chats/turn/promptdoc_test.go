package turn_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the prompts of docs/prompts anew; their explanations stay where their line stays")

// explains begins a line of docs/prompts that explains the line after it.
const explains = "#: "

var runIDs = regexp.MustCompile(`\b01[0-9A-Z]{24}\b`)

// TestWholePrompts: the three prompts that docs/prompts shows, with an explanation above their lines, are those that a model gets.
func TestWholePrompts(t *testing.T) {
	w := newLookWorld(t)
	rules := conversation.Project{
		ID: w.IDs.New(w.Clock()), Name: "Casa Norte", All: true, CreatedAt: w.Clock(), UpdatedAt: w.Clock(),
		Context: "Las salas se reservan de lunes a viernes. Pide una confirmación explícita antes de reservar.",
	}
	if err := w.Store.Chats.CreateProject(context.Background(), fixture.Account, rules); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Chats.UpdateChat(context.Background(), w.ChatKey(), conversation.ChatChange{ProjectID: &rules.ID}, w.Clock()); err != nil {
		t.Fatal(err)
	}
	var first llm.Request // of the last turn
	say := func(message string, answers ...any) turn.Reply {
		t.Helper()
		w.Pass(time.Minute)
		w.model.answers = answers
		before := len(w.model.asked)
		req := w.message(message)
		req.TimeZone = "Europe/Madrid"
		reply, err := w.service.Send(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.model.asked) > before {
			first = w.model.asked[before]
		}
		return reply
	}
	say("hola", text("Hola, ¿qué necesitas?"))
	checkPrompt(t, w, "plain", first)
	read := calls("look", lookAt(w.Server.ID, "/rooms"))
	book := calls("mcp_request", w.request("POST", "/bookings", `,"title":"Reservar la Sala Norte","why":"para la reunión de hoy","body":{"room":"norte"}`))
	read.Calls[0].ID, book.Calls[0].ID = "call_1", "call_2"
	run := say("reserva la norte para hoy", read, book).Run
	say("¿y cuánto cuesta?", text("No lo sé: la sala no lo dice."))
	checkPrompt(t, w, "draft", first)
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 201, Body: []byte(`{"id":"b-7","room":"norte"}`)}, nil
	})
	say("confirmo")
	w.Execute(run.ID)
	w.model.answers = []any{text("Hecho: la Sala Norte está reservada, b-7.")}
	w.conclude(t, w.Read(run.ID))
	checkPrompt(t, w, "conclusion", w.asked())
}

// checkPrompt compares a request with docs/prompts/NAME.txt.
func checkPrompt(t *testing.T, w *world, name string, r llm.Request) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "docs", "prompts", name+".txt")
	now := strings.TrimSuffix(runIDs.ReplaceAllString(strings.ReplaceAll(whole(r), w.Server.ID, "01SERVER"), "01RUN"), "\n")
	raw, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var prompt []string
	above := map[string][]string{}
	var notes []string
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, explains) {
			notes = append(notes, line)
			continue
		}
		prompt = append(prompt, line)
		above[line], notes = append(notes, above[line]...), nil
	}
	if diff := cmp.Diff(strings.Join(prompt, "\n"), now); diff != "" && !*update {
		t.Errorf("%s (-file +prompt; -update writes it)\n%s", path, diff)
	}
	if !*update {
		return
	}
	var out strings.Builder
	for line := range strings.SplitSeq(now, "\n") {
		for _, note := range above[line] {
			out.WriteString(note + "\n")
		}
		delete(above, line)
		out.WriteString(line + "\n")
	}
	for line, lost := range above {
		if len(lost) > 0 {
			t.Errorf("%s: nothing has this explanation any more: %s (above %q)", name, lost, line)
		}
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// whole writes a request as text: the tools, then the messages with their calls.
func whole(r llm.Request) string {
	var out strings.Builder
	for _, tool := range r.Tools {
		fmt.Fprintf(&out, "[tool] %s: %s\n%s\n", tool.Name, tool.Description, tool.Parameters)
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&out, "[%s]\n", strings.TrimSpace(string(m.Role)+" "+m.CallID))
		if m.Content != "" {
			out.WriteString(m.Content + "\n")
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&out, "→ %s %s %s\n", c.ID, c.Name, c.Arguments)
		}
	}
	if r.NoCalls {
		out.WriteString("[tool_choice] none\n")
	}
	return out.String()
}
