package demo

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	openai "github.com/sashabaranov/go-openai"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/intent"
)

// newBookingAgent returns the agent without its wire protocol, over a service of its own.
func newBookingAgent(t *testing.T) (*bookingAgent, *Service) {
	t.Helper()
	s := newTestService(t)
	return &bookingAgent{rooms: s, now: func() time.Time { return friday }, sessions: map[string]*booking{}}, s
}

// TestConversations plays testdata/conversations.txt: a block is one session, of lines «person:»
// and «agent:».
func TestConversations(t *testing.T) {
	raw, err := os.ReadFile("testdata/conversations.txt")
	if err != nil {
		t.Fatal(err)
	}
	var golden strings.Builder
	for n, block := range strings.Split(strings.TrimSpace(string(raw)), "\n\n") {
		c, _ := newBookingAgent(t)
		for line := range strings.SplitSeq(block, "\n") {
			messages, ok := strings.CutPrefix(line, "person: ")
			if !ok {
				continue
			}
			text, err := c.chat(fmt.Sprint(n), messages, "", false)
			if err != nil {
				t.Fatal(err)
			}
			if claim.Read(text).Poses() && !strings.Contains(text, "?") {
				t.Errorf("%q poses as a plan", text)
			}
			fmt.Fprintf(&golden, "person: %s\nagent: %s\n", messages, text)
		}
		golden.WriteString("\n")
	}
	got := strings.TrimSpace(golden.String()) + "\n"
	if *update {
		if err := os.WriteFile("testdata/conversations.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if got != string(raw) {
		t.Errorf("got:\n%s", got)
	}
}

// startAgent starts the agent and returns a function that sends it a message.
func startAgent(t *testing.T, s *Service) func(session, message, key string, about any) (string, bool) {
	t.Helper()
	server := httptest.NewServer(NewAgent(s, func() time.Time { return friday }))
	t.Cleanup(server.Close)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return func(name, message, key string, about any) (string, bool) {
		params := &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": message, "session_id": name, "context": about}}
		if key != "" {
			params.Meta = mcp.Meta{idempotencyIn: key}
		}
		out, err := session.CallTool(t.Context(), params)
		if err != nil {
			t.Error(err)
			return "", false
		}
		var text strings.Builder
		for _, part := range out.Content {
			if part, ok := part.(*mcp.TextContent); ok {
				text.WriteString(part.Text)
			}
		}
		return text.String(), !out.IsError
	}
}

func TestAgentServesMCP(t *testing.T) {
	server := httptest.NewServer(NewAgent(newTestService(t), time.Now))
	defer server.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "chat" {
		t.Fatalf("%+v, %v", list, err)
	}
	schema, _ := list.Tools[0].InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range []string{"message", "session_id", "context"} {
		if properties[name] == nil {
			t.Errorf("the tool takes no %s: %v", name, schema)
		}
	}
	if got := fmt.Sprint(schema["required"]); got != "[message session_id]" {
		t.Errorf("it needs %s", got)
	}
}

// TestAgentReservesOnce sends the confirming message again, before and after a restart of the
// process.
func TestAgentReservesOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.jsonl")
	s := newTestService(t, WithFile(file))
	say := startAgent(t, s)
	say("a", "Reserva una sala para 6 mañana a las 10", "k1", nil)
	want := "Reservada: Sala Norte, el sábado 21 de noviembre de 10:00 a 11:00, para 6. Es la reserva r-1."
	for range 2 {
		if got, ok := say("a", "sí", "k2", nil); got != want || !ok {
			t.Fatalf("%q", got)
		}
	}
	if got, _ := say("a", "sí", "k3", nil); strings.Contains(got, "r-2") || got == want {
		t.Errorf("agreeing once more said %q", got)
	}
	again := newTestService(t, WithFile(file))
	if _, body := call(t, again, "GET /reservations", "", ""); !strings.Contains(body, `"count":1`) || !strings.Contains(body, `"id":"r-1"`) {
		t.Error(body)
	}
}

func TestAgentSeparatesSessions(t *testing.T) {
	say := startAgent(t, newTestService(t))
	first, second := map[string]any{"id_empresa": 1}, map[string]any{"config": map[string]any{"id_empresa": 2}}
	say("a", "Quiero una sala para 6", "", first)
	if got, _ := say("a", "mañana", "", second); got != "¿Para cuántas personas?" {
		t.Errorf("the other company's session said %q", got)
	}
	if got, _ := say("b", "mañana", "", first); got != "¿Para cuántas personas?" {
		t.Errorf("another session said %q", got)
	}
	if got, _ := say("a", "mañana", "", first); !strings.HasPrefix(got, "El sábado 21 de noviembre hay sala para 6") {
		t.Errorf("the session said %q", got)
	}
}

