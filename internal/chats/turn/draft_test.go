package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// register adds a shop to the world, whose document declares the responses of its POSTs.
func (w *world) register(t testing.TB) tool.Server {
	t.Helper()
	object := &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":"object"}`)}
	segment := func(name string) []tool.Parameter {
		return []tool.Parameter{{Name: name, In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}
	}
	answers := func(member, typ string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}}}`, member, typ))
	}
	c := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: []tool.Operation{
		{Entry: tool.Entry{Method: "POST", Path: "/orders"}, Body: object, Output: answers("id", "string")},
		{Entry: tool.Entry{Method: "DELETE", Path: "/orders/{order_id}"}, Parameters: segment("order_id")},
		{Entry: tool.Entry{Method: "GET", Path: "/orders/{order_id}"}, Parameters: segment("order_id")},
		{Entry: tool.Entry{Method: "PUT", Path: "/orders/{order_id}"}, Parameters: segment("order_id"), Body: object},
		{Entry: tool.Entry{Method: "POST", Path: "/orders/{order_id}/lines"}, Parameters: segment("order_id"), Body: object, Output: answers("line_id", "integer")},
		{Entry: tool.Entry{Method: "DELETE", Path: "/orders/{order_id}/lines/{line_id}"}, Parameters: append(segment("order_id"), segment("line_id")...)},
		{Entry: tool.Entry{Method: "POST", Path: "/mails"}, Body: object},
		{Entry: tool.Entry{Method: "DELETE", Path: "/mails/{id}"}, Parameters: segment("id")},
		{Entry: tool.Entry{Method: "POST", Path: "/carts"}, Body: object, Output: answers("id", "object")},
		{Entry: tool.Entry{Method: "DELETE", Path: "/carts/{id}"}, Parameters: segment("id")},
		{Entry: tool.Entry{Method: "POST", Path: "/holds"}, Body: object, Output: answers("id", "string")},
		{Entry: tool.Entry{Method: "DELETE", Path: "/holds/{id}"}, Parameters: append(segment("id"), tool.Parameter{
			Name: "why", In: "query", Required: true, Schema: json.RawMessage(`{"type":"string"}`),
		})},
		{Entry: tool.Entry{Method: "POST", Path: "/command"}, Body: object},
	}}
	s := tool.Server{ID: w.IDs.New(w.Clock()), Name: "Tienda", Kind: tool.KindOpenAPI, BaseURL: "https://shop.example", Active: true, Catalogue: c.Revision}
	for i := range c.Operations {
		c.Operations[i].Fingerprint = tool.Fingerprint(s.BaseURL, c.Operations[i])
	}
	if err := w.Store.Registry.CreateServer(t.Context(), fixture.Account, s, c, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// newShopWorld returns a world with a shop, and a function that drafts steps in which SHOP is
// its ID.
func newShopWorld(t testing.TB) (*world, func(steps string) plan.Plan) {
	w := newWorld(t)
	s := w.register(t)
	return w, func(steps string) plan.Plan {
		t.Helper()
		return w.proposeDraft(t, strings.ReplaceAll(steps, "SHOP", s.ID)).Plan
	}
}

func TestUndoIsSuggestedWhereDocumentDeclaresIt(t *testing.T) {
	for name, c := range map[string]struct{ step, undo string }{
		"an id":                {`{"mcp_id":"SHOP","method":"POST","path":"/orders","body":{}}`, "DELETE /orders/${s1.body.id}"},
		"below another":        {`{"mcp_id":"SHOP","method":"POST","path":"/orders/7/lines","body":{}}`, "DELETE /orders/7/lines/${s1.body.line_id}"},
		"nothing declared":     {`{"mcp_id":"SHOP","method":"POST","path":"/mails","body":{}}`, ""},
		"of no plain type":     {`{"mcp_id":"SHOP","method":"POST","path":"/carts","body":{}}`, ""},
		"it needs more":        {`{"mcp_id":"SHOP","method":"POST","path":"/holds","body":{}}`, ""},
		"a PUT makes nothing":  {`{"mcp_id":"SHOP","method":"PUT","path":"/orders/7","body":{}}`, ""},
		"a DELETE makes less":  {`{"mcp_id":"SHOP","method":"DELETE","path":"/orders/7"}`, ""},
		"a command is no list": {`{"mcp_id":"SHOP","method":"POST","path":"/command","body":{"command":"ls"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, draft := newShopWorld(t)
			p := draft(`[` + c.step + `]`)
			undo := p.Steps[0].Undo
			if c.undo == "" {
				if undo != nil {
					t.Errorf("%+v", undo)
				}
				return
			}
			b, bound := p.Binding(plan.ParseEffect("undo:s1"))
			if undo == nil || !undo.Suggested || undo.Method+" "+undo.Path != c.undo || !bound || b.Fingerprint == "" {
				t.Errorf("%+v %+v", undo, b)
			}
		})
	}
}

