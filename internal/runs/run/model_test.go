package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// model holds the expected state of every run, beside the real ones.
type model struct {
	manualWorld
	runs    []*life
	pending *life
	active  *life
	last    string
}

// life is the expected state of one run.
type life struct {
	id        string
	digests   []plan.Digest // of its revisions
	expires   time.Time
	status    plan.Status
	events    int
	confirmed bool
	cancel    bool
	undoing   bool
	effects   map[string]*effect
	order     []string // effects that were done, the oldest first
	next      *life    // the draft that was last proposed to continue it
}

type effect struct {
	status   plan.StepStatus
	open     bool
	reused   bool
	resolved plan.Outcome
	asked    bool
	until    time.Time
}

var stepIDs = []string{"s1", "s2"}

func newLife(r plan.Run) *life {
	l := &life{id: r.ID, digests: []plan.Digest{r.Digest}, expires: r.Plan.ExpiresAt, status: plan.Draft, events: 1, effects: map[string]*effect{}}
	for _, id := range stepIDs {
		l.effects[id] = &effect{status: plan.StepPending}
		l.effects["undo:"+id] = &effect{status: plan.StepPending}
	}
	return l
}

func (l *life) isActive() bool { return l.status == plan.Running || l.status == plan.Waiting }

// is reports whether any of the steps or undos has a status.
func (l *life) is(status plan.StepStatus, ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return l.effects[id].status == status })
}

// move sets the run's status after a change of its steps.
func (l *life) move() {
	switch {
	case !l.isActive():
	case l.is(plan.StepWaiting, stepIDs...):
		l.status = plan.Waiting
	default:
		l.status = plan.Running
	}
}

// TestLifecycleAgreesWithTheModel performs proposals, edits, confirmations, cancellations, steps,
// approvals, undos, ends, resolutions, retries, redeliveries, sweeps and clock changes in any
// order, and compares all stored state after each.
func TestLifecycleAgreesWithTheModel(t *testing.T) {
	w := newManualWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.Chat = w.NewChat()
		w.FailStarts(nil)
		m := &model{manualWorld: w}
		rt.Repeat(map[string]func(*rapid.T){
			"propose":   m.doPropose,
			"revise":    m.doRevise,
			"confirm":   m.doConfirm,
			"cancel":    m.doCancel,
			"begin":     m.doBegin,
			"step":      m.doStep,
			"launch":    m.doLaunch,
			"step on":   m.doStep, // listed twice, so that runs get far
			"step more": m.doStep,
			"ask":       m.doAsk,
			"approve":   m.doApprove,
			"undo":      m.doUndo,
			"undo step": m.doUndoStep,
			"finish":    m.doFinish,
			"resolve":   m.doResolve,
			"retry":     m.doRetry,
			"sweep":     m.doSweep,
			"time goes": m.doTime,
			"":          m.check,
		})
	})
}

// pick chooses a run: often the active one, else one of the last.
func (m *model) pick(t *rapid.T) *life {
	if len(m.runs) == 0 {
		m.doPropose(t)
	}
	if m.active != nil && rapid.IntRange(0, 2).Draw(t, "another") > 0 {
		return m.active
	}
	return rapid.SampledFrom(m.runs[max(0, len(m.runs)-3):]).Draw(t, "run")
}

func (m *model) supersede(next *life) {
	if m.pending != nil {
		m.pending.status, m.pending.events = plan.Superseded, m.pending.events+1
	}
	m.runs, m.pending = append(m.runs, next), next
}

func (m *model) end(l *life, to plan.Status) {
	l.status = to
	if m.pending == l {
		m.pending = nil
	}
	if !l.confirmed {
		return
	}
	if m.active == l {
		m.active, m.last = nil, l.id
	} else if m.last < l.id {
		m.last = l.id
	}
}

func (m *model) doPropose(*rapid.T) {
	m.supersede(newLife(m.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{undoable("Una"), undoable("Dos")}})))
}

// doLaunch starts a run if one may start, because most actions need a running one.
func (m *model) doLaunch(t *rapid.T) {
	if m.active != nil && m.active.status != plan.Waiting {
		return
	}
	if m.pending == nil || !m.Clock().Before(m.pending.expires) {
		m.doPropose(t)
	}
	l := m.pending
	if err := m.Confirm(m.Read(l.id)); err != nil {
		t.Fatal(err)
	}
	m.Begin(l.id)
	l.status, l.confirmed, l.events = plan.Running, true, l.events+2
	m.pending, m.active = nil, l
}

