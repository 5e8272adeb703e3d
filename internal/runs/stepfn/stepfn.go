// Package stepfn starts and watches executions of the state machines in Step Functions. An
// execution has the name of its run or its turn, so a second start of the same run or turn has no
// effect.
package stepfn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/run"
	"piloto/statemachines"
)

// Machine is one state machine.
type Machine struct {
	client *sfn.Client
	arn    string
}

// New returns the state machine with an ARN.
func New(config aws.Config, arn string) *Machine {
	return &Machine{client: sfn.NewFromConfig(config), arn: arn}
}

// StartExecution starts a run's execution. It returns nil when the execution was already started.
func (m *Machine) StartExecution(ctx context.Context, k run.Key) error {
	failpoint.Here("stepfn.start.before")
	err := m.start(ctx, k.RunID, statemachines.Input{RunID: k.RunID, AccountID: k.Account})
	failpoint.Here("stepfn.start.after")
	return err
}

// StartTurn starts the execution of a turn that outlives its request. It returns nil when the
// execution was already started.
func (m *Machine) StartTurn(ctx context.Context, account ids.Account, turnID string) error {
	return m.start(ctx, turnID, statemachines.TurnInput{TurnID: turnID, AccountID: account})
}

// StartJob starts the execution of a job. It returns nil when the execution was already started.
func (m *Machine) StartJob(ctx context.Context, account ids.Account, jobID string) error {
	return m.start(ctx, jobID, statemachines.JobInput{JobID: jobID, AccountID: account})
}

func (m *Machine) start(ctx context.Context, name string, input any) error {
	raw, err := json.Marshal(input)
	if err != nil {
		return err
	}
	_, err = m.client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &m.arn, Name: &name, Input: aws.String(string(raw)),
	})
	var exists *types.ExecutionAlreadyExists
	if errors.As(err, &exists) {
		return nil
	}
	return err
}

// ExecutionOf returns the state of a run's execution.
func (m *Machine) ExecutionOf(ctx context.Context, runID string) (run.Execution, error) {
	arn := strings.Replace(m.arn, ":stateMachine:", ":execution:", 1) + ":" + runID
	out, err := m.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	var none *types.ExecutionDoesNotExist
	switch {
	case errors.As(err, &none):
		return run.ExecutionNone, nil
	case err != nil:
		return "", err
	case out.Status == types.ExecutionStatusRunning || out.Status == types.ExecutionStatusPendingRedrive:
		return run.ExecutionRunning, nil
	}
	return run.ExecutionEnded, nil
}

// Wake resumes the execution that waits with a token. The decision that it waited for is in the
// table. Wake returns nil for a token that is no longer in use.
func (m *Machine) Wake(ctx context.Context, token string) error {
	failpoint.Here("stepfn.wake.before")
	_, err := m.client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String("{}")})
	failpoint.Here("stepfn.wake.after")
	var over *types.TaskTimedOut
	var gone *types.TaskDoesNotExist
	var invalid *types.InvalidToken
	if errors.As(err, &over) || errors.As(err, &gone) || errors.As(err, &invalid) {
		return nil
	}
	return err
}
