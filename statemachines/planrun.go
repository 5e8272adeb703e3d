// Package statemachines holds the definition of a plan's run, which both Step Functions and the
// embedded engine read, and the types of its interface: the input of an execution, and the input
// and output of each of its tasks.
//
// Executions carry only ids. Plans, arguments and results stay in the table, so that an execution's
// history holds no user data and no size limit can stop a run.
//
// Step carries out the next effects of the run, and its output names the next state. The first effect
// begins the run, and the last one ends it. Settle undoes or ends a run that cannot go on. A run may
// have failed although its execution succeeded.
//
// A wave ends as a whole. When a step fails, the other steps of its wave finish their calls before
// the undo or the end of the run begins, so that no call is in flight then.
//
// Conclude comes after the end, and only in a run about which the model writes a message, so that no other run has a
// transition more. Nothing waits for it, and its failure fails nothing.
//
// Step repeats, and the table ends each of its loops: an approval expires at most 24 hours after its
// request; the model is asked about a failed command once, for a short time; the elements of a step
// are started at most three times. An execution may hold 25,000 events, and 262,144 bytes between
// two states. An effect that is done at its first attempt takes 7 events (an element) or 8 (a step,
// an undo), an approval 7, a replacement command 14, a wave 7 in addition to its effects, and every
// repetition 3. With step.MostElements elements in all, a run of plan.MaxSteps steps that all ask
// and are all undone takes about 9,500 events, which leaves four repetitions for each of its 1,100
// effects. Its longest payload is the list of the effects of a wave, 7 KB. An execution that uses up
// all events fails. The event of its end then finishes its run, as for any other execution.
//
// Lambda itself may refuse a task (unserved) for hours: in a small account eight effects of a wave use most of its concurrency.
// Each task then pauses up to 15 minutes, 30 times, six hours in all, which takes 99 events. A wave whose effects are all
// refused until the execution's time is over takes about 21,600 (TestTheLongestThrottlingFitsIntoAHistory). The pauses have
// no jitter, because with it no time could be promised. A run that is given up is not undone.
//
// An execution has a timeout of seven days, because each wave may wait for an approval. A run that
// ends after that time, with a message, is better than one that never ends.
//
// An execution keeps the definition with which it began. Until a release is declared the functions answer the present
// definition only: a deployment is updated when no run is under way.
package statemachines

import (
	_ "embed"
	"slices"

	"piloto/internal/ground/ids"
)

// Definition is planrun.asl.json before substitution: ${StepFunctionArn}, ${LifecycleFunctionArn}, ${ReasonFunctionArn}
// and ${ConcludeFunctionArn} stand for the functions of its tasks.
//
//go:embed planrun.asl.json
var Definition []byte

// The substitutions of Definition.
const (
	StepFunctionArn      = "StepFunctionArn"
	LifecycleFunctionArn = "LifecycleFunctionArn"
	ReasonFunctionArn    = "ReasonFunctionArn"
	ConcludeFunctionArn  = "ConcludeFunctionArn"
)

// The states that histories, logs and tests name.
const (
	StateStep          = "Step"
	StateRoute         = "Route"
	StateWave          = "Wave"
	StateEffect        = "Effect"
	StateEffectEnded   = "EffectEnded"
	StateEffectLost    = "EffectLost"
	StateThrottled     = "EffectThrottled"
	StateAwaitApproval = "AwaitApproval"
	StateReason        = "Reason"
	StateSettle        = "Settle"
	StateSeal          = "Seal"
	StateSealFirst     = "SealFirst"
	StateConclude      = "Conclude"
	StateUnconcluded   = "Unconcluded"
)

// The errors of their functions for which Step and Effect are repeated, in addition to those of
// Lambda itself. Any other error ends the step.
const (
	ErrorTransient = "Step.Transient" // the call may be repeated
	ErrorThrottled = "Step.Throttled" // the call may be repeated later
	ErrorUnnamed   = "Task.Failed"    // the function could not do its work
)

// unserved are the errors of Lambda for a call that it did not carry out (TooManyRequests), or whose outcome is unknown. Every
// task is repeated after them for hours, and then given up.
var unserved = []string{
	"Lambda.TooManyRequestsException", "Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException",
	"Lambda.ClientExecutionTimeoutException",
}

// CauseThrottled is the cause of a run, or a job, for which Lambda had no room for too long.
const CauseThrottled = "Lambda.Throttled"

// Input is the input of an execution. The execution's name is RunID.
type Input struct {
	RunID     string      `json:"run_id"`
	AccountID ids.Account `json:"account_id"`
}

// Action selects the task of the lifecycle function.
type Action string

// The tasks of the lifecycle function.
const (
	ActionSettle Action = "settle" // undo, or end
	ActionSeal   Action = "seal"
)

// LifecycleInput is the input of the lifecycle function.
type LifecycleInput struct {
	Action    Action      `json:"action"`
	RunID     string      `json:"run_id"`
	AccountID ids.Account `json:"account_id"`
	Error     *Error      `json:"error,omitempty"` // of Settle: the error or the output before it
}

// Cause returns the reason why an execution cannot go on; empty when every reversible effect was undone before Settle.
func (in LifecycleInput) Cause() string {
	switch {
	case in.Error == nil:
		return ""
	case in.Error.Lost:
		return StateEffectLost
	case in.Error.unserved():
		return CauseThrottled
	}
	return in.Error.Error
}

// Error is the input of Settle: an error that Step Functions caught, or the output of the state before
// it. Cause of a failed function is JSON: {"errorMessage", "errorType"}.
type Error struct {
	Error string `json:"Error"`
	Cause string `json:"Cause"`
	Lost  bool   `json:"lost"` // an effect of a wave has no end

	Throttled bool `json:"throttled"` // an effect of a wave was given up, because Lambda had no room for it
}

// unserved reports whether Lambda had no room for a task, or for an effect of a wave.
func (e Error) unserved() bool { return e.Throttled || slices.Contains(unserved, e.Error) }

// LifecycleOutput is the output of the lifecycle function.
type LifecycleOutput struct {
	Outcome Outcome `json:"outcome,omitempty"` // of Settle: OutcomeNext, OutcomeDone or OutcomeConclude
}

// Outcome decides how the state machine continues.
type Outcome string

// The outcomes that Route knows. Any other goes to Settle.
const (
	OutcomeDone     Outcome = "done"     // the run ended: Seal
	OutcomeNext     Outcome = "next"     // Step again
	OutcomeWave     Outcome = "wave"     // the effects in Items, side by side
	OutcomeApproval Outcome = "approval" // AwaitApproval
	OutcomeReason   Outcome = "reason"   // a command failed: Reason, with the step in Items
	OutcomeConclude Outcome = "conclude" // the run ended, and the model writes its conclusion: SealFirst, Conclude
)

// StepOutput is the output of Step and Effect.
type StepOutput struct {
	Outcome Outcome  `json:"outcome"`
	Items   []string `json:"items"` // ids of effects; never null
}

// StepInput is the input of the step function and of Reason.
type StepInput struct {
	RunID     string      `json:"run_id"`
	AccountID ids.Account `json:"account_id"`
	StepID    string      `json:"step_id,omitempty"` // the id of an effect: "s2", "s2[3]", "undo:s2"; empty for Step
	Token     string      `json:"token,omitempty"`   // of AwaitApproval: the token that resumes the execution after the decision
}

// ConcludeInput is the input of the conclude function. Its schedule sends another event, which names no run.
type ConcludeInput struct {
	RunID     string      `json:"run_id"`
	AccountID ids.Account `json:"account_id"`
}