func (m *model) doRevise(t *rapid.T) {
	l := m.pick(t)
	r := m.Read(l.id)
	p := r.Plan
	p.Goal, p.Revision, p.Replaces = fmt.Sprint("Reservar ", len(l.digests)), p.Revision+1, r.Digest
	p.ExpiresAt = m.Clock().Add(24 * time.Hour).UTC().Truncate(time.Second)
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Store.Runs.Revise(context.Background(), r, m.ChatNow(), plan.Revision{Plan: p, Digest: digest, At: m.Clock()},
		run.Record{At: m.Clock(), Type: plan.EventRevised})
	if may := l.status == plan.Draft; may != (err == nil) {
		t.Fatalf("a %s run was revised: %v", l.status, err)
	} else if may {
		l.digests, l.expires, l.events = append(l.digests, digest), p.ExpiresAt, l.events+1
	}
}

func (m *model) doConfirm(t *rapid.T) {
	l := m.pick(t)
	at := rapid.IntRange(max(0, len(l.digests)-2), len(l.digests)-1).Draw(t, "revision seen")
	m.FailStarts(nil)
	if rapid.Bool().Draw(t, "start fails") {
		m.FailStarts(errors.New("unavailable"))
	}
	_, err := m.Runs.Confirm(context.Background(), run.Confirmation{
		Account: fixture.Account, User: "ana", RunID: l.id, Digest: l.digests[at], Locale: locale.Spanish,
	})
	m.FailStarts(nil)
	may := l.status == plan.Draft && m.Clock().Before(l.expires) && at == len(l.digests)-1 &&
		(m.active == nil || m.active.status == plan.Waiting)
	if may != (err == nil) {
		t.Fatalf("confirm of a %s run at revision %d of %d: %v", l.status, at+1, len(l.digests), err)
	}
	if may {
		l.status, l.confirmed, l.events = plan.Queued, true, l.events+1
		m.pending, m.active = nil, l
	}
}

func (m *model) doCancel(t *rapid.T) {
	l := m.pick(t)
	_, err := m.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: l.id, Locale: locale.Spanish})
	may := l.status == plan.Draft && m.Clock().Before(l.expires) || l.status.Active()
	if may != (err == nil) {
		t.Fatalf("cancel of a %s run: %v", l.status, err)
	}
	switch {
	case !may, l.isActive() && (l.cancel || l.undoing):
		return
	case l.isActive():
		l.cancel = true
	case l.status == plan.Draft:
		m.end(l, plan.Cancelled)
	default:
		for _, id := range stepIDs {
			if !l.effects[id].reused {
				l.effects[id].status = plan.StepCancelled
			}
		}
		m.end(l, plan.Cancelled)
	}
	l.events++
}

func (m *model) doBegin(t *rapid.T) {
	l := m.pick(t)
	m.Begin(l.id)
	if l.status == plan.Queued {
		l.status, l.events = plan.Running, l.events+1
	}
}

// doStep begins a step, or ends the open attempt.
func (m *model) doStep(t *rapid.T) {
	l := m.pick(t)
	id := rapid.SampledFrom(stepIDs).Draw(t, "step")
	e := l.effects[id]
	switch {
	case !l.isActive() || e.status.Terminal():
		return // the executor asks no further
	case e.status == plan.StepWaiting && m.Clock().Before(e.until) && !l.cancel:
		return
	case e.status == plan.StepWaiting: // the executor sees that the wait is over
		must2(t, m.manualWorld.end(l.id, id, plan.StepFailed, ""))
		e.status = plan.StepFailed
	case e.open:
		to := rapid.SampledFrom([]plan.StepStatus{plan.StepDone, plan.StepDone, plan.StepFailed, plan.StepInDoubt}).Draw(t, "ends")
		m.Pass(time.Second)
		must2(t, m.manualWorld.end(l.id, id, to, `{}`))
		e.status, e.open = to, false
		if to == plan.StepDone {
			l.order = append(l.order, id)
		}
	case rapid.IntRange(0, 5).Draw(t, "skip") == 0:
		must2(t, m.manualWorld.end(l.id, id, plan.StepSkipped, ""))
		e.status = plan.StepSkipped
	default:
		err := m.manualWorld.begin(l.id, id)
		if may := !l.cancel && !l.undoing; may != (err == nil) {
			t.Fatalf("a step of a run that stops (%v, %v) began: %v", l.cancel, l.undoing, err)
		} else if !may {
			return
		}
		e.status, e.open = plan.StepRunning, true
	}
	l.events++
	l.move()
}

