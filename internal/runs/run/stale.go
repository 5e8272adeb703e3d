package run

import (
	"context"
	"errors"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// confirmable says why a run may not be confirmed, or nil.
func (s *Service) confirmable(ctx context.Context, r plan.Run, chat conversation.Chat, c Confirmation) error {
	switch {
	case r.Status == plan.Expired:
		return plan.ErrExpired
	case r.Status == plan.Superseded:
		return stale(c.Locale, "run.changed_superseded")
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.Status != plan.Draft:
		return plan.ErrNotPending
	case !s.Now().Before(r.Plan.ExpiresAt):
		return plan.ErrExpired
	case c.Digest != r.Digest:
		return s.edited(ctx, r, c)
	case chat.ActiveRunID == r.ID: // the run was read before somebody confirmed it, and the chat after
		return plan.ErrMoved
	case chat.PendingRunID != r.ID:
		return stale(c.Locale, "run.changed_superseded")
	}
	if err := s.placeFree(ctx, chat, r); err != nil {
		return err
	}
	if digest, err := r.Plan.Digest(); err != nil || digest != r.Digest {
		return plan.ErrStale.With("changed", locale.Text(c.Locale, "step.plan_changed"))
	}
	return s.holds(ctx, r, c.Locale)
}

// placeFree refuses a run whose chat is occupied: by any other that runs, but not by
// one that waits for somebody's approval.
func (s *Service) placeFree(ctx context.Context, chat conversation.Chat, r plan.Run) error {
	if chat.ActiveRunID == "" {
		return nil
	}
	active, err := s.Store.Run(ctx, r.Account, chat.ActiveRunID)
	switch {
	case err != nil:
		return err
	case active.Status == plan.Waiting:
		return nil
	case active.Status.Terminal(): // it ended after the chat was read
		return plan.ErrMoved
	}
	return plan.OtherRunning("other", active).With("goal", r.Plan.Goal)
}

// edited says of a digest that is not the draft's whether it was: of the plan before
// an edit.
func (s *Service) edited(ctx context.Context, r plan.Run, c Confirmation) error {
	revisions, err := s.Store.Revisions(ctx, r)
	if err != nil {
		return err
	}
	was := slices.ContainsFunc(revisions, func(rev plan.Revision) bool { return rev.Digest == c.Digest })
	if !was {
		return plan.ErrStale
	}
	return stale(c.Locale, "run.changed_edited", "revision", count(r.Plan.Revision))
}

func stale(tag locale.Tag, key string, pairs ...string) error {
	return plan.ErrStale.With("changed", locale.Text(tag, key, pairs...))
}

// unbound says that the plan is as it was shown, and what it needs is not.
func unbound(why string) error { return plan.ErrStale.With("case", "bound").With("changed", why) }

// holds reports whether everything that the plan calls still is as it was shown: the
// servers and tools of what is to run, and that no rule of the account denies it. The
// error is plan.ErrStale and says what changed.
func (s *Service) holds(ctx context.Context, r plan.Run, tag locale.Tag) error {
	rules, err := s.Catalogue.Rules(ctx, r.Account)
	if err != nil {
		return err
	}
	now := newSnapshot(s.Catalogue)
	for _, step := range r.Plan.Steps {
		if r.State(step.ID).Reused != "" { // it is not called
			continue
		}
		for _, call := range calls(r.Plan, step) {
			server, _, err := Bound(ctx, now, r, call)
			if err != nil {
				var f *fault.Error
				if errors.As(err, &f) && f.Kind != fault.Internal && f.Kind != fault.Unavailable {
					b, _ := r.Plan.Binding(call.ID)
					return unbound(locale.Text(tag, "run.changed_bound", "server", b.ServerName, "why", locale.Fill(tag, f.Code, f.Args)))
				}
				return err
			}
			if v := rules.Judge(rule.CallOf(call, server.Name)); v.Effect == rule.Deny {
				return unbound(locale.Text(tag, "run.changed_denied", "called", call.Called(), "reason", v.Rule.Reason))
			}
		}
	}
	return nil
}

// calls are the calls that a step may make: its own, its undo's and its check's.
func calls(p plan.Plan, step plan.Step) []plan.Step {
	list := []plan.Step{step}
	if undo, ok := p.Step(plan.UndoOf(step.ID)); ok {
		list = append(list, undo)
	}
	if check, ok := p.CheckOf(step.ID); ok {
		list = append(list, check)
	}
	return list
}
