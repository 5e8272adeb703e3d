package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// bound is what a step may call as things stand now.
type bound struct {
	server   tool.Server
	op       tool.Operation
	siblings []tool.Sibling // that a value in its path could select in its place
	rules    rule.Set
}

// prepared is a call ready to be made, with what is shown of it: a request, or
// (then request only says where it goes) the call of a tool.
type prepared struct {
	server  tool.Server
	request tool.Request
	tool    *tool.Call
	args    tool.Arguments
	body    json.RawMessage
	key     *tool.Credential
	hash    string    // plan.RequestHash
	ask     *plan.Ask // what the step must be approved for

	substitute *plan.Command // the command that takes the place of the one that failed
	woven      bool          // an answer is part of the command in a way that the plan does not show
}

// prepare checks that the step still is what was confirmed and builds its
// request, but for its key. A failure is why nothing may be sent; an error is ours.
func (x *Executor) prepare(ctx context.Context, r plan.Run, step plan.Step, look *results) (prepared, *plan.Failure, error) {
	b, refused, err := x.bind(ctx, r, step)
	if err != nil || refused != nil {
		return prepared{}, refused, err
	}
	return x.fill(r, step, b, look)
}

// bind looks at what the step calls, and at the account's rules, as they are now.
func (x *Executor) bind(ctx context.Context, r plan.Run, step plan.Step) (bound, *plan.Failure, error) {
	if !x.intact.check(r.Plan, r.Digest) {
		return bound{}, x.failure(r, "step.plan_changed"), nil
	}
	var b bound
	var unbound error
	err := parallel.Do(
		func() error { b.server, b.op, unbound = run.Bound(ctx, x.Store, r, step); return nil },
		func() (err error) { b.rules, err = x.Store.Rules(ctx, r.Account); return },
	)
	if unbound != nil {
		if f, ok := x.refusal(r, unbound); ok {
			return b, f, nil
		}
		return b, nil, unbound
	}
	if err == nil {
		b.siblings, err = siblingsOf(ctx, x.Store, r.Account, b.server, b.op)
	}
	return b, nil, err
}

// siblingsOf lists the operations of a server that a value in the path of this one could
// select. There are none when the path has no parameter.
func siblingsOf(ctx context.Context, c run.Catalogue, account string, server tool.Server, op tool.Operation) ([]tool.Sibling, error) {
	if op.Name != "" || !strings.Contains(op.Path, "{") {
		return nil, nil
	}
	entries, err := c.Entries(ctx, account, server)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(entries, func(e tool.Entry) bool { return e.String() == op.String() }) {
		return nil, fmt.Errorf("the catalogue of %s moved while it was read", server.ID)
	}
	return tool.Siblings(entries, op.Entry), nil
}

// fill resolves the step's references and builds its request.
func (x *Executor) fill(r plan.Run, step plan.Step, b bound, look *results) (prepared, *plan.Failure, error) {
	moved := x.moved(r, step, look.look)
	args, err := resolve(step, b.op.Path, look.look)
	switch {
	case look.err != nil:
		return prepared{}, nil, look.err
	case moved != nil:
		return prepared{}, moved, nil
	case errors.Is(err, tool.ErrRequest):
		return prepared{}, x.failure(r, "step.arguments", "detail", told(err)), nil
	case err != nil:
		return prepared{}, x.failure(r, "step.reference", "detail", err.Error()), nil
	case rises(step, args):
		return prepared{}, x.failure(r, "step.command_rises"), nil
	}
	woven, err := wovenBy(step, args, look.look)
	switch {
	case err != nil:
		return prepared{}, x.failure(r, "step.reference", "detail", err.Error()), nil
	case woven && plan.ParseEffect(step.ID).Undo: // nobody could be asked
		return prepared{}, x.failure(r, "step.command_woven"), nil
	}
	other := substitute(r.State(step.ID), args)
	if other != nil {
		args.Body = command.With(args.Body, other.Now)
	}
	call := prepared{server: b.server, args: args, body: args.Body, substitute: other, woven: woven}
	var refused *plan.Failure
	if b.op.Name != "" {
		refused = x.fillTool(r, step, b.op, &call)
	} else if call.request, refused = x.build(r, step, b, args); refused == nil {
		call.hash = plan.RequestHash(call.request.Method, call.request.URL, call.body)
		if step.Risk != plan.Read {
			call.request.Header["Idempotency-Key"] = effect(r, step, args)
		}
		if r.TraceID != "" {
			call.request.Header["X-Trace-Id"] = r.TraceID
		}
	}
	if refused == nil {
		call.ask, refused = x.ruled(r, step, b, call)
	}
	return call, refused, nil
}

