package step

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// Limits of a read without a confirmation.
const (
	mostRead = 256 << 10 // bytes of an answer

	// ReadTime is the time that a read may take.
	ReadTime = 10 * time.Second
)

// Reader calls operations that change nothing, without a confirmation. A read is bound, matched, checked, built and
// judged by the account's rules as any step is.
type Reader struct {
	Stores  Stores
	Schemas tool.Compiler // checks the arguments
	Sender  Sender
	Caller  tool.Caller // nil: tools with names are not read
	Now     func() time.Time
	Log     *slog.Logger
}

// The reasons why a read was not made.
var (
	errNotRead = errors.New("it is not to be read without a confirmation")
	errAsks    = errors.Join(errNotRead, plan.ErrReadAsks)
)

// Read makes the read of a turn. It takes at most 10 seconds and reads at most 256 KB.
// plan.ErrReadAsks means that it is to be proposed instead. An answer with any status is a result.
func (x Reader) Read(ctx context.Context, call plan.Bound) (plan.ReadAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, ReadTime)
	defer cancel()
	var b bound
	var rules rule.Set
	var reads errgroup.Group // at once, because they are most of what a read adds to its request
	reads.Go(func() (err error) { rules, err = x.Stores.Catalogue.Rules.Rules(ctx, call.Account); return err })
	reads.Go(func() (err error) { b, err = x.target(ctx, call); return err })
	var seen plan.ReadAnswer
	err := reads.Wait()
	if err == nil {
		b.rules = rules
		none := func(string) (ref.Result, bool) { return ref.Result{}, false }
		seen, err = x.makeRead(ctx, call, b, none, func(server tool.Server, op tool.Operation) bool { return server.MayRead(op.Entry) })
	}
	x.Log.InfoContext(ctx, "step.looked", "mcp_id", call.Step.MCPID, "request_hash", seen.Hash, "status", seen.Status(), "error", err)
	return seen, err
}

// target returns the server and the operation of a read, if its binding still holds.
func (x Reader) target(ctx context.Context, call plan.Bound) (b bound, err error) {
	b.binding = call.Binding
	if b.server, b.op, err = run.Bound(ctx, x.Stores.Catalogue, call); err != nil {
		err = errors.Join(errNotRead, err)
	}
	return b, err
}

// makeRead sends one read, if its server allows it. An error that is errNotRead says that nothing was sent.
func (x Reader) makeRead(ctx context.Context, call plan.Bound, b bound, lookup ref.Lookup, allows func(tool.Server, tool.Operation) bool) (plan.ReadAnswer, error) {
	s := call.Step
	var err error
	if !allows(b.server, b.op) {
		return plan.ReadAnswer{}, errAsks
	}
	if b.siblings, err = siblingsOf(ctx, x.Stores.Catalogue.Operations, call.Account, b.server, b.op); err != nil {
		return plan.ReadAnswer{}, errors.Join(errNotRead, err)
	}
	args, _, err := b.resolve(x.Schemas, s, lookup)
	if err != nil {
		return plan.ReadAnswer{}, errors.Join(errNotRead, err)
	}
	switch v := b.rules.Judge(judged(s, b, args)); v.Effect {
	case rule.Deny:
		return plan.ReadAnswer{}, errors.Join(errNotRead, &plan.ReadDenied{Rule: v.Rule.ID, Reason: v.Rule.Reason})
	case rule.Ask:
		return plan.ReadAnswer{}, errAsks
	}
	keys, err := keysFor(ctx, x.Stores.Tools, call.Account, b.server, b.op)
	if err != nil {
		return plan.ReadAnswer{}, errors.Join(errNotRead, err)
	}
	request, err := b.build(x.Schemas, s, args)
	switch {
	case err != nil:
		return plan.ReadAnswer{}, errors.Join(errNotRead, err)
	case b.op.Name != "":
		return x.callTool(ctx, call, b, args, keys)
	}
	return x.send(ctx, call, request, args, keys)
}

func (x Reader) send(ctx context.Context, call plan.Bound, request tool.Request, args tool.Arguments, keys tool.Keys) (plan.ReadAnswer, error) {
	if call.TraceID != "" {
		request.Header["X-Trace-Id"] = call.TraceID
	}
	seen := plan.ReadAnswer{URL: request.URL, Hash: plan.RequestHash(request.Method, plan.RequestLine(request.URL, args.Headers), nil)}
	answer, err := x.Sender.Send(ctx, request, keys, mostRead)
	if err == nil {
		seen.Result = resultOf(answer)
	}
	return seen, err
}

func (x Reader) callTool(ctx context.Context, call plan.Bound, b bound, args tool.Arguments, keys tool.Keys) (plan.ReadAnswer, error) {
	if x.Caller == nil {
		return plan.ReadAnswer{}, errAsks
	}
	seen := plan.ReadAnswer{URL: b.server.BaseURL, Hash: plan.RequestHash(b.op.Name, b.server.BaseURL, args.Body)}
	answer, err := x.Caller.CallTool(ctx, tool.Call{
		Server: b.server, Tool: b.op.Name, Fingerprint: b.op.Fingerprint, Arguments: argumentsOf(args.Body), Keys: keys,
		Idempotency: call.Key, TraceID: call.TraceID, Limit: mostRead,
	})
	if errors.Is(err, tool.ErrToolChanged) { // as in a step: nothing calls it until a person approves it
		err = errors.Join(err, x.Stores.Tools.FreezeTool(context.WithoutCancel(ctx), call.Account, b.server.ID, b.server.Catalogue, b.op.Name, x.Now()))
	}
	if err == nil {
		seen.Result = resultOf(answer)
		seen.Failed = answer.Failed
	}
	return seen, err
}
