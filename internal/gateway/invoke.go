package gateway

import (
	"context"
	"errors"

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

// NewFunction returns f as a Function; its errors are as TaskFailure has them.
func NewFunction[In, Out any](f func(context.Context, In) (Out, error)) Function {
	return lambda.NewHandler(Task(f))
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
