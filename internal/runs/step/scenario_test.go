package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// extra returns further operations of the upstream.
func extra(base string) []tool.Operation {
	ops := []tool.Operation{
		{Entry: tool.Entry{Method: "POST", Path: "/command"}, Body: &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":"object"}`)}},
		{Entry: tool.Entry{Method: "PUT", Path: "/bookings/{id}"}, Parameters: []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}, Body: &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":"object"}`)}},
		{Entry: tool.Entry{Method: "GET", Path: "/people"}},
		{Entry: tool.Entry{Method: "PUT", Path: "/people"}, Parameters: []tool.Parameter{
			{Name: "who", In: "query", Explode: true, Schema: json.RawMessage(`{}`)}, {Name: "all", In: "query", Explode: true, Schema: json.RawMessage(`{}`)},
		}},
		{Entry: tool.Entry{Method: "GET", Path: "/places/{id}"}, Parameters: []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}},
		{Entry: tool.Entry{Method: "POST", Path: "/orders"}, KeyForm: "uuid5"},
	}
	for _, o := range []string{"POST /payments", "PUT /payments/{id}", "GET /payments/{id}"} {
		method, path, _ := strings.Cut(o, " ")
		op := tool.Operation{Entry: tool.Entry{Method: method, Path: path}, JSONOnly: true, AnswerMembers: []string{"id", "state"}}
		if strings.Contains(path, "{") {
			op.Parameters = []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}
		}
		if method != "GET" {
			op.Body = &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":"object"}`)}
		}
		ops = append(ops, op)
	}
	for i := range ops {
		ops[i].Fingerprint = tool.Fingerprint(base, ops[i])
	}
	return ops
}

// newRun returns a run that is about to execute its steps; change, when given, changes the plan
// before it is stored.
func newRun(t *testing.T, change func(*plan.Plan), steps ...plan.ProposedStep) (*fixture.World, plan.Run) {
	t.Helper()
	ctx := context.Background()
	w := fixture.NewWorld(t)
	w.Steps.Waker = w
	c := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: append(fixture.Operations(w.Server.BaseURL), extra(w.Server.BaseURL)...)}
	if err := w.Store.Registry.ReplaceCatalogue(ctx, fixture.Account, w.Server, w.Server.Catalogue, c); err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		if s.Title == "" {
			steps[i].Title = s.Method + " " + s.Path
		}
	}
	p := w.Plan(plan.Proposal{Goal: "Reservar", Steps: steps})
	calls := slices.Clone(p.Steps)
	for _, s := range p.Steps {
		if check, ok := p.CheckOf(s.ID); ok {
			calls = append(calls, check)
		}
	}
	for _, s := range calls {
		for _, op := range extra(w.Server.BaseURL) {
			if _, _, err := tool.Match([]tool.Entry{op.Entry}, s.Method, s.Path); err == nil {
				_, query, err := tool.Written(w.Server, op, tool.Arguments{Path: s.Path, Query: s.Query})
				must(t, err)
				p.Bindings = append(p.Bindings, plan.Binding{
					Query:  query,
					StepID: s.ID, MCPID: s.MCPID, ServerName: w.Server.Name, BaseURL: w.Server.BaseURL, Template: op.Path, Fingerprint: op.Fingerprint,
				})
			}
		}
	}
	if change != nil {
		change(&p)
	}
	return w, confirmed(t, w, p)
}

// confirmed returns the confirmed run of a plan.
func confirmed(t *testing.T, w *fixture.World, p plan.Plan) plan.Run {
	t.Helper()
	ctx := context.Background()
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	chat, err := w.Store.Chats.Chat(ctx, fixture.Account, w.Chat.ID)
	if err != nil {
		t.Fatal(err)
	}
	r := plan.Run{ID: w.IDs.New(w.Clock()), Account: fixture.Account, User: "ana", ChatID: chat.ID, Locale: "es", Plan: p, Digest: digest}
	if _, err := w.Store.Runs.Propose(ctx, r, chat, nil, run.Record{At: w.Clock(), Type: plan.EventProposed, Data: run.Proposed(r, nil)}); err != nil {
		t.Fatal(err)
	}
	r = w.Read(r.ID)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func newStep(id, method, path, body string, needs ...string) plan.ProposedStep {
	needs = append([]string{}, needs...)
	return plan.ProposedStep{ID: id, Method: method, Path: path, Body: json.RawMessage(body), Needs: &needs}
}

// drive executes one effect as the state machine does, and advances the clock where it waits. It
// returns "done", an outcome that needs another actor, or the name of the error.
func drive(t *testing.T, w *fixture.World, r plan.Run, id string) string {
	t.Helper()
	for range 100 {
		done, err := w.Steps.Execute(context.Background(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.ParseEffect(id)})
		var e *step.Error
		switch {
		case errors.As(err, &e) && (e.Name == step.Throttled || e.Name == step.Transient):
			w.Pass(10 * time.Second)
			continue
		case e != nil:
			return e.Name
		case err != nil:
			t.Fatal(err)
		case done.Items == nil:
			t.Fatal("the items are null")
		}
		if done.Outcome != step.OutcomeEach {
			return string(done.Outcome)
		}
		for _, item := range done.Items {
			drive(t, w, r, item.String())
		}
	}
	return "for ever"
}

// upstream answers each call, "METHOD /path", with a status and a body.
func upstream(w *fixture.World, answers map[string]string) {
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		body := answers[r.Method+" "+strings.TrimPrefix(r.URL, "https://rooms.example")]
		status := 200
		switch {
		case strings.HasPrefix(body, "!"): // the response is lost
			return tool.Answer{}, tool.ErrLost
		case strings.HasPrefix(body, "#"):
			status, body = int(body[1]-'0')*100+int(body[2]-'0')*10+int(body[3]-'0'), strings.TrimSpace(body[4:])
		case body == "":
			body = `{"id":"r-1"}`
		}
		return tool.Answer{Status: status, Body: []byte(body), Bytes: len(body)}, nil
	})
}

