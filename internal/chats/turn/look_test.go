package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

const rooms = `{"items":[{"id":"n1","name":"Sala Norte","seats":6,"token":"sk-live-0123456789abcdef0123456789"}]}`

// newLookWorld returns a world whose service «Salas» may be read by a turn, and answers with rooms.
func newLookWorld(t testing.TB, answers ...any) *world {
	w := newWorld(t, answers...)
	w.letLook(t)
	return w
}

// letLook lets turns read the service «Salas», which answers with rooms.
func (w *world) letLook(t testing.TB) {
	t.Helper()
	w.service.Reads = step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Log: slog.New(slog.DiscardHandler)}
	w.reads(t, w.Server.ID, tool.ReadsOn, "")
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(rooms), Bytes: len(rooms)}, nil
	})
}

func (w *world) reads(t testing.TB, server string, mode tool.ReadMode, circle string) {
	t.Helper()
	if _, err := w.Store.Registry.SetServerReads(context.Background(), fixture.Account, server, tool.Reads{Mode: mode, Zone: circle}); err != nil {
		t.Fatal(err)
	}
}

func lookAt(server, path string) string { return fmt.Sprintf(`{"mcp_id":%q,"path":%q}`, server, path) }

// lastResults returns the results of the tool calls that the model was given last.
func (w *world) lastResults() []string {
	var list []string
	asked := w.model.asked[len(w.model.asked)-1].Messages
	for _, m := range asked {
		switch {
		case m.Role == llm.Assistant:
			list = nil
		case m.Role == llm.ToolRole:
			list = append(list, m.Content)
		}
	}
	return list
}

func TestAQuestionIsAnsweredFromALook(t *testing.T) {
	w := newLookWorld(t)
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("Está libre la Sala Norte, para 6.")}
	reply := w.send(t, "¿Qué salas hay?")
	if reply.Kind != turn.KindMessage || reply.Run != nil || len(w.Requests()) != 1 || w.Requests()[0].Method != "GET" {
		t.Fatalf("%+v after %v", reply, w.Requests())
	}
	got := w.model.lastTool()
	if !strings.Contains(got, "Sala Norte") || strings.Contains(got, "sk-live") {
		t.Errorf("the model read %s", got)
	}
	stored := w.Messages()[1]
	if len(stored.Sources) != 1 {
		t.Fatalf("%+v", stored)
	}
	s := stored.Sources[0]
	if s.ID != "l1" || s.MCPID != w.Server.ID || s.Service != "Salas" || s.Method != "GET" || s.URL != w.Server.BaseURL+"/rooms" || s.Status != 200 ||
		s.RequestHash != plan.RequestHash("GET", s.URL, nil) || len(s.AnswerHash) != 64 || s.Bytes != len(rooms) || !strings.Contains(s.Answer, "Sala Norte") || s.Cut {
		t.Errorf("%+v", s)
	}
	w.model.answers = []any{text("La Sala Norte.")}
	w.send(t, "¿Y la más grande?")
	last := w.model.asked[len(w.model.asked)-1].Messages
	if n := len(last); n != 8 || len(last[3].Calls) != 1 || last[4].Role != llm.ToolRole || !strings.Contains(last[4].Content, "Sala Norte") || last[5].Content != "Está libre la Sala Norte, para 6." {
		t.Errorf("the next turn does not know what was called and read: %+v", last)
	}
}

// The rows of an answer are what a service said. What the model says of itself is judged as ever.
func TestRowsAfterALookClaimNothing(t *testing.T) {
	for said, notes := range map[string]int{
		"Salas tiene 1:\n- id: r-1, Sala Norte, reservada y confirmada\n| r-2 | reserva hecha |": 0,
		"He reservado la Sala Norte.\n- r-1":                                                     1,
	} {
		w := newLookWorld(t)
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text(said), text(said)}
		if reply := w.send(t, "¿Qué reservas hay?"); len(reply.Message.Notes) != notes {
			t.Errorf("%q has the notes %+v", said, reply.Message.Notes)
		}
	}
}

