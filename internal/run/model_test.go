package run_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/lab"
	"piloto/internal/locale"
	"piloto/internal/plan"
	"piloto/internal/run"
	"piloto/internal/step"
	"piloto/internal/tool"
)

// model is what should be true of every run, kept beside the real one.
type model struct {
	*lab.World
	status   map[string]plan.Status
	runs     []plan.Run
	pending  string
	active   string
	finished map[string]plan.Status // once terminal, never different
	sentFor  map[string]int         // unsafe calls per run
}

func (m *model) pick(t *rapid.T) (plan.Run, bool) {
	if len(m.runs) == 0 {
		return plan.Run{}, false
	}
	return rapid.SampledFrom(m.runs).Draw(t, "run"), true
}

func (m *model) move(id string, to plan.Status) {
	m.status[id] = to
	if to.Terminal() {
		m.finished[id] = to
		if m.active == id {
			m.active = ""
		}
		if m.pending == id {
			m.pending = ""
		}
	}
}

// TestLifecycleAgreesWithTheModel drives proposals, confirmations,
// cancellations, executions, redeliveries, sweeps and the clock in any order.
func TestLifecycleAgreesWithTheModel(t *testing.T) {
	w := lab.NewWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.Chat = w.NewChat()
		w.FailStarts(nil)
		m := &model{World: w, status: map[string]plan.Status{}, finished: map[string]plan.Status{}, sentFor: map[string]int{}}
		rt.Repeat(map[string]func(*rapid.T){
			"propose":   m.doPropose,
			"confirm":   m.doConfirm,
			"cancel":    m.doCancel,
			"begin":     m.doBegin,
			"step":      m.doStep,
			"finish":    m.doFinish,
			"sweep":     m.doSweep,
			"time goes": m.doTime,
			"":          m.check,
		})
	})
}

func (m *model) doPropose(t *rapid.T) {
	r := m.World.Propose(book)
	if m.pending != "" {
		m.move(m.pending, plan.Superseded)
	}
	m.runs = append(m.runs, r)
	m.status[r.ID], m.pending = plan.Draft, r.ID
}

func (m *model) doConfirm(t *rapid.T) {
	r, ok := m.pick(t)
	if !ok {
		return
	}
	digest, seen := r.Digest, true
	if rapid.IntRange(0, 3).Draw(t, "wrong digest") == 0 {
		digest, seen = "0000000000000000000000000000000000000000000000000000000000000000", false
	}
	m.FailStarts(nil)
	if rapid.Bool().Draw(t, "start fails") {
		m.FailStarts(errors.New("unavailable"))
	}
	_, err := m.Runs.Confirm(context.Background(), run.Confirmation{
		Account: lab.Account, User: "ana", RunID: r.ID, Digest: digest, Locale: locale.Spanish,
	})
	may := m.status[r.ID] == plan.Draft && m.Clock().Before(r.Plan.ExpiresAt) && seen && m.active == ""
	if may != (err == nil) {
		t.Fatalf("confirm of a %s run (digest seen %v, active %q): %v", m.status[r.ID], seen, m.active, err)
	}
	if may {
		m.status[r.ID], m.pending, m.active = plan.Queued, "", r.ID
	}
}

func (m *model) doCancel(t *rapid.T) {
	r, ok := m.pick(t)
	if !ok {
		return
	}
	_, err := m.Runs.Cancel(context.Background(), run.Cancellation{Account: lab.Account, User: "ana", RunID: r.ID, Locale: locale.Spanish})
	switch s := m.status[r.ID]; {
	case s == plan.Draft && m.Clock().Before(r.Plan.ExpiresAt), s == plan.Queued:
		if err != nil {
			t.Fatalf("cancel of a %s run: %v", s, err)
		}
		m.move(r.ID, plan.Cancelled)
	case s == plan.Running:
		if err != nil {
			t.Fatalf("cancel of a running run: %v", err)
		}
	case err == nil:
		t.Fatalf("cancel of a %s run was accepted", s)
	}
}