func TestWrittenUndoIsKept(t *testing.T) {
	_, draft := newShopWorld(t)
	p := draft(`[{"mcp_id":"SHOP","method":"POST","path":"/orders","body":{},"undo":{"method":"POST","path":"/mails","body":{"order":"${s1.body.id}"}}}]`)
	if u := p.Steps[0].Undo; u == nil || u.Suggested || u.Path != "/mails" || u.MCPID != p.Steps[0].MCPID {
		t.Errorf("%+v", u)
	}
	p = draft(`[{"mcp_id":"SHOP","method":"POST","path":"/orders","body":{},"undo":{"method":"delete","path":"/orders/${s1.body.id}"}}]`)
	if u := p.Steps[0].Undo; u == nil || !u.Suggested || len(p.Bindings) != 2 {
		t.Errorf("what would be suggested is: %+v", u)
	}
}

func TestDeniedUndoIsNotSuggested(t *testing.T) {
	w, draft := newShopWorld(t)
	w.setRules(t, rule.Rule{ID: "r", Effect: rule.Deny, Method: "DELETE", Reason: "Nadie borra"})
	if p := draft(`[{"mcp_id":"SHOP","method":"POST","path":"/orders","body":{}}]`); p.Steps[0].Undo != nil || len(p.Bindings) != 1 {
		t.Errorf("%+v", p.Steps[0].Undo)
	}
}

func (w *world) setRules(t testing.TB, list ...rule.Rule) {
	t.Helper()
	if err := w.Store.Runs.SetRules(t.Context(), fixture.Account, 0, rule.Set{Rules: list}); err != nil {
		t.Fatal(err)
	}
}

// TestEveryCallOfStepIsBound proposes a step with every kind of call.
func TestEveryCallOfStepIsBound(t *testing.T) {
	_, draft := newShopWorld(t)
	p := draft(`[{"mcp_id":"SERVER","method":"GET","path":"/rooms"},
		{"mcp_id":"SHOP","method":"POST","path":"/orders","for_each":"${s1.body.items}","body":{"room":"${item.id}"},
		 "when":{"all":[{"value":"${s1.status}","is":"equal","to":200},{"not":{"value":"${s1.body.closed}","is":"present"}}]},
		 "verify":{"path":"/orders/x","expect":{"value":"${check.body.room}","is":"equal","to":"a"}}},
		{"mcp_id":"SHOP","method":"PUT","path":"/orders/${s2.body[0].id}","body":{},"undo":{},"when":{},"verify":null,"for_each":""}]`)
	s := p.Steps[1]
	if s.When == nil || len(s.When.All) != 2 || s.ForEach != "${s1.body.items}" || s.Undo == nil || s.Undo.Path != "/orders/${s2.body.id}" ||
		s.Verify == nil || s.Verify.Method != "GET" || s.Verify.MCPID != s.MCPID {
		t.Errorf("%+v", s)
	}
	for _, id := range []string{"s1", "s2", "undo:s2", "check:s2", "s3"} {
		if b, ok := p.Binding(plan.ParseEffect(id)); !ok || b.BaseURL == "" || b.Fingerprint == "" {
			t.Errorf("%s is bound to %+v", id, b)
		}
	}
	if last := p.Steps[2]; len(p.Bindings) != 5 || last.Undo != nil || last.When != nil || last.Verify != nil {
		t.Errorf("%+v", p.Bindings)
	}
}

