package step_test

import (
	"context"
	"slices"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// keys lists the idempotency keys of the changes that were sent, in order.
func keys(w *fixture.World) []string {
	var list []string
	for _, q := range w.Requests() {
		if key := q.Header["Idempotency-Key"]; key != "" {
			list = append(list, key)
		}
	}
	return list
}

// endNotDone ends a run, and says of its step in doubt that it was not done.
func endNotDone(t *testing.T, w *fixture.World, r plan.Run) {
	t.Helper()
	ended, err := w.Runs.Finish(t.Context(), fixture.Key(r.ID), "Run.StepFailed")
	if err != nil {
		t.Fatal(err)
	}
	if ended.Status == plan.InDoubt {
		_, err = w.Runs.Resolve(t.Context(), run.Resolution{Account: fixture.Account, User: "ana", RunID: r.ID, StepID: plan.EffectOf("s1"), Outcome: plan.OutcomeNotDone})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// retryOf proposes and confirms the retry of a run.
func retryOf(t *testing.T, w *fixture.World, r plan.Run) plan.Run {
	t.Helper()
	d, err := w.Runs.Retry(context.Background(), run.Again{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: "es"})
	if err != nil {
		t.Fatal(err)
	}
	next := w.Read(d.Run.ID)
	if err := w.Confirm(next); err != nil {
		t.Fatal(err)
	}
	return next
}

func declined() (tool.Answer, error) {
	return tool.Answer{Status: 402, Body: []byte(`{"detail":"the card was declined"}`)}, nil
}

// A retry is the same request as long as no answer says what became of it, so that a service that knows keys does it
// once. After a refusal by the service it is another one, because such a service answers a key as before.
func TestRetryKeepsTheKeyOfAnUnknownAttempt(t *testing.T) {
	check := func(body string) map[string]string { return map[string]string{"GET /bookings/norte": body} }
	for name, c := range map[string]struct {
		step  plan.ProposedStep
		first func() (tool.Answer, error)
		check map[string]string
		then  []func() (tool.Answer, error) // of one retry each
		keys  string                        // of which run the key is: one letter for each request that arrived
	}{
		"its answer was lost":             {newStep("s1", "POST", "/bookings", `{"room":"a"}`), failure(tool.ErrLost), nil, []func() (tool.Answer, error){response(201)}, "aa"},
		"the server broke":                {newStep("s1", "POST", "/bookings", `{"room":"a"}`), response(500), nil, []func() (tool.Answer, error){response(201)}, "aa"},
		"a check says that it was not":    {checkedStep("POST", "/bookings"), failure(tool.ErrLost), check(`{"state":"free"}`), []func() (tool.Answer, error){response(201)}, "aa"},
		"lost again":                      {newStep("s1", "POST", "/bookings", `{"room":"a"}`), failure(tool.ErrLost), nil, []func() (tool.Answer, error){failure(tool.ErrLost), response(201)}, "aaa"},
		"the key of the service was over": {newStep("s1", "POST", "/bookings", `{"room":"a"}`), failure(tool.ErrLost), nil, []func() (tool.Answer, error){response(401), response(201)}, "aaa"},
		"refused":                         {newStep("s1", "POST", "/bookings", `{"room":"a"}`), response(422), nil, []func() (tool.Answer, error){response(201)}, "ab"},
		"a conflict":                      {newStep("s1", "POST", "/bookings", `{"room":"a"}`), response(409), nil, []func() (tool.Answer, error){response(201)}, "ab"},
		"lost, then refused":              {newStep("s1", "POST", "/bookings", `{"room":"a"}`), failure(tool.ErrLost), nil, []func() (tool.Answer, error){declined, response(201)}, "aac"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, c.step, newStep("s2", "GET", "/people", "", "s1"))
			runs := []plan.Run{r}
			for _, answer := range append([]func() (tool.Answer, error){c.first}, c.then...) {
				if len(keys(w)) > 0 {
					endNotDone(t, w, r)
					r = retryOf(t, w, r)
					runs = append(runs, r)
				}
				w.Answer(func(q tool.Request) (tool.Answer, error) {
					if q.Method == "GET" {
						body := c.check["GET /bookings/norte"]
						return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
					}
					return answer()
				})
				drive(t, w, r, "s1")
			}
			got := ""
			for _, key := range keys(w) {
				for i, of := range runs {
					if key == of.ID+":s1" {
						got += string(rune('a' + i))
					}
				}
			}
			if got != c.keys || w.Read(r.ID).State(plan.EffectOf("s1")).Status != plan.StepDone {
				t.Errorf("sent with the keys of %s, want %s; it is %s", got, c.keys, status(w, r, "s1"))
			}
		})
	}
}

// A key that the document wants in another form is written so at every attempt, and kept as it is.
func TestAKeyIsWrittenAsTheDocumentWantsIt(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "POST", "/orders", ""))
	script(w, response(429), failure(tool.ErrLost), response(422), response(201))
	first := r.ID + ":s1"
	drive(t, w, r, "s1")
	endNotDone(t, w, r)
	for range 2 {
		r = retryOf(t, w, r)
		drive(t, w, r, "s1")
		if st := w.Read(r.ID).State(plan.EffectOf("s1")); st.Status != plan.StepDone {
			if st.Last.Key != first {
				t.Errorf("it keeps %q, want %q", st.Last.Key, first)
			}
			endNotDone(t, w, r)
		}
	}
	form := tool.KeyForm("uuid5")
	want := []string{form.Write(first), form.Write(first), form.Write(first), form.Write(first)}
	if got := keys(w); !slices.Equal(got, want) || status(w, r, "s1") != "done" {
		t.Errorf("sent %v, want %v; it is %s", got, want, status(w, r, "s1"))
	}
}

