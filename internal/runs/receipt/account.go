package receipt

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/runs/plan"
)

// said is what the data of an event may hold; each type has some of it.
type said struct {
	By       string        `json:"by"`
	Digest   plan.Digest   `json:"digest"`
	Before   plan.Digest   `json:"before"`
	Revision int           `json:"revision"`
	Model    string        `json:"model"`
	RunID    string        `json:"run_id"`
	ChatID   string        `json:"chat_id"`
	Attempt  int           `json:"attempt"`
	Method   string        `json:"method"`
	URL      string        `json:"url"`
	Tool     string        `json:"tool"`
	Request  string        `json:"request"`
	Status   any           `json:"status"` // a number of an answer, a text of a run
	Bytes    int           `json:"bytes"`
	SHA256   string        `json:"sha256"`
	Error    *plan.Failure `json:"error"`
	Reason   string        `json:"reason"`
	Rule     string        `json:"rule"`
	Another  bool          `json:"another"`
	Expires  time.Time     `json:"expires_at"`
	Note     string        `json:"note"`
	Outcome  plan.Outcome  `json:"outcome"`
	Was      string        `json:"was"`
	Now      string        `json:"now"`
	Because  string        `json:"because"`
	Held     *bool         `json:"held"`     // of a check: what it expects
	Requests []string      `json:"requests"` // of an approval of all elements: each one's

	Closed map[plan.StepStatus][]string `json:"closed"` // of the end of a run: what became of the effects that were open
}

// read returns what an event says; an event whose data is not an object says nothing,
// and neither does a member of another type than it should be.
func read(e plan.Event) said {
	var s said
	_ = json.Unmarshal(e.Data, &s)
	return s
}

// phase is how far the events of an effect tell.
type phase int

const (
	untouched phase = iota
	open            // sent, and not answered
	between         // to be tried again
	expanded        // being done for each element
	asked           // waits for an approval
	decided         // somebody approved or refused
	ended           // by an event of its own
)

// effect is what the events say of one effect.
type effect struct {
	Step
	method string
	phase  phase
}

// account is what the events of a run say happened.
type account struct {
	status    plan.Status
	confirmed *Confirmation
	over      bool // nothing runs any more
	effects   []*effect
}

// told reads the account of a run of a plan from its events.
func told(p plan.Plan, events []plan.Event) account {
	a := account{status: plan.Draft}
	for _, s := range p.Steps {
		e := a.effect(p, s.ID)
		if p.Reuse != nil && slices.Contains(p.Reuse.Steps, s.ID) {
			e.Reused, e.phase, e.Status = p.Reuse.RunID, ended, plan.StepDone
		}
	}
	for _, e := range events {
		s := read(e)
		if e.StepID != "" {
			a.effect(p, e.StepID).tell(e, s)
		} else {
			a.tell(e, s)
		}
	}
	place := map[string]int{}
	for i, s := range p.Steps {
		place[s.ID] = i
	}
	slices.SortStableFunc(a.effects, func(x, y *effect) int {
		a, b := plan.ParseEffect(x.ID), plan.ParseEffect(y.ID)
		if a.Undo != b.Undo {
			return map[bool]int{false: -1, true: 1}[a.Undo]
		}
		beside := func(e plan.EffectID) int {
			if e.Item < 0 {
				return 0
			}
			return 1
		}
		return cmp.Or(beside(a)-beside(b), place[a.Step]-place[b.Step], a.Item-b.Item)
	})
	if a.status == plan.Running && slices.ContainsFunc(a.effects, func(e *effect) bool { return e.phase == asked }) {
		a.status = plan.Waiting
	}
	return a
}

func (a *account) effect(p plan.Plan, id string) *effect {
	for _, e := range a.effects {
		if e.ID == id {
			return e
		}
	}
	e := &effect{Step: Step{ID: id}}
	if s, ok := p.Step(id); ok {
		e.Title, e.Called, e.method = s.Title, s.Called(), s.Method
	}
	a.effects = append(a.effects, e)
	return e
}

