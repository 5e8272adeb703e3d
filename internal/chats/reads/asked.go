package reads

import (
	"cmp"
	"context"
	"encoding/json"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// Asked is a read that the model asks for in one reply.
type Asked struct {
	At     int // its position among the calls of the reply
	Call   plan.Call
	asked  json.RawMessage // the call as it stands in a source
	sum    string
	call   plan.Bound
	server tool.Server
}

// arguments are the arguments of the tool look.
type arguments struct {
	MCPID     string          `json:"mcp_id"`
	Method    string          `json:"method,omitempty"`
	Path      string          `json:"path,omitempty"`
	Query     json.RawMessage `json:"query,omitempty"`
	Headers   json.RawMessage `json:"headers,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"`      // of a tool: its arguments
	Arguments json.RawMessage `json:"arguments,omitempty"` // the same
}

// Keys are the arguments of the tool look.
var Keys = []string{"mcp_id", "method", "path", "query", "headers", "tool", "body", "arguments"}

// check adds arguments that do not belong together to the errors: a tool has arguments, and a path has a query.
func (a arguments) check(wrong []fault.Field) []fault.Field {
	where, why, given := "", "", "arguments"
	if toolcall.Empty(a.Arguments) {
		a.Arguments, given = a.Body, "body"
	}
	switch {
	case a.Tool != "" && (a.Method+a.Path != "" || !toolcall.Empty(a.Query) || !toolcall.Empty(a.Headers)):
		where, why = "tool", "has arguments, and neither method, path, query nor headers"
	case a.Tool != "":
	case !toolcall.Empty(a.Arguments):
		where, why = given, "are those of a tool: give the parameters of a path as its query"
	case a.Path == "":
		where, why = "path", "is required"
	case a.Method != "" && a.Method != "GET" && a.Method != "HEAD":
		where, why = "method", "must be GET or HEAD, because a look only reads"
	}
	if where == "" {
		return wrong
	}
	return append(wrong, fault.Field{Loc: []any{where}, Msg: why, Type: "value_error"})
}

// call returns the call that they ask for. Empty arguments are absent.
func (a arguments) call() plan.Call {
	some := func(value json.RawMessage) json.RawMessage {
		if toolcall.Empty(value) {
			return nil
		}
		return value
	}
	c := plan.Call{MCPID: a.MCPID, Tool: a.Tool, Query: some(a.Query), Headers: some(a.Headers)}
	if a.Tool != "" {
		if c.Body = some(a.Body); c.Body == nil {
			c.Body = some(a.Arguments)
		}
	} else {
		c.Method, c.Path = cmp.Or(a.Method, "GET"), a.Path
	}
	return c
}

// record is a call as it stands in a source: with the arguments of mcp_request, in the order of their names.
type record struct {
	Body    json.RawMessage `json:"body,omitempty"`
	Headers json.RawMessage `json:"headers,omitempty"`
	MCPID   string          `json:"mcp_id"`
	Method  string          `json:"method,omitempty"`
	Path    string          `json:"path,omitempty"`
	Query   json.RawMessage `json:"query,omitempty"`
	Tool    string          `json:"tool,omitempty"`
}

func recordOf(c plan.Call) record {
	return record{Body: c.Body, Headers: c.Headers, MCPID: c.MCPID, Method: c.Method, Path: c.Path, Query: c.Query, Tool: c.Tool}
}

// Again makes a read of an earlier answer once more: its call as it stands in a source. It returns the answer as a model
// reads it. The service's setting and the rules decide as they do for a turn. It returns the errors of a call that is no
// longer to be made, or whose answer is no success.
func (s *Set) Again(ctx context.Context, call json.RawMessage) (seen plan.ReadAnswer, answer string, wrong []fault.Field, err error) {
	var of plan.Call
	if err := json.Unmarshal(call, &of); err != nil {
		return seen, "", nil, err
	}
	bound, wrong, err := s.bind(ctx, of)
	if err != nil || len(wrong) > 0 {
		return seen, "", wrong, err
	}
	seen, err = s.Reader.Read(ctx, bound)
	switch {
	case err != nil:
		return seen, "", nil, err
	case seen.Failed || meaning.Of(seen.Result.Status, false) != meaning.Done:
		return seen, "", []fault.Field{{Msg: "there is no answer"}}, nil
	}
	return seen, readable(seen.Result.Answer(bound.Step.Method)), nil, nil
}

// Parse reads the arguments of a call of the tool look, binds them to an operation and checks them. at is the position
// of the call in its reply.
func (s *Set) Parse(ctx context.Context, at int, raw json.RawMessage) (a Asked, wrong []fault.Field, err error) {
	var in arguments
	if wrong = in.check(toolcall.Decode(raw, &in, Keys, "mcp_id")); len(wrong) > 0 {
		return a, wrong, nil
	}
	a.At, a.Call = at, in.call()
	if a.asked, err = json.Marshal(recordOf(a.Call)); err != nil {
		return a, nil, err
	}
	if a.call, wrong, err = s.bind(ctx, a.Call); err != nil || len(wrong) > 0 {
		return a, wrong, err
	}
	a.server = serverOf(s.Drafter.Listed, a.Call.MCPID)
	a.sum, err = sumOf(a.call.Step)
	return a, nil, err
}

// bind binds a call for the turn.
func (s *Set) bind(ctx context.Context, c plan.Call) (plan.Bound, []fault.Field, error) {
	bound, wrong, err := s.Drafter.Read(ctx, c)
	to := s.For
	to.Step, to.Binding = bound.Step, bound.Binding
	to.Key += ":" + to.Step.ID.String()
	return to, wrong, err
}
