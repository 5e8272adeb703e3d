package machines

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// Functions holds the functions of one case. Each follows a script with one line per call; the last
// line answers all later calls.
type Functions struct {
	Script map[string][]Answer
	// Client is the client with which holders of task tokens answer.
	Client *sfn.Client

	mu    sync.Mutex
	calls []Call
	count map[string]int
	held  sync.WaitGroup
}

// An Answer is one line of a script.
type Answer struct {
	Result  json.RawMessage `json:"result,omitempty"` // absent: the payload itself
	Error   string          `json:"error,omitempty"`  // errorType of the function's error
	Message string          `json:"message,omitempty"`
	Untyped bool            `json:"untyped,omitempty"` // an error without a type
	Payload json.RawMessage `json:"payload,omitempty"` // an error in the form of the runtime
	Fault   string          `json:"fault,omitempty"`   // the code of an error of Lambda itself
	Blob    int             `json:"blob,omitempty"`    // a string of so many bytes
	Sleep   float64         `json:"sleep,omitempty"`   // seconds before the answer
	Version string          `json:"version,omitempty"` // executed version; absent: $LATEST
	// Stubborn calls continue when they are cancelled.
	Stubborn bool `json:"stubborn,omitempty"`
	// Early tokens are used from the call on, others from its answer on.
	Early bool `json:"early,omitempty"`
	// Token lists later steps with the payload's member "token".
	Token []TokenStep `json:"token,omitempty"`
}

// A TokenStep is the next step of the holder of a token.
type TokenStep struct {
	After     float64         `json:"after"` // seconds
	Success   json.RawMessage `json:"success,omitempty"`
	Error     string          `json:"error,omitempty"`
	Cause     string          `json:"cause,omitempty"`
	Heartbeat bool            `json:"heartbeat,omitempty"`
}

// A Reply is the outcome of a call: a result, an error of the function (Failed, with its payload),
// or a fault of the service.
type Reply struct {
	Payload []byte
	Failed  bool
	Version string
	Fault   string
	Message string // of the fault
}

// Call plays the next line of the function's script.
func (f *Functions) Call(ctx context.Context, in Call) (Reply, error) {
	a := f.next(in)
	if a.Stubborn {
		ctx = context.WithoutCancel(ctx)
	}
	if a.Token != nil && a.Early {
		f.entrust(ctx, in.Payload, a.Token)
	}
	if a.Sleep > 0 {
		timer := time.NewTimer(seconds(a.Sleep))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
	}
	if a.Token != nil && !a.Early {
		f.entrust(ctx, in.Payload, a.Token)
	}
	return a.reply(in.Payload), nil
}

// entrust starts the steps of a holder of the payload's token.
func (f *Functions) entrust(ctx context.Context, payload []byte, steps []TokenStep) {
	ctx = context.WithoutCancel(ctx)
	f.held.Add(1)
	go func() {
		defer f.held.Done()
		f.hold(ctx, payload, steps)
	}()
}

// next records the call and returns the line of its answer.
func (f *Functions) next(in Call) Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	in.At = time.Now()
	f.calls = append(f.calls, in)
	if f.count == nil {
		f.count = map[string]int{}
	}
	n := f.count[in.Function]
	f.count[in.Function]++
	return f.line(in.Function, n)
}

// line returns the line for the function's call number n.
func (f *Functions) line(function string, n int) Answer {
	lines := f.Script[function]
	if len(lines) == 0 {
		return Answer{}
	}
	return lines[min(n, len(lines)-1)]
}

func (a *Answer) reply(payload []byte) Reply {
	out := Reply{Payload: payload, Version: a.Version, Fault: a.Fault, Message: a.Message}
	switch {
	case a.Payload != nil:
		out.Payload, out.Failed = a.Payload, true
	case a.Untyped:
		out.Payload, out.Failed = errorPayload(map[string]string{"errorMessage": a.Message}), true
	case a.Error != "":
		out.Payload, out.Failed = errorPayload(map[string]string{"errorMessage": a.Message, "errorType": a.Error}), true
	case a.Blob > 0:
		out.Payload = []byte(`"` + strings.Repeat("x", a.Blob-2) + `"`)
	case a.Result != nil:
		out.Payload = a.Result
	}
	return out
}

func errorPayload(fields map[string]string) []byte {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil // strings can always be encoded
	}
	return text
}

// Resume continues the steps of the tokens of earlier calls, as their holders do while an engine is
// down. Calls without an answer are left out, because they are repeated.
func (f *Functions) Resume(ctx context.Context, earlier []Call) {
	count := map[string]int{}
	for _, call := range earlier {
		a := f.line(call.Function, count[call.Function])
		count[call.Function]++
		at := call.At.Add(seconds(a.Sleep))
		if a.Early {
			at = call.At
		}
		if at.After(time.Now()) {
			continue
		}
		var rest []TokenStep
		for _, s := range a.Token {
			at = at.Add(seconds(s.After))
			if wait := time.Until(at); wait > 0 {
				s.After = wait.Seconds()
				for _, earlier := range rest {
					s.After -= earlier.After
				}
				rest = append(rest, s)
			}
		}
		f.entrust(ctx, call.Payload, rest)
	}
}

// hold does the steps of the holder of the payload's token. Answers that come too late are refused,
// which is ignored.
func (f *Functions) hold(ctx context.Context, payload []byte, steps []TokenStep) {
	var in struct{ Token string }
	_ = json.Unmarshal(payload, &in) // without one, every answer is refused
	for _, s := range steps {
		time.Sleep(seconds(s.After))
		f.mu.Lock()
		client := f.Client
		f.mu.Unlock()
		switch {
		case s.Heartbeat:
			_, _ = client.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &in.Token})
		case s.Success != nil:
			_, _ = client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &in.Token, Output: aws.String(string(s.Success))})
		default:
			_, _ = client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &in.Token, Error: &s.Error, Cause: &s.Cause})
		}
	}
}

// Calls returns the calls so far.
func (f *Functions) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// Use sets the client with which holders of tokens answer from now on.
func (f *Functions) Use(client *sfn.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Client = client
}

// Counts returns the number of calls of each function.
func (f *Functions) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]int{}
	for name, n := range f.count {
		out[name] = n
	}
	return out
}

// GoOn continues the scripts after so many calls of each function.
func (f *Functions) GoOn(counts map[string]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count = map[string]int{}
	for name, n := range counts {
		f.count[name] = n
	}
}

// Wait returns when all steps of tokens are done.
func (f *Functions) Wait() { f.held.Wait() }
