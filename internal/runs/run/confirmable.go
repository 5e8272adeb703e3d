package run

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// confirmable checks whether a run may be confirmed.
type confirmable struct {
	runs      Runs
	catalogue Catalogue
	chat      conversation.Chat
	now       time.Time
}

// check returns the reason why a run may not be confirmed, or nil.
func (c confirmable) check(ctx context.Context, r plan.Run, digest plan.Digest) error {
	switch {
	case r.StatusAt(c.now) == plan.Expired:
		return plan.ErrExpired
	case r.Status == plan.Superseded:
		return staleError(fault.Reason("run.changed_superseded"))
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.Status != plan.Draft:
		return plan.ErrNotPending
	case digest != r.Digest:
		return c.wrongDigest(ctx, r, digest)
	case c.chat.ID == "":
		return staleError(fault.Reason("run.changed_deleted"))
	}
	if err := c.checkChatFree(ctx, r); err != nil {
		return err
	}
	if now, err := r.Plan.Digest(); err != nil || now != digest {
		return staleError(fault.Reason("step.plan_changed"))
	}
	return checkBindings(ctx, c.catalogue, r)
}

// checkChatFree refuses the confirmation when the chat has another active run, unless that run
// waits for an approval.
func (c confirmable) checkChatFree(ctx context.Context, r plan.Run) error {
	if c.chat.ActiveRunID == "" {
		return nil
	}
	active, err := c.runs.Bare(ctx, r.Account, c.chat.ActiveRunID)
	switch {
	case err != nil:
		return err
	case active.Status == plan.Waiting:
		return nil
	case active.Status.Terminal(): // it ended after the chat was read
		return fault.ErrMoved
	}
	return plan.OtherRunning("other", active).With("goal", r.Plan.Goal)
}

// wrongDigest returns the error for a digest that is not the draft's. Its reason is whether the digest belongs to an earlier
// revision.
func (c confirmable) wrongDigest(ctx context.Context, r plan.Run, digest plan.Digest) error {
	revisions, err := c.runs.Revisions(ctx, r)
	if err != nil {
		return err
	}
	was := slices.ContainsFunc(revisions, func(rev plan.Revision) bool { return rev.Digest == digest })
	if !was {
		return plan.ErrStale
	}
	return staleError(fault.Reason("run.changed_edited").With("revision", strconv.Itoa(r.Plan.Revision)))
}

// staleError returns the error for a plan that is not the one that the user saw, with the reason.
func staleError(why *fault.Error) error { return plan.ErrStale.WithFault("changed", why) }

// unboundError returns the error for a plan that is unchanged but whose servers, tools or rules are
// not.
func unboundError(why *fault.Error) error {
	return plan.ErrStale.With("case", "bound").WithFault("changed", why)
}

// checkBindings checks that the servers and tools of all calls that will run are the ones that the
// user saw, and that no rule of the account denies a call. Otherwise it returns plan.ErrStale with
// the change.
func checkBindings(ctx context.Context, catalogue Catalogue, r plan.Run) error {
	rules, err := catalogue.Rules.Rules(ctx, r.Account)
	if err != nil {
		return err
	}
	now := catalogue.snapshot()
	for _, step := range r.Plan.Steps {
		if r.State(step.ID).Reused != "" { // it is not called again
			continue
		}
		for _, call := range callsOf(r.Plan, step) {
			server, _, err := Bound(ctx, now, r.Bound(call))
			if err != nil {
				var f *fault.Error
				if errors.As(err, &f) && f.Kind != fault.Internal && f.Kind != fault.Unavailable {
					b, _ := r.Plan.Binding(call.ID)
					return unboundError(fault.Reason("run.changed_bound").With("server", b.ServerName).WithFault("why", f))
				}
				return err
			}
			if v := rules.Judge(rule.CallOf(call, server.Name)); v.Effect == rule.Deny {
				why := fault.Reason("run.changed_denied").With("called", call.Called()).With("reason", v.Rule.Reason).With("rule", v.Rule.ID)
				return &deniedError{unboundError(why), v.Rule, call}
			}
		}
	}
	return nil
}

// callsOf returns all calls of a step: its own, its undo's and its check's.
func callsOf(p plan.Plan, step plan.Step) []plan.Step {
	list := []plan.Step{step}
	if undo, ok := p.Step(plan.UndoOf(step.ID)); ok {
		list = append(list, undo)
	}
	if check, ok := p.CheckOf(step.ID); ok {
		list = append(list, check)
	}
	return list
}
