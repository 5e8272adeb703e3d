// Package statemachines holds the definition of a plan's run, which both Step Functions and the
// embedded engine read, and the types of its interface: the input of an execution, and the input
// and output of each of its tasks.
//
// Executions carry only ids. Plans, arguments and results stay in the table, so that an execution's
// history holds no user data and no size limit can stop a run. Every path ends in Finish, and
// Finish ends the run independent of the execution's own result: a run may have failed although its
// execution succeeded.
//
// A wave ends as a whole. When a step fails, the other steps of its wave finish their calls before
// the undo or the end of the run begins, so that no call is in flight then.
//
// RunStep repeats in three loops, and the table ends each of them: an approval expires at most 24
// hours after its request; the model is asked about a failed command once, for a short time; the
// elements of a step are started at most three times. An execution may hold 25,000 events, and
// 262,144 bytes between two states. An effect that is done at its first attempt takes 7 events (an
// element, an undo) or 11 (a step), an approval 13, a replacement command 12, a step with elements
// 22 in addition to theirs, and every repetition 3. With step.MostElements elements in all, a run
// of plan.MaxSteps steps that all ask and are all undone takes about 10,000 events, which leaves
// four repetitions for each of its 1,100 effects. Its longest payload is the list of its undos, 25
// KB. An execution that uses up all events fails. The event of its end then finishes its run, as
// for any other execution.
//
// An execution has a timeout of seven days, because each wave may wait for an approval. A run that
// ends after that time, with a message, is better than one that never ends.
package statemachines

import _ "embed"

// Definition is planrun.asl.json before substitution: ${StepFunctionArn}, ${LifecycleFunctionArn} and
// ${ReasonFunctionArn} stand for the functions of its tasks.
//
//go:embed planrun.asl.json
var Definition []byte

// The substitutions of Definition.
const (
	StepFunctionArn      = "StepFunctionArn"
	LifecycleFunctionArn = "LifecycleFunctionArn"
	ReasonFunctionArn    = "ReasonFunctionArn"
)

// The states that histories, logs and tests name.
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
	StateFinished      = "Finished"
)

// The errors of their functions for which RunStep, RunItem and RunUndo are repeated, in addition to
// those of Lambda itself. Any other error ends the step.
const (
	ErrorTransient = "Step.Transient" // the call may be repeated
	ErrorThrottled = "Step.Throttled" // the call may be repeated later
	ErrorUnnamed   = "Task.Failed"    // the function could not do its work
)

// Input is the input of an execution. The execution's name is RunID.
type Input struct {
	RunID     string `json:"run_id"`
	AccountID string `json:"account_id"`
}

// Action selects the task of the lifecycle function.
type Action string

// The tasks of the lifecycle function.
const (
	ActionStart  Action = "start"
	ActionFinish Action = "finish"
	ActionUndo   Action = "undo" // lists the undos, the newest effect first
)

// LifecycleInput is the input of Start, Undo and Finish.
type LifecycleInput struct {
	Action    Action `json:"action"`
	RunID     string `json:"run_id"`
	AccountID string `json:"account_id"`
	Error     *Error `json:"error,omitempty"` // of Finish and Undo: the error that ended the execution early
}

// Error is a caught error in the form of Step Functions. Cause of a failed function is JSON:
// {"errorMessage", "errorType"}.
type Error struct {
	Error string `json:"Error"`
	Cause string `json:"Cause"`
}

// StartOutput is the output of Start: the ids of the steps of each wave, in order. The list is
// empty, never absent, when no step is left (the run was cancelled first): the execution then goes
// straight to Finish. Undos, in the output of Undo, is never absent either.
type StartOutput struct {
	Waves [][]string `json:"waves"`
	Undos []string   `json:"undos"` // of Undo: ids of effects, the newest first
}

// Outcome tells the state machine how to continue after RunStep.
type Outcome string

// The outcomes of a step that did not fail. A failed step returns an error.
const (
	OutcomeDone     Outcome = "done"     // or skipped
	OutcomeApproval Outcome = "approval" // AwaitApproval, then the step again
	OutcomeEach     Outcome = "each"     // the elements in Items, then the step again
	OutcomeReason   Outcome = "reason"   // a command failed: Reason, then the step again
)

// StepOutput is the output of RunStep.
type StepOutput struct {
	Outcome Outcome  `json:"outcome"`
	Items   []string `json:"items"` // ids of effects; never null
}

// StepInput is the input of RunStep, AwaitApproval and Reason.
type StepInput struct {
	RunID     string `json:"run_id"`
	AccountID string `json:"account_id"`
	StepID    string `json:"step_id"`         // the id of an effect: "s2", "s2[3]", "undo:s2"
	Token     string `json:"token,omitempty"` // of AwaitApproval: the token that resumes the execution after the decision
}