func TestInvalidStepGoesBackToModel(t *testing.T) {
	for name, c := range map[string]struct{ step, sent string }{
		"a member of a condition": {`"when":{"value":"${s1.status}","is":"equal","to":200,"then":"x"}`, "steps.1.when.then"},
		"a member deep in one":    {`"when":{"any":[{"not":{"field":"x"}}]}`, "steps.1.when.any.0.not.field"},
		"a comparison":            {`"when":{"value":"${s1.status}","is":"like","to":200}`, "steps.1.when"},
		"a member of an undo":     {`"undo":{"method":"DELETE","path":"/bookings/7","cookies":{}}`, "steps.1.undo.cookies"},
		"a member of a check":     {`"verify":{"path":"/rooms","expect":{"value":"${check.status}","is":"equal","to":200},"times":3}`, "steps.1.verify.times"},
		"a check of no answer":    {`"verify":{"path":"/rooms","expect":{"value":"${s1.status}","is":"equal","to":200}}`, "steps.1.verify"},
		"a list that is none":     {`"for_each":"all of them"`, "steps.1.for_each"},
		"an undo of no server":    {`"undo":{"mcp_id":"x","method":"DELETE","path":"/bookings/7"}`, "steps.1.undo.mcp_id"},
		"a condition as text":     {`"when":"s1 is fine"`, "steps.1.when"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			steps := fmt.Sprintf(`[{"id":"s1","title":"a","mcp_id":%q,"method":"GET","path":"/rooms"},{"id":"s2","title":"b","mcp_id":%q,"method":"POST","path":"/bookings","body":{"room":"a"},%s}]`,
				w.Server.ID, w.Server.ID, c.step)
			w.model.answers = []any{calls("propose_plan", `{"goal":"g","steps":`+steps+`}`), text("No puedo.")}
			if reply := w.send(t, "quiero algo"); reply.Kind != turn.KindMessage {
				t.Fatalf("%+v", reply.Run)
			}
			if got := w.model.lastTool(); !strings.Contains(got, `"where":"`+c.sent) {
				t.Errorf("the model was told %s", got)
			}
		})
	}
}

func TestDeniedCallIsReportedToModelWhichTellsTheUser(t *testing.T) {
	w := newWorld(t)
	w.setRules(t, rule.Rule{ID: "r", Effect: rule.Deny, Method: "DELETE", Path: "/bookings/**", Reason: "Las reservas no se borran"})
	bad := calls("mcp_request", w.request("DELETE", "/bookings/7", ""))
	w.model.answers = []any{bad, bad, bad, text("No puedo: las reservas no se borran.")}
	reply := w.send(t, "borra la 7")
	if got := w.model.lastTool(); !strings.Contains(got, "denied: Las reservas no se borran") {
		t.Errorf("the model was told %s", got)
	}
	if reply.Kind != turn.KindMessage || !strings.Contains(reply.Message.Content, "las reservas no se borran") || reply.Run != nil {
		t.Errorf("%+v", reply.Message)
	}
}

func TestStepNamesItsApproval(t *testing.T) {
	w, draft := newShopWorld(t)
	w.setRules(t, rule.Rule{ID: "money", Effect: rule.Ask, Path: "/orders", Another: true, Minutes: 30, Reason: "Pasa de 500", Over: &rule.Over{At: "body.total", Most: "500"}})
	p := draft(`[{"mcp_id":"SHOP","method":"POST","path":"/orders","body":{"total":499}},{"mcp_id":"SHOP","method":"POST","path":"/orders","body":{"total":"500.01"}},
		{"mcp_id":"SHOP","method":"DELETE","path":"/orders/7"}]`)
	if p.Steps[0].Ask != nil {
		t.Errorf("%+v", p.Steps[0].Ask)
	}
	if a := p.Steps[1].Ask; a == nil || *a != (plan.Ask{Reason: "Pasa de 500", Rule: "money", Another: true, Minutes: 30}) {
		t.Errorf("%+v", a)
	}
	if a := p.Steps[2].Ask; a == nil || a.Rule != "" || !strings.Contains(a.Reason, "destruye") {
		t.Errorf("%+v", a)
	}
	if p := draft(`[{"mcp_id":"SHOP","method":"DELETE","path":"/orders/7"}]`); p.Steps[0].Ask != nil {
		t.Errorf("a single step was confirmed by itself: %+v", p.Steps[0].Ask)
	}
}