// tell notes an event of the run itself.
func (a *account) tell(e plan.Event, s said) {
	switch e.Type {
	case plan.EventConfirmed:
		a.status, a.confirmed = plan.Queued, &Confirmation{By: s.By, At: e.At.UTC(), Digest: s.Digest}
	case plan.EventStarted:
		a.status = plan.Running
	case plan.EventFinished:
		text, _ := s.Status.(string)
		a.status, a.over = plan.Status(text), true
		a.close(s.Closed)
	case plan.EventCancelled:
		a.status, a.over = plan.Cancelled, true
	case plan.EventExpired:
		a.status, a.over = plan.Expired, true
	case plan.EventSuperseded:
		a.status, a.over = plan.Superseded, true
	}
}

// close ends the effects that the end of the run names.
func (a *account) close(closed map[plan.StepStatus][]string) {
	for status, ids := range closed {
		for _, e := range a.effects {
			if e.phase != ended && slices.Contains(ids, e.ID) {
				e.phase, e.Status = ended, status
			}
		}
	}
}

// tell notes an event of the effect.
func (f *effect) tell(e plan.Event, s said) {
	if s.Error != nil {
		f.Error = s.Error.Code
	}
	switch e.Type {
	case plan.EventStepStart, plan.EventStepRetry:
		f.phase, f.Error = open, ""
		f.Sent = &Sent{Method: s.Method, URL: s.URL, Request: s.Request, Attempts: s.Attempt, At: e.At.UTC()}
	case plan.EventStepWait:
		f.phase = between
	case plan.EventStepDone:
		f.end(plan.StepDone, s)
	case plan.EventStepFailed:
		f.end(plan.StepFailed, s)
		if strings.HasSuffix(f.Error, "cancelled") {
			f.Status = plan.StepCancelled
		}
	case plan.EventStepDoubt:
		f.end(plan.StepInDoubt, s)
	case plan.EventStepSkipped:
		f.end(plan.StepSkipped, s)
	case plan.EventStepChecked:
		f.phase = between
		if s.Held == nil || *s.Held {
			f.end(plan.StepDone, s)
			f.Error = ""
		}
	case plan.EventStepExpanded:
		f.phase = expanded
	case plan.EventStepSettled:
		f.Settled = &Settled{Outcome: s.Outcome, By: s.By, Note: s.Note, At: e.At.UTC()}
	case plan.EventStepReasoned:
		f.Command = &Command{Was: s.Was, Now: s.Now, Because: s.Because}
	default:
		f.tellApproval(e, s)
	}
}

func (f *effect) tellApproval(e plan.Event, s said) {
	switch e.Type {
	case plan.EventStepAsked:
		f.phase = asked
		f.Approval = &Approval{Reason: s.Reason, Rule: s.Rule, Another: s.Another, Request: s.Request, AskedAt: e.At.UTC(), ExpiresAt: s.Expires.UTC()}
	case plan.EventStepApproved, plan.EventStepRefused:
		f.phase = decided
		if f.Approval == nil {
			f.Approval = &Approval{}
		}
		at := e.At.UTC()
		f.Approval.Decision, f.Approval.By, f.Approval.Note, f.Approval.At = plan.Approved, s.By, s.Note, &at
		if e.Type == plan.EventStepRefused {
			f.Approval.Decision = plan.Refused
		}
	}
}

func (f *effect) end(status plan.StepStatus, s said) {
	f.phase, f.Status = ended, status
	if n, ok := s.Status.(float64); ok && s.Held == nil { // else it is the answer of a check
		f.Result = &Result{Status: int(n), Bytes: s.Bytes, SHA256: s.SHA256}
	}
}

// must is what the status of the effect must be: what its events say, and the end of the
// run of those that it closed. In a run that nobody confirmed nothing began.
func (f *effect) must(a account) plan.StepStatus {
	switch {
	case f.phase == ended:
		return f.Status
	case a.over && a.confirmed == nil, f.phase == untouched && !a.over, f.phase == decided && !a.over:
		return plan.StepPending
	case a.over: // its end names all that were open
		return ""
	case f.phase == asked:
		return plan.StepWaiting
	}
	return plan.StepRunning
}
