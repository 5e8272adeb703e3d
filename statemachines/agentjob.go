package statemachines

import "piloto/internal/ground/ids"

import _ "embed"

// JobDefinition is agentjob.asl.json before substitution: ${AgentFunctionArn} stands for the function of its tasks. It
// makes the rounds of one job; the job and its rounds are stored in the table.
//
//go:embed agentjob.asl.json
var JobDefinition []byte

// AgentFunctionArn is the substitution of JobDefinition.
const AgentFunctionArn = "AgentFunctionArn"

// JobInput is the input of a job's execution, and of its tasks. The execution's name is JobID.
type JobInput struct {
	JobID     string      `json:"job_id"`
	AccountID ids.Account `json:"account_id"`
	Task      JobTask     `json:"task,omitempty"`
	Token     string      `json:"token,omitempty"` // of JobWait
	Error     *Error      `json:"error,omitempty"` // of JobClose: the error or the output before it
}

// Throttled reports whether a job is closed because Lambda had no room for it for too long.
func (in JobInput) Throttled() bool { return in.Error != nil && in.Error.unserved() }

// JobTask names a task of a job.
type JobTask string

// The tasks of a job.
const (
	JobRound JobTask = "round"
	JobWait  JobTask = "wait"
	JobClose JobTask = "close"
)

// JobOutput is the output of JobRound: how the execution goes on.
type JobOutput struct {
	Next string `json:"next"`
}