func TestWhatMayNotBeReadIsProposed(t *testing.T) {
	for _, mode := range []tool.ReadMode{tool.ReadsOff, tool.ReadsPreview} {
		w := newLookWorld(t)
		shop := w.register(t)
		w.reads(t, shop.ID, mode, "")
		w.model.answers = []any{calls("look", lookAt(shop.ID, "/orders/1"))}
		reply := w.send(t, "¿Qué pedidos hay?")
		if reply.Kind != turn.KindPlan || len(reply.Run.Plan.Steps) != 1 || reply.Run.Plan.Steps[0].Method != "GET" || len(w.Requests()) != 0 {
			t.Errorf("%s: %+v after %v", mode, reply, w.Requests())
		}
	}
	w := newLookWorld(t)
	w.reads(t, w.Server.ID, tool.ReadsOff, "")
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms"))}
	if reply := w.send(t, "¿Qué salas hay?"); reply.Kind != turn.KindMessage || len(w.Requests()) != 0 || !strings.Contains(w.model.lastTool(), "there is no tool") {
		t.Errorf("no service may be read: %+v, %s", reply, w.model.lastTool())
	}
}

// No read sends the data of one service to another service (guarantee I31).
func TestALookOutsideTheCircleIsProposed(t *testing.T) {
	for name, c := range map[string]struct {
		circles  [2]string
		answers  func(a, b string) []any
		requests int
		kind     turn.Kind
	}{
		"afterwards": {answers: func(a, b string) []any {
			return []any{calls("look", lookAt(a, "/rooms")), calls("look", lookAt(b, "/orders/n1"))}
		}, requests: 1, kind: turn.KindPlan},
		"together, before anything was read": {answers: func(a, b string) []any {
			return []any{calls("look", lookAt(a, "/rooms"), "look", lookAt(b, "/orders/1")), text("ya")}
		}, requests: 2, kind: turn.KindMessage},
		"back again": {answers: func(a, b string) []any {
			return []any{calls("look", lookAt(a, "/rooms"), "look", lookAt(b, "/orders/1")), calls("look", lookAt(a, "/bookings/7"))}
		}, requests: 2, kind: turn.KindPlan},
		"in one circle": {circles: [2]string{"ventas", "ventas"}, answers: func(a, b string) []any {
			return []any{calls("look", lookAt(a, "/rooms")), calls("look", lookAt(b, "/orders/1")), text("ya")}
		}, requests: 2, kind: turn.KindMessage},
		"in two": {circles: [2]string{"ventas", "compras"}, answers: func(a, b string) []any {
			return []any{calls("look", lookAt(a, "/rooms")), calls("look", lookAt(b, "/orders/1"))}
		}, requests: 1, kind: turn.KindPlan},
		"the same service again": {answers: func(a, _ string) []any {
			return []any{calls("look", lookAt(a, "/rooms")), calls("look", lookAt(a, "/bookings/7")), text("ya")}
		}, requests: 2, kind: turn.KindMessage},
	} {
		w := newLookWorld(t)
		shop := w.register(t)
		w.reads(t, w.Server.ID, tool.ReadsOn, c.circles[0])
		w.reads(t, shop.ID, tool.ReadsOn, c.circles[1])
		w.model.answers = c.answers(w.Server.ID, shop.ID)
		if reply := w.send(t, "mira"); reply.Kind != c.kind || len(w.Requests()) != c.requests {
			t.Errorf("%s: %s %q after %v; %s", name, reply.Kind, reply.Message.Content, w.Requests(), w.model.lastTool())
		}
	}
	w := newLookWorld(t)
	shop := w.register(t)
	w.reads(t, shop.ID, tool.ReadsOn, "")
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("Sala Norte")}
	w.send(t, "¿salas?")
	w.model.answers = []any{calls("look", lookAt(shop.ID, "/orders/1"))}
	if reply := w.send(t, "¿y pedidos?"); reply.Kind != turn.KindPlan || len(w.Requests()) != 1 {
		t.Errorf("in the next turn: %+v after %v", reply, w.Requests())
	}
}

