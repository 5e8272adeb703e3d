package plan

import (
	"context"
	"slices"
	"time"

	"piloto/internal/ground/ids"
)

// WaitKind is the kind of a wait for a person.
type WaitKind string

// The kinds of a wait. All but the last are waits of a run.
const (
	WaitDraft    WaitKind = "draft"    // to be confirmed
	WaitApproval WaitKind = "approval" // a step, to be approved or refused
	WaitDoubt    WaitKind = "doubt"    // a step in doubt of a run that ended, to be resolved
	WaitJob      WaitKind = "job"      // a job of an agent, until the plan that it proposed ended, or its question is answered
)

// Wait is one thing that waits for a person.
type Wait struct {
	Kind   WaitKind
	StepID EffectID  // zero for a draft and for a job. Elements in doubt wait as their step, undos of elements one after the other
	Asked  time.Time // since when it waits
	Due    time.Time // until when it waits; zero for a doubt, which has no deadline

	Request string // of an approval: the digest of its request, which the decision has to name
}

// Waits returns the waits of a run for a person, at any time: expired drafts and approvals stay until their run is written
// again. A step, or the undo of one, has at most one wait.
func (r Run) Waits() []Wait {
	switch {
	case r.Status == Draft:
		return []Wait{{Kind: WaitDraft, Asked: r.CreatedAt, Due: r.Plan.ExpiresAt}}
	case r.Status == Waiting && r.CancelAt == nil && r.UndoAt == nil:
		return r.openApprovals()
	case r.Status.Terminal():
		return r.openDoubts()
	}
	return nil
}

func (r Run) openApprovals() []Wait {
	var list []Wait
	for _, st := range r.Steps {
		if st.Status == StepWaiting && st.Approval != nil && st.Approval.Decision == "" {
			list = append(list, Wait{Kind: WaitApproval, StepID: st.StepID, Asked: st.Approval.AskedAt, Due: st.Approval.ExpiresAt, Request: st.Approval.Request})
		}
	}
	return list
}

func (r Run) openDoubts() []Wait {
	var list []Wait
	for _, id := range r.Doubts() {
		st := r.State(id)
		w := Wait{Kind: WaitDoubt, StepID: id, Asked: st.UpdatedAt}
		if !st.StepID.Undo() {
			w.StepID = EffectOf(st.StepID.Step())
		}
		if !slices.ContainsFunc(list, func(other Wait) bool { return other.Slot() == w.Slot() }) {
			list = append(list, w)
		}
	}
	return list
}

// Doubts returns the effects in doubt without a person's verdict. A step that is done for each element has none: its
// elements do.
func (r Run) Doubts() []EffectID {
	var list []EffectID
	for _, st := range r.Steps {
		if st.Status == StepInDoubt && st.Resolved == nil && !(st.Expanded && st.StepID.Item() < 0) {
			list = append(list, st.StepID)
		}
	}
	return list
}

// Slot identifies a wait: one per step and one per undo.
func (w Wait) Slot() EffectID {
	if w.StepID.Undo() {
		return UndoOf(EffectOf(w.StepID.Step()))
	}
	return EffectOf(w.StepID.Step())
}

// At returns the time by which a wait is listed: its deadline, or else the time at which it began.
func (w Wait) At() time.Time {
	if w.Due.IsZero() {
		return w.Asked
	}
	return w.Due
}

// Open reports whether a wait still waits at a time.
func (w Wait) Open(at time.Time) bool { return w.Due.IsZero() || at.Before(w.Due) }

// Head is a run in a list. Its Run has the plan and no states of steps.
type Head struct {
	Run
	Done    int       // how many steps of the plan are done
	EndedAt time.Time // zero while it has not ended
	Micros  int64     // cost of the model calls for it, micro-USD; 0 also when nothing was counted
	Open    []Wait    // the waits for a person
}

// ListedWait is one wait in the list of an account, with its run, or with its job when it is the wait of one.
type ListedWait struct {
	Wait
	Run Head
	Job JobWait
}

// JobWait is a waiting job in a list.
type JobWait struct {
	ID     string
	Agent  string
	ChatID string
	Title  string // the beginning of its question, or of its prompt when it waits for a plan
	RunID  string // the plan for which it waits; "" when it asks
}

// Filter narrows the list of an account's runs. Empty members narrow nothing.
type Filter struct {
	ChatID   string
	Statuses []Status
	From, To time.Time // when it was proposed: from From on, and before To
}

// Lister lists the runs and waits of an account, by pages. A cursor of another account or filter is refused. A page reads a
// limited number of runs, so that it may have fewer than limit although there is a next cursor.
type Lister interface {
	// Runs lists the runs of an account, the newest first.
	Runs(ctx context.Context, account ids.Account, f Filter, cursor string, limit int) ([]Head, string, error)
	// Waiting lists the waits for a person at a time, by due time, the first one first. A chatID that is not empty
	// narrows it to that chat.
	Waiting(ctx context.Context, account ids.Account, chatID string, at time.Time, cursor string, limit int) ([]ListedWait, string, error)
}

// StatusAt returns the status of a run at a time: a draft whose time is over is expired, also before that is stored.
func (r Run) StatusAt(at time.Time) Status {
	if r.Status == Draft && !r.Plan.ExpiresAt.IsZero() && !at.Before(r.Plan.ExpiresAt) {
		return Expired
	}
	return r.Status
}

// DoneSteps counts the steps of the plan that are done.
func (r Run) DoneSteps() int {
	n := 0
	for _, s := range r.Steps {
		if s.StepID.Whole() && s.Status == StepDone {
			n++
		}
	}
	return n
}
