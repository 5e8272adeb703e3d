package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// again names the runs whose requests the steps of a draft send again: one word for each step.
func again(r plan.Run, runs map[string]string) string {
	words := make([]string, len(r.Plan.Steps))
	for i, s := range r.Plan.Steps {
		words[i] = "-"
		if s.Unanswered != nil {
			words[i] = runs[s.Unanswered.RunID] + ":" + s.Unanswered.StepID.String()
		}
	}
	return strings.Join(words, " ")
}

// A draft says which of its requests may have been done already, as long as nobody knows it.
func TestADraftSaysWhichRequestsMayHaveBeenDone(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w keyWorld, first plan.Run) plan.Run // first was lost in s1
		want string
	}{
		"repeated": {func(w keyWorld, first plan.Run) plan.Run { return w.repeat(first) }, "first:s1 -"},
		"settled as not done": {func(w keyWorld, first plan.Run) plan.Run {
			w.settle(first, plan.OutcomeNotDone)
			return w.repeat(first)
		}, "- -"},
		"settled as done": {func(w keyWorld, first plan.Run) plan.Run { w.settle(first, plan.OutcomeDone); return w.repeat(first) }, "- -"},
		"retried": {func(w keyWorld, first plan.Run) plan.Run {
			w.settle(first, plan.OutcomeNotDone)
			return w.retried(first)
		}, "- -"},
		"lost again by the repeat": {func(w keyWorld, first plan.Run) plan.Run { return w.repeat(w.do(w.repeat(first))) }, "second:s1 -"},
		"done by the repeat": {func(w keyWorld, first plan.Run) plan.Run {
			second := w.repeat(first)
			w.answers("pay", "200 {}")
			return w.repeat(w.do(second))
		}, "- -"},
		"another plan, twice the same request": {func(w keyWorld, _ plan.Run) plan.Run {
			w.answers("pay", "422 {\"detail\":\"no\"}")
			return w.tried(plan.ProposedStep{ID: "x", Title: "x", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"n":1, "room":"pay"}`)},
				plan.ProposedStep{ID: "y", Title: "y", Method: "POST", Path: "/bookings", Body: json.RawMessage(pay)})
		}, "first:s1 -"},
		"another request": {func(w keyWorld, _ plan.Run) plan.Run {
			return w.tried(plan.ProposedStep{ID: "x", Title: "x", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"pay","n":2}`)})
		}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			w := keyWorld{newManualWorld(t), t}
			w.answers("pay", "lost")
			first := w.do(w.plans([2]string{"s1", pay}, [2]string{"s2", `{"room":"last"}`}))
			r := c.do(w, first)
			runs := map[string]string{first.ID: "first"}
			for _, s := range r.Plan.Steps {
				if s.Unanswered != nil && runs[s.Unanswered.RunID] == "" {
					runs[s.Unanswered.RunID] = "second"
				}
			}
			if got := again(r, runs); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
			said := run.Describe(r.Plan, nil).In(locale.Spanish)
			if told := strings.Count(said, "no se sabe si ya se hizo"); told != strings.Count(c.want, ":") {
				t.Error(said)
			}
			if digest, _ := r.Plan.Digest(); digest != r.Digest {
				t.Error("the digest does not cover the warning")
			}
		})
	}
}

// tried returns the draft of another plan as a service proposes it: the repetition of a run that never began.
func (w keyWorld) tried(steps ...plan.ProposedStep) plan.Run {
	w.t.Helper()
	r := w.Draft(plan.Proposal{Goal: "Pagar", Steps: steps})
	_, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID})
	must(w.t, err)
	return w.repeat(r)
}

// Elements of a list are compared when the list is known, and a step whose values are not known says nothing.
func TestADraftSaysWhichElementsMayHaveBeenDone(t *testing.T) {
	for _, mode := range []tool.ReadMode{tool.ReadsPreview, tool.ReadsOff} {
		w := keyWorld{newManualWorld(t), t}
		_, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: mode})
		must(t, err)
		w.Answer(func(q tool.Request) (tool.Answer, error) {
			if q.Method == "GET" {
				body := `{"items":[{"id":"a"},{"id":"b"},{"id":"c"}]}`
				return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
			}
			if strings.Contains(string(q.Body), `"b"`) {
				return tool.Answer{Status: 200, Body: []byte(`{}`), Bytes: 2}, nil
			}
			return tool.Answer{}, tool.ErrLost
		})
		first := w.do(w.Draft(plan.Proposal{Goal: "Todas", Steps: []plan.ProposedStep{
			{ID: "s1", Title: "lee", Method: "GET", Path: "/rooms"},
			{ID: "s2", Title: "reserva", Method: "POST", Path: "/bookings", ForEach: "${s1.body.items}", Body: json.RawMessage(`{"room":"${item.id}"}`)},
		}}))
		lost := 0
		for _, st := range first.Steps {
			if st.StepID.Item() >= 0 && st.MayBeDone() {
				lost++
			}
		}
		doubt := w.repeat(first).Plan.Steps[1].Unanswered
		switch {
		case mode == tool.ReadsOff && doubt != nil, mode != tool.ReadsOff && (doubt == nil || doubt.Elements != lost || lost == 0):
			t.Errorf("%s: %+v of %d", mode, doubt, lost)
		}
	}
}