func must2(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (m *model) doAsk(t *rapid.T) {
	l := m.pick(t)
	id := rapid.SampledFrom(stepIDs).Draw(t, "step")
	e := l.effects[id]
	if e.status != plan.StepPending || e.asked || l.undoing {
		return
	}
	err := m.ask(l.id, id, anybody)
	if may := l.isActive() && !l.cancel; may != (err == nil) {
		t.Fatalf("a step of a %s run waits: %v", l.status, err)
	} else if !may {
		return
	}
	e.status, e.asked, e.until = plan.StepWaiting, true, m.Clock().Add(time.Hour)
	l.events++
	l.move()
}

func (m *model) doApprove(t *rapid.T) {
	l := m.pick(t)
	id := rapid.SampledFrom(stepIDs).Draw(t, "step")
	no := rapid.Bool().Draw(t, "refuse")
	err := m.approve(l.id, id, func(a *run.Approval) { a.Refuse = no })
	e := l.effects[id]
	may := l.status == plan.Waiting && e.status == plan.StepWaiting && m.Clock().Before(e.until) && !l.cancel && !l.undoing
	if may != (err == nil) {
		t.Fatalf("a decision over a %s step of a %s run: %v", e.status, l.status, err)
	}
	if may {
		e.status = plan.StepPending
		l.events++
		l.move()
	}
}

func (m *model) doUndo(t *rapid.T) {
	l := m.pick(t)
	cause := rapid.SampledFrom([]string{"", "Run.StepFailed"}).Draw(t, "cause")
	want := []string{}
	stops := cause != "" || l.cancel || l.undoing || l.is(plan.StepFailed, stepIDs...)
	unsure := l.is(plan.StepInDoubt, stepIDs...) || l.effects["s1"].open || l.effects["s2"].open
	if l.isActive() && stops && !unsure {
		for _, id := range slices.Backward(l.order) {
			if !l.effects["undo:"+id].status.Terminal() {
				want = append(want, "undo:"+id)
			}
		}
	}
	if len(want) > 0 && !l.undoing {
		l.undoing, l.events = true, l.events+1
	}
	for range 2 { // delivered again
		got, err := m.Runs.Undo(context.Background(), fixture.Key(l.id), cause)
		if err != nil || !slices.Equal(texts(got), want) {
			t.Fatalf("to undo of a %s run: %v, %v; want %v", l.status, got, err, want)
		}
	}
}

func (m *model) doUndoStep(t *rapid.T) {
	l := m.pick(t)
	if len(l.order) == 0 || !l.isActive() {
		return
	}
	name := "undo:" + rapid.SampledFrom(l.order).Draw(t, "undo")
	e := l.effects[name]
	if e.status.Terminal() {
		return
	}
	if err := m.manualWorld.begin(l.id, name); (err == nil) != l.undoing {
		t.Fatalf("an undo began (undoing %v): %v", l.undoing, err)
	} else if !l.undoing {
		return
	}
	e.status = rapid.SampledFrom([]plan.StepStatus{plan.StepDone, plan.StepFailed, plan.StepInDoubt}).Draw(t, "ends")
	must2(t, m.manualWorld.end(l.id, name, e.status, `{}`))
	l.events += 2
}

func (m *model) doFinish(t *rapid.T) {
	l := m.pick(t)
	if l.status.Active() {
		m.close(l)
		l.events++
	}
	for range 2 { // delivered again
		if _, err := m.Runs.Finish(context.Background(), fixture.Key(l.id), "tried"); err != nil {
			t.Fatal(err)
		}
	}
}

// close ends the open effects, and then the run as its effects require.
func (m *model) close(l *life) {
	for _, id := range stepIDs {
		e := l.effects[id]
		switch {
		case e.status.Terminal():
		case e.open:
			e.status, e.open = plan.StepInDoubt, false
		case e.status == plan.StepWaiting && !l.cancel && !m.Clock().Before(e.until):
			e.status = plan.StepFailed
		default:
			e.status = plan.StepCancelled
		}
		if undo := l.effects["undo:"+id]; l.undoing && slices.Contains(l.order, id) && !undo.status.Terminal() {
			undo.status = plan.StepCancelled
		}
	}
	switch {
	case l.is(plan.StepInDoubt, "s1", "s2", "undo:s1", "undo:s2"):
		m.end(l, plan.InDoubt)
	case l.is(plan.StepFailed, stepIDs...):
		m.end(l, plan.Failed)
	case !l.is(plan.StepCancelled, stepIDs...) && !l.undoing:
		m.end(l, plan.Done)
	case l.cancel:
		m.end(l, plan.Cancelled)
	default:
		m.end(l, plan.Failed)
	}
}

func (m *model) doResolve(t *rapid.T) {
	l := m.pick(t)
	id := rapid.SampledFrom([]string{"s1", "s2", "undo:s1", "undo:s2"}).Draw(t, "effect")
	outcome := rapid.SampledFrom([]plan.Outcome{plan.OutcomeDone, plan.OutcomeNotDone}).Draw(t, "outcome")
	_, err := m.resolve(l.id, id, outcome)
	e := l.effects[id]
	if may := l.status.Terminal() && e.status == plan.StepInDoubt && e.resolved == ""; may != (err == nil) {
		t.Fatalf("a %s effect of a %s run was resolved: %v", e.status, l.status, err)
	} else if may {
		e.resolved, l.events = outcome, l.events+1
	}
}

func (m *model) doRetry(t *rapid.T) {
	named := m.pick(t)
	l := named
	for l.next != nil && l.next.confirmed {
		l = l.next
	}
	done := func(id string) bool {
		e := l.effects[id]
		return e.status == plan.StepDone || e.status == plan.StepInDoubt && e.resolved == plan.OutcomeDone
	}
	may, reused := l.confirmed && l.status.Terminal() && l.status != plan.Done, map[string]bool{}
	for id, e := range l.effects {
		may = may && (e.status != plan.StepInDoubt || e.resolved != "")
		if slices.Contains(stepIDs, id) && done(id) && !done("undo:"+id) {
			reused[id] = true
		}
	}
	may = may && len(reused) < len(stepIDs)
	d, err := m.retry(named.id)
	if may != (err == nil) {
		t.Fatalf("retry of a %s run: %v", l.status, err)
	}
	if !may {
		return
	}
	l.events++
	next := newLife(d.Run)
	l.next = next
	for id := range reused {
		next.effects[id].status, next.effects[id].reused = plan.StepDone, true
	}
	m.supersede(next)
}

func (m *model) doSweep(t *rapid.T) {
	if _, err := m.Runs.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, l := range m.runs {
		if l.status == plan.Draft && !m.Clock().Before(l.expires) {
			m.end(l, plan.Expired)
			l.events++
		}
	}
}

func (m *model) doTime(t *rapid.T) {
	m.Pass(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 23 * time.Hour}).Draw(t, "passes"))
}

