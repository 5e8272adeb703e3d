package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"piloto/internal/ground/redact"
)

// TaskError is an error that a state machine can match on by name, such as
// "Step.Transient".
type TaskError interface {
	error
	TaskErrorName() string
}

// Unnamed is the name of a task's error that has none of its own.
const Unnamed = "Task.Failed"

// maxFailure bounds the message that goes into an execution's history, in bytes.
const maxFailure = 1024

// TaskFailure returns what a state machine sees of a task's error: its name as
// errorType, and its message, without secrets and cut. (The runtime takes the type from a value of
// this struct, and from nothing else but a Go type's name.)
func TaskFailure(err error) messages.InvokeResponse_Error {
	name := Unnamed
	var named TaskError
	if errors.As(err, &named) {
		name = named.TaskErrorName()
	}
	message := redact.Text(strings.ToValidUTF8(err.Error(), "\uFFFD"))
	if len(message) > maxFailure {
		cut := maxFailure
		for !utf8.RuneStart(message[cut]) {
			cut--
		}
		message = message[:cut] + "…"
	}
	return messages.InvokeResponse_Error{Type: name, Message: message}
}

// Woken is a handler of HTTP that is called on a schedule, too.
type Woken struct {
	http.Handler
	Function
}

// StartHTTP serves API Gateway with h until the environment ends, and what wakes it when it
// is Woken. It does not return.
func StartHTTP(h http.Handler) {
	if both, ok := h.(Woken); ok {
		lambda.Start(either{lambda.NewHandler(Handler(both.Handler)), both.Function})
	}
	lambda.Start(Handler(h))
}

// either tells the events of EventBridge, which alone have a detail-type, from those of API
// Gateway.
type either struct{ http, wake Function }

// Invoke implements Function.
func (e either) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var event struct {
		DetailType string `json:"detail-type"`
	}
	if json.Unmarshal(payload, &event) == nil && event.DetailType != "" {
		return e.wake.Invoke(ctx, payload)
	}
	return e.http.Invoke(ctx, payload)
}
