package turn_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// stopWhile returns a function that stops a job, and then waits for the end of a context: what is stopped does not end by
// itself.
func (w *jobWorld) stopWhile(t *testing.T, id *string) func(context.Context) {
	return func(ctx context.Context) {
		if _, err := w.jobs.Stop(context.WithoutCancel(ctx), fixture.Account, *id); err != nil {
			t.Error(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
			t.Error("it is not ended")
		}
	}
}

// TestTheTimeOfAJobBoundsItsCalls: a model that does not answer ends the job at the agent's time, and not at that of a call.
func TestTheTimeOfAJobBoundsItsCalls(t *testing.T) {
	w := newJobWorld(t)
	w.service.Log = slog.New(slog.DiscardHandler)
	w.service.Paid.Models = providers{&turns{[]llm.Model{silent, w.model}}}
	w.model.answers = []any{text("No me ha dado tiempo.")}
	j := w.drive(t, w.start(t, "build", job.Order{TimeoutS: 1}).ID)
	if j.Status != job.Partial || j.StopReason != conversation.StopTime || j.Output != "No me ha dado tiempo." {
		t.Errorf("%s %s: %s", j.Status, j.StopReason, j.Output)
	}
	set, err := w.Store.Settings.Settings(t.Context(), fixture.Account)
	if err != nil || len(set.Health) != 0 {
		t.Errorf("%+v, %v", set.Health, err)
	}
}

// stoppedLooks are looks during which something happens.
type stoppedLooks func(context.Context)

func (s stoppedLooks) Read(ctx context.Context, _ plan.Bound) (plan.ReadAnswer, error) {
	s(ctx)
	return plan.ReadAnswer{URL: "https://rooms.example/rooms", Hash: "sent"}, ctx.Err()
}

// TestAStopEndsTheLooksOfAJob: it does not wait for their answers.
func TestAStopEndsTheLooksOfAJob(t *testing.T) {
	w := newJobWorld(t)
	var id string
	w.service.Reads = stoppedLooks(w.stopWhile(t, &id))
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms"))}
	id = w.start(t, "build", job.Order{}).ID
	j := w.drive(t, id)
	if j.StopReason != conversation.StopPerson || len(w.model.asked) != 1 || j.Reads != 1 {
		t.Errorf("%+v after %d calls", j, len(w.model.asked))
	}
	if s := w.last(t).Sources; len(s) != 1 || !strings.Contains(s[0].Error, "stopped") {
		t.Errorf("%+v", s)
	}
}

// TestAStoppedCallOfAJobIsCounted: the model has read the prompt, as in a turn that is stopped.
func TestAStoppedCallOfAJobIsCounted(t *testing.T) {
	w := newJobWorld(t)
	w.service.Log = slog.New(slog.DiscardHandler)
	w.service.Paid.Eligibility = w.Eligibility(eligibility.Deployment{
		Providers: []eligibility.Platform{{Name: "openai", BaseURL: "https://test.example/v1"}}, Assistant: fixture.Assistant("openai", "gpt-4o-mini"),
	}, "openai")
	var id string
	stop := w.stopWhile(t, &id)
	read := 0
	w.service.Paid.Models = providers{models(func(ctx context.Context, r llm.Request) (llm.Reply, error) {
		read = r.Estimate()
		stop(ctx)
		return llm.Reply{}, llm.Stopped(ctx)
	})}
	id = w.start(t, "build", job.Order{}).ID
	j := w.drive(t, id)
	if j.StopReason != conversation.StopPerson || j.Micros == 0 || j.Lost != 0 {
		t.Errorf("%s, %d micros, %d lost", j.StopReason, j.Micros, j.Lost)
	}
	list := w.turns(t)
	if len(list) != 1 || list[0].Micros != j.Micros || list[0].Input != read || !list[0].Estimated || list[0].Outcome != credit.OutcomeStopped || list[0].Source != credit.SourceAgent {
		t.Errorf("%+v", list)
	}
}
