// Package statemachines owns the definition of a plan's run, as Step Functions
// and the embedded engine both read it, and what crosses its border: the input
// of an execution, and the input and output of each of its tasks.
//
// What must stay true: only ids travel. Plans, arguments and results stay in the
// table, so that an execution's history holds no one's data and no size limit
// can stop a run. Every path ends in Finish, and Finish settles the run whatever
// the execution says: an execution that succeeded may well be a run that failed.
//
// A wave ends whole. A step that failed lets its neighbours finish their calls
// before anything is undone or the run is settled, so that nothing is in flight
// then.
//
// RunStep goes round in three loops, and the table ends each of them: an approval
// is over when it expires, at most 24 hours after it was asked; a failed command is
// thought about once, and not for long; the elements of a step are gone through
// three times. What an execution may hold is 25,000 events and 262,144 bytes
// between two states. An effect that is done at its first attempt is 7 events (an
// element, an undo) or 11 (a step), an approval 13, another command 12, a step with
// elements 22 beside them, and every repetition 3. With step.MostElements elements
// in all, a run of plan.MaxSteps steps that each ask and are all undone is about
// 10,000 events, which leaves each of its 1,100 effects four repetitions; its
// longest payload is the list of its undos, 25 KB. An execution that servers wear
// down to the last event fails, and its run is settled by what the execution's end
// sets off, like any other.
//
// An execution is given seven days: waves may each wait for an approval. A run that
// ends then, and says so, is better than one that never does.
package statemachines

import _ "embed"

// Definition is planrun.asl.json before substitution: ${StepFunctionArn},
// ${SettleFunctionArn} and ${ReasonFunctionArn} stand for the functions of its tasks.
//
//go:embed planrun.asl.json
var Definition []byte

// The substitutions of Definition.
const (
	StepFunctionArn   = "StepFunctionArn"
	SettleFunctionArn = "SettleFunctionArn"
	ReasonFunctionArn = "ReasonFunctionArn"
)

// The states that history, logs and tests name.
const (
	StateStart         = "Start"
	StateWaves         = "Waves"
	StateWave          = "Wave"
	StateRunStep       = "RunStep"
	StateStepOutcome   = "StepOutcome"
	StateAwaitApproval = "AwaitApproval"
	StateReason        = "Reason"
	StateEach          = "Each"
	StateRunItem       = "RunItem"
	StateItemFailed    = "ItemFailed"
	StateStepEnded     = "StepEnded"
	StateStepFailed    = "StepFailed"
	StateOutcome       = "Outcome"
	StateWaveFailed    = "WaveFailed"
	StateWaveDone      = "WaveDone"
	StateUndo          = "Undo"
	StateUndos         = "Undos"
	StateRunUndo       = "RunUndo"
	StateUndoFailed    = "UndoFailed"
	StateFinish        = "Finish"
	StateSettled       = "Settled"
)

// The errors of their function that RunStep, RunItem and RunUndo are repeated for; beside those of Lambda
// itself, any other ends the step.
const (
	ErrorTransient = "Step.Transient" // the call may be made again
	ErrorThrottled = "Step.Throttled" // the call may be made again, later
	ErrorUnnamed   = "Task.Failed"    // the function could not do its work at all
)

// ErrorStepFailed is the error that Finish is told when a step ended the run.
const ErrorStepFailed = "Run.StepFailed"

// Input is what an execution starts with. The execution's name is RunID.
type Input struct {
	RunID     string `json:"run_id"`
	AccountID string `json:"account_id"`
}

// Action says which of its tasks the settle function is asked for.
type Action string

// The tasks of the settle function.
const (
	ActionStart  Action = "start"
	ActionFinish Action = "finish"
	ActionUndo   Action = "undo" // what is to be undone, the newest first
)

// SettleInput is the input of Start, Undo and Finish.
type SettleInput struct {
	Action    Action `json:"action"`
	RunID     string `json:"run_id"`
	AccountID string `json:"account_id"`
	Error     *Error `json:"error,omitempty"` // of Finish and Undo: what ended the execution early
}

// Error is how Step Functions tells a caught error. Cause of a failed function
// is JSON: {"errorMessage", "errorType"}.
type Error struct {
	Error string `json:"Error"`
	Cause string `json:"Cause"`
}

// StartOutput is the output of Start: the ids of the steps of each wave, in
// order. It is empty, never absent, when nothing is left to run (the run was
// cancelled first): the execution then goes straight to Finish. Neither is Undos,
// in the output of Undo.
type StartOutput struct {
	Waves [][]string `json:"waves"`
	Undos []string   `json:"undos"` // of Undo: names of effects, the newest first
}

// Outcome says how RunStep goes on.
type Outcome string

// The outcomes of a step that did not fail: one that did answers with an error.
const (
	OutcomeDone     Outcome = "done"     // or skipped
	OutcomeApproval Outcome = "approval" // AwaitApproval, then the step again
	OutcomeEach     Outcome = "each"     // the elements in Items, then the step again
	OutcomeReason   Outcome = "reason"   // a command failed: Reason, then the step again
)

// StepOutput is the output of RunStep.
type StepOutput struct {
	Outcome Outcome  `json:"outcome"`
	Items   []string `json:"items"` // names of effects; never null
}

// StepInput is the input of RunStep, AwaitApproval and Reason.
type StepInput struct {
	RunID     string `json:"run_id"`
	AccountID string `json:"account_id"`
	StepID    string `json:"step_id"`         // the name of an effect: "s2", "s2[3]", "undo:s2"
	Token     string `json:"token,omitempty"` // of AwaitApproval: it is kept, and comes back with what was decided
}
