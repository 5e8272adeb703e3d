package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// Function is a task as the Lambda service sees it: bytes in, bytes or a
// failure out. Both the Lambda runtime and the one-process deployment call it.
type Function interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// Failure is what a function reported instead of a result.
type Failure struct {
	Type    string
	Message string
}

// NewFunction returns f as a Function, which may be invoked by many at once; its
// errors are as TaskFailure has them.
//
// It is not lambda.NewHandler: what that returns writes every result into one
// buffer, since a Lambda environment answers one event at a time.
func NewFunction[In, Out any](f func(context.Context, In) (Out, error)) Function {
	return function[In, Out](f)
}

type function[In, Out any] func(context.Context, In) (Out, error)

// Invoke implements Function.
func (f function[In, Out]) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var in In
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, TaskFailure(fmt.Errorf("read event: %w", err))
	}
	out, err := f(ctx, in)
	if err != nil {
		return nil, TaskFailure(err)
	}
	return json.Marshal(out)
}

// FailureOf returns what a Function's error says.
func FailureOf(err error) Failure {
	var told messages.InvokeResponse_Error
	if errors.As(err, &told) {
		return Failure{Type: told.Type, Message: told.Message}
	}
	return Failure{Type: Unnamed, Message: err.Error()}
}

// StartFunction serves f until the environment ends. It does not return.
func StartFunction(f Function) { lambda.Start(f) }
