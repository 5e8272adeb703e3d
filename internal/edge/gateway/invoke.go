package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// Function is a task as the Lambda service invokes it: bytes in, bytes or an error out. Both the Lambda runtime and
// the one-process deployment call it.
type Function interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// Failure is the error of a function.
type Failure struct {
	Type    string
	Message string
}

// NewFunction returns f as a Function that is safe for concurrent use. Its errors are
// those of TaskFailure.
//
// It does not use lambda.NewHandler, because that writes every result into one
// buffer: a Lambda environment handles one event at a time.
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

// FailureOf returns the type and message of a Function's error.
func FailureOf(err error) Failure {
	var told messages.InvokeResponse_Error
	if errors.As(err, &told) {
		return Failure{Type: told.Type, Message: told.Message}
	}
	return Failure{Type: Unnamed, Message: err.Error()}
}

// StartFunction serves f until the environment ends. It does not return.
func StartFunction(f Function) { lambda.Start(f) }