// A service that knows the key answers a repetition that it meets with a conflict: then it may have been done.
func TestConflictWithAnUnknownAttemptIsInDoubt(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "POST", "/bookings", `{"room":"a"}`))
	script(w, failure(tool.ErrLost), response(409))
	drive(t, w, r, "s1")
	endNotDone(t, w, r)
	next := retryOf(t, w, r)
	if got := drive(t, w, next, "s1"); got != step.InDoubt {
		t.Errorf("ended %s: %s", got, status(w, next, "s1"))
	}
}

// What an earlier run may have deleted is gone.
func TestRetryOfAnUnknownDeletionFindsNothing(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "DELETE", "/bookings/7", ""))
	script(w, failure(tool.ErrLost), failure(tool.ErrLost), failure(tool.ErrLost), failure(tool.ErrLost), response(404))
	if drive(t, w, r, "s1"); status(w, r, "s1") != "in_doubt step.in_doubt" {
		t.Fatal(status(w, r, "s1"))
	}
	endNotDone(t, w, r)
	next := retryOf(t, w, r)
	if got := drive(t, w, next, "s1"); got != "done" {
		t.Errorf("ended %s: %s", got, status(w, next, "s1"))
	}
}

// The errors of a service mean that nothing was done where a person says so.
func TestErrorsOfAServiceAreRefusalsWhereAPersonSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		method, path string
		status       int
		is           string
	}{
		"it broke":               {"POST", "/bookings", 500, "error step.rejected_because"},
		"its gateway":            {"POST", "/bookings", 502, "error step.rejected_because"},
		"it is not there":        {"POST", "/bookings", 503, "error step.rejected_because"},
		"it was too slow":        {"POST", "/bookings", 504, "error step.rejected_because"},
		"it broke at each one":   {"PUT", "/bookings/7", 500, "error step.rejected_because"},
		"a redirect is no error": {"POST", "/bookings", 303, "in_doubt step.in_doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, newStep("s1", c.method, c.path, `{"room":"a"}`))
			if _, err := w.Store.Registry.SetServerErrors(t.Context(), fixture.Account, w.Server.ID, tool.ErrorsRejected); err != nil {
				t.Fatal(err)
			}
			w.Answer(answers(c.status))
			if drive(t, w, r, "s1"); status(w, r, "s1") != c.is {
				t.Error(status(w, r, "s1"))
			}
		})
	}
}

// A command that reports failure is complete: what sends it again has another key. One that was lost, or put off, has not.
func TestOnlyAnAnswerOfACommandChangesItsKey(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "POST", "/command", `{"command":"ls /nowhere"}`))
	says := func() (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(failing), Bytes: len(failing)}, nil
	}
	script(w, failure(tool.ErrLost), response(429), says, says, says, says, response(200))
	drive(t, w, r, "s1")
	endNotDone(t, w, r)
	next := retryOf(t, w, r)
	drive(t, w, next, "s1")
	endNotDone(t, w, next)
	last := retryOf(t, w, next)
	drive(t, w, last, "s1")
	got := keys(w)
	if len(got) < 5 || got[1] != got[0] || got[2] != got[0] || got[3] != next.ID+":s1:3" || !slices.Contains(got, last.ID+":s1") {
		t.Errorf("the keys are %q", got)
	}
}

// What stands before the operation does not say that a lost attempt was not made.
func TestAGatewayDecidesNothingAfterALostAttempt(t *testing.T) {
	for body, want := range map[string]string{
		"<html>413 Request Entity Too Large</html>":          "in_doubt step.in_doubt",
		`{"message":"no Route matched with those values"}`:   "in_doubt step.in_doubt",
		`{"detail":"the room is longer than 40 characters"}`: "error step.rejected_because",
	} {
		w, r := newRun(t, nil, newStep("s1", "PUT", "/bookings/7", `{"room":"a"}`))
		script(w, failure(tool.ErrLost), func() (tool.Answer, error) {
			return tool.Answer{Status: 413, Body: []byte(body), Bytes: len(body)}, nil
		})
		if drive(t, w, r, "s1"); status(w, r, "s1") != want {
			t.Errorf("%s: %s", body, status(w, r, "s1"))
		}
	}
}
