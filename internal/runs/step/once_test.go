package step_test

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// effectOf is a plan, and a function that executes it up to the effect under test.
type effectOf struct {
	effect string
	steps  func() []plan.ProposedStep
	before func(*testing.T, *fixture.World, plan.Run)
}

func doNothing(*testing.T, *fixture.World, plan.Run) {}

// executeList executes the step whose result is the list.
func executeList(t *testing.T, w *fixture.World, r plan.Run) { drive(t, w, r, "s1") }

// beginUndo lets the run fail, and begins its undo.
func beginUndo(t *testing.T, w *fixture.World, r plan.Run) {
	drive(t, w, r, "s1")
	drive(t, w, r, "s2")
	if len(undos(t, w, r)) != 1 {
		t.Fatal("nothing is to be undone")
	}
}

func undoPlan(call plan.Call) func() []plan.ProposedStep {
	return func() []plan.ProposedStep {
		s := booking()
		s.Undo = &call
		return []plan.ProposedStep{s, newStep("s2", "GET", "/people", "")}
	}
}

func eachPlan(method, path, body string) func() []plan.ProposedStep {
	return func() []plan.ProposedStep {
		each := newStep("s2", method, path, body)
		each.ForEach = "${s1.body.rooms}"
		return []plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), each}
	}
}

func singlePlan(method, path, body string) func() []plan.ProposedStep {
	return func() []plan.ProposedStep { return []plan.ProposedStep{newStep("s1", method, path, body)} }
}