// The account's rules judge a look as they judge a step.
func TestRulesJudgeLooks(t *testing.T) {
	for effect, want := range map[rule.Effect]turn.Kind{rule.Deny: turn.KindMessage, rule.Ask: turn.KindPlan} {
		w := newLookWorld(t)
		w.setRules(t, rule.Rule{ID: "r", Effect: effect, Method: "GET", Path: "/rooms", Reason: "Nadie mira"})
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("No se puede.")}
		if reply := w.send(t, "¿salas?"); reply.Kind != want || len(w.Requests()) != 0 {
			t.Errorf("%s: %+v after %v", effect, reply, w.Requests())
		}
	}
}

// Large answers of earlier turns leave the prompt when there is no room, and the texts that were made of them stay: so does their circle.
func TestAnOldLargeReadKeepsItsCircle(t *testing.T) {
	w := newLookWorld(t)
	shop := w.register(t)
	w.reads(t, shop.ID, tool.ReadsOn, "")
	big := `{"items":["` + strings.Repeat("a ", 3000) + `"]}`
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(big), Bytes: len(big)}, nil
	})
	var many []string
	for i := range 10 {
		many = append(many, "look", lookAt(w.Server.ID, fmt.Sprintf("/bookings/%d", i)))
	}
	w.model.answers = []any{calls(many...), text("ya")}
	w.send(t, "¿salas?")
	w.model.answers = []any{calls("look", lookAt(shop.ID, "/orders/1"))}
	if reply := w.send(t, "¿y pedidos?"); reply.Kind != turn.KindPlan || len(w.Requests()) != 10 {
		t.Errorf("%+v after %d requests", reply, len(w.Requests()))
	}
}

// The looks of a turn have the time of its model calls.
func TestLooksEndWithTheTimeOfTheTurn(t *testing.T) {
	w := newLookWorld(t)
	w.service.Log = slog.New(slog.DiscardHandler)
	w.service.Limits.Model = 3 * time.Second // the look must have begun by then
	w.service.Reads = slowLooks{}
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("ya")}
	reply := w.send(t, "¿salas?")
	if len(reply.Message.Sources) != 1 || !strings.Contains(reply.Message.Sources[0].Error, "in time") {
		t.Errorf("%+v", reply)
	}
}

// slowLooks are sent, and answered when the time is over.
type slowLooks struct{}

func (slowLooks) Read(ctx context.Context, _ plan.Bound) (plan.ReadAnswer, error) {
	<-ctx.Done()
	return plan.ReadAnswer{URL: "https://rooms.example/rooms", Hash: "sent"}, ctx.Err()
}

func TestProposalsWaitForTheAnswersOfTheirReply(t *testing.T) {
	w := newLookWorld(t)
	book := w.request("POST", "/bookings", `,"body":{"room":"n1"}`)
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms"), "mcp_request", book), calls("mcp_request", book)}
	reply := w.send(t, "Reserva la más barata")
	if reply.Kind != turn.KindPlan || len(reply.Run.Plan.Steps) != 1 || len(w.Requests()) != 1 {
		t.Fatalf("%+v after %v", reply, w.Requests())
	}
	if got := w.lastResults(); len(got) != 2 || !strings.Contains(got[0], "Sala Norte") || !strings.Contains(got[1], "propose again") {
		t.Errorf("%q", got)
	}
	if s := reply.Message.Sources; len(s) != 1 || len(w.Messages()[1].Sources) != 1 {
		t.Errorf("the card has %d sources", len(s))
	}
}

