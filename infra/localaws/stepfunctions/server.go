package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"localaws/disk"
	"net/http"
	"strings"
)

// maxRequest bounds a request's body: the largest document, escaped.
const maxRequest = 8 << 20

// An apiError is an error of the protocol: its type and its message.
type apiError struct {
	code    string
	message string
	status  int
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func refuse(code, format string, args ...any) *apiError {
	return &apiError{code: code, message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// invalid returns the ValidationException about the value of a field.
func invalid(value, field, constraint string) *apiError {
	return refuse("ValidationException", "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s",
		value, field, constraint)
}

// requiredError returns the ValidationException about a missing field.
func requiredError(field string) *apiError {
	return refuse("ValidationException", "1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", field)
}

// An operation answers one API call.
type operation func(body []byte) (any, error)

// op returns an operation that decodes the request and calls call.
func op[In any](call func(*In) (any, error)) operation {
	return func(body []byte) (any, error) {
		in := new(In)
		if err := json.Unmarshal(body, in); err != nil {
			return nil, refuse("SerializationException", "%s", err)
		}
		return call(in)
	}
}

func (e *Engine) allOperations() map[string]operation {
	return map[string]operation{
		"CreateStateMachine":               op(e.machines.create),
		"UpdateStateMachine":               op(e.machines.update),
		"DescribeStateMachine":             op(e.machines.describe),
		"DescribeStateMachineForExecution": op(e.describeForExecution),
		"ListStateMachines":                op(e.machines.list),
		"DeleteStateMachine":               op(e.deleteStateMachine),
		"ValidateStateMachineDefinition":   op(validateDefinition),
		"StartExecution":                   op(e.startExecution),
		"StopExecution":                    op(e.stopExecution),
		"DescribeExecution":                op(e.describeExecution),
		"ListExecutions":                   op(e.listExecutions),
		"GetExecutionHistory":              op(e.executionHistory),
		"ListTagsForResource":              op(e.machines.listTags),
		"TagResource":                      op(e.machines.tagResource),
		"UntagResource":                    op(e.machines.untagResource),
		"ListStateMachineVersions":         op(e.machines.listVersions),
		"ListStateMachineAliases":          op(e.machines.listAliases),
		"StartSyncExecution":               op(e.machines.startSync),
		"RedriveExecution":                 op(e.redrive),
		"SendTaskSuccess":                  op(e.sendTaskSuccess),
		"SendTaskFailure":                  op(e.sendTaskFailure),
		"SendTaskHeartbeat":                op(e.sendTaskHeartbeat),
	}
}

// ServeHTTP serves the AWS JSON 1.0 protocol of Step Functions on any path.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := newUUID()
	w.Header().Set("X-Amzn-Requestid", request)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	out, err := e.serve(r)
	if err != nil {
		e.serveError(w, request, err)
		return
	}
	body, err := json.Marshal(out)
	if err != nil {
		e.serveError(w, request, err)
		return
	}
	_, _ = w.Write(body)
}

func (e *Engine) serve(r *http.Request) (any, error) {
	if r.Method != http.MethodPost {
		return nil, refuse("UnknownOperationException", "Only POST is supported")
	}
	name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AWSStepFunctions.")
	run := e.operations[name]
	if !ok || run == nil {
		return nil, refuse("UnknownOperationException", "The operation '%s' is not supported by this deployment", name)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		return nil, refuse("SerializationException", "The request body could not be read")
	}
	if len(body) > maxRequest {
		return nil, &apiError{code: "RequestEntityTooLargeException", message: "The request body is too large", status: http.StatusRequestEntityTooLarge}
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	if !e.hold() {
		return nil, errStopping
	}
	defer e.release()
	out, err := run(body)
	if err == nil {
		return out, nil
	}
	if unsettled := e.journal.settle(); unsettled != nil { // err may tell of a transition, such as the end of a task
		return nil, unsettled
	}
	return nil, err
}

func (e *Engine) serveError(w http.ResponseWriter, request string, err error) {
	var known *apiError
	switch {
	case errors.As(err, &known):
	case errors.Is(err, errStopping), errors.Is(err, context.Canceled):
		known = &apiError{code: "ServiceUnavailableException", message: "The engine is not running", status: http.StatusServiceUnavailable}
	case errors.Is(err, disk.ErrUnwritable), errors.Is(err, disk.ErrFailed): // SDKs do not retry these errors; the store logs them
		known = &apiError{code: "InternalServerError", message: "Internal error: the disk takes no writes", status: http.StatusInsufficientStorage}
	default:
		e.log.Error("stepfunctions: request failed", "request", request, "error", err)
		known = &apiError{code: "InternalServerError", message: "Internal error", status: http.StatusInternalServerError}
	}
	body := encodeValue(object{{"__type", known.code}, {"message", known.message}})
	w.Header().Set("X-Amzn-Errortype", known.code)
	w.WriteHeader(known.status)
	_, _ = w.Write(body)
}
