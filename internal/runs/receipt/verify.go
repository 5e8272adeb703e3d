package receipt

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
)

// Problem is one fault of a receipt or a chain.
type Problem struct {
	Where string // "events", "event 7", "revision 2", "confirmed", "s2", "head"
	What  string
}

// String returns the problem on one line.
func (p Problem) String() string { return p.Where + ": " + p.What }

// Verify returns all faults of a receipt; none when it is valid. It needs no other data, because it
// compares the parts of the receipt with each other.
func Verify(r Receipt) []Problem {
	v := verifier{r: r}
	if r.Version != Version {
		v.report("version", "%q is not %s", r.Version, Version)
	}
	v.checkChain()
	v.checkPlace()
	v.checkRevisions()
	if len(r.Revisions) == 0 || len(r.Events) == 0 {
		return v.problems
	}
	v.plan = r.Revisions[len(r.Revisions)-1].Plan
	v.account = newAccount(v.plan, r.Events)
	v.checkOrder()
	v.checkEffects()
	v.checkSummary()
	return v.problems
}

type verifier struct {
	r        Receipt
	plan     plan.Plan // the last one
	account  account
	problems []Problem
}

func (v *verifier) report(where, format string, args ...any) {
	v.problems = append(v.problems, Problem{clip.Line(where), clip.Line(fmt.Sprintf(format, args...))})
}

func eventPlace(e plan.Event) string { return fmt.Sprintf("event %d", e.Seq) }

// checkChain checks the hashes and numbers of the events.
func (v *verifier) checkChain() {
	if len(v.r.Events) == 0 {
		v.report("events", "there are none")
	}
	prev := ""
	for i, e := range v.r.Events {
		if !e.At.Equal(e.At.Truncate(time.Millisecond)) {
			v.report(eventPlace(e), "its time is more precise than what was hashed")
		}
		if e.Seq != i+1 {
			v.report(eventPlace(e), "stands where number %d belongs", i+1)
		}
		chained, err := e.Chained(prev)
		switch {
		case err != nil:
			v.report(eventPlace(e), "cannot be read: %v", err)
		case chained.Hash != e.Hash:
			v.report(eventPlace(e), "its hash is not that of what it says and of the event before it")
		}
		prev = e.Hash
	}
	if v.r.Head != prev {
		v.report("head", "is not the hash of the last event")
	}
}

// checkRevisions compares every plan with its digest, with the plan that it replaces, and with the
// event that introduced it.
func (v *verifier) checkRevisions() {
	var events []plan.Event
	for _, e := range v.r.Events {
		if e.Type == plan.EventProposed || e.Type == plan.EventRevised {
			events = append(events, e)
		}
	}
	if len(v.r.Revisions) == 0 {
		v.report("revisions", "there are none")
	}
	if len(events) != len(v.r.Revisions) {
		v.report("revisions", "there are %d, and events of %d", len(v.r.Revisions), len(events))
	}
	for i, rev := range v.r.Revisions {
		where := fmt.Sprintf("revision %d", rev.Revision)
		digest, err := rev.Plan.Digest()
		if err != nil || digest != rev.Digest {
			v.report(where, "its digest is not that of its plan")
		}
		if rev.Revision != rev.Plan.Revision || rev.Plan.ID != v.r.PlanID {
			v.report(where, "its plan is revision %d of plan %s", rev.Plan.Revision, rev.Plan.ID)
		}
		if i > 0 {
			before := v.r.Revisions[i-1]
			if rev.Plan.Replaces != before.Digest || rev.Revision != before.Revision+1 {
				v.report(where, "does not replace the one before it")
			}
		}
		if i < len(events) {
			v.checkRevision(where, i, rev, events[i])
		}
	}
}

func (v *verifier) checkRevision(where string, i int, rev Revision, e plan.Event) {
	s := dataOf(e)
	switch {
	case (i == 0) != (e.Type == plan.EventProposed):
		v.report(where, "is not what event %d tells of", e.Seq)
	case s.Digest != rev.Digest:
		v.report(where, "event %d names another digest", e.Seq)
	case i > 0 && (s.Before != v.r.Revisions[i-1].Digest || s.Revision != rev.Revision):
		v.report(where, "event %d says that it replaces another", e.Seq)
	}
	if s.By != rev.By {
		v.report(where, "event %d says that it is by %q", e.Seq, s.By)
	}
	if s.Model != rev.Model {
		v.report(where, "event %d says that it was written by %q", e.Seq, s.Model)
	}
	if !rev.At.Equal(e.At) {
		v.report(where, "event %d was at another time", e.Seq)
	}
}

