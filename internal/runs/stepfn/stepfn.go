// Package stepfn starts and watches executions of the state machines in Step
// Functions. An execution is named for its run, or its turn, which is what makes a
// second start of the same no start at all.
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

// StartExecution starts a run's execution. One that was started before is
// started.
func (m *Machine) StartExecution(ctx context.Context, account, runID string) error {
	failpoint.Here("stepfn.start.before")
	err := m.start(ctx, runID, statemachines.Input{RunID: runID, AccountID: account})
	failpoint.Here("stepfn.start.after")
	return err
}

// StartTurn starts the execution of a turn that is answered apart from its request. One that
// was started before is started.
func (m *Machine) StartTurn(ctx context.Context, account, turnID string) error {
	return m.start(ctx, turnID, statemachines.TurnInput{TurnID: turnID, AccountID: account})
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

// ExecutionOf says where a run's execution is.
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

// Wake lets the execution that waits with a token go on. What it waited for is in
// the table. A token that nothing waits for any more is no error.
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