// TestSideEffectIsSentOnceUnlessRepeatable (guarantee I09) has a service that applies a request
// without a response: the connection drops, a gateway answers in its place, or the invocation dies
// in its call. The state machine invokes the effect again and again.
func TestSideEffectIsSentOnceUnlessRepeatable(t *testing.T) {
	faults := map[string]func() (tool.Answer, error){
		"dropped":              func() (tool.Answer, error) { return tool.Answer{}, tool.ErrLost },
		"answered too late":    func() (tool.Answer, error) { return tool.Answer{}, context.DeadlineExceeded },
		"a bad gateway":        func() (tool.Answer, error) { return tool.Answer{Status: 502}, nil },
		"a gateway's time-out": func() (tool.Answer, error) { return tool.Answer{Status: 504}, nil },
		"killed in its call":   func() (tool.Answer, error) { runtime.Goexit(); return tool.Answer{}, nil },
	}
	for name, c := range map[string]struct {
		effectOf
		again bool
	}{
		"a step":                    {effectOf{"s1", singlePlan("POST", "/bookings", `{"room":"a"}`), doNothing}, false},
		"an element":                {effectOf{"s2[1]", eachPlan("POST", "/bookings", `{"room":"${item.name}"}`), executeList}, false},
		"an undo":                   {effectOf{"undo:s1", undoPlan(plan.Call{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"-"}`)}), beginUndo}, false},
		"a step to be repeated":     {effectOf{"s1", singlePlan("PUT", "/bookings/7", `{}`), doNothing}, true},
		"an element to be repeated": {effectOf{"s2[1]", eachPlan("PUT", "/bookings/${item.name}", `{}`), executeList}, true},
		"an undo to be repeated":    {effectOf{"undo:s1", undoPlan(plan.Call{Method: "DELETE", Path: "/bookings/${s1.body.id}"}), beginUndo}, true},
	} {
		for how, fails := range faults {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				w, r := newRun(t, nil, c.steps()...)
				key, applied := r.ID+":"+c.effect, 0
				w.Answer(func(q tool.Request) (tool.Answer, error) {
					status, body := 200, roomsOf(2)
					switch {
					case q.Header["Idempotency-Key"] == key:
						applied++
						return fails()
					case q.Method == "POST":
						body = `{"id":"b"}`
					case q.URL == "https://rooms.example/people":
						status = 400
					}
					return tool.Answer{Status: status, Body: []byte(body), Bytes: len(body)}, nil
				})
				c.before(t, w, r)
				for range 6 {
					done := make(chan struct{})
					go func() {
						defer close(done)
						id := c.effect
						if e := plan.ParseEffect(id); e.Item() >= 0 {
							id = e.Step() // together with its elements
						}
						drive(t, w, r, id)
					}()
					<-done
					w.Pass(3 * time.Minute)
				}
				switch now := w.Read(r.ID).State(plan.ParseEffect(c.effect)); {
				case c.again && applied < 2:
					t.Errorf("sent %d times with one key", applied)
				case !c.again && (applied != 1 || now.Status != plan.StepInDoubt):
					t.Errorf("sent %d times, and it is %s", applied, now.Status)
				}
				for _, q := range w.Requests() { // nor with any other key
					if k := q.Header["Idempotency-Key"]; q.Method != "GET" && k != r.ID+":s1" && k != key && k != r.ID+":s2[0]" {
						t.Errorf("%s with the key %q", q.URL, k)
					}
				}
			})
		}
	}
}

// altered is a store in which a stored plan, or the row of a server, was changed after the confirm.
type altered struct {
	step.Runs
	tool.ServerReader
	plan   func(*plan.Plan)
	server func(*tool.Server)
}

func (s altered) Bare(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	r, err := s.Runs.Bare(ctx, account, id)
	r.Plan.Steps, r.Plan.Bindings = slices.Clone(r.Plan.Steps), slices.Clone(r.Plan.Bindings)
	if s.plan != nil {
		s.plan(&r.Plan)
	}
	return r, err
}

func (s altered) Server(ctx context.Context, account ids.Account, id string) (tool.Server, error) {
	server, err := s.ServerReader.Server(ctx, account, id)
	if s.server != nil {
		s.server(&server)
	}
	return server, err
}

// loseResponse sends a request whose response is lost, so that it is to be checked.
func loseResponse(t *testing.T, w *fixture.World, r plan.Run) {
	w.Answer(fails(tool.ErrLost))
	if got := execute(t, w, r, "s1"); got != step.Throttled {
		t.Fatalf("ended %s", got)
	}
	w.Answer(answers(200))
}

// TestStepRefusesChangesAfterConfirm (guarantee I03) changes the stored plan, or a server that it
// calls, between the confirm and each kind of call of an effect.
func TestStepRefusesChangesAfterConfirm(t *testing.T) {
	checked := func() []plan.ProposedStep {
		s := booking()
		s.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/bookings/7"}, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("200")}}
		return []plan.ProposedStep{s}
	}
	effects := map[string]effectOf{
		"a step":     {"s1", singlePlan("POST", "/bookings", `{"room":"a"}`), doNothing},
		"an element": {"s2", eachPlan("POST", "/bookings", `{"room":"${item.name}"}`), executeList},
		"an undo":    {"undo:s1", undoPlan(plan.Call{Method: "DELETE", Path: "/bookings/${s1.body.id}"}), beginUndo},
		"a check":    {"s1", checked, loseResponse},
	}
	changes := map[string]altered{
		"the goal":         {plan: func(p *plan.Plan) { p.Goal += "." }},
		"the expiry":       {plan: func(p *plan.Plan) { p.ExpiresAt = p.ExpiresAt.Add(time.Hour) }},
		"a title":          {plan: func(p *plan.Plan) { p.Steps[0].Title += "." }},
		"a body":           {plan: func(p *plan.Plan) { p.Steps[len(p.Steps)-1].Body = json.RawMessage(`{"room":"b"}`) }},
		"a risk":           {plan: func(p *plan.Plan) { p.Steps[0].Risk = plan.Destructive }},
		"a base URL":       {plan: func(p *plan.Plan) { p.Bindings[len(p.Bindings)-1].BaseURL = "https://evil.example" }},
		"a template":       {plan: func(p *plan.Plan) { p.Bindings[0].Template = "/{any}" }},
		"a fingerprint":    {plan: func(p *plan.Plan) { p.Bindings[0].Fingerprint = "f" }},
		"where a key goes": {plan: func(p *plan.Plan) { p.Bindings[0].Auth = "bearer" }},
		"both base URLs": {plan: func(p *plan.Plan) {
			for i := range p.Bindings {
				p.Bindings[i].BaseURL = "https://evil.example"
			}
		}, server: func(s *tool.Server) { s.BaseURL = "https://evil.example" }},
		"the server's base URL": {server: func(s *tool.Server) { s.BaseURL = "https://evil.example" }},
		"the server is off":     {server: func(s *tool.Server) { s.Active = false }},
		"the server's key":      {server: func(s *tool.Server) { s.Keys = []tool.KeyPlace{{In: "query", Name: "key"}} }},
		"the server's role":     {server: func(s *tool.Server) { s.Kind, s.Role = tool.KindMCP, tool.RoleAgent }},
	}
	for name, c := range effects {
		for what, change := range changes {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				for _, changed := range []bool{false, true} {
					w, r := newRun(t, nil, c.steps()...)
					upstream(w, map[string]string{"GET /rooms": roomsOf(2), "GET /people": "#400 {}"})
					c.before(t, w, r)
					before := len(w.Requests())
					from := &w.Steps.Stores
					if change.Runs, change.ServerReader = from.Runs, from.Catalogue.Servers; changed {
						from.Runs, from.Catalogue.Servers = change, change
					}
					if drive(t, w, r, c.effect); (len(w.Requests()) == before) != changed {
						t.Errorf("changed %v: sent %q", changed, sentRequests(w)[before:])
					}
					if st := w.Read(r.ID).State(plan.ParseEffect(c.effect)); changed && st.Status != plan.StepFailed && st.Status != plan.StepInDoubt || changed && st.Error == nil {
						t.Errorf("it is %s: %+v", st.Status, st.Error)
					}
				}
			})
		}
	}
}