// check compares the model with the stored state.
func (m *model) check(t *rapid.T) {
	name := func(l *life) string {
		if l == nil {
			return ""
		}
		return l.id
	}
	c := m.ChatNow()
	if c.PendingRunID != name(m.pending) || c.ActiveRunID != name(m.active) || c.LastRunID != m.last {
		t.Fatalf("chat waits for %q, runs %q, ran %q; want %q, %q, %q",
			c.PendingRunID, c.ActiveRunID, c.LastRunID, name(m.pending), name(m.active), m.last)
	}
	finals := map[string]int{}
	for _, said := range m.Messages() {
		if said.ID == said.RunID+"#final" {
			finals[said.RunID]++
		}
	}
	m.checkLists(t)
	for _, l := range m.runs {
		r := m.Read(l.id)
		if r.Status != l.status || r.Digest != l.digests[len(l.digests)-1] || (r.CancelAt != nil) != l.cancel || (r.UndoAt != nil) != l.undoing {
			t.Fatalf("run is %s, stopping %v, undoing %v; want %s, %v, %v", r.Status, r.CancelAt, r.UndoAt, l.status, l.cancel, l.undoing)
		}
		if r.EventSeq != l.events {
			t.Fatalf("%d events of %d transitions", r.EventSeq, l.events)
		}
		if r.DueAt.IsZero() != l.status.Terminal() {
			t.Fatalf("a %s run is due %s", r.Status, r.DueAt)
		}
		for id, e := range l.effects {
			if st := r.State(plan.ParseEffect(id)); st.Status != e.status || st.Last.Open != e.open || (st.Reused != "") != e.reused {
				t.Fatalf("%s is %s (open %v, reused %q); want %+v", id, st.Status, st.Last.Open, st.Reused, *e)
			}
		}
		checkEvents(t, m.World, r)
		want := 0
		if l.confirmed && l.status.Terminal() {
			want = 1
		}
		if finals[l.id] != want {
			t.Fatalf("%d final messages of a %s run", finals[l.id], r.Status)
		}
	}
}
