package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/redact"
)

// TaskError is an error with a name that a state machine can match, such as "Step.Transient".
type TaskError interface {
	error
	TaskErrorName() string
}

// Unnamed is the name of a task's error that has no name of its own.
const Unnamed = "Task.Failed"

// maxFailure is the longest message in an execution's history, in bytes.
const maxFailure = 1024

// TaskFailure returns a task's error for a state machine: its name as errorType, and its message, without secrets
// and shortened. (The runtime takes the type only from a value of this struct, else it uses the name of the Go
// type.)
func TaskFailure(err error) messages.InvokeResponse_Error {
	name := Unnamed
	var named TaskError
	if errors.As(err, &named) {
		name = named.TaskErrorName()
	}
	message := redact.Text(strings.ToValidUTF8(err.Error(), "\uFFFD"))
	return messages.InvokeResponse_Error{Type: name, Message: clip.Bytes(message, maxFailure)}
}

// InvokedHandler is an HTTP handler that is also invoked: on a schedule, or by another function.
type InvokedHandler struct {
	http.Handler
	Function
}

// StartHTTP serves API Gateway with h until the environment ends. If h is an InvokedHandler, it also serves its
// other invocations. It does not return.
func (edge Edge) StartHTTP(h http.Handler) {
	if both, ok := h.(InvokedHandler); ok {
		lambda.Start(either{lambda.NewHandler(edge.Handler(both.Handler)), both.Function})
	}
	lambda.Start(edge.Handler(h))
}

// either distinguishes the events of API Gateway, which always have a requestContext, from all others.
type either struct{ http, other Function }

// Invoke implements Function.
func (e either) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var event struct {
		Context json.RawMessage `json:"requestContext"`
	}
	if json.Unmarshal(payload, &event) == nil && event.Context == nil {
		return e.other.Invoke(ctx, payload)
	}
	return e.http.Invoke(ctx, payload)
}
