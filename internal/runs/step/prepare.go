package step

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/meaning"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// bound holds the current state of a step's server, operation and rules.
type bound struct {
	server   tool.Server
	op       tool.Operation
	binding  plan.Binding   // with the address that was shown
	siblings []tool.Sibling // operations that a value in the path could select by mistake
	rules    rule.Set
}

// prepared is a call that is ready to be sent: a request, or the call of a tool, in which case
// request holds only the URL.
type prepared struct {
	server  tool.Server
	request tool.Request
	tool    *tool.Call
	args    tool.Arguments
	body    json.RawMessage
	keys    tool.Keys
	op      tool.Operation
	hash    string // plan.RequestHash

	idempotency string        // the Idempotency-Key of a change
	unanswered  bool          // it is that of an unanswered request of an earlier run
	ask         *plan.Ask     // the approval that the step needs
	within      time.Duration // how long it may take

	substitute      *plan.Command // the command that replaces the failed one
	changedByResult bool          // the result of an earlier step changes the command in a way that the plan does not show
}

// preparer makes the calls of a run ready to be sent.
type preparer struct {
	stores   Stores
	schemas  tool.Compiler
	verified *digestCache
	patience time.Duration // Executor.Patience
	now      func() time.Time
}

// prepare checks that the step is unchanged since the confirmation and builds its request, without
// the key. A Failure means that nothing may be sent; an error is internal.
func (p preparer) prepare(ctx context.Context, r plan.Run, step plan.Step, answers *results) (prepared, *plan.Failure, error) {
	b, refused, err := p.bind(ctx, r, step)
	if err != nil || refused != nil {
		return prepared{}, refused, err
	}
	return p.fill(r, step, b, answers)
}

// obstacle is the reason why the call of an effect cannot be made now. The effect ends without it, or the outcome is the
// state that must come first.
type obstacle struct {
	ending  *ending
	outcome Outcome
}

// ready prepares the next call of an effect. The call may be made when there is no obstacle.
func (p preparer) ready(ctx context.Context, r plan.Run, step plan.Step) (prepared, obstacle, error) {
	st := r.State(step.ID)
	answers := p.results(ctx, r, step.ID)
	if e, err := answers.skipped(step); e != nil || err != nil {
		return prepared{}, obstacle{ending: e}, err
	}
	call, refused, err := p.prepare(ctx, r, step, answers)
	if err != nil || refused != nil {
		return call, obstacle{ending: failedEnding(refused)}, err
	}
	waits, refused := call.approvalRequest().gate(r, st, p.now())
	switch {
	case refused != nil:
		e := failedEnding(refused)
		if refused.Code == codeCommandFailed { // the response of the command is the cause
			e.result = st.Result
		}
		return call, obstacle{ending: e}, nil
	case waits:
		return call, obstacle{outcome: OutcomeApproval}, nil
	case attemptOf(r, step, p.now()).canReason():
		return call, obstacle{outcome: OutcomeReason}, nil
	}
	call.within = call.time(p.patience)
	err = p.attachKeys(ctx, r, &call)
	return call, obstacle{}, err
}

// bind reads the server and the operation of a step, and the account's rules.
func (p preparer) bind(ctx context.Context, r plan.Run, step plan.Step) (bound, *plan.Failure, error) {
	if !p.verified.check(r.Plan, r.Digest) {
		return bound{}, failure(r, "step.plan_changed"), nil
	}
	call := r.Bound(step)
	b := bound{binding: call.Binding}
	var unbound error
	var err error
	var reads sync.WaitGroup // both errors are checked: that of the step's service first
	reads.Go(func() { b.server, b.op, unbound = run.Bound(ctx, p.stores.Catalogue, call) })
	reads.Go(func() { b.rules, err = p.stores.Catalogue.Rules.Rules(ctx, r.Account) })
	reads.Wait()
	if unbound != nil {
		if f, ok := refusal(r, unbound); ok {
			return b, f, nil
		}
		return b, nil, unbound
	}
	if err == nil {
		b.siblings, err = siblingsOf(ctx, p.stores.Catalogue.Operations, r.Account, b.server, b.op)
	}
	return b, nil, err
}

// siblingsOf lists the operations of a server that a value in the path of op could select. There
// are none when the path has no parameter.
func siblingsOf(ctx context.Context, of tool.EntryReader, account ids.Account, server tool.Server, op tool.Operation) ([]tool.Sibling, error) {
	if op.Name != "" || !strings.Contains(op.Path, "{") {
		return nil, nil
	}
	entries, err := of.Entries(ctx, account, server)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(entries, func(e tool.Entry) bool { return e.String() == op.String() }) {
		return nil, fmt.Errorf("the catalogue of %s moved while it was read", server.ID)
	}
	return tool.Siblings(entries, op.Entry), nil
}