func TestCommandHasRiskAndCeiling(t *testing.T) {
	for text, want := range map[string]plan.Risk{"ls /srv": plan.Write, "rm -rf /srv": plan.Destructive, "${s1.body.cmd}": plan.Destructive, "echo $${x}": plan.Write} {
		_, draft := newShopWorld(t)
		p := draft(fmt.Sprintf(`[{"mcp_id":"SERVER","method":"GET","path":"/rooms"},{"mcp_id":"SHOP","method":"POST","path":"/command","body":{"command":%q}}]`, text))
		if p.Steps[1].Risk != want || p.Ceiling == 0 {
			t.Errorf("%s is %s, and may spend %d", text, p.Steps[1].Risk, p.Ceiling)
		}
	}
	_, draft := newShopWorld(t)
	for body, want := range map[string]plan.Risk{
		`{"command":"ls","cmd":"rm -rf /"}`:               plan.Destructive,
		`{"command":"rm","args":["-rf","/"]}`:             plan.Destructive,
		`{"command":["rm","-rf","/"]}`:                    plan.Destructive,
		`{"command":"ls","args":["${s1.body.x}"]}`:        plan.Destructive,
		`{"command":"ls","args":["-l"],"cwd":"/deleted"}`: plan.Write,
	} {
		p := draft(fmt.Sprintf(`[{"mcp_id":"SERVER","method":"GET","path":"/rooms"},{"mcp_id":"SHOP","method":"POST","path":"/command","body":%s}]`, body))
		if p.Steps[1].Risk != want {
			t.Errorf("%s is %s, not %s", body, p.Steps[1].Risk, want)
		}
	}
	if p := draft(`[{"mcp_id":"SHOP","method":"POST","path":"/mails","body":{"command":"rm -rf /"}}]`); p.Ceiling != 0 || p.Steps[0].Risk != plan.Write {
		t.Errorf("%+v", p)
	}
}

// TestCardNamesItsTargets proposes and edits over a server that allows previews. The digest
// covers the targets.
func TestCardNamesItsTargets(t *testing.T) {
	w := newWorld(t)
	w.service.Previews = step.Preview{Reader: step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Log: slog.New(slog.DiscardHandler)}}
	if _, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: tool.ReadsPreview}); err != nil {
		t.Fatal(err)
	}
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(`{"items":[{"id":"n1","name":"Sala Norte"},{"id":"s1","name":"Sala Sur"}]}`)}, nil
	})
	steps := `[{"mcp_id":"SERVER","method":"GET","path":"/rooms"},{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"${s1.body.items[0].id}"}}]`
	r := w.proposeDraft(t, steps)
	if targets := r.Plan.Steps[1].Targets; len(targets) != 1 || targets[0].Label != "Sala Norte" {
		t.Fatalf("%+v", targets)
	}
	if d, _ := r.Plan.Digest(); d != r.Digest {
		t.Error("the digest does not cover what was found")
	}
	next, err := w.service.Revise(t.Context(), w.edit(t, r, "", strings.ReplaceAll(steps, "[0]", "[1]")))
	if err != nil || len(next.Plan.Steps[1].Targets) != 1 || next.Plan.Steps[1].Targets[0].Label != "Sala Sur" {
		t.Errorf("%+v %v", next.Plan, err)
	}
	if same, err := w.service.Revise(t.Context(), w.edit(t, next, "", strings.ReplaceAll(steps, "[0]", "[1]"))); err != nil || same.Digest != next.Digest {
		t.Errorf("%v", err)
	}
	if sent := w.Requests(); len(sent) != 2 || sent[0].Method != "GET" || sent[1].Method != "GET" {
		t.Errorf("%+v", sent)
	}
}

// panicky is a store whose operations cannot be read without a panic.
type panicky struct{ turn.Servers }

// Operation implements turn.Servers.
func (panicky) Operation(context.Context, ids.Account, tool.Server, tool.Entry) (tool.Operation, error) {
	panic("broken row")
}

// TestAPanicInAToolIsAResult: the turn goes on, and the model can answer.
func TestAPanicInAToolIsAResult(t *testing.T) {
	w := newWorld(t, calls("search_tools", `{"query":"salas"}`), text("No puedo buscarlo ahora."))
	w.service.Servers = panicky{w.Store.Registry}
	if reply := w.send(t, "¿qué salas hay?"); reply.Message.Content != "No puedo buscarlo ahora." || !strings.Contains(w.model.lastTool(), "internal error") {
		t.Errorf("%+v after %s", reply.Message, w.model.lastTool())
	}
}