// checkOrder checks the order of the events: proposed, confirmed, started, ended, and after that
// only verdicts, retries and undos that were proposed later.
func (v *verifier) checkOrder() {
	rank := map[string]int{
		plan.EventProposed: 0, plan.EventRevised: 0, plan.EventRead: 0, plan.EventConfirmed: 1, plan.EventStarted: 2,
		plan.EventStopping: 3, plan.EventUndoing: 3,
		plan.EventFinished: 4, plan.EventCancelled: 4, plan.EventExpired: 4, plan.EventSuperseded: 4,
		plan.EventStepResolved: 5, plan.EventRetried: 5, plan.EventReversed: 5,
	}
	once := []string{plan.EventProposed, plan.EventConfirmed, plan.EventStarted, plan.EventUndoing}
	reached, over, seen := -1, false, map[string]bool{}
	for _, e := range v.r.Events {
		n, known := rank[e.Type]
		if !known {
			n = 3 // the event of a step
		}
		switch {
		case reached < 0 && e.Type != plan.EventProposed:
			v.report(eventPlace(e), "%s before anything was proposed", e.Type)
		case n < reached, over && n == 4, slices.Contains(once, e.Type) && seen[e.Type]:
			v.report(eventPlace(e), "%s comes too late", e.Type)
		case slices.Contains([]int{2, 3, 5}, n) && !seen[plan.EventConfirmed]:
			v.report(eventPlace(e), "%s although nobody had confirmed", e.Type)
		case !known && e.StepID.IsZero():
			v.report(eventPlace(e), "%s is of no step", e.Type)
		case known && n != 5 && !e.StepID.IsZero():
			v.report(eventPlace(e), "%s is of a step", e.Type)
		}
		reached, over, seen[e.Type] = max(reached, n), over || n == 4, true
	}
}

// checkSummary compares the summary of the receipt with its events.
func (v *verifier) checkSummary() {
	r, a := v.r, v.account
	last := r.Revisions[len(r.Revisions)-1]
	if r.Digest != last.Digest {
		v.report("digest", "is not that of the last plan")
	}
	if r.Status != a.status {
		v.report("status", "is %q, and the events say %q", r.Status, a.status)
	}
	first := dataOf(r.Events[0])
	if first.RunID != r.RunID {
		v.report("run_id", "the events are of run %s", first.RunID)
	}
	if first.ChatID != r.ChatID {
		v.report("chat_id", "the events are of chat %s", first.ChatID)
	}
	switch {
	case (r.Confirmed == nil) != (a.confirmed == nil):
		v.report("confirmed", "is not what the events say")
	case a.confirmed != nil && !equal(r.Confirmed, a.confirmed):
		v.report("confirmed", "is not what the event of it says")
	}
	if a.confirmed != nil && a.confirmed.Digest != last.Digest {
		v.report("confirmed", "another plan was confirmed than the last one")
	}
	if len(r.Steps) != len(a.effects) {
		v.report("steps", "there are %d, and the events tell of %d", len(r.Steps), len(a.effects))
		return
	}
	for i, s := range r.Steps {
		v.checkStep(s, a.effects[i])
	}
	v.checkEnd()
}

func (v *verifier) checkStep(s Step, e *effect) {
	if must := e.expectedStatus(v.account); s.Status != must {
		v.report(e.ID.String(), "is said to be %q, and the events say %q", s.Status, must)
	}
	s.Status = e.Status
	if !equal(s, e.Step) {
		v.report(e.ID.String(), "is not what the events and the plan say")
	}
}

// checkEnd compares the end of the run with the ends of its steps.
func (v *verifier) checkEnd() {
	has := func(status plan.StepStatus) bool {
		return slices.ContainsFunc(v.r.Steps, func(s Step) bool { return s.Status == status && !s.ID.Undo() })
	}
	undo := func(status plan.StepStatus) bool {
		return slices.ContainsFunc(v.r.Steps, func(s Step) bool { return s.Status == status && s.ID.Undo() })
	}
	switch v.account.status {
	case plan.Done:
		for _, s := range v.r.Steps {
			if s.Status != plan.StepDone && s.Status != plan.StepSkipped {
				v.report(s.ID.String(), "is %q, and the run is said to be done", s.Status)
			}
		}
	case plan.InDoubt:
		if !has(plan.StepInDoubt) && !undo(plan.StepInDoubt) {
			v.report("status", "is in_doubt, and no step is")
		}
	case plan.Failed, plan.Cancelled:
		if has(plan.StepInDoubt) {
			v.report("status", "is %q, and a step is in doubt", v.account.status)
		}
	}
}

// equal reports whether two values have the same canonical form.
func equal(a, b any) bool {
	x, errX := jcs.Canonical(a)
	y, errY := jcs.Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
