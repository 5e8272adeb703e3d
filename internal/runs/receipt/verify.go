package receipt

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
)

// Problem is one thing in a receipt that does not hold.
type Problem struct {
	Where string // "events", "event 7", "revision 2", "confirmed", "s2", "head"
	What  string
}

// String is the problem in a line.
func (p Problem) String() string { return p.Where + ": " + p.What }

// Verify returns everything in a receipt that does not hold; nothing when it does. It
// asks nobody: what a receipt says is compared with what else it says.
func Verify(r Receipt) []Problem {
	v := verifier{r: r}
	if r.Version != Version {
		v.say("version", "%q is not %s", r.Version, Version)
	}
	v.chain()
	v.place()
	v.revisions()
	if len(r.Revisions) == 0 || len(r.Events) == 0 {
		return v.problems
	}
	v.plan = r.Revisions[len(r.Revisions)-1].Plan
	v.account = told(v.plan, r.Events)
	v.order()
	v.effects()
	v.summary()
	return v.problems
}

type verifier struct {
	r        Receipt
	plan     plan.Plan // the last one
	account  account
	problems []Problem
}

func (v *verifier) say(where, format string, args ...any) {
	v.problems = append(v.problems, Problem{plan.Line(where), plan.Line(fmt.Sprintf(format, args...))})
}

func at(e plan.Event) string { return fmt.Sprintf("event %d", e.Seq) }

// chain holds the events to each other.
func (v *verifier) chain() {
	if len(v.r.Events) == 0 {
		v.say("events", "there are none")
	}
	prev := ""
	for i, e := range v.r.Events {
		if !e.At.Equal(e.At.Truncate(time.Millisecond)) {
			v.say(at(e), "its time is more precise than what was hashed")
		}
		if e.Seq != i+1 {
			v.say(at(e), "stands where number %d belongs", i+1)
		}
		chained, err := e.Chained(prev)
		switch {
		case err != nil:
			v.say(at(e), "cannot be read: %v", err)
		case chained.Hash != e.Hash:
			v.say(at(e), "its hash is not that of what it says and of the event before it")
		}
		prev = e.Hash
	}
	if v.r.Head != prev {
		v.say("head", "is not the hash of the last event")
	}
}

// revisions holds every plan to its digest, to the one it replaces, and to the event
// by which it came.
func (v *verifier) revisions() {
	var events []plan.Event
	for _, e := range v.r.Events {
		if e.Type == plan.EventProposed || e.Type == plan.EventRevised {
			events = append(events, e)
		}
	}
	if len(v.r.Revisions) == 0 {
		v.say("revisions", "there are none")
	}
	if len(events) != len(v.r.Revisions) {
		v.say("revisions", "there are %d, and events of %d", len(v.r.Revisions), len(events))
	}
	for i, rev := range v.r.Revisions {
		where := fmt.Sprintf("revision %d", rev.Revision)
		digest, err := rev.Plan.Digest()
		if err != nil || digest != rev.Digest {
			v.say(where, "its digest is not that of its plan")
		}
		if rev.Revision != rev.Plan.Revision || rev.Plan.ID != v.r.PlanID {
			v.say(where, "its plan is revision %d of plan %s", rev.Plan.Revision, rev.Plan.ID)
		}
		if i > 0 {
			before := v.r.Revisions[i-1]
			if rev.Plan.Replaces != before.Digest || rev.Revision != before.Revision+1 {
				v.say(where, "does not replace the one before it")
			}
		}
		if i < len(events) {
			v.revised(where, i, rev, events[i])
		}
	}
}

func (v *verifier) revised(where string, i int, rev Revision, e plan.Event) {
	s := read(e)
	switch {
	case (i == 0) != (e.Type == plan.EventProposed):
		v.say(where, "is not what event %d tells of", e.Seq)
	case s.Digest != rev.Digest:
		v.say(where, "event %d names another digest", e.Seq)
	case i > 0 && (s.Before != v.r.Revisions[i-1].Digest || s.Revision != rev.Revision):
		v.say(where, "event %d says that it replaces another", e.Seq)
	}
	if s.By != rev.By {
		v.say(where, "event %d says that it is by %q", e.Seq, s.By)
	}
	if s.Model != rev.Model {
		v.say(where, "event %d says that it was written by %q", e.Seq, s.Model)
	}
	if !rev.At.Equal(e.At) {
		v.say(where, "event %d was at another time", e.Seq)
	}
}