// fill resolves the step's references and builds its request.
func (p preparer) fill(r plan.Run, step plan.Step, b bound, answers *results) (prepared, *plan.Failure, error) {
	moved := changedTarget(step, answers.lookup)
	args, changed, err := b.resolve(p.schemas, step, answers.lookup)
	switch {
	case answers.err != nil:
		return prepared{}, nil, answers.err
	case moved != nil:
		return prepared{}, unsendable(r, moved), nil
	case err != nil:
		return prepared{}, unsendable(r, err), nil
	}
	other := substitute(r.State(step.ID), args)
	if other != nil {
		args.Body = command.With(args.Body, other.Now)
	}
	call := prepared{server: b.server, op: b.op, args: args, body: args.Body, substitute: other, changedByResult: changed}
	if call.request, err = b.build(p.schemas, step, args); err != nil {
		return call, unsendable(r, err), nil
	}
	if b.op.Name != "" || step.Risk != plan.Read {
		if err := call.identify(r, step); err != nil {
			return call, nil, err
		}
	}
	call.complete(r, step)
	ask, refused := call.checkRules(r, step, b)
	call.ask = ask
	return call, refused, nil
}

// complete adds its hash, its idempotency key and the fields of its run to a built call. The definition of a tool is read again
// at every call: it must have the confirmed fingerprint.
func (call *prepared) complete(r plan.Run, step plan.Step) {
	if call.op.Name != "" {
		call.hash = plan.RequestHash(call.op.Name, call.request.URL, call.body)
		call.tool = &tool.Call{
			Server: call.server, Tool: call.op.Name, Fingerprint: call.op.Fingerprint, Arguments: argumentsOf(call.body),
			Idempotency: call.idempotency, TraceID: r.TraceID, Limit: maxAnswer,
		}
		return
	}
	call.hash = plan.RequestHash(call.request.Method, plan.RequestLine(call.request.URL, call.args.Headers), call.body)
	if key := call.op.KeyForm.Write(call.idempotency); step.Risk != plan.Read && key != "" {
		call.request.Header[tool.KeyHeader] = key
	}
	if r.TraceID != "" {
		call.request.Header["X-Trace-Id"] = r.TraceID
	}
}

// argumentsOf returns the arguments of a tool: an object.
func argumentsOf(body json.RawMessage) json.RawMessage {
	if len(body) == 0 {
		return json.RawMessage("{}")
	}
	return body
}

// checkRules applies the account's rules to a prepared call.
func (call prepared) checkRules(r plan.Run, step plan.Step, b bound) (*plan.Ask, *plan.Failure) {
	args := call.args
	args.Body = call.body
	why := ""
	if r.Plan.StopsToDestroy() {
		why = r.Text(locale.Say("turn.destroys"))
	}
	ask, denied := b.rules.AskFor(step, judged(step, b, args), why)
	if denied != nil {
		return nil, failure(r, "step.denied", "called", step.Called(), "reason", denied.Reason, "rule", denied.ID)
	}
	if ask == nil && step.Ask != nil && !step.Ask.Maybe { // the user who confirmed saw that the step would wait
		ask = step.Ask
	}
	return withReason(ask, call.approvalReason(r)), nil
}

// judged is a call as the rules judge it when its references are resolved.
func judged(step plan.Step, b bound, args tool.Arguments) rule.Call {
	step.Path, step.Query, step.Headers, step.Body = args.Path, args.Query, args.Headers, args.Body
	c := rule.CallOf(step, b.server.Name)
	c.Resolved = true
	return c
}

// attachKeys adds the keys of the server to a call: those that its operation needs.
func (p preparer) attachKeys(ctx context.Context, r plan.Run, call *prepared) error {
	var err error
	call.keys, err = keysFor(ctx, p.stores.Tools, r.Account, call.server, call.op)
	if call.tool != nil {
		call.tool.Keys = call.keys
	}
	return err
}

// keysFor reads the keys that a call of an operation carries, at the positions that the plan was bound to.
func keysFor(ctx context.Context, store tool.KeyReader, account ids.Account, server tool.Server, op tool.Operation) (tool.Keys, error) {
	positions := server.KeysOf(op)
	if len(positions) == 0 {
		return nil, nil
	}
	all, err := store.Keys(ctx, account, server)
	if err != nil {
		return nil, err
	}
	some := all.At(positions)
	if len(some) != len(positions) {
		return nil, fmt.Errorf("the keys of %s moved while they were read", server.ID)
	}
	return some, nil
}

// identify gives a call its idempotency key. The key stays the same for all attempts that could repeat one another: those of the
// effect, and the same unanswered request of an earlier run of the chat. A service that refused a call may answer its key so for
// ever, so that another run's call has another key. A command that reported failure is complete, so the next attempt has another
// key.
func (call *prepared) identify(r plan.Run, step plan.Step) error {
	st := r.State(step.ID)
	_, isCommand := command.Of(call.args)
	switch {
	case isCommand && st.Result != nil && meaning.Of(st.Result.Status, false) == meaning.Done:
		call.idempotency = fmt.Sprintf("%s:%s:%d", r.ID, step.ID, st.Attempts+1)
	case st.Last.Key != "":
		call.idempotency = st.Last.Key
	default:
		request, err := step.Sum(plan.Attempt{URL: call.request.URL, Headers: call.args.Headers, Body: call.body})
		if err != nil {
			return err
		}
		call.idempotency = cmp.Or(r.KeyFor(step.ID, request), r.ID+":"+step.ID.String())
	}
	call.unanswered = r.Carries(call.idempotency)
	return nil
}
