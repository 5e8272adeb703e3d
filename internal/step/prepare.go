package step

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"piloto/internal/fault"
	"piloto/internal/plan"
	"piloto/internal/ref"
	"piloto/internal/run"
	"piloto/internal/tool"
)

// prepared is a call ready to be made, with what is shown of it: a request, or
// (then request only says where it goes) the call of a tool.
type prepared struct {
	server  tool.Server
	request tool.Request
	tool    *tool.Call
	body    json.RawMessage
	key     *tool.Credential
}

// prepare checks that the step still is what was confirmed and builds its
// request. A failure is why nothing may be sent; an error is ours.
func (x *Executor) prepare(ctx context.Context, r plan.Run, step plan.Step) (prepared, *plan.Failure, error) {
	if !x.intact.check(r.Plan, r.Digest) {
		return prepared{}, x.failure(r, "step.plan_changed"), nil
	}
	server, op, err := run.Bound(ctx, x.Store, r, step)
	if err != nil {
		if f, ok := x.refusal(r, err); ok {
			return prepared{}, f, nil
		}
		return prepared{}, nil, err
	}
	args, err := resolve(r, step)
	if err != nil {
		return prepared{}, x.failure(r, "step.reference", "detail", err.Error()), nil
	}
	call := prepared{server: server, body: args.Body}
	if server.Key != nil {
		key, err := x.Store.Credential(ctx, r.Account, server)
		if err != nil {
			return prepared{}, nil, err
		}
		call.key = &key
	}
	if op.Name != "" {
		return x.prepareTool(r, step, op, call)
	}
	request, refused := x.build(r, server, op, args)
	if refused != nil {
		return prepared{}, refused, nil
	}
	request.Header["Idempotency-Key"] = effect(r, step)
	if r.TraceID != "" {
		request.Header["X-Trace-Id"] = r.TraceID
	}
	if step.Risk == plan.Read {
		delete(request.Header, "Idempotency-Key")
	}
	call.request = request
	return call, nil, nil
}

// effect names what a step does, the same at every attempt.
func effect(r plan.Run, step plan.Step) string { return r.ID + ":" + step.ID }

// prepareTool makes the call of a tool. What the server's tool is now is asked
// anew at every call: it must be the one that was confirmed.
func (x *Executor) prepareTool(r plan.Run, step plan.Step, op tool.Operation, call prepared) (prepared, *plan.Failure, error) {
	if problems := op.CheckResolved(tool.Arguments{Body: call.body}); len(problems) > 0 {
		return prepared{}, x.failure(r, "step.arguments", "detail", sentence(problems)), nil
	}
	arguments := call.body
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	call.tool = &tool.Call{
		Server: call.server, Tool: op.Name, Fingerprint: op.Fingerprint, Arguments: arguments, Key: call.key,
		Idempotency: effect(r, step), TraceID: r.TraceID, Limit: maxAnswer,
	}
	call.request = tool.Request{Origin: call.server.BaseURL, URL: call.server.BaseURL}
	return call, nil, nil
}

func (x *Executor) build(r plan.Run, server tool.Server, op tool.Operation, args tool.Arguments) (tool.Request, *plan.Failure) {
	invalid := func(detail string) (tool.Request, *plan.Failure) {
		return tool.Request{}, x.failure(r, "step.arguments", "detail", detail)
	}
	// The resolved path must still be the very tool that was confirmed.
	if _, _, err := tool.Match([]tool.Entry{op.Entry}, args.Method, args.Path); err != nil {
		return invalid(told(err))
	}
	if problems := op.CheckResolved(args); len(problems) > 0 {
		return invalid(sentence(problems))
	}
	request, err := tool.Build(server, op, args)
	if err != nil {
		return invalid(told(err))
	}
	if request.Header == nil {
		request.Header = map[string]string{}
	}
	return request, nil
}

// resolve replaces the references of a step by what they name. In the path a
// value is one part of one segment: it is escaped, so it can add none.
func resolve(r plan.Run, step plan.Step) (tool.Arguments, error) {
	look := func(id string) (ref.Result, bool) {
		st := r.State(id)
		if st.Status != plan.StepDone || st.Result == nil {
			return ref.Result{}, false
		}
		body := st.Result.Body
		if st.Result.Truncated {
			body = nil
		}
		return ref.Result{Status: st.Result.Status, Headers: st.Result.Headers, Body: body}, true
	}
	path, err := ref.ResolveText(step.Path, look, url.PathEscape)
	if err != nil {
		return tool.Arguments{}, err
	}
	query, err := ref.ResolveJSON(step.Query, look)
	if err != nil {
		return tool.Arguments{}, err
	}
	body, err := ref.ResolveJSON(step.Body, look)
	return tool.Arguments{Method: step.Method, Path: path, Query: query, Body: body}, err
}

// detail finds the sentence in an error answer that a person can use: what a tool
// says, the detail, message or error of a JSON object, or the first line of a text.
func detail(body json.RawMessage) string {
	const most = 300
	var object map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &object) == nil {
		if text = spoken(object["content"]); text == "" {
			text = explained(object)
		}
	} else if json.Unmarshal(body, &text) != nil {
		return ""
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(text, "<") { // a page, not a sentence
		return ""
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// explained is the member of an error that explains it.
func explained(object map[string]json.RawMessage) string {
	for _, name := range []string{"detail", "message", "error_description", "error", "title"} {
		var text string
		if json.Unmarshal(object[name], &text) == nil && text != "" {
			return text
		}
		var nested struct{ Message string }
		if json.Unmarshal(object[name], &nested) == nil && nested.Message != "" {
			return nested.Message
		}
	}
	return ""
}

// spoken is the first text among the content of a tool's result.
func spoken(content json.RawMessage) string {
	var blocks []struct{ Type, Text string }
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		if b.Type == "text" && b.Text != "" {
			return b.Text
		}
	}
	return ""
}

// storable turns an answer into a result: JSON as it is, anything else as a
// JSON string. Either is UTF-8, since it becomes part of JSON that clients read:
// json.Valid lets any byte stand in a string.
func storable(a tool.Answer) *plan.Result {
	res := &plan.Result{Status: a.Status, Headers: a.Headers, Bytes: a.Bytes, Truncated: a.Truncated}
	body := bytes.ToValidUTF8(bytes.TrimSpace(a.Body), []byte("\uFFFD"))
	switch {
	case len(body) == 0:
	case !a.Truncated && json.Valid(body):
		var compact bytes.Buffer
		if err := json.Compact(&compact, body); err == nil {
			res.Body = compact.Bytes()
		}
	default:
		res.Body, _ = json.Marshal(strings.ToValidUTF8(string(a.Body), "\uFFFD"))
	}
	return res
}

// told says why a request was not built, for a person.
func told(err error) string {
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		return err.Error()
	case len(f.Fields) > 0:
		lines := make([]string, len(f.Fields))
		for i, field := range f.Fields {
			lines[i] = field.Msg
		}
		return strings.Join(lines, "; ")
	case f.Args["path"] != "":
		return f.Args["method"] + " " + f.Args["path"] + " is not the operation that was confirmed"
	case f.Args["reason"] != "":
		return f.Args["reason"]
	}
	return f.Code
}

func sentence(problems []tool.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}
