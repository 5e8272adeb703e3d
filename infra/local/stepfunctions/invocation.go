package stepfunctions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
)

// An Invoker calls a function by its ARN. A failure is what the function itself
// reported; err is a fault of whoever runs it. A call whose context ends is
// given up; it may be made again after a restart, with the same payload.
type Invoker interface {
	Invoke(ctx context.Context, functionARN string, payload []byte) (result []byte, failure *FunctionError, err error)
}

// An Invocation is one call of a function, as a task asks for it.
type Invocation struct {
	Function string // ARN, with a qualifier where the task names one
	Payload  []byte
	// Event asks that the function be called later: the answer only says that the
	// call was accepted.
	Event         bool
	ClientContext string // base64; empty for none
}

// A Response is what came back from a call.
type Response struct {
	Payload   []byte
	Status    int    // 200, or 202 for an event
	Version   string // what was executed, such as "$LATEST"; empty when not said
	RequestID string // empty: one is made up
}

// A Caller is an Invoker that takes an invocation whole and says all that came
// back. Engines prefer it.
type Caller interface {
	Call(ctx context.Context, in Invocation) (Response, *FunctionError, error)
}

// Statuses of the Lambda API.
const (
	statusReturned = 200
	statusAccepted = 202
)

// callAny makes the invocation through whichever interface i has. An Invoker
// knows no events: the call goes on by itself, held by hold and release, for as
// long as the engine runs; what it returns is dropped, as AWS drops it.
func (d *dispatcher) callAny(ctx context.Context, in Invocation) (Response, *FunctionError, error) {
	in.Payload = slices.Clone(in.Payload)
	if c, ok := d.eng.invoke.(Caller); ok {
		return c.Call(ctx, in)
	}
	if !in.Event {
		result, failure, err := d.eng.invoke.Invoke(ctx, in.Function, in.Payload)
		return Response{Payload: result, Status: statusReturned}, failure, err
	}
	if !d.eng.hold() {
		return Response{}, nil, errStopping
	}
	go func() {
		defer d.eng.release()
		if _, failure, err := d.invokeSafely(d.eng.ctx, in); failure != nil || err != nil {
			d.eng.log.Warn("stepfunctions: an event was not handled", "function", in.Function, "failure", failure, "error", err)
		}
	}()
	return Response{Status: statusAccepted}, nil, nil
}

func (d *dispatcher) invokeSafely(ctx context.Context, in Invocation) (result []byte, failure *FunctionError, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	return d.eng.invoke.Invoke(ctx, in.Function, in.Payload)
}

// envelope is the result of lambda:invoke around the function's own.
func (r Response) envelope(payload any) object {
	status, version, request := cmp.Or(r.Status, statusReturned), cmp.Or(r.Version, "$LATEST"), r.RequestID
	if request == "" {
		request = newUUID()
	}
	headers := [][2]string{
		{"X-Amz-Executed-Version", version},
		{"x-amzn-Remapped-Content-Length", "0"},
		{"Connection", "keep-alive"},
		{"x-amzn-RequestId", request},
		{"Content-Length", strconv.Itoa(len(r.Payload))},
		{"Content-Type", "application/json"},
	}
	if status == statusAccepted { // nothing was executed yet
		headers = headers[1:]
	}
	all, plain := object{}, object{}
	for _, h := range headers {
		all = append(all, member{h[0], []any{h[1]}})
		plain = append(plain, member{h[0], h[1]})
	}
	out := object{
		{"ExecutedVersion", version},
		{"Payload", payload},
		{"SdkHttpMetadata", object{{"AllHttpHeaders", all}, {"HttpHeaders", plain}, {"HttpStatusCode", number(status)}}},
		{"SdkResponseMetadata", object{{"RequestId", request}}},
		{"StatusCode", number(status)},
	}
	if status == statusAccepted {
		out = out[1:]
	}
	return out
}