// TestAgentReservesNoRoomTwice runs many sessions at once. A session that is too late gets other
// times.
func TestAgentReservesNoRoomTwice(t *testing.T) {
	s := newTestService(t)
	say := startAgent(t, s)
	var all sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		all.Go(func() {
			name := fmt.Sprint(i)
			say(name, "El auditorio para 30 el lunes a las 9", "", nil)
			answers[i], _ = say(name, "sí", "", nil)
		})
	}
	all.Wait()
	made := 0
	for _, text := range answers {
		switch {
		case strings.HasPrefix(text, "Reservada: Auditorio"):
			made++
		case !strings.Contains(text, "10:00"): // the next time that is free
			t.Errorf("%q", text)
		}
	}
	if _, body := call(t, s, "GET /reservations", "", ""); made != 1 || !strings.Contains(body, `"count":1`) {
		t.Errorf("%d made: %s", made, body)
	}
}

func TestAgentTakesLongMessageAndLanguage(t *testing.T) {
	say := startAgent(t, newTestService(t))
	about := map[string]any{"id_empresa": 7, "idioma": "en", "contexto_negocio": strings.Repeat("x", 100<<10)}
	if got, ok := say("a", "6"+strings.Repeat(" ñ", 20<<10), "", about); got != "I am the demonstration agent for reservations: I reserve demonstration rooms by fixed rules. Tell me for how many people, which day and at what time." || !ok {
		t.Errorf("%q", got)
	}
}

func TestAgentRefusesBadInput(t *testing.T) {
	s := newTestService(t)
	say := startAgent(t, s)
	for name, c := range map[string][3]string{
		"no session": {"", "hola", ""}, "a long session": {strings.Repeat("s", maxSession+1), "hola", ""},
		"a long key": {"a", "hola", strings.Repeat("k", maxKey+1)},
	} {
		if text, ok := say(c[0], c[1], c[2], nil); ok {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestAgentFailsWhenNothingCanBeStored: the tool fails, and no reservation is made.
func TestAgentFailsWhenNothingCanBeStored(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s := newTestService(t, WithFile(filepath.Join(folder, "demo.jsonl")))
	say := startAgent(t, s)
	say("a", "Reserva una sala para 6 mañana a las 10", "", nil)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if text, ok := say("a", "sí", "", nil); ok || strings.Contains(text, "Reservada") || len(s.state.Reservations) > 0 {
		t.Errorf("%q", text)
	}
	if status, body := call(t, s, "GET /rooms", "", ""); status != 500 {
		t.Error(status, body)
	}
}

func TestAgentMemoryIsBounded(t *testing.T) {
	at := friday
	c := &bookingAgent{rooms: newTestService(t), now: func() time.Time { return at }, sessions: map[string]*booking{}}
	say := func(session, message string) string {
		text, err := c.chat(session, message, "", false)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for i := range mostSessions + 1 {
		at = at.Add(time.Millisecond)
		say(fmt.Sprint(i), "una sala para 6")
	}
	if len(c.sessions) != mostSessions || c.sessions["0"] != nil || c.sessions["1"] == nil {
		t.Errorf("%d sessions", len(c.sessions))
	}
	at = at.Add(sessionTime + time.Second)
	if got := say("500", "mañana"); got != "¿Para cuántas personas?" {
		t.Errorf("after %s it said %q", sessionTime, got)
	}
}

// FuzzConversation checks that only a confirming message reserves or cancels.
func FuzzConversation(f *testing.F) {
	raw, err := os.ReadFile("testdata/conversations.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(raw), "\n\n") {
		var messages []string
		for line := range strings.SplitSeq(block, "\n") {
			if text, ok := strings.CutPrefix(line, "person: "); ok {
				messages = append(messages, text)
			}
		}
		f.Add(strings.Join(messages, "\n"))
	}
	f.Add("6\n\"\"\nde 99 a 3\n31/02\nsí\ncancela r-0\nsí\nsala este 0\npasado mañana00")
	f.Fuzz(func(t *testing.T, all string) {
		s, err := NewService(WithClock(func() time.Time { return friday }))
		if err != nil {
			t.Fatal(err)
		}
		c := &bookingAgent{rooms: s, now: func() time.Time { return friday }, sessions: map[string]*booking{}}
		for message := range strings.SplitSeq(all, "\n") {
			before := len(s.state.Reservations)
			text, err := c.chat("s", message, "", false)
			if err != nil || text == "" {
				t.Fatalf("%q: %q, %v", message, text, err)
			}
			if after := len(s.state.Reservations); after != before && !intent.Classify(message).Agrees() {
				t.Fatalf("%q made %d reservations of %d", message, after, before)
			}
		}
	})
}

func FuzzRouting(f *testing.F) {
	f.Add("hola", "- reserva: salas. Palabras clave: sala, libre.", "reserva")
	f.Add("¿cuánto cuesta?", "- venta: x. Keywords: , cuánto cuesta,", "")
	f.Fuzz(func(t *testing.T, messages, agents, name string) {
		d := newDialogue([]openai.ChatCompletionMessage{
			{Role: "system", Content: "<agents>\n" + agents + "\n</agents>\nAgente activo: " + name + "."},
			{Role: "user", Content: messages},
		}, nil, friday)
		got := newRouting(d, []string{name}).decide()
		if got.Action == "delegate" && (got.Agent == nil || *got.Agent != name) || got.Action == "respond" && (got.Agent != nil || got.Response == "") {
			t.Errorf("%+v", got)
		}
	})
}