// ruled asks the account's rules about a call that is ready.
func (x *Executor) ruled(r plan.Run, step plan.Step, b bound, call prepared) (*plan.Ask, *plan.Failure) {
	c := rule.CallOf(step, b.server.Name)
	c.Path, c.Query, c.Body, c.Resolved = call.args.Path, call.args.Query, call.body, true
	ask, denied := b.rules.AskFor(step, r.Plan, c, locale.Text(locale.Tag(r.Locale), "turn.destroys"))
	if denied != nil {
		return nil, x.failure(r, "step.denied", "called", step.Called(), "reason", denied.Reason)
	}
	if ask == nil && step.Ask != nil && !step.Ask.Maybe { // who confirmed was told that it would wait
		ask = step.Ask
	}
	return seen(ask, x.asksFor(r, call)), nil
}

// keyed gives a call the key of its server.
func (x *Executor) keyed(ctx context.Context, r plan.Run, call *prepared) error {
	if call.server.Key == nil {
		return nil
	}
	key, err := x.Store.Credential(ctx, r.Account, call.server)
	if err != nil {
		return err
	}
	call.key = &key
	if call.tool != nil {
		call.tool.Key = &key
	}
	return nil
}

// effect names what a step does, the same at every attempt whose outcome another
// could repeat. A command that answered that it failed is over, and the next one is
// another effect.
func effect(r plan.Run, step plan.Step, args tool.Arguments) string {
	name := r.ID + ":" + step.ID
	if _, is := command.Of(args.Method, args.Path, args.Body); is {
		if n := r.State(step.ID).Attempts; n > 0 {
			return fmt.Sprintf("%s:%d", name, n+1)
		}
	}
	return name
}

// fillTool makes the call of a tool. What the server's tool is now is asked
// anew at every call: it must be the one that was confirmed.
func (x *Executor) fillTool(r plan.Run, step plan.Step, op tool.Operation, call *prepared) *plan.Failure {
	if problems := op.CheckResolved(x.Schemas, tool.Arguments{Body: call.body}); len(problems) > 0 {
		return x.failure(r, "step.arguments", "detail", sentence(problems))
	}
	arguments := call.body
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	call.tool = &tool.Call{
		Server: call.server, Tool: op.Name, Fingerprint: op.Fingerprint, Arguments: arguments,
		Idempotency: effect(r, step, call.args), TraceID: r.TraceID, Limit: maxAnswer,
	}
	call.request = tool.Request{Origin: call.server.BaseURL, URL: call.server.BaseURL}
	call.hash = plan.RequestHash(op.Name, call.request.URL, call.body)
	return nil
}

func (x *Executor) build(r plan.Run, step plan.Step, b bound, args tool.Arguments) (tool.Request, *plan.Failure) {
	request, err := b.build(x.Schemas, step, args)
	if err != nil {
		return request, x.failure(r, "step.arguments", "detail", told(err))
	}
	return request, nil
}

// build makes the request of a call after its references are resolved. The path must match the
// template of the bound tool, and no receiver may take it for another operation's.
func (b bound) build(schemas tool.Compiler, step plan.Step, args tool.Arguments) (tool.Request, error) {
	if _, _, err := tool.Match([]tool.Entry{b.op.Entry}, args.Method, args.Path); err != nil {
		return tool.Request{}, err
	}
	if err := tool.Selects(b.op.Entry, b.siblings, step.Path, args.Path); err != nil {
		return tool.Request{}, err
	}
	if problems := b.op.CheckResolved(schemas, args); len(problems) > 0 {
		return tool.Request{}, errors.New(sentence(problems))
	}
	request, err := tool.Build(b.server, b.op, args)
	if err == nil && request.Header == nil {
		request.Header = map[string]string{}
	}
	return request, err
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
