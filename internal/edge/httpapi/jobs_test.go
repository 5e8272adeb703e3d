package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
)

// jobWorld has one job, which ended, of account a. It starts jobs of the agents build and openai.
type jobWorld struct{ *world }

var endedJob = job.Job{
	ID: runID, Account: "a", User: "ana", Agent: "build", ChatID: chatID, Prompt: "haz", Status: job.Partial, StopReason: conversation.StopSteps, Output: "hecho a medias",
	CreatedAt: noon, UpdatedAt: noon, EndsAt: noon.Add(job.MostLife), EndedAt: noon, Rounds: 2, Reads: 1, Micros: 7, Loop: agent.Loop{MaxSteps: 2},
}

func (w jobWorld) Start(_ context.Context, o job.Order) (job.Job, error) {
	_ = w.called("", "", "", nil)
	switch {
	case o.Agent == "venta":
		return job.Job{}, agent.ErrNotALoop.With("agent", o.Agent)
	case o.Agent != "build" && o.Agent != "openai":
		return job.Job{}, agent.ErrNoAgent.With("agent", o.Agent)
	case o.ChatID != "" && o.ChatID != chatID:
		return job.Job{}, conversation.ErrChatNotFound
	}
	return job.Job{
		ID: o.ID, Account: o.Principal.Account, Agent: o.Agent, ChatID: o.ChatID, Prompt: o.Prompt, Status: job.Running, DryRun: o.DryRun,
		Loop: agent.Loop{MaxSteps: o.MaxSteps, BudgetMicros: o.BudgetMicros}, CreatedAt: o.At, UpdatedAt: o.At, EndsAt: o.At.Add(job.MostLife),
	}, nil
}

func (w jobWorld) Stop(ctx context.Context, account ids.Account, id string) (job.Job, error) {
	_ = w.called("", "", "", nil)
	if _, err := w.Job(ctx, account, id); err != nil {
		return job.Job{}, err
	}
	return endedJob, nil
}

func (w jobWorld) Tell(ctx context.Context, account ids.Account, user, id string, _ []job.ToolResult) (job.Job, error) {
	j, err := w.Job(ctx, account, id)
	if err == nil && j.User != user {
		err = job.ErrAnother
	}
	return j, err
}

func (w jobWorld) Job(_ context.Context, account ids.Account, id string) (job.Job, error) {
	if account != "a" || id != runID {
		return job.Job{}, job.ErrNotFound
	}
	return endedJob, nil
}

func (w jobWorld) Jobs(_ context.Context, account ids.Account, _ string, _ int) ([]job.Job, string, error) {
	if account != "a" {
		return nil, "", nil
	}
	return []job.Job{endedJob}, "", nil
}

func (w jobWorld) JobEvents(_ context.Context, account ids.Account, id string, after, limit int) ([]job.Event, error) {
	if account != "a" || id != runID || after > 0 || limit < 1 {
		return nil, nil
	}
	return []job.Event{{Seq: 1, At: noon, Type: job.EventStarted, Data: json.RawMessage(`{"agent":"build"}`)}}, nil
}

func TestJobIsStartedOnceUnderAKey(t *testing.T) {
	s := newSite()
	body := `{"prompt":"haz","max_steps":3,"budget_micros":50,"dry_run":true}`
	first := s.do(ask(talker, "POST", "/api/agents/build/jobs", body, "Idempotency-Key", "k"))
	again := s.do(ask(talker, "POST", "/api/agents/build/jobs", body, "Idempotency-Key", "k"))
	if first.Code != http.StatusAccepted || first.Body.String() != again.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Fatalf("%d %s\nagain %d %s", first.Code, first.Body, again.Code, again.Body)
	}
	var j Job
	if err := json.Unmarshal(first.Body.Bytes(), &j); err != nil || j.Status != job.Running || j.MaxSteps != 3 || j.Budget != 50 || !j.DryRun {
		t.Errorf("%+v %v", j, err)
	}
	if other := s.do(ask(talker, "POST", "/api/agents/build/jobs", `{"prompt":"otra cosa"}`, "Idempotency-Key", "k")); other.Code != http.StatusUnprocessableEntity {
		t.Errorf("another request under the key: %d", other.Code)
	}
}

func TestBadJobsAreRefused(t *testing.T) {
	s := newSite()
	for body, want := range map[string]int{
		`{}`: 422, `{"prompt":" \n"}`: 422, `{"prompt":"x","max_steps":0}`: 422, `{"prompt":"x","max_steps":201}`: 422, `{"prompt":"x","budget_micros":-1}`: 422,
		`{"prompt":"x","timeout_s":604801}`: 422, `{"prompt":"x","eval":"most"}`: 422, `{"prompt":"x","agent":"plan"}`: 422,
		`{"prompt":"x","chat_id":"nope"}`: 404, `{"prompt":"x","chat_id":"` + runID + `"}`: 404,
		`{"prompt":"` + strings.Repeat("x", conversation.MaxMessage+1) + `"}`: 422,
	} {
		before := s.count()
		if got := s.do(ask(talker, "POST", "/api/agents/build/jobs", body)); got.Code != want || want == 422 && s.count() != before {
			t.Errorf("%.60s: %d %s", body, got.Code, got.Body)
		}
	}
	for path, want := range map[string]int{
		"/api/agents/nobody/jobs": 404, "/api/agents/venta/jobs": 422,
	} {
		if got := s.do(ask(talker, "POST", path, `{"prompt":"x"}`)); got.Code != want {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

func TestJobsOfAnotherAccountAreNotFound(t *testing.T) {
	s := newSite()
	for _, path := range []string{"/api/jobs/" + runID, "/api/jobs/" + runID + "/events"} {
		if got := s.do(ask(other, "GET", path, "")); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
		if got := s.do(ask(talker, "GET", path, "")); got.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	if got := s.do(ask(other, "POST", "/api/jobs/"+runID+"/stop", "")); got.Code != http.StatusNotFound {
		t.Errorf("stop: %d", got.Code)
	}
	if got := s.do(ask(talker, "POST", "/api/jobs/"+runID+"/stop", "")); got.Code != http.StatusAccepted {
		t.Errorf("stop: %d", got.Code)
	}
	if got := s.do(ask(talker, "GET", "/api/jobs/"+runID+"/events?after=1", "")); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "job.started") {
		t.Errorf("no new events: %d %s", got.Code, got.Body)
	}
}
