package call

import (
	"encoding/json"
	"errors"
	"fmt"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// The operations: the methods of files.All.
const (
	opUse     = "use"
	opTree    = "tree"
	opShow    = "show"
	opWithout = "without"
	opRebase  = "rebase"
	opApply   = "apply"
	opUndo    = "undo"
	opClear   = "clear"
)

// request is the event of a call.
type request struct {
	Op      string         `json:"op"`
	Place   files.Place    `json:"place"`
	Set     string         `json:"set,omitempty"`
	Calls   []toolCall     `json:"calls,omitempty"`
	Options files.Options  `json:"options,omitzero"`
	Names   []string       `json:"names,omitempty"`
	Done    []overlay.Done `json:"done,omitempty"`
}

// toolCall is a files.Call. The arguments of a model are a text here, because they may be no JSON.
type toolCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func callsOf(list []toolCall) []files.Call {
	out := make([]files.Call, len(list))
	for i, c := range list {
		out[i] = files.Call{Name: c.Name, Arguments: json.RawMessage(c.Arguments)}
	}
	return out
}

func toolCalls(list []files.Call) []toolCall {
	out := make([]toolCall, len(list))
	for i, c := range list {
		out[i] = toolCall{c.Name, string(c.Arguments)}
	}
	return out
}

// rebased is the result of Rebase.
type rebased struct {
	Set   files.Set `json:"set"`
	Moved []string  `json:"moved,omitempty"`
}

// response is the answer of a call: a result, and a fault if there was one. The changes that Apply made before it are a
// result; the versions removed to make room stand beside it.
type response struct {
	Result json.RawMessage `json:"result,omitempty"`
	Gone   []files.Gone    `json:"gone,omitempty"`
	Fault  *failure        `json:"fault,omitempty"`
}

// failure is a fault. Cause is its text, for the log of the caller.
type failure struct {
	Kind  fault.Kind          `json:"kind"`
	Code  string              `json:"code"`
	Args  map[string]string   `json:"args,omitempty"`
	Inner map[string]*failure `json:"inner,omitempty"`
	Cause string              `json:"cause,omitempty"`
}

// maxCause is the longest text of a cause, in bytes.
const maxCause = 1024

func failureOf(f *fault.Error) *failure {
	out := &failure{Kind: f.Kind, Code: f.Code, Args: f.Args}
	for name, inner := range f.Inner {
		if out.Inner == nil {
			out.Inner = map[string]*failure{}
		}
		out.Inner[name] = failureOf(inner)
	}
	if f.Cause != nil {
		text := f.Cause.Error()
		out.Cause = text[:min(len(text), maxCause)]
	}
	return out
}

func (f *failure) fault() *fault.Error {
	out := &fault.Error{Kind: f.Kind, Code: f.Code, Args: f.Args}
	for name, inner := range f.Inner {
		out = out.WithFault(name, inner.fault())
	}
	if f.Cause != "" {
		out.Cause = errors.New(f.Cause)
	}
	return out
}

// encode returns the JSON of a value without the escapes for HTML, because a diff would be much longer with them.
func encode(v any) ([]byte, error) {
	text, err := jcs.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("call: %w", err)
	}
	return text, nil
}
