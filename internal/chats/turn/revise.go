package turn

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/setup"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Edit is a person's change of a draft, with all the steps of the new plan. Digest is that of
// the plan on the person's screen. An empty Goal keeps the goal. An absent title keeps the title
// of a step that stays.
type Edit struct {
	Principal auth.Principal
	RunID     string
	Digest    plan.Digest
	Goal      string
	Steps     []plan.ProposedStep
	Locale    locale.Tag
	TraceID   string
}

// Revise replaces a draft's plan, with the same checks as for a proposal. An edit that changes
// nothing leaves the draft as it is.
//
// It returns plan.ErrInvalid, with Fields at ["body", "steps", …], for an invalid plan;
// plan.ErrStale when Digest is not the draft's; plan.ErrExpired, plan.ErrNotPending,
// plan.ErrAlreadyRunning or plan.ErrRunNotFound when there is no draft. An error leaves the
// draft unchanged.
func (s *Service) Revise(ctx context.Context, e Edit) (plan.Run, error) {
	account := e.Principal.Account
	r, err := s.Plans.Run(ctx, account, e.RunID)
	if err != nil {
		return plan.Run{}, err
	}
	if err := checkEditable(r, e.Digest, s.Now()); err != nil {
		return plan.Run{}, err
	}
	began := s.Now()
	d := s.drafter(account, e.Locale)
	set, err := s.Setups.Setup(ctx, setup.Of{Account: account, ProjectID: r.ProjectID})
	if err != nil {
		return plan.Run{}, err
	}
	d.Rules = set.Rules
	if d.Listed, err = s.loadCatalogue(ctx, account, set); err != nil {
		return plan.Run{}, err
	}
	next, changed, wrong, err := d.Edit(ctx, r, plan.Proposal{Goal: e.Goal, Steps: e.Steps})
	switch {
	case err != nil:
		return plan.Run{}, err
	case len(wrong) > 0:
		return plan.Run{}, plan.ErrInvalid.At(proposal.Under("body", wrong)...)
	case !changed:
		return r, nil
	}
	edit := Request{Principal: e.Principal, Locale: e.Locale}
	c := change{before: r, next: next, provenance: provenance{asked: edit, data: map[string]any{"trace_id": e.TraceID}, viewer: edit.Viewer()}}
	reply, err := s.applyChange(ctx, c, began.Add(previewTime))
	if errors.Is(err, plan.ErrInvalid) {
		return plan.Run{}, plan.ErrInvalid.At(proposal.Under("body", fault.Of(err).Fields)...)
	}
	if err != nil {
		return plan.Run{}, err
	}
	return *reply.Run, nil
}

// checkEditable returns the reason why a run is not a draft that can be changed with the digest
// that was seen, or nil.
func checkEditable(r plan.Run, seen plan.Digest, at time.Time) error {
	switch {
	case r.StatusAt(at) == plan.Expired:
		return plan.ErrExpired
	case r.Status == plan.Superseded:
		return plan.ErrStale
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.Status != plan.Draft:
		return plan.ErrNotPending
	case r.Digest != seen:
		return plan.ErrStale
	}
	return nil
}

// change is a new plan for a draft, ready to be stored.
type change struct {
	provenance
	before plan.Run
	next   plan.Plan

	digest  plan.Digest   // of the next plan
	dropped *plan.Dropped // steps of the draft before that the next plan leaves out
}

// applyChange adds the known facts to the new plan and stores it, while the draft has the digest that was seen and its
// chat waits for it.
func (s *Service) applyChange(ctx context.Context, c change, until time.Time) (reply Reply, err error) {
	draft := c.before
	draft.Plan, draft.ReadFrom = c.next, union(c.before.ReadFrom, c.readFrom)
	if err := c.seal(ctx, s, &draft, until); err != nil {
		return Reply{}, err
	}
	c.next, c.digest = draft.Plan, draft.Digest
	if c.dropped, err = stillDropped(ctx, s.Plans, c.before, c.next); err != nil {
		return Reply{}, err
	}
	err = retry.Do(ctx, func() (err error) {
		reply, err = c.store(ctx, s)
		return err
	})
	return reply, err
}

