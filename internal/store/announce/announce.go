// Package announce owns that open clients hear of commits: its Chats and Runs are the stores of
// those names, and tell a realtime.Notifier about each commit that succeeded. A commit never
// waits for a client, and never fails because of one.
package announce

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/runs"
)

// Chats is the store of chats, announced.
type Chats struct {
	*chats.Store
	Notifier realtime.Notifier
}

// messages announces messages that a commit added to a chat.
func (c Chats) messages(ctx context.Context, account, chatID string, list []conversation.Message, err error) error {
	if err == nil {
		c.Notifier.Notify(ctx, account, realtime.Said(chatID, list...)...)
		failpoint.Verb("push", "Chats", "after")
	}
	return err
}

// AddMessages implements turn.Store.
func (c Chats) AddMessages(ctx context.Context, account, chatID, title string, at time.Time, list ...conversation.Message) error {
	added, err := c.AddNewMessages(ctx, account, chatID, title, at, list...)
	if !added {
		return err
	}
	return c.messages(ctx, account, chatID, list, err)
}

// EndAnswer implements turn.Store.
func (c Chats) EndAnswer(ctx context.Context, a conversation.Answering, at time.Time, last ...conversation.Message) error {
	err := c.Store.EndAnswer(ctx, a, at, last...)
	if len(last) == 0 {
		return err
	}
	return c.messages(ctx, a.Account, a.ChatID, last, err)
}

// Show implements turn.Store.
func (c Chats) Show(ctx context.Context, draft plan.Run, s plan.Sight, list ...conversation.Message) error {
	return c.messages(ctx, draft.Account, draft.ChatID, list, c.Store.Show(ctx, draft, s, list...))
}

// Runs is the store of runs, announced.
type Runs struct {
	*runs.Store
	Notifier realtime.Notifier
}

// run announces a transition: the messages that it added to the run's chat, when it had one,
// then its event.
func (r Runs) run(ctx context.Context, next plan.Run, inChat bool, rec run.Record, err error, before ...realtime.Event) (plan.Run, error) {
	if err != nil {
		return next, err
	}
	events := before
	if inChat {
		events = append(events, realtime.Said(next.ChatID, rec.Messages...)...)
	}
	r.Notifier.Notify(ctx, next.Account, append(events, eventOf(next))...)
	failpoint.Verb("push", "Runs", "after")
	return next, nil
}

func eventOf(next plan.Run) realtime.Event {
	return realtime.Run(next.ChatID, next.ID, next.Status, next.Event)
}

// Propose implements turn.Store.
func (r Runs) Propose(ctx context.Context, draft plan.Run, chat conversation.Chat, old *plan.Run, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Propose(ctx, draft, chat, old, rec)
	if err != nil || old == nil {
		return r.run(ctx, next, true, rec, err)
	}
	gone, err := runs.Superseded(*old, draft.ID, rec.At)
	if err != nil {
		return next, err
	}
	return r.run(ctx, next, true, rec, nil, eventOf(gone))
}

// Revise implements turn.Store.
func (r Runs) Revise(ctx context.Context, draft plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Revise(ctx, draft, chat, rev, rec)
	return r.run(ctx, next, true, rec, err)
}

// Confirm implements run.Store.
func (r Runs) Confirm(ctx context.Context, draft plan.Run, chat conversation.Chat, by, user string, due time.Time, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Confirm(ctx, draft, chat, by, user, due, rec)
	return r.run(ctx, next, true, rec, err)
}

// Discard implements run.Store.
func (r Runs) Discard(ctx context.Context, draft plan.Run, chat conversation.Chat, to plan.Status, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Discard(ctx, draft, chat, to, rec)
	return r.run(ctx, next, chat.ID != "", rec, err)
}

// Start implements run.Store.
func (r Runs) Start(ctx context.Context, queued plan.Run, due time.Time, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Start(ctx, queued, due, rec)
	return r.run(ctx, next, true, rec, err)
}

// RequestCancel implements run.Store.
func (r Runs) RequestCancel(ctx context.Context, active plan.Run, due time.Time, rec run.Record) (plan.Run, error) {
	next, err := r.Store.RequestCancel(ctx, active, due, rec)
	return r.run(ctx, next, true, rec, err)
}

// Finish implements run.Store.
func (r Runs) Finish(ctx context.Context, active plan.Run, chat conversation.Chat, to plan.Status, closed []plan.StepState, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Finish(ctx, active, chat, to, closed, rec)
	return r.run(ctx, next, chat.ID != "", rec, err)
}

// AskApproval implements step.Store.
func (r Runs) AskApproval(ctx context.Context, active plan.Run, st plan.StepState, due time.Time, rec run.Record) (plan.Run, error) {
	next, err := r.Store.AskApproval(ctx, active, st, due, rec)
	return r.run(ctx, next, true, rec, err)
}

// Decide implements run.Store.
func (r Runs) Decide(ctx context.Context, waiting plan.Run, st plan.StepState, to plan.Status, due time.Time, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Decide(ctx, waiting, st, to, due, rec)
	return r.run(ctx, next, true, rec, err)
}

// ResolveStep implements run.Store.
func (r Runs) ResolveStep(ctx context.Context, ended plan.Run, st *plan.StepState, rec run.Record) (plan.Run, error) {
	next, err := r.Store.ResolveStep(ctx, ended, st, rec)
	return r.run(ctx, next, true, rec, err)
}

// BeginUndo implements run.Store.
func (r Runs) BeginUndo(ctx context.Context, ended plan.Run, rec run.Record) (plan.Run, error) {
	next, err := r.Store.BeginUndo(ctx, ended, rec)
	return r.run(ctx, next, true, rec, err)
}

// BeginStep implements step.Store.
func (r Runs) BeginStep(ctx context.Context, active plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	next, err := r.Store.BeginStep(ctx, active, st, rec)
	return r.run(ctx, next, true, rec, err)
}

// EndStep implements step.Store.
func (r Runs) EndStep(ctx context.Context, active plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	next, err := r.Store.EndStep(ctx, active, st, rec)
	return r.run(ctx, next, true, rec, err)
}
