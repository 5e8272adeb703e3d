package step_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// forEach returns a plan that books every room that is found.
func forEach() []plan.ProposedStep {
	each := newStep("s2", "POST", "/bookings", `{"room":"${item.name}"}`)
	each.ForEach = "${s1.body.rooms}"
	return []plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), each, newStep("s3", "GET", "/bookings/${s2.body[1].id}", "")}
}

func roomsOf(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"r%d"}`, i)
	}
	return `{"rooms":[` + strings.Join(list, ",") + `]}`
}

func TestEachExecutesEveryElement(t *testing.T) {
	w, r := newRun(t, nil, forEach()...)
	n := 0
	w.Answer(func(q tool.Request) (tool.Answer, error) {
		body := roomsOf(3)
		if q.Method == "POST" {
			body = fmt.Sprintf(`{"id":"b%d"}`, n)
			n++
		}
		return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
	})
	for _, id := range []string{"s1", "s2", "s3"} {
		if got := drive(t, w, r, id); got != "done" {
			t.Fatalf("%s ended %s: %s", id, got, status(w, r, id))
		}
	}
	checkEqual(t, "sent", sentRequests(w), []string{
		"GET /rooms", `POST /bookings {"room":"r0"}`, `POST /bookings {"room":"r1"}`, `POST /bookings {"room":"r2"}`, "GET /bookings/b1",
	})
	keys := map[string]bool{}
	for _, q := range w.Requests()[1:4] {
		keys[q.Header["Idempotency-Key"]] = true
	}
	if len(keys) != 3 || !keys[r.ID+":s2[1]"] {
		t.Errorf("keys %v", keys)
	}
	st := w.Read(r.ID).State(plan.EffectOf("s2"))
	if string(st.Result.Body) != `[{"id":"b0"},{"id":"b1"},{"id":"b2"}]` || st.Items != 3 || st.Result.Status != 200 || st.Result.SHA256 == "" {
		t.Errorf("%s, %+v", st.Result.Body, st)
	}
	checkEqual(t, "events of the step", kinds(events(t, w, r, "s2")), []string{plan.EventStepExpanded, plan.EventStepDone})
	checkEqual(t, "events of an element", kinds(events(t, w, r, "s2[2]")), []string{plan.EventStepStart, plan.EventStepDone})
}

func TestEachRefusesUnusableList(t *testing.T) {
	for name, c := range map[string]struct {
		rooms string
		ends  string
		is    string
	}{
		"no list":            {`{"rooms":"six"}`, step.Rejected, "error step.not_a_list"},
		"nothing":            {`{}`, step.Rejected, "error step.not_a_list"},
		"null":               {`{"rooms":null}`, step.Rejected, "error step.not_a_list"},
		"none":               {roomsOf(0), "done", "done"},
		"all that fit":       {roomsOf(plan.MaxEach), "done", "done"},
		"one more":           {roomsOf(plan.MaxEach + 1), step.Rejected, "error step.too_many"},
		"one without a name": {`{"rooms":[{"name":"a"},{}]}`, step.Rejected, "error step.element"},
		"one that is no fit": {`{"rooms":[{"name":"a"},{"name":7}]}`, step.Rejected, "error step.element"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, forEach()...)
			upstream(w, map[string]string{"GET /rooms": c.rooms})
			drive(t, w, r, "s1")
			if got := drive(t, w, r, "s2"); got != c.ends || status(w, r, "s2") != c.is {
				t.Errorf("ended %s: %s", got, status(w, r, "s2"))
			}
			if n := len(w.Requests()); c.ends != "done" && n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestEachLimitsElementsOfRun(t *testing.T) {
	steps := []plan.ProposedStep{newStep("s1", "GET", "/rooms", "")}
	for i := range step.MostElements/plan.MaxEach + 1 {
		each := newStep(fmt.Sprintf("e%d", i), "GET", "/bookings/${item.name}", "")
		each.ForEach = "${s1.body.rooms}"
		steps = append(steps, each)
	}
	w, r := newRun(t, nil, steps...)
	upstream(w, map[string]string{"GET /rooms": roomsOf(plan.MaxEach)})
	drive(t, w, r, "s1")
	for i := range step.MostElements / plan.MaxEach {
		if got := drive1(t, w, r, fmt.Sprintf("e%d", i)); got.Outcome != step.OutcomeEach {
			t.Fatalf("%d: %+v", i, got)
		}
	}
	last := fmt.Sprintf("e%d", step.MostElements/plan.MaxEach)
	if got := drive(t, w, r, last); got != step.Rejected || status(w, r, last) != "error step.too_many_in_all" {
		t.Errorf("ended %s: %s", got, status(w, r, last))
	}
}

// drive1 executes an effect once, and fails the test on an error.
func drive1(t *testing.T, w *fixture.World, r plan.Run, id string) step.Done {
	t.Helper()
	done, err := w.Steps.Execute(context.Background(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.ParseEffect(id)})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestEachEndsAsItsWorstElement(t *testing.T) {
	for name, c := range map[string]struct {
		second string // the response to the booking of the second room
		ends   string
		is     string
	}{
		"one is refused": {"#409 {}", step.Rejected, "error step.elements_failed"},
		"one is lost":    {"!", step.InDoubt, "in_doubt step.elements_in_doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, forEach()...)
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				body, status := roomsOf(3), 200
				if string(q.Body) == `{"room":"r1"}` {
					if c.second == "!" {
						return tool.Answer{}, tool.ErrLost
					}
					status, body = 409, "{}"
				}
				return tool.Answer{Status: status, Body: []byte(body), Bytes: len(body)}, nil
			})
			drive(t, w, r, "s1")
			if got := drive(t, w, r, "s2"); got != c.ends || status(w, r, "s2") != c.is {
				t.Errorf("ended %s: %s", got, status(w, r, "s2"))
			}
			if n := len(w.Requests()); n != 4 { // the other elements are done nevertheless
				t.Errorf("%d requests", n)
			}
			if !strings.Contains(w.Read(r.ID).State(plan.EffectOf("s2")).Error.Message, "1 de 3") {
				t.Error(w.Read(r.ID).State(plan.EffectOf("s2")).Error.Message)
			}
		})
	}
}

// Elements that never end, because they cannot be executed at all, are not started for ever.
func TestEachLimitsRounds(t *testing.T) {
	w, r := newRun(t, nil, forEach()...)
	upstream(w, map[string]string{"GET /rooms": roomsOf(2)})
	drive(t, w, r, "s1")
	for range 3 {
		if got := drive1(t, w, r, "s2"); got.Outcome != step.OutcomeEach || len(got.Items) != 2 {
			t.Fatalf("%+v", got)
		}
	}
	if got := execute(t, w, r, "s2"); got != step.Rejected || status(w, r, "s2") != "error step.interrupted" {
		t.Errorf("ended %s: %s", got, status(w, r, "s2"))
	}
}

func TestEachIsApprovedOnce(t *testing.T) {
	w, r := newRun(t, nil, forEach()...)
	setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Ask, Method: "POST", Path: "/bookings", Reason: "Cuesta dinero."})
	upstream(w, map[string]string{"GET /rooms": roomsOf(3)})
	drive(t, w, r, "s1")
	if got := drive(t, w, r, "s2"); got != string(step.OutcomeApproval) {
		t.Fatalf("ended %s", got)
	}
	wait(t, w, r, "s2", "token")
	a := w.Read(r.ID).State(plan.EffectOf("s2")).Approval
	var list []struct{ URL, Request string }
	if err := json.Unmarshal(a.Body, &list); err != nil || len(list) != 3 || list[2].Request != plan.RequestHash("POST", "https://rooms.example/bookings", []byte(`{"room":"r2"}`)) {
		t.Errorf("%v %s", err, a.Body)
	}
	approve(t, w, r, "s2", "berta", false)
	if got := drive(t, w, r, "s2"); got != "done" || len(w.Requests()) != 4 {
		t.Errorf("ended %s: %s, %d requests", got, status(w, r, "s2"), len(w.Requests()))
	}
	checkEqual(t, "events", kinds(events(t, w, r, "s2")), []string{plan.EventStepAsked, plan.EventStepApproved, plan.EventStepExpanded, plan.EventStepDone})
}

func TestEachSendsOnlyApprovedElements(t *testing.T) {
	w, r := newRun(t, nil, forEach()...)
	setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Ask, Method: "POST", Path: "/bookings", Reason: "Cuesta dinero."})
	upstream(w, map[string]string{"GET /rooms": roomsOf(2)})
	drive(t, w, r, "s1")
	drive(t, w, r, "s2")
	wait(t, w, r, "s2", "token")
	approve(t, w, r, "s2", "berta", false)
	drive1(t, w, r, "s2")
	now := w.Read(r.ID)
	st := now.State(plan.EffectOf("s2"))
	a := *st.Approval
	a.Body = json.RawMessage(strings.Replace(string(a.Body), plan.RequestHash("POST", "https://rooms.example/bookings", []byte(`{"room":"r1"}`)), "another", 1))
	st.Approval = &a
	if _, err := w.Store.Runs.MoveRun(context.Background(), now, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepExpanded, StepID: plan.EffectOf("s2")}, State: &st}); err != nil {
		t.Fatal(err)
	}
	if got := drive(t, w, r, "s2"); got != step.Rejected || status(w, r, "s2[0]") != "done" || status(w, r, "s2[1]") != "error step.approval_changed" || len(w.Requests()) != 2 {
		t.Errorf("ended %s: %s, %s", got, status(w, r, "s2[0]"), status(w, r, "s2[1]"))
	}
}
