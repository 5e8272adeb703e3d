package plan

import "slices"

// Status is the state of a run.
type Status string

// The states of a run.
const (
	Draft      Status = "draft"
	Queued     Status = "queued"
	Running    Status = "running"
	Waiting    Status = "waiting"
	Done       Status = "done"
	Failed     Status = "error"
	InDoubt    Status = "in_doubt"
	Cancelled  Status = "cancelled"
	Expired    Status = "expired"
	Superseded Status = "superseded"
)

// edges is the whole lifecycle: the states that may follow each state.
var edges = map[Status][]Status{
	Draft:   {Queued, Cancelled, Expired, Superseded},
	Queued:  {Running, Cancelled, Failed},
	Running: {Waiting, Done, Failed, Cancelled, InDoubt},
	Waiting: {Running, Failed, Cancelled, InDoubt},
}

// Statuses lists every state, from the first to the last of a run's life.
func Statuses() []Status {
	return []Status{Draft, Queued, Running, Waiting, Done, Failed, InDoubt, Cancelled, Expired, Superseded}
}

// CanBecome reports whether a run in state s may move to next.
func (s Status) CanBecome(next Status) bool { return slices.Contains(edges[s], next) }

// Terminal reports whether no state may follow s.
func (s Status) Terminal() bool { return len(edges[s]) == 0 }

// Active reports whether a run in state s holds its chat.
func (s Status) Active() bool { return s == Queued || s == Running || s == Waiting }

// StepStatus is the state of a step.
type StepStatus string

// The states of a step.
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running"
	StepDone      StepStatus = "done"
	StepFailed    StepStatus = "error"
	StepInDoubt   StepStatus = "in_doubt"
	StepCancelled StepStatus = "cancelled"
	StepWaiting   StepStatus = "waiting" // for an approval
	StepSkipped   StepStatus = "skipped" // its condition was false
)

// Terminal reports whether the step will not be tried again.
func (s StepStatus) Terminal() bool {
	return s != StepPending && s != StepRunning && s != StepWaiting
}
