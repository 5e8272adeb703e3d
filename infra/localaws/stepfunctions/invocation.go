package stepfunctions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
)

// An Invoker calls a function by its ARN. A FunctionError is a failure that the function reported;
// err is a fault of the service. A call ends when its context ends; the engine may repeat it after
// a restart, with the same payload.
type Invoker interface {
	Invoke(ctx context.Context, functionARN string, payload []byte) (result []byte, failure *FunctionError, err error)
}

// An Invocation is one call of a function, as a task asks for it.
type Invocation struct {
	Function string // ARN, with a qualifier where the task names one
	Payload  []byte
	Manner
}

// Manner is how a function is called. The zero value waits for its result.
type Manner struct {
	Type          string // "", typeEvent: called later, or typeDryRun: not at all
	LogType       string // "Tail" asks for the end of the log
	ClientContext string // base64
}

// Types of calls beside RequestResponse.
const (
	typeEvent  = "Event"
	typeDryRun = "DryRun"
)

func knownInvocation(v any) bool { return v == "RequestResponse" || v == typeEvent || v == typeDryRun }

// mannerOf reads the manner of the call from the parameters of lambda:invoke.
func mannerOf(params object) (m Manner, f *failure) {
	for name, to := range map[string]*string{"InvocationType": &m.Type, "LogType": &m.LogType, "ClientContext": &m.ClientContext} {
		v, ok := params.get(name)
		if !ok {
			continue
		}
		s, ok := v.(string)
		if !ok || name == "InvocationType" && !knownInvocation(v) {
			return m, runtimeFailure("The field '%s' has the value %s, which is not supported", name, encodeValue(v))
		}
		*to = s
	}
	if m.Type == "RequestResponse" {
		m.Type = ""
	}
	return m, nil
}

// A Response is the response to a call.
type Response struct {
	Payload   []byte
	Status    int    // 200; 202 for an event, 204 for a dry run
	Version   string // executed version, such as "$LATEST"; empty when unknown
	RequestID string // empty: one is generated
	LogResult string // the end of the log, base64; empty when not requested
}

// A Caller is an Invoker that takes a complete invocation and returns the complete response.
// Engines prefer it.
type Caller interface {
	Call(ctx context.Context, in Invocation) (Response, *FunctionError, error)
}

// Statuses of the Lambda API.
const (
	statusReturned = 200
	statusAccepted = 202
	statusDry      = 204
)

// callAny makes the invocation through whichever interface i has. An Invoker has no calls of the
// type Event: the engine makes such a call in a goroutine of its own, which Close waits for (hold
// and release), and drops the result as AWS does.
func (d *dispatcher) callAny(ctx context.Context, in Invocation) (Response, *FunctionError, error) {
	in.Payload = slices.Clone(in.Payload)
	if c, ok := d.eng.invoke.(Caller); ok {
		return c.Call(ctx, in)
	}
	switch in.Type {
	case typeDryRun:
		return Response{Status: statusDry}, nil, nil
	case "":
		result, failure, err := d.eng.invoke.Invoke(ctx, in.Function, in.Payload)
		return Response{Payload: result, Status: statusReturned}, failure, err
	}
	if !d.eng.inBackground(func() {
		if _, failure, err := d.invokeSafely(d.eng.ctx, in); failure != nil || err != nil {
			d.eng.log.Warn("stepfunctions: an event was not handled", "function", in.Function, "failure", failure, "error", err)
		}
	}) {
		return Response{}, nil, errStopping
	}
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
	status, version, request := cmp.Or(r.Status, statusReturned), r.Version, r.RequestID
	if version == "" && status == statusReturned {
		version = "$LATEST"
	}
	if request == "" {
		request = newUUID()
	}
	headers := [][2]string{
		{"X-Amz-Log-Result", r.LogResult},
		{"X-Amz-Executed-Version", version},
		{"x-amzn-Remapped-Content-Length", "0"},
		{"Connection", "keep-alive"},
		{"x-amzn-RequestId", request},
		{"Content-Length", strconv.Itoa(len(r.Payload))},
		{"Content-Type", "application/json"},
	}
	all, plain := object{}, object{}
	for _, h := range headers {
		if h[1] != "" {
			all = append(all, member{h[0], []any{h[1]}})
			plain = append(plain, member{h[0], h[1]})
		}
	}
	out := object{}
	if version != "" {
		out = append(out, member{"ExecutedVersion", version})
	}
	if r.LogResult != "" {
		out = append(out, member{"LogResult", r.LogResult})
	}
	return append(out, object{
		{"Payload", payload},
		{"SdkHttpMetadata", object{{"AllHttpHeaders", all}, {"HttpHeaders", plain}, {"HttpStatusCode", number(status)}}},
		{"SdkResponseMetadata", object{{"RequestId", request}}},
		{"StatusCode", number(status)},
	}...)
}