// Whatever a service answers is a result for the model.
func TestFailedLooksAreResults(t *testing.T) {
	big := strings.Repeat("x", 256<<10)
	for name, c := range map[string]struct {
		answer func(tool.Request) (tool.Answer, error)
		says   string
	}{
		"a 404": {func(tool.Request) (tool.Answer, error) {
			return tool.Answer{Status: 404, Body: []byte(`{"error":"no existe"}`)}, nil
		}, "404"},
		"a redirect": {func(tool.Request) (tool.Answer, error) { return tool.Answer{Status: 302}, nil }, "302"},
		"nothing":    {func(tool.Request) (tool.Answer, error) { return tool.Answer{Status: 200}, nil }, "200"},
		"too much": {func(tool.Request) (tool.Answer, error) {
			return tool.Answer{Status: 200, Body: []byte(big), Bytes: 50 << 20, Truncated: true}, nil
		}, `"more":true`},
		"bytes": {func(tool.Request) (tool.Answer, error) {
			return tool.Answer{Status: 200, Body: []byte{0xff, 0xfe, 0}}, nil
		}, "200"},
		"a page": {func(tool.Request) (tool.Answer, error) {
			return tool.Answer{Status: 200, Body: []byte("<html><b>hola")}, nil
		}, "html"},
		"no answer":      {func(tool.Request) (tool.Answer, error) { return tool.Answer{}, tool.ErrLost }, "no answer"},
		"no connection":  {func(tool.Request) (tool.Answer, error) { return tool.Answer{}, tool.ErrNotSent }, "cannot be reached"},
		"no time":        {func(tool.Request) (tool.Answer, error) { return tool.Answer{}, context.DeadlineExceeded }, "in time"},
		"another error":  {func(tool.Request) (tool.Answer, error) { return tool.Answer{}, errors.New("x") }, "cannot be read"},
		"a panic of our": {func(tool.Request) (tool.Answer, error) { panic("x") }, "internal error"},
	} {
		w := newLookWorld(t)
		w.service.Log = slog.New(slog.DiscardHandler)
		w.Answer(c.answer)
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("No se puede leer.")}
		reply := w.send(t, "¿salas?")
		if reply.Kind != turn.KindMessage || len(reply.Message.Sources) != 1 || !strings.Contains(w.model.lastTool(), c.says) {
			t.Errorf("%s: %+v; %.200s", name, reply, w.model.lastTool())
		}
	}
}

func TestALookIsBoundAndChecked(t *testing.T) {
	for name, arguments := range map[string]string{
		"unknown service":   `{"mcp_id":"01HZZZZZZZZZZZZZZZZZZZZZZZ","path":"/rooms"}`,
		"unknown operation": `{"mcp_id":"SERVER","path":"/secrets"}`,
		"another method":    `{"mcp_id":"SERVER","path":"/rooms","method":"DELETE"}`,
		"no path":           `{"mcp_id":"SERVER"}`,
		"a query of text":   `{"mcp_id":"SERVER","path":"/rooms","query":"a=b"}`,
		"only a write":      `{"mcp_id":"SERVER","path":"/bookings"}`,
		"a tool of an API":  `{"mcp_id":"SERVER","tool":"rooms"}`,
		"a list":            `[]`,
	} {
		w := newLookWorld(t)
		w.model.answers = []any{calls("look", strings.ReplaceAll(arguments, "SERVER", w.Server.ID)), text("ya")}
		if reply := w.send(t, "mira"); reply.Kind != turn.KindMessage || len(w.Requests()) != 0 || !strings.Contains(w.model.lastTool(), "error") || len(reply.Message.Sources) != 0 {
			t.Errorf("%s: %+v after %v; %s", name, reply, w.Requests(), w.model.lastTool())
		}
	}
}

func TestLooksOfATurnAreBounded(t *testing.T) {
	w := newLookWorld(t)
	same := calls("look", lookAt(w.Server.ID, "/rooms"))
	w.model.answers = []any{same, same, calls("look", lookAt(w.Server.ID, "/rooms"), "look", lookAt(w.Server.ID, "/rooms")), text("ya")}
	if reply := w.send(t, "mira"); len(w.Requests()) != 1 || len(reply.Message.Sources) != 1 || !strings.Contains(w.model.lastTool(), "read before") {
		t.Errorf("the same look made %d requests; %s", len(w.Requests()), w.model.lastTool())
	}
	w = newLookWorld(t)
	var many []string
	for i := range 20 {
		many = append(many, "look", lookAt(w.Server.ID, fmt.Sprintf("/bookings/%d", i)))
	}
	w.model.answers = []any{calls(many...), text("ya")}
	if reply := w.send(t, "mira"); len(w.Requests()) != 12 || len(reply.Message.Sources) != 12 || !strings.Contains(w.model.lastTool(), "enough was read") {
		t.Errorf("20 looks made %d requests; %s", len(w.Requests()), w.model.lastTool())
	}
}