// sentRequests lists the requests that reached the upstream, as "METHOD /path body".
func sentRequests(w *fixture.World) []string {
	var list []string
	for _, r := range w.Requests() {
		list = append(list, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.URL, "https://rooms.example")+" "+string(r.Body)))
	}
	return list
}

func events(t *testing.T, w *fixture.World, r plan.Run, id string) []plan.Event {
	t.Helper()
	all, err := w.Store.Runs.Events(context.Background(), fixture.Account, r.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e plan.Event) bool { return e.StepID.String() != id })
}

func kinds(list []plan.Event) []string {
	var names []string
	for _, e := range list {
		names = append(names, e.Type)
	}
	return names
}

func checkEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func setRules(t *testing.T, w *fixture.World, list ...rule.Rule) {
	t.Helper()
	ctx := context.Background()
	now, err := w.Store.Runs.Rules(ctx, fixture.Account)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Runs.SetRules(ctx, fixture.Account, now.Version, rule.Set{Rules: list, By: "ana", UpdatedAt: w.Clock()}); err != nil {
		t.Fatal(err)
	}
}

func status(w *fixture.World, r plan.Run, id string) string {
	st := w.Read(r.ID).State(plan.ParseEffect(id))
	if st.Error != nil {
		return string(st.Status) + " " + st.Error.Code
	}
	return string(st.Status)
}

func TestStepRunsOnlyWhenItsConditionHolds(t *testing.T) {
	is := func(value, to string) *ref.Condition {
		return &ref.Condition{Value: value, Is: ref.Equal, To: json.RawMessage(to)}
	}
	for name, c := range map[string]struct {
		when   *ref.Condition
		ends   string
		status string
		sent   int
	}{
		"it holds":             {is("${s1.body.free}", "6"), "done", "done", 2},
		"it does not":          {is("${s1.body.free}", "4"), "done", "skipped", 1},
		"it names nothing":     {is("${s1.body.none}", "4"), "done", "skipped", 1},
		"the status is looked": {is("${s1.status}", "200"), "done", "done", 2},
	} {
		t.Run(name, func(t *testing.T) {
			second := newStep("s2", "POST", "/bookings", `{"room":"norte"}`)
			second.When = c.when
			third := newStep("s3", "GET", "/bookings/${s2.body.id}", "")
			w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), second, third, newStep("s4", "GET", "/people", "", "s2"))
			upstream(w, map[string]string{"GET /rooms": `{"free":6}`})
			drive(t, w, r, "s1")
			if got := drive(t, w, r, "s2"); got != c.ends || status(w, r, "s2") != c.status || len(w.Requests()) != c.sent {
				t.Fatalf("ended %s, %s, %d requests", got, status(w, r, "s2"), len(w.Requests()))
			}
			drive(t, w, r, "s3")
			if status(w, r, "s3") != c.status {
				t.Errorf("what names it is %s", status(w, r, "s3"))
			}
			drive(t, w, r, "s4")
			if status(w, r, "s4") != "done" {
				t.Errorf("what only needs it is %s", status(w, r, "s4"))
			}
			if c.status == "skipped" {
				checkEqual(t, "events", kinds(events(t, w, r, "s2")), []string{plan.EventStepSkipped})
				if last := w.Messages(); !slices.ContainsFunc(last, func(m conversation.Message) bool { return strings.Contains(m.Content, "⏭ Paso 2 de 4 omitido") }) {
					t.Error("nobody is told")
				}
			}
		})
	}
}
