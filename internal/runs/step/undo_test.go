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
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// booking returns a step with an undo.
func booking() plan.ProposedStep {
	s := newStep("s1", "POST", "/bookings", `{"room":"norte"}`)
	s.Undo = &plan.Call{Method: "DELETE", Path: "/bookings/${s1.body.id}"}
	return s
}

func undos(t *testing.T, w *fixture.World, r plan.Run) []string {
	t.Helper()
	list, err := w.Runs.Undo(context.Background(), fixture.Key(r.ID), "Run.StepFailed")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, id := range list {
		names[i] = id.String()
	}
	return names
}

func TestUndoReversesFinishedStep(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		ends   string
		is     string
	}{
		"it goes":             {"", "done", "done"},
		"it is gone already":  {"#404 {}", "done", "done"},
		"it is gone for good": {"#410 {}", "done", "done"},
		"it does not go":      {"#409 {}", step.Rejected, "error step.rejected"},
		"nobody ever answers": {"!", step.InDoubt, "in_doubt step.in_doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, booking(), newStep("s2", "GET", "/rooms", ""))
			upstream(w, map[string]string{"GET /rooms": "#400 {}", "DELETE /bookings/r-1": c.answer})
			drive(t, w, r, "s1")
			if got := drive(t, w, r, "undo:s1"); got != step.Cancelled || len(w.Requests()) != 1 {
				t.Fatalf("nothing is being undone, and it ended %s", got)
			}
			drive(t, w, r, "s2")
			checkEqual(t, "undos", undos(t, w, r), []string{"undo:s1"})
			if got := drive(t, w, r, "undo:s1"); got != c.ends || status(w, r, "undo:s1") != c.is {
				t.Errorf("ended %s: %s", got, status(w, r, "undo:s1"))
			}
			for _, q := range w.Requests()[2:] {
				if q.Header["Idempotency-Key"] != r.ID+":undo:s1" {
					t.Errorf("key %q", q.Header["Idempotency-Key"])
				}
			}
			if kind := events(t, w, r, "undo:s1")[0].Type; kind != plan.EventStepStart {
				t.Errorf("first %s", kind)
			}
			said := 0
			for _, m := range w.Messages() {
				if strings.HasPrefix(m.Content, "↩️ Deshaciendo el paso 1 de 2") {
					said++
				}
			}
			if said != 1 {
				t.Errorf("said %d times", said)
			}
		})
	}
}

func TestUndoFollowsRulesOfItsOwnCall(t *testing.T) {
	t.Run("a stopped run is undone, and does nothing more", func(t *testing.T) {
		w, r := newRun(t, nil, booking(), newStep("s2", "GET", "/rooms", ""))
		drive(t, w, r, "s1")
		stop(t, w, r)
		checkEqual(t, "undos", undos(t, w, r), []string{"undo:s1"})
		if got := drive(t, w, r, "undo:s1"); got != "done" {
			t.Errorf("ended %s: %s", got, status(w, r, "undo:s1"))
		}
		if got := drive(t, w, r, "s2"); got != step.Cancelled || len(w.Requests()) != 2 {
			t.Errorf("ended %s after %d requests", got, len(w.Requests()))
		}
	})
	t.Run("a rule denies it", func(t *testing.T) {
		w, r := newRun(t, nil, booking(), newStep("s2", "GET", "/rooms", ""))
		drive(t, w, r, "s1")
		stop(t, w, r)
		undos(t, w, r)
		setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Deny, Method: "DELETE", Reason: "Nada se borra."})
		if got := drive(t, w, r, "undo:s1"); got != step.Rejected || status(w, r, "undo:s1") != "error step.denied" || len(w.Requests()) != 1 {
			t.Errorf("ended %s: %s", got, status(w, r, "undo:s1"))
		}
	})
	t.Run("what was not done is not undone", func(t *testing.T) {
		second := newStep("s2", "POST", "/bookings", `{"room":"sur"}`)
		second.Undo = &plan.Call{Method: "DELETE", Path: "/bookings/${s2.body.id}"}
		w, r := newRun(t, nil, booking(), second)
		drive(t, w, r, "s1")
		stop(t, w, r)
		undos(t, w, r)
		if got := drive(t, w, r, "undo:s2"); got != step.Cancelled || len(w.Requests()) != 1 {
			t.Errorf("ended %s", got)
		}
	})
}

func TestUndoOfElementUsesItsOwnResult(t *testing.T) {
	each := newStep("s2", "POST", "/bookings", `{"room":"${item.name}"}`)
	each.ForEach = "${s1.body.rooms}"
	each.Undo = &plan.Call{Method: "DELETE", Path: "/bookings/${s2.body.id}"}
	w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), each, newStep("s3", "GET", "/people", ""))
	w.Answer(func(q tool.Request) (tool.Answer, error) {
		body, status := roomsOf(2), 200
		if q.Method == "POST" {
			var in struct{ Room string }
			_ = json.Unmarshal(q.Body, &in)
			body = fmt.Sprintf(`{"id":"of-%s"}`, in.Room)
		}
		if strings.HasSuffix(q.URL, "/people") {
			status = 400
		}
		return tool.Answer{Status: status, Body: []byte(body), Bytes: len(body)}, nil
	})
	for _, id := range []string{"s1", "s2", "s3"} {
		drive(t, w, r, id)
	}
	for _, id := range undos(t, w, r) {
		if got := drive(t, w, r, id); got != "done" {
			t.Fatalf("%s ended %s: %s", id, got, status(w, r, id))
		}
	}
	checkEqual(t, "undone", sentRequests(w)[4:], []string{"DELETE /bookings/of-r1", "DELETE /bookings/of-r0"})
}
