package step_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// script answers each request with the next response, and with the last one from then on.
func script(w *fixture.World, list ...func() (tool.Answer, error)) {
	n := -1
	w.Answer(func(tool.Request) (tool.Answer, error) {
		n = min(n+1, len(list)-1)
		return list[n]()
	})
}

func response(status int) func() (tool.Answer, error) {
	return func() (tool.Answer, error) { return tool.Answer{Status: status, Body: []byte(`{}`), Bytes: 2}, nil }
}

func failure(err error) func() (tool.Answer, error) {
	return func() (tool.Answer, error) { return tool.Answer{}, err }
}

// A change whose response was lost may have been made, whatever prevents its repetition: it is
// never reported as not made.
func TestLostChangeIsNeverReportedAsNotDone(t *testing.T) {
	lost, unreached := failure(tool.ErrLost), failure(tool.ErrNotSent)
	for name, c := range map[string]struct {
		answers []func() (tool.Answer, error)
		between func(*testing.T, *fixture.World, plan.Run) // after the first attempt
		finish  bool                                       // the run ends then
		is      string
		run     plan.Status
	}{
		"the server is gone":           {answers: []func() (tool.Answer, error){lost, unreached}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"it has too much to do":        {answers: []func() (tool.Answer, error){lost, response(429)}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"a gateway lost it":            {answers: []func() (tool.Answer, error){response(504), unreached}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the server has moved":         {answers: []func() (tool.Answer, error){lost, response(308)}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the run is stopped":           {answers: []func() (tool.Answer, error){lost}, between: stop, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the server is switched off":   {answers: []func() (tool.Answer, error){lost}, between: switchOff, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the execution ends":           {answers: []func() (tool.Answer, error){lost}, finish: true, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the server refuses it":        {answers: []func() (tool.Answer, error){lost, response(422)}, is: "error step.rejected", run: plan.Failed},
		"it meets itself":              {answers: []func() (tool.Answer, error){lost, response(409)}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"it is there already":          {answers: []func() (tool.Answer, error){lost, response(412)}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the key is over":              {answers: []func() (tool.Answer, error){lost, response(401)}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the server broke":             {answers: []func() (tool.Answer, error){response(500)}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"the server had no time":       {answers: []func() (tool.Answer, error){response(503)}, is: "in_doubt step.in_doubt", run: plan.InDoubt},
		"it is made":                   {answers: []func() (tool.Answer, error){lost, response(200)}, is: "done", run: plan.Failed},
		"nothing ever reached anybody": {answers: []func() (tool.Answer, error){unreached}, is: "error step.unreachable", run: plan.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, booking(), newStep("s2", "PUT", "/bookings/b1", `{"room":"norte"}`, "s1"), newStep("s3", "GET", "/people", "", "s2"))
			drive(t, w, r, "s1")
			script(w, c.answers...)
			if got := execute(t, w, r, "s2"); got != step.Transient {
				t.Fatalf("ended %s", got)
			}
			if c.between != nil {
				c.between(t, w, r)
			}
			if !c.finish {
				w.Pass(time.Minute)
				drive(t, w, r, "s2")
			}
			want := []string{}
			if c.run != plan.InDoubt {
				want = []string{"undo:s1"}
			}
			checkEqual(t, "undos", undos(t, w, r), want)
			ended, err := w.Runs.Finish(context.Background(), fixture.Key(r.ID), "Run.StepFailed")
			if err != nil {
				t.Fatal(err)
			}
			if status(w, r, "s2") != c.is || ended.Status != c.run {
				t.Errorf("the step is %s and the run %s", status(w, r, "s2"), ended.Status)
			}
			receiptHolds(t, w, ended)
		})
	}
}

// receiptHolds checks the receipt of a run that ended.
func receiptHolds(t *testing.T, w *fixture.World, r plan.Run) {
	t.Helper()
	revisions, err := w.Store.Runs.Revisions(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Store.Runs.Events(context.Background(), fixture.Account, r.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range receipt.Verify(receipt.New(w.Read(r.ID), revisions, list)) {
		t.Error(problem)
	}
}

func switchOff(t *testing.T, w *fixture.World, _ plan.Run) {
	t.Helper()
	if _, err := w.Store.Registry.SetServerActive(context.Background(), fixture.Account, w.Server.ID, false, w.Clock()); err != nil {
		t.Fatal(err)
	}
}

// A check decides a lost change also where the change cannot be sent again.
func TestCheckDecidesLostChangeThatCannotBeRepeated(t *testing.T) {
	put := newStep("s1", "PUT", "/bookings/b1", `{"room":"norte"}`)
	put.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/rooms"}, Expect: ref.Condition{Value: "${check.body.made}", Is: ref.Equal, To: json.RawMessage("true")}}
	w, r := newRun(t, nil, put, newStep("s2", "GET", "/people", ""))
	n := 0
	w.Answer(func(q tool.Request) (tool.Answer, error) {
		n++
		switch {
		case q.Method == "GET":
			return tool.Answer{Status: 200, Body: []byte(`{"made":true}`), Bytes: 13}, nil
		case n == 1:
			return tool.Answer{}, tool.ErrLost
		}
		return tool.Answer{}, tool.ErrNotSent
	})
	if got := drive(t, w, r, "s1"); got != "done" || status(w, r, "s1") != "done" {
		t.Errorf("ended %s: %s", got, status(w, r, "s1"))
	}
}

// The status 404 means that an object was removed only where an earlier attempt may have removed
// it. A request that did not reach the server, or was asked to come back later, removed nothing.
func TestDeleteOfMissingObjectIsDoneOnlyAfterLostAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		first func() (tool.Answer, error)
		then  string
		is    string
	}{
		"later":              {response(429), "", "error step.rejected"},
		"not sent":           {failure(tool.ErrNotSent), "", "error step.rejected"},
		"lost":               {failure(tool.ErrLost), "", "done"},
		"lost, by its words": {failure(tool.ErrLost), `{"detail":"Not found."}`, "done"},
		"lost, and a router": {failure(tool.ErrLost), `{"message":"no Route matched with those values"}`, "in_doubt step.in_doubt"},
		"lost, and closed":   {failure(tool.ErrLost), `{"message":"Service under maintenance, try later"}`, "in_doubt step.in_doubt"},
		"lost, and a key":    {failure(tool.ErrLost), `{"error":"api key not found"}`, "in_doubt step.in_doubt"},
		"lost, and a page":   {failure(tool.ErrLost), `<!doctype html>nothing`, "in_doubt step.in_doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, newStep("s1", "DELETE", "/bookings/7", ""))
			script(w, c.first, func() (tool.Answer, error) { return tool.Answer{Status: 404, Body: []byte(c.then)}, nil })
			drive(t, w, r, "s1")
			if status(w, r, "s1") != c.is || len(w.Requests()) != 2 {
				t.Errorf("%s after %d requests", status(w, r, "s1"), len(w.Requests()))
			}
		})
	}
}