// A request in doubt is sent again only where the card said so. Where its values become known after the yes, the run ends before
// it is sent; the draft of its retry says it.
func TestARequestInDoubtIsNotSentAgainUnsaid(t *testing.T) {
	for name, c := range map[string]struct {
		steps []plan.ProposedStep
		lost  int // requests of one run
	}{
		"a value of a read": {[]plan.ProposedStep{
			{ID: "s1", Title: "lee", Method: "GET", Path: "/rooms"},
			{ID: "s2", Title: "reserva", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"${s1.body.items[0].id}"}`)},
		}, 1},
		"a list of a read": {[]plan.ProposedStep{
			{ID: "s1", Title: "lee", Method: "GET", Path: "/rooms"},
			{ID: "s2", Title: "reserva", Method: "POST", Path: "/bookings", ForEach: "${s1.body.items}", Body: json.RawMessage(`{"room":"${item.id}"}`)},
		}, 2},
		"after another change": {[]plan.ProposedStep{
			{ID: "s1", Title: "lee", Method: "GET", Path: "/rooms"},
			{ID: "s2", Title: "avisa", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"told"}`)},
			{ID: "s3", Title: "reserva", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"${s1.body.items[0].id}"}`)},
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := keyWorld{newManualWorld(t), t}
			_, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: tool.ReadsOff})
			must(t, err)
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				switch body := `{"items":[{"id":"a"},{"id":"b"}]}`; {
				case q.Method == "GET":
					return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
				case strings.Contains(string(q.Body), "told"):
					return tool.Answer{Status: 200, Body: []byte(`{}`), Bytes: 2}, nil
				}
				return tool.Answer{}, tool.ErrLost
			})
			first := w.do(w.Draft(plan.Proposal{Goal: "Reservar", Steps: c.steps}))
			sent := len(w.keys(`"room"`))
			second := w.do(w.repeat(first))
			last := second.Plan.Steps[len(c.steps)-1]
			if st := second.State(last.ID); st.Error == nil || st.Error.Code != "step.may_be_done" || !strings.Contains(st.Error.Message, first.ID) {
				t.Fatalf("it ended %s: %+v", st.Status, st.Error)
			}
			if got := len(w.keys(`"room"`)); got != sent {
				t.Errorf("%d requests were sent, and nothing said that they may have been done", got-sent)
			}
			third := w.retried(second)
			if s := third.Plan.Steps[len(c.steps)-1]; s.Unanswered == nil || s.Unanswered.RunID != first.ID {
				t.Fatalf("the retry does not say it: %+v", s.Unanswered)
			}
			w.do(third)
			if got := len(w.keys(`"room"`)); got < sent+c.lost {
				t.Errorf("what was said and confirmed was sent %d times", got-sent)
			}
		})
	}
}

// A doubt that arises after a draft was shown is told before anything of it is sent.
func TestADoubtThatArisesAfterTheCardIsToldBeforeItIsSent(t *testing.T) {
	w := keyWorld{newManualWorld(t), t}
	w.answers("pay", "lost")
	running := w.plans([2]string{"s1", pay})
	must(t, w.Confirm(w.Read(running.ID)))
	shown := w.Draft(plan.Proposal{Goal: "Después", Steps: []plan.ProposedStep{
		{ID: "s1", Title: "otra", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"first"}`)},
		{ID: "s2", Title: "paga", Method: "POST", Path: "/bookings", Body: json.RawMessage(pay)},
	}})
	w.Execute(running.ID)
	before := len(w.Requests())
	must(t, w.Confirm(w.Read(shown.ID)))
	w.Execute(shown.ID)
	st := w.Read(shown.ID).State(plan.EffectOf("s2"))
	if st.Error == nil || st.Error.Code != "step.may_be_done" || len(w.Requests()) != before {
		t.Errorf("it ended %s: %+v, and %d requests were sent", st.Status, st.Error, len(w.Requests())-before)
	}
}
