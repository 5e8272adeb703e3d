package receipt

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/runs/plan"
)

// eventData holds the data of an event; each type of event sets some of its members.
type eventData struct {
	By       string          `json:"by"`
	Digest   plan.Digest     `json:"digest"`
	Before   plan.Digest     `json:"before"`
	Revision int             `json:"revision"`
	Model    string          `json:"model"`
	RunID    string          `json:"run_id"`
	ChatID   string          `json:"chat_id"`
	Attempt  int             `json:"attempt"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Headers  json.RawMessage `json:"headers"`
	Tool     string          `json:"tool"`
	Request  string          `json:"request"`
	Status   any             `json:"status"` // the status of a response (number) or of a run (text)
	Bytes    int             `json:"bytes"`
	SHA256   string          `json:"sha256"`
	Error    *plan.Failure   `json:"error"`
	Reason   string          `json:"reason"`
	Rule     string          `json:"rule"`
	Another  bool            `json:"another"`
	Expires  time.Time       `json:"expires_at"`
	Note     string          `json:"note"`
	Outcome  plan.Outcome    `json:"outcome"`
	Was      string          `json:"was"`
	Now      string          `json:"now"`
	Because  string          `json:"because"`
	Held     *bool           `json:"held"`     // of a check: whether its expected condition held
	Requests []string        `json:"requests"` // of an approval of all elements: the request of each

	Closed map[plan.StepStatus][]plan.EffectID `json:"closed"` // of the end of a run: the effects that it closed, by their final status
}

// dataOf returns the data of an event. Data that is not an object, or a member of a wrong type,
// counts as absent.
func dataOf(e plan.Event) eventData {
	var s eventData
	_ = json.Unmarshal(e.Data, &s)
	return s
}

// phase is the progress of an effect, as its events show it.
type phase int

const (
	untouched       phase = iota
	open                  // sent, without a response
	betweenAttempts       // to be tried again
	expanded              // being done for each element
	asked                 // waits for an approval
	decided               // approved or refused
	ended                 // by an event of its own
)

// effect is the state of one effect, as the events show it.
type effect struct {
	Step
	method string
	phase  phase
}

// account is the state of a run, as its events show it.
type account struct {
	status    plan.Status
	confirmed *Confirmation
	ended     bool // nothing runs any more
	effects   []*effect
}

// newAccount computes the state of a run from its plan and its events.
func newAccount(p plan.Plan, events []plan.Event) account {
	a := account{status: plan.Draft}
	for _, s := range p.Steps {
		e := a.effect(p, s.ID)
		if p.Reuse != nil && slices.Contains(p.Reuse.Steps, s.ID) {
			e.Reused, e.phase, e.Status = p.Reuse.RunID, ended, plan.StepDone
		}
	}
	for _, e := range events {
		s := dataOf(e)
		if !e.StepID.IsZero() {
			a.effect(p, e.StepID).apply(e, s)
		} else {
			a.apply(e, s)
		}
	}
	place := map[string]int{}
	for i, s := range p.Steps {
		place[s.ID.Step()] = i
	}
	slices.SortStableFunc(a.effects, func(x, y *effect) int {
		a, b := x.ID, y.ID
		if a.Undo() != b.Undo() {
			return map[bool]int{false: -1, true: 1}[a.Undo()]
		}
		beside := func(e plan.EffectID) int {
			if e.Item() < 0 {
				return 0
			}
			return 1
		}
		return cmp.Or(beside(a)-beside(b), place[a.Step()]-place[b.Step()], a.Item()-b.Item())
	})
	if a.status == plan.Running && slices.ContainsFunc(a.effects, func(e *effect) bool { return e.phase == asked }) {
		a.status = plan.Waiting
	}
	return a
}

func (a *account) effect(p plan.Plan, id plan.EffectID) *effect {
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

// apply applies an event of the run itself.
func (a *account) apply(e plan.Event, s eventData) {
	switch e.Type {
	case plan.EventConfirmed:
		a.status, a.confirmed = plan.Queued, &Confirmation{By: s.By, At: e.At.UTC(), Digest: s.Digest}
	case plan.EventStarted:
		a.status = plan.Running
	case plan.EventFinished:
		text, _ := s.Status.(string)
		a.status, a.ended = plan.Status(text), true
		a.close(s.Closed)
	case plan.EventCancelled:
		a.status, a.ended = plan.Cancelled, true
	case plan.EventExpired:
		a.status, a.ended = plan.Expired, true
	case plan.EventSuperseded:
		a.status, a.ended = plan.Superseded, true
	}
}

// close ends the effects that the end of the run names.
func (a *account) close(closed map[plan.StepStatus][]plan.EffectID) {
	for status, ids := range closed {
		for _, e := range a.effects {
			if e.phase != ended && slices.Contains(ids, e.ID) {
				e.phase, e.Status = ended, status
			}
		}
	}
}

// apply applies an event of the effect.
func (f *effect) apply(e plan.Event, s eventData) {
	if s.Error != nil {
		f.Error = s.Error.Code
	}
	switch e.Type {
	case plan.EventStepStart, plan.EventStepRetry:
		f.phase, f.Error = open, ""
		f.Sent = &Sent{Method: s.Method, URL: s.URL, Request: s.Request, Attempts: s.Attempt, At: e.At.UTC()}
	case plan.EventStepWait:
		f.phase = betweenAttempts
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
		f.phase = betweenAttempts
		if s.Held == nil || *s.Held {
			f.end(plan.StepDone, s)
			f.Error = ""
		}
	case plan.EventStepExpanded:
		f.phase = expanded
	case plan.EventStepResolved:
		f.Resolved = &Resolution{Outcome: s.Outcome, By: s.By, Note: s.Note, At: e.At.UTC()}
	case plan.EventStepReasoned:
		f.Command = &Command{Was: s.Was, Now: s.Now, Because: s.Because}
	default:
		f.applyApproval(e, s)
	}
}

func (f *effect) applyApproval(e plan.Event, s eventData) {
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

func (f *effect) end(status plan.StepStatus, s eventData) {
	f.phase, f.Status = ended, status
	if n, ok := s.Status.(float64); ok && s.Held == nil { // with Held it is the response to a check
		f.Result = &Result{Status: int(n), Bytes: s.Bytes, SHA256: s.SHA256}
	}
}

// expectedStatus returns the status that the effect must have, by its events and, for an effect
// that the run closed, by the run's end. In a run that was never confirmed no effect began.
func (f *effect) expectedStatus(a account) plan.StepStatus {
	switch {
	case f.phase == ended:
		return f.Status
	case a.ended && a.confirmed == nil, f.phase == untouched && !a.ended, f.phase == decided && !a.ended:
		return plan.StepPending
	case a.ended: // the end of the run names all open effects
		return ""
	case f.phase == asked:
		return plan.StepWaiting
	}
	return plan.StepRunning
}