func TestALongAnswerIsReadInParts(t *testing.T) {
	w := newLookWorld(t)
	var lines []string
	for i := range 9000 {
		lines = append(lines, fmt.Sprintf("fila %d", i+1))
	}
	body := strings.Join(lines, "\n")
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
	})
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), calls("read_result", `{"id":"l1","from":4500,"lines":3}`), text("ya")}
	reply := w.send(t, "mira")
	if got := w.model.lastTool(); !strings.Contains(got, `fila 4500\nfila 4501\nfila 4502`) {
		t.Errorf("%s", got)
	}
	s := reply.Message.Sources[0]
	if !s.Cut || len(s.Cuts) != 1 || s.Cuts[0].Of != 9000 || !strings.Contains(s.Answer, "fila 1\n") || !strings.Contains(s.Answer, "fila 9000") ||
		!strings.Contains(s.Answer, fmt.Sprintf("[… lines %d to ", s.Cuts[0].Shown+1)) || utf8.RuneCountInString(s.Answer) > room {
		t.Errorf("%d characters, %+v: %.300s", utf8.RuneCountInString(s.Answer), s.Cuts, s.Answer)
	}
}

// toolCaller answers calls of tools and records them.
type toolCaller struct{ called []tool.Call }

func (c *toolCaller) CallTool(_ context.Context, call tool.Call) (tool.Answer, error) {
	c.called = append(c.called, call)
	return tool.Answer{Status: 200, Body: []byte(`{"content":[{"type":"text","text":"Sala Norte"}]}`), Bytes: 50}, nil
}

// A tool is read when a person named it, and only while it is the one that was named.
func TestANamedToolIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		tools map[string]string
		calls int
		kind  turn.Kind
	}{
		"named":              {map[string]string{"find": "f1"}, 1, turn.KindMessage},
		"not named":          {map[string]string{"other": "f1"}, 0, turn.KindPlan},
		"another since then": {map[string]string{"find": "f0"}, 0, turn.KindPlan},
	} {
		w := newLookWorld(t)
		caller := &toolCaller{}
		w.service.Reads = step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Caller: caller, Log: slog.New(slog.DiscardHandler)}
		allowed := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: []tool.Operation{{Entry: tool.Entry{Name: "find", Fingerprint: "f1"}, Body: &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":"object"}`)}}}}
		s := tool.Server{ID: w.IDs.New(w.Clock()), Name: "Buscador", Kind: tool.KindMCP, BaseURL: "https://find.example", Active: true, Catalogue: allowed.Revision, Operations: 1}
		if err := w.Store.Registry.CreateServer(t.Context(), fixture.Account, s, allowed, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, s.ID, tool.Reads{Mode: tool.ReadsOn, Tools: c.tools}); err != nil {
			t.Fatal(err)
		}
		w.model.answers = []any{calls("look", fmt.Sprintf(`{"mcp_id":%q,"tool":"find","arguments":{"q":"sala"}}`, s.ID)), text("La Sala Norte.")}
		reply := w.send(t, "busca una sala")
		if reply.Kind != c.kind || len(caller.called) != c.calls {
			t.Errorf("%s: %s %q after %+v; %s", name, reply.Kind, reply.Message.Content, caller.called, w.model.lastTool())
			continue
		}
		if c.calls == 1 && (string(caller.called[0].Arguments) != `{"q":"sala"}` || caller.called[0].Fingerprint != "f1" || reply.Message.Sources[0].Tool != "find" || !strings.Contains(w.model.lastTool(), "Sala Norte")) {
			t.Errorf("%+v, %+v", caller.called[0], reply.Message.Sources)
		}
	}
}

// textual is a model without the tokens for a summary. It answers with a text, or with what it is told to call.
type textual struct{ calls []any }

// Complete implements llm.Model.
func (m *textual) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	if len(r.Tools) == 0 {
		return llm.Reply{}, llm.ErrRefused
	}
	if len(m.calls) == 0 {
		return text("La Sala Norte, n1."), nil
	}
	next := m.calls[0].(llm.Reply)
	m.calls = m.calls[1:]
	return next, nil
}