// order holds what happened to the order in which it may: proposed, confirmed,
// started, ended, and after that only what people say of it.
func (v *verifier) order() {
	rank := map[string]int{
		plan.EventProposed: 0, plan.EventRevised: 0, plan.EventConfirmed: 1, plan.EventStarted: 2,
		plan.EventStopping: 3, plan.EventUndoing: 3,
		plan.EventFinished: 4, plan.EventCancelled: 4, plan.EventExpired: 4, plan.EventSuperseded: 4,
		plan.EventStepSettled: 5, plan.EventRetried: 5,
	}
	once := []string{plan.EventProposed, plan.EventConfirmed, plan.EventStarted, plan.EventUndoing}
	reached, over, seen := -1, false, map[string]bool{}
	for _, e := range v.r.Events {
		n, known := rank[e.Type]
		if !known {
			n = 3 // of a step
		}
		switch {
		case reached < 0 && e.Type != plan.EventProposed:
			v.say(at(e), "%s before anything was proposed", e.Type)
		case n < reached, over && n == 4, slices.Contains(once, e.Type) && seen[e.Type]:
			v.say(at(e), "%s comes too late", e.Type)
		case slices.Contains([]int{2, 3, 5}, n) && !seen[plan.EventConfirmed]:
			v.say(at(e), "%s although nobody had confirmed", e.Type)
		case !known && e.StepID == "":
			v.say(at(e), "%s is of no step", e.Type)
		case known && n != 5 && e.StepID != "":
			v.say(at(e), "%s is of a step", e.Type)
		}
		reached, over, seen[e.Type] = max(reached, n), over || n == 4, true
	}
}

// summary holds what the receipt says first to what its events say.
func (v *verifier) summary() {
	r, a := v.r, v.account
	last := r.Revisions[len(r.Revisions)-1]
	if r.Digest != last.Digest {
		v.say("digest", "is not that of the last plan")
	}
	if r.Status != a.status {
		v.say("status", "is %q, and the events say %q", r.Status, a.status)
	}
	first := read(r.Events[0])
	if first.RunID != r.RunID {
		v.say("run_id", "the events are of run %s", first.RunID)
	}
	if first.ChatID != r.ChatID {
		v.say("chat_id", "the events are of chat %s", first.ChatID)
	}
	switch {
	case (r.Confirmed == nil) != (a.confirmed == nil):
		v.say("confirmed", "is not what the events say")
	case a.confirmed != nil && !equal(r.Confirmed, a.confirmed):
		v.say("confirmed", "is not what the event of it says")
	}
	if a.confirmed != nil && a.confirmed.Digest != last.Digest {
		v.say("confirmed", "another plan was confirmed than the last one")
	}
	if len(r.Steps) != len(a.effects) {
		v.say("steps", "there are %d, and the events tell of %d", len(r.Steps), len(a.effects))
		return
	}
	for i, s := range r.Steps {
		v.step(s, a.effects[i])
	}
	v.end()
}

func (v *verifier) step(s Step, e *effect) {
	if must := e.must(v.account); s.Status != must {
		v.say(e.ID, "is said to be %q, and the events say %q", s.Status, must)
	}
	s.Status = e.Status
	if !equal(s, e.Step) {
		v.say(e.ID, "is not what the events and the plan say")
	}
}

// end holds the end of the run to those of its steps.
func (v *verifier) end() {
	has := func(status plan.StepStatus) bool {
		return slices.ContainsFunc(v.r.Steps, func(s Step) bool { return s.Status == status && !plan.ParseEffect(s.ID).Undo })
	}
	undo := func(status plan.StepStatus) bool {
		return slices.ContainsFunc(v.r.Steps, func(s Step) bool { return s.Status == status && plan.ParseEffect(s.ID).Undo })
	}
	switch v.account.status {
	case plan.Done:
		for _, s := range v.r.Steps {
			if s.Status != plan.StepDone && s.Status != plan.StepSkipped {
				v.say(s.ID, "is %q, and the run is said to be done", s.Status)
			}
		}
	case plan.InDoubt:
		if !has(plan.StepInDoubt) && !undo(plan.StepInDoubt) {
			v.say("status", "is in_doubt, and no step is")
		}
	case plan.Failed, plan.Cancelled:
		if has(plan.StepInDoubt) {
			v.say("status", "is %q, and a step is in doubt", v.account.status)
		}
	}
}

// equal reports whether two values say the same.
func equal(a, b any) bool {
	x, errX := jcs.Canonical(a)
	y, errY := jcs.Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