func (m *model) doBegin(t *rapid.T) {
	r, ok := m.pick(t)
	if !ok {
		return
	}
	waves, err := m.Runs.Begin(context.Background(), lab.Account, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if m.status[r.ID] == plan.Queued {
		m.status[r.ID] = plan.Running
	}
	if (len(waves) > 0) != (m.status[r.ID] == plan.Running) {
		t.Fatalf("a %s run has waves %v", m.status[r.ID], waves)
	}
}

func (m *model) doStep(t *rapid.T) {
	r, ok := m.pick(t)
	if !ok {
		return
	}
	answer := rapid.SampledFrom([]int{200, 201, 400, 404, 500, 502, 429, 0, -1}).Draw(t, "answer")
	before := len(m.Requests())
	m.Answer(func(tool.Request) (tool.Answer, error) {
		switch answer {
		case 0:
			return tool.Answer{}, tool.ErrLost
		case -1:
			return tool.Answer{}, tool.ErrNotSent
		}
		return tool.Answer{Status: answer, Body: []byte(`{"id":"x"}`), Bytes: 10}, nil
	})
	was := m.Read(r.ID).State("s1")
	_, err := m.Steps.Execute(context.Background(), step.Task{Account: lab.Account, RunID: r.ID, StepID: "s1"})
	sent := len(m.Requests()) - before
	if sent > 0 && (m.status[r.ID] != plan.Running || was.Status.Terminal()) {
		t.Fatalf("a %s step of a %s run was sent", was.Status, m.status[r.ID])
	}
	if sent > 0 && answer != -1 && answer != 429 {
		m.sentFor[r.ID]++ // it may have been applied
	}
	if m.sentFor[r.ID] > 1 {
		t.Fatalf("an unsafe call was sent again")
	}
	if now := m.Read(r.ID).State("s1"); err == nil && now.Status != plan.StepDone {
		t.Fatalf("success, and the step is %s", now.Status)
	}
}

func (m *model) doFinish(t *rapid.T) {
	r, ok := m.pick(t)
	if !ok {
		return
	}
	ended, err := m.Runs.Finish(context.Background(), lab.Account, r.ID, "tried")
	if err != nil {
		t.Fatal(err)
	}
	if s := m.status[r.ID]; s == plan.Queued || s == plan.Running {
		if !ended.Status.Terminal() {
			t.Fatalf("finish left a run %s", ended.Status)
		}
		m.move(r.ID, ended.Status)
	}
}

func (m *model) doSweep(t *rapid.T) {
	m.FailStarts(nil)
	if _, err := m.Runs.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, r := range m.runs {
		if m.status[r.ID] == plan.Draft && !m.Clock().Before(r.Plan.ExpiresAt) {
			m.move(r.ID, plan.Expired)
		}
	}
}

func (m *model) doTime(t *rapid.T) {
	m.Pass(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 23 * time.Hour}).Draw(t, "passes"))
}

// check compares the model with what is stored.
func (m *model) check(t *rapid.T) {
	c := m.ChatNow()
	if c.PendingRunID != m.pending || c.ActiveRunID != m.active {
		t.Fatalf("chat waits for %q and runs %q; want %q and %q", c.PendingRunID, c.ActiveRunID, m.pending, m.active)
	}
	for _, seen := range m.runs {
		r := m.Read(seen.ID)
		if r.Status != m.status[r.ID] {
			t.Fatalf("run is %s, want %s", r.Status, m.status[r.ID])
		}
		if end, over := m.finished[r.ID]; over && r.Status != end {
			t.Fatalf("a run that was %s became %s", end, r.Status)
		}
		gapFree(t, m.World, r)
		finals := 0
		if s := r.Status; s == plan.Done || s == plan.Failed || s == plan.InDoubt || s == plan.Cancelled && r.ConfirmBy != "" {
			finals = 1
		}
		if n := m.Finals(r.ID); n != finals {
			t.Fatalf("%d final messages of a %s run", n, r.Status)
		}
	}
}
