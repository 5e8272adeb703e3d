package turn_test

import (
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

// TestThePlanOfAJobIsToldOnce: by the agent, which hears of its end; and by a conclusion when the job goes on no longer,
// whatever the chat or the assistant says of conclusions.
func TestThePlanOfAJobIsToldOnce(t *testing.T) {
	stop := func(w *jobWorld, j job.Job) job.Job {
		if _, err := w.jobs.Stop(t.Context(), fixture.Account, j.ID); err != nil {
			t.Fatal(err)
		}
		return w.job(t, j.ID)
	}
	for name, c := range map[string]struct {
		conclude string // of the chat
		before   func(w *jobWorld, j job.Job) job.Job
		told     int // by a conclusion
	}{
		"the agent tells":            {"", nil, 0},
		"in a chat that concludes":   {conversation.ConcludeOn, nil, 0},
		"the job is being stopped":   {"", stop, 1},
		"the job ended":              {"", func(w *jobWorld, j job.Job) job.Job { return w.drive(t, stop(w, j).ID) }, 1},
		"it ended, and nobody tells": {conversation.ConcludeOff, func(w *jobWorld, j job.Job) job.Job { return w.drive(t, stop(w, j).ID) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			w.Store.Runs.Jobs = w.jobs
			if _, err := w.Store.Chats.UpdateChat(t.Context(), w.ChatKey(), conversation.ChatChange{Conclude: &c.conclude}, w.Clock()); err != nil {
				t.Fatal(err)
			}
			w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), text("Hecho.")}
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			r := w.Read(j.RunID)
			if c.before != nil {
				j = c.before(w, j)
			}
			if err := w.Confirm(r); err != nil {
				t.Fatal(err)
			}
			w.Execute(r.ID)
			if got := w.left(t); got != c.told || (w.Read(r.ID).Conclude == plan.ConcludeDue) != (c.told == 1) {
				t.Errorf("%d conclusions are due, its run says %q", got, w.Read(r.ID).Conclude)
			}
			if j = w.drive(t, j.ID); c.before == nil && j.Output != "Hecho." {
				t.Errorf("%+v", j)
			}
		})
	}
}

// TestAPlanThatItsRoundDoesNotKnowIsToldByTheAgent: the invocation that proposed it died before the job waited for it.
func TestAPlanThatItsRoundDoesNotKnowIsToldByTheAgent(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	runID := j.RunID
	j.RunID, j.Status, j.Waited = "", job.Running, j.CreatedAt
	if _, err := w.Store.Jobs.SaveJob(t.Context(), j, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Confirm(w.Read(runID)); err != nil {
		t.Fatal(err)
	}
	w.Execute(runID)
	if w.left(t) != 0 {
		t.Error("a conclusion is due, too")
	}
}