// store reads the draft and its chat, and stores the new plan. Another attempt, whose response was lost, may have stored it.
func (c change) store(ctx context.Context, s *Service) (Reply, error) {
	r, err := s.Plans.Run(ctx, c.before.Account, c.before.ID)
	if err != nil {
		return Reply{}, err
	}
	chat, err := s.Chats.Chat(ctx, r.Account, r.ChatID)
	if errors.Is(err, conversation.ErrChatNotFound) {
		return Reply{}, plan.ErrNotPending
	}
	if err != nil {
		return Reply{}, err
	}
	at := s.Now()
	if r.Digest == c.digest && r.Status == plan.Draft {
		card := run.Message(s.IDs, r, conversation.KindPlan, at, c.asked.Locale, c.text())
		return c.reply([]conversation.Message{card}, chat, r), nil
	}
	if err := checkEditable(r, c.before.Digest, at); err != nil {
		return Reply{}, err
	}
	if chat.PendingRunID != r.ID {
		return Reply{}, plan.ErrStale
	}
	shown := r
	shown.Plan, shown.Digest = c.next, c.digest
	messages, err := c.messages(ctx, s.IDs, shown, at, c.text())
	if err != nil {
		return Reply{}, err
	}
	var replaced []conversation.Message
	if c.asked.anew != nil {
		replaced = c.asked.anew.answers
		if err := s.thread().stillStand(ctx, r.Account, r.ChatID, replaced); err != nil {
			return Reply{}, err
		}
	}
	rev := plan.Revision{Plan: c.next, Digest: c.digest, By: c.asked.Principal.User, For: c.asked.speaksFor, At: at, Taken: c.next.TakenFrom(c.answers, c.said, r.Taken)}
	if c.by != nil {
		rev.Model = c.by.Model
	}
	r.Dropped = c.dropped
	r.ReadFrom, r.Besides = union(r.ReadFrom, c.readFrom), union(r.Besides, c.askers)
	next, err := s.Plans.Revise(ctx, r, chat, rev, run.Record{
		At: at, Type: plan.EventRevised, Data: c.eventData(), Messages: messages, Replaced: replaced, Shown: shown.Sighted(c.viewer, at),
	})
	if err != nil {
		return Reply{}, err
	}
	chat.UpdatedAt = at
	return c.reply(messages, chat, next), nil
}

// stillDropped returns the steps of the replaced draft that a draft's new plan leaves out; the stored ones, when the
// replaced draft is gone.
func stillDropped(ctx context.Context, store plan.BareReader, r plan.Run, next plan.Plan) (*plan.Dropped, error) {
	if r.Dropped == nil {
		return nil, nil
	}
	old, err := store.Bare(ctx, r.Account, r.Dropped.RunID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return r.Dropped, nil
	}
	return plan.DroppedFor(&old, next), err
}

// eventData returns the data of the revision's event.
func (c change) eventData() map[string]any {
	data := maps.Clone(c.data)
	data["digest"], data["before"], data["revision"], data["by"] = c.digest, c.before.Digest, c.next.Revision, c.asked.Principal.User
	data["changes"] = boundedChanges(c.changes())
	return data
}

// revise changes the pending draft as the model proposed.
func (l *loop) revise(ctx context.Context, p plan.Proposal, s *step) ([]fault.Field, error) {
	next, changed, wrong, err := l.drafter().Revise(ctx, *l.pending, p)
	switch {
	case err != nil:
		return []fault.Field{{Msg: l.unread(ctx, err)}}, nil
	case len(wrong) > 0:
		return wrong, nil
	case !changed:
		return []fault.Field{{Type: "unchanged", Msg: "the plan already is so: change it, or answer the person in text"}}, nil
	}
	c := change{provenance: l.provenance(), before: *l.pending, next: next}
	if s.reply, err = l.service.applyChange(ctx, c, l.began.Add(l.service.modelTime())); err == nil {
		l.service.settle(ctx, l.calls, l.count, s.reply, nil)
	}
	return nil, err
}

// draftBytes bounds a draft in the prompt that the model may change.
const draftBytes = 32 << 10

// editableDraft returns the chat's draft when it can still be changed and fits into the prompt
// whole; nil otherwise.
func (l *loop) editableDraft() *plan.Run {
	at := slices.IndexFunc(l.past.Runs, func(r plan.Run) bool { return r.ID == l.chat.PendingRunID })
	if at < 0 || !l.terms.revises || checkEditable(l.past.Runs[at], l.past.Runs[at].Digest, l.service.Now()) != nil {
		return nil
	}
	if raw, err := json.Marshal(l.past.Runs[at].Plan.Steps); err != nil || len(raw) > draftBytes {
		return nil
	}
	return &l.past.Runs[at]
}