// TestAPersonHearsWhichRuleForbids, whatever the model says of it: of a call that was proposed, of its undo, and of a read.
func TestAPersonHearsWhichRuleForbids(t *testing.T) {
	for name, c := range map[string]struct{ method, path, more, called string }{
		"a call":  {"DELETE", "/bookings/7", "", "DELETE"},
		"a read":  {"GET", "/rooms", "", "GET"},
		"an undo": {"POST", "/bookings", `,"body":{"room":"a"},"undo":{"method":"DELETE","path":"/bookings/${s1.body.id}"}`, "DELETE"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.setRules(t, rule.Rule{ID: "sin-borrar", Effect: rule.Deny, Method: c.called, Reason: "Aquí <b>no</b>."})
			bad := calls("propose_plan", fmt.Sprintf(`{"goal":"g","steps":[{"title":"a","mcp_id":%q,"method":%q,"path":%q%s}]}`, w.Server.ID, c.method, c.path, c.more))
			w.model.answers = []any{bad, bad, text("No he podido.")}
			reply := w.send(t, "hazlo")
			var notes []conversation.Note
			for _, n := range reply.Message.Notes {
				if n.Code == conversation.NoteRuleDenied {
					notes = append(notes, n)
				}
			}
			if len(notes) != 1 || !strings.Contains(notes[0].Text, "no permite "+c.called) || !strings.Contains(notes[0].Text, "Aquí <b>no</b>. («sin-borrar»; se cambia en «Reglas»)") {
				t.Errorf("%+v", reply.Message)
			}
		})
	}
}

// TestAPlanTellsWhichRuleForbids: the person asked for two things, and the plan has one.
func TestAPlanTellsWhichRuleForbids(t *testing.T) {
	w := newWorld(t)
	w.setRules(t, rule.Rule{ID: "sin-borrar", Effect: rule.Deny, Method: "DELETE", Reason: "Aquí no."})
	both := calls("propose_plan", fmt.Sprintf(`{"goal":"g","steps":[{"title":"a","mcp_id":%[1]q,"method":"POST","path":"/bookings","body":{"room":"a"}},{"title":"b","mcp_id":%[1]q,"method":"DELETE","path":"/bookings/7"}]}`, w.Server.ID))
	one := calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"a"}`))
	other := calls("revise_plan", fmt.Sprintf(`{"goal":"h","steps":[{"title":"a","mcp_id":%q,"method":"POST","path":"/bookings","body":{"room":"b"}}]}`, w.Server.ID))
	w.model.answers = []any{both, one, both, other}
	for _, message := range []string{"reserva y borra", "otra sala, y borra"} {
		reply := w.send(t, message)
		if stored := w.Messages(); len(stored[len(stored)-1].Notes) != 1 {
			t.Errorf("stored: %+v", stored[len(stored)-1])
		}
		if reply.Run == nil || len(reply.Message.Notes) != 1 || reply.Message.Notes[0].Code != conversation.NoteRuleDenied || !strings.Contains(reply.Message.Notes[0].Text, "«sin-borrar»") {
			t.Errorf("%s: %+v", message, reply.Message)
		}
	}
}

// TestAJobTellsWhichRuleForbids in its last message, in whichever round it was.
func TestAJobTellsWhichRuleForbids(t *testing.T) {
	w := newJobWorld(t)
	w.setRules(t, rule.Rule{ID: "sin-mirar", Effect: rule.Deny, Method: "GET", Path: "/rooms", Reason: "Nadie mira."}, rule.Rule{ID: "sin-reservas", Effect: rule.Deny, Method: "POST", Reason: "Hoy no."})
	w.model.answers = []any{
		calls("look", lookAt(w.Server.ID, "/rooms")), calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), text("No se puede."),
	}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	var said []string
	for _, n := range w.last(t).Notes {
		said = append(said, n.Code+" "+n.Text)
	}
	if all := strings.Join(said, "\n"); j.Output != "No se puede." || strings.Count(all, "rule_denied") != 2 || !strings.Contains(all, "sin-mirar") || !strings.Contains(all, "sin-reservas") || len(j.Notes) != len(said) ||
		j.Status != job.Partial || fmt.Sprint(j.Record.Refused) != "[{read GET /rooms policy  false false} {call POST /bookings policy  false false}]" {
		t.Errorf("%+v says %s", j, all)
	}
}