// A text has what its prompt had, also when the read that it came from is too far back to be loaded.
func TestTextsKeepTheCirclesOfTheirPrompt(t *testing.T) {
	w := newLookWorld(t)
	w.service.Log = slog.New(slog.DiscardHandler)
	model := &textual{calls: []any{calls("look", lookAt(w.Server.ID, "/rooms"))}}
	w.service.Paid.Models = providers{model}
	for range 35 {
		w.send(t, "¿Qué sala hay?")
	}
	shop := w.register(t)
	w.reads(t, shop.ID, tool.ReadsOn, "")
	model.calls = []any{calls("look", lookAt(shop.ID, "/orders/n1"))}
	if reply := w.send(t, "¿y pedidos?"); reply.Kind != turn.KindPlan || len(w.Requests()) != 1 {
		t.Errorf("%+v after %+v", reply.Message, w.Requests())
	}
}

// Messages that were stored before they named the services of their prompt have their reads.
func TestReadsOfEarlierMessagesKeepTheirCircle(t *testing.T) {
	w := newLookWorld(t)
	shop := w.register(t)
	w.reads(t, shop.ID, tool.ReadsOn, "")
	id := w.IDs.New(w.Clock())
	err := w.Store.Chats.AddMessages(t.Context(), w.ChatKey(), "", w.Clock(), conversation.Message{
		ID: id, Seq: id, Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "La Sala Norte.", At: w.Clock(),
		Sources: []conversation.Source{{ID: "l1", MCPID: w.Server.ID, Answer: rooms, AnswerHash: "h"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.model.answers = []any{calls("look", lookAt(shop.ID, "/orders/n1"))}
	if reply := w.send(t, "¿y pedidos?"); reply.Kind != turn.KindPlan || len(w.Requests()) != 0 {
		t.Errorf("%+v after %+v", reply.Message, w.Requests())
	}
}

// A plan names the services whose data the model had read, also after a change.
func TestAPlanNamesWhatItMayHaveDataOf(t *testing.T) {
	w := newLookWorld(t)
	first := w.proposeDraft(t, bookNorth)
	if r := w.Read(first.ID); len(r.ReadFrom) != 0 {
		t.Errorf("%q", r.ReadFrom)
	}
	w.model.answers = []any{
		calls("look", lookAt(w.Server.ID, "/rooms")),
		calls("revise_plan", fmt.Sprintf(`{"steps":[{"id":"s1","title":"a","mcp_id":%q,"method":"POST","path":"/bookings","body":{"room":"n1"}}]}`, w.Server.ID)),
	}
	w.send(t, "mejor otra")
	if r := w.Read(first.ID); r.Plan.Revision != 2 || fmt.Sprint(r.ReadFrom) != "["+w.Server.ID+"]" {
		t.Errorf("revision %d: %q", r.Plan.Revision, r.ReadFrom)
	}
}

// TestAListThatWasLookedAtIsCountedAtTheProposal: a plan over a list that the turn read, and that is too long, is not shown; the
// model hears why. The plan reads the list again, after a change.
func TestAListThatWasLookedAtIsCountedAtTheProposal(t *testing.T) {
	w := newLookWorld(t)
	w.service.Previews = step.Preview{Reader: step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Log: slog.New(slog.DiscardHandler)}}
	list := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"id":"n1"},`, plan.MaxEach+1), ",") + `]}`
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(list), Bytes: len(list)}, nil
	})
	step := func(id, method, path, more string) string {
		return fmt.Sprintf(`{"id":%q,"title":"t","mcp_id":%q,"method":%q,"path":%q%s}`, id, w.Server.ID, method, path, more)
	}
	proposal := `{"goal":"g","steps":[` + strings.Join([]string{
		step("s1", "POST", "/bookings", `,"body":{"room":"a"}`), step("s2", "GET", "/rooms", ""),
		step("s3", "POST", "/bookings", `,"body":{"room":"${item.id}"},"for_each":"${s2.body.items}"`),
	}, ",") + `]}`
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), calls("propose_plan", proposal), text("Son demasiadas.")}
	reply := w.send(t, "Reserva todas")
	if got := w.lastResults(); reply.Kind != turn.KindMessage || len(w.Requests()) != 1 || len(got) != 1 || !strings.Contains(got[0], "51 elements") || !strings.Contains(got[0], "steps.2.for_each") {
		t.Errorf("%s %q after %v: %q", reply.Kind, reply.Message.Content, w.Requests(), got)
	}
}
