package step

import (
	"errors"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// A call is made in two parts: its references are resolved, and its request is built. Steps, elements, undos, checks and reads
// are made so, and so are the calls of a plan that is proposed, as far as their values are known.

// The faults of a call that is not as it was shown. The locale files hold their sentences under the same codes.
var (
	// errNotAsShown means that a request would go to another address than the plan shows: with the value of a reference a part of
	// it would be missing, or be called otherwise.
	errNotAsShown = fault.New(fault.Conflict, "step.not_as_shown")
	errRises      = fault.Reason("step.command_rises") // with a value its command destroys
	errWoven      = fault.Reason("step.command_woven") // a value changes its command, and no person can be asked
)

// resolve replaces the references of a call by their values, in the form that is sent. changed reports that a result changes its
// command in a way that the plan does not show. The error says why the call cannot be sent.
func (b bound) resolve(schemas tool.Compiler, step plan.Step, lookup ref.Lookup) (args tool.Arguments, changed bool, err error) {
	if args, err = resolve(step, b.op.Path, lookup); err != nil {
		return args, false, err
	}
	args.Body = b.op.WithoutAbsent(schemas, args.Body, false)
	if escalates(step, args) {
		return args, false, errRises
	}
	changed, err = changedByResult(step, args, lookup)
	if err == nil && changed && (step.ID.Undo() || step.ID.Check()) { // no person could approve it
		err = errWoven
	}
	return args, changed, err
}

// build builds the request of a call whose references are resolved; that of a tool has its URL alone. The path must match the
// template of the bound operation, no receiver may take it for the path of another operation, and the address must be the one
// that the plan shows.
func (b bound) build(schemas tool.Compiler, step plan.Step, args tool.Arguments) (tool.Request, error) {
	if b.op.Name != "" {
		return tool.Request{Origin: b.server.BaseURL, URL: b.server.BaseURL}, tool.Misfit(b.op.CheckResolved(schemas, tool.Arguments{Body: args.Body}))
	}
	if err := b.checkAddress(step, args); err != nil {
		return tool.Request{}, err
	}
	if err := tool.Misfit(b.op.CheckResolved(schemas, args)); err != nil {
		return tool.Request{}, err
	}
	request, err := tool.Build(b.server, b.op, args)
	if err == nil && request.Header == nil {
		request.Header = map[string]string{}
	}
	return request, err
}

// checkAddress checks the path and the query of a call whose references are resolved.
func (b bound) checkAddress(step plan.Step, args tool.Arguments) error {
	if err := tool.Selects(b.op.Entry, b.siblings, step.Path, args.Path); err != nil {
		return err
	}
	to, err := tool.URL(b.server, b.op, args)
	if err == nil && !b.binding.LeadsTo(step, to) {
		err = errNotAsShown.With("url", to).With("shown", b.binding.URL(step))
	}
	return err
}

// unsendable returns the failure of a step whose request was not made.
func unsendable(r plan.Run, err error) *plan.Failure {
	f := fault.Of(err)
	switch {
	case errors.Is(err, ref.ErrUnresolved):
		return failure(r, "step.reference", "detail", locale.OfFault(f))
	case errors.Is(err, ref.ErrForm), errors.Is(err, ref.ErrTooLarge), f.Kind == fault.Internal: // a malformed reference has no fault
		return r.Failure("step.reference", locale.Say("step.reference_form", "detail", locale.OfFault(whyNot(err))))
	case errors.Is(err, tool.ErrRequest), errors.Is(err, tool.ErrArguments):
		return failure(r, "step.arguments", "detail", locale.OfFault(whyNot(err)))
	}
	return r.Failure(f.Code, locale.OfFault(f))
}

// whyNot returns the reason why a request was not made, as a sentence for a person.
func whyNot(err error) *fault.Error {
	f := fault.Of(err)
	if len(f.Fields) > 0 {
		why := tool.ReasonOf(f.Fields[len(f.Fields)-1])
		for i := len(f.Fields) - 2; i >= 0; i-- {
			why = tool.Because("problem.and", "first", tool.ReasonOf(f.Fields[i]), "rest", why)
		}
		return why
	}
	switch {
	case f.Kind == fault.Internal:
		return tool.Because("ref.malformed")
	case !errors.Is(err, tool.ErrRequest):
		return f
	case locale.Exists("problem.request." + f.Args["reason"]):
		return tool.Because("problem.request.is", "what", fault.Reason("problem.request."+f.Args["reason"]))
	}
	return tool.Because("problem.request.is", "what", tool.Because("problem.request.other"))
}
