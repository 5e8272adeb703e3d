// Package stepfn starts and watches executions of the plan's state machine in
// Step Functions. An execution is named for its run, which is what makes a
// second start of the same run no start at all.
package stepfn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"piloto/internal/failpoint"
	"piloto/internal/run"
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
	input, err := json.Marshal(statemachines.Input{RunID: runID, AccountID: account})
	if err != nil {
		return err
	}
	failpoint.Here("stepfn.start.before")
	_, err = m.client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &m.arn, Name: &runID, Input: aws.String(string(input)),
	})
	failpoint.Here("stepfn.start.after")
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
