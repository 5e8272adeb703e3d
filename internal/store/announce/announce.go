// Package announce notifies open clients of commits: its Chats, Runs and Jobs wrap the stores of those names, and call a
// realtime.Notifier after each commit that succeeded. A commit never waits for a client, and never fails because of one.
package announce

import (
	"context"
	"slices"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/jobs"
	"piloto/internal/store/runs"
)

// Chats is the store of chats, announced.
type Chats struct {
	*chats.Store
	Notifier realtime.Notifier
}

// say announces messages that a commit added to a chat.
func say(ctx context.Context, c Chats, key conversation.Key, list []conversation.Message, err error) error {
	if err == nil {
		c.Notifier.Notify(ctx, key.Account, realtime.Said(key.ChatID, list...)...)
		failpoint.Verb("push", "Chats", "after")
	}
	return err
}

// changed announces that something of a chat changed which is no message.
func changed(ctx context.Context, c Chats, key conversation.Key, err error) error {
	if err == nil {
		c.Notifier.Notify(ctx, key.Account, realtime.Changed(key.ChatID))
		failpoint.Verb("push", "Chats", "after")
	}
	return err
}

// CreateChat implements httpapi.Chats.
func (c Chats) CreateChat(ctx context.Context, account ids.Account, chat conversation.Chat) error {
	return changed(ctx, c, chat.Key(account), c.Store.CreateChat(ctx, account, chat))
}

// UpdateChat implements httpapi.Chats.
func (c Chats) UpdateChat(ctx context.Context, key conversation.Key, change conversation.ChatChange, at time.Time) (conversation.Chat, error) {
	chat, err := c.Store.UpdateChat(ctx, key, change, at)
	return chat, changed(ctx, c, key, err)
}

// DeleteChat implements httpapi.Chats.
func (c Chats) DeleteChat(ctx context.Context, key conversation.Key) error {
	return changed(ctx, c, key, c.Store.DeleteChat(ctx, key))
}

// Branch implements conversation.Brancher.
func (c Chats) Branch(ctx context.Context, account ids.Account, b conversation.Branch) (conversation.Chat, error) {
	chat, err := c.Store.Branch(ctx, account, b)
	return chat, changed(ctx, c, chat.Key(account), err)
}

// Rate implements conversation.Rater.
func (c Chats) Rate(ctx context.Context, key conversation.Key, messageID string, f *conversation.Feedback) (conversation.Message, error) {
	m, err := c.Store.Rate(ctx, key, messageID, f)
	return m, changed(ctx, c, key, err)
}

// AddMessages implements turn.Chats.
func (c Chats) AddMessages(ctx context.Context, key conversation.Key, title string, at time.Time, list ...conversation.Message) error {
	added, err := c.AddNewMessages(ctx, key, title, at, list...)
	if !added {
		return err
	}
	return say(ctx, c, key, list, err)
}

// AddNotified implements turn.Chats.
func (c Chats) AddNotified(ctx context.Context, key conversation.Key, title string, at time.Time, m conversation.Message, what hook.Message) error {
	added, err := c.Store.AddNotified(ctx, key, title, at, m, what)
	if !added {
		return err
	}
	return say(ctx, c, key, []conversation.Message{m}, err)
}

// Say implements turn.Chats.
func (c Chats) Say(ctx context.Context, key conversation.Key, m conversation.Message) error {
	return say(ctx, c, key, []conversation.Message{m}, c.Store.Say(ctx, key, m))
}

// Replace implements turn.Chats.
func (c Chats) Replace(ctx context.Context, key conversation.Key, at time.Time, replaced []conversation.Message, list ...conversation.Message) error {
	return say(ctx, c, key, withReplaced(replaced, list), c.Store.Replace(ctx, key, at, replaced, list...))
}

// withReplaced returns the messages for clients: the messages that the last new one supersedes, then the new ones.
func withReplaced(replaced, list []conversation.Message) []conversation.Message {
	replaced = slices.Clone(replaced)
	for i := range replaced {
		replaced[i].ReplacedBy = list[len(list)-1].ID
	}
	return append(replaced, list...)
}

// EndAnswer implements turn.Answers.
func (c Chats) EndAnswer(ctx context.Context, a conversation.Answering, at time.Time, last ...conversation.Message) error {
	err := c.Store.EndAnswer(ctx, a, at, last...)
	if len(last) == 0 {
		return err
	}
	return say(ctx, c, a.Key, last, err)
}

// Show implements turn.Drafts.
func (c Chats) Show(ctx context.Context, draft plan.Run, s plan.Sight, list ...conversation.Message) error {
	return say(ctx, c, conversation.Key{Account: draft.Account, ChatID: draft.ChatID}, list, c.Store.Show(ctx, draft, s, list...))
}

// DropAgent implements turn.Chats.
func (c Chats) DropAgent(ctx context.Context, key conversation.Key, name string, at time.Time, m conversation.Message) error {
	return say(ctx, c, key, []conversation.Message{m}, c.Store.DropAgent(ctx, key, name, at, m))
}

// Runs is the store of runs, announced.
type Runs struct {
	*runs.Store
	Notifier realtime.Notifier
	Jobs     JobWaker // nil: the sweep alone resumes the jobs that wait for a run
}

// JobWaker resumes the job that waits for a run, when the run ended.
type JobWaker interface {
	RunEnded(ctx context.Context, r plan.Run)
}

// wake resumes the job that waits for a run which ended.
func (r Runs) wake(ctx context.Context, ended plan.Run) {
	if r.Jobs != nil && ended.JobID != "" && ended.Status.Terminal() {
		r.Jobs.RunEnded(ctx, ended)
	}
}

// run announces a transition: the messages that it added to the run's chat, when it had one,
// then its event.
func (r Runs) run(ctx context.Context, next plan.Run, inChat bool, rec run.Record, err error, before ...realtime.Event) (plan.Run, error) {
	if err != nil {
		return next, err
	}
	events := before
	if inChat {
		events = append(events, realtime.Said(next.ChatID, withReplaced(rec.Replaced, rec.Messages)...)...)
	}
	for _, e := range next.Events {
		events = append(events, realtime.Run(next, e))
	}
	r.Notifier.Notify(ctx, next.Account, events...)
	failpoint.Verb("push", "Runs", "after")
	r.wake(ctx, next)
	return next, nil
}

// Propose implements turn.Plans.
func (r Runs) Propose(ctx context.Context, draft plan.Run, chat conversation.Chat, old *plan.Run, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Propose(ctx, draft, chat, old, rec)
	if err != nil || old == nil {
		return r.run(ctx, next, true, rec, err)
	}
	gone, err := runs.Superseded(*old, draft.ID, rec.At)
	if err != nil {
		return next, err
	}
	r.wake(ctx, gone)
	return r.run(ctx, next, true, rec, nil, realtime.Run(gone, gone.Events[0]))
}

// Revise implements turn.Plans.
func (r Runs) Revise(ctx context.Context, draft plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Revise(ctx, draft, chat, rev, rec)
	return r.run(ctx, next, true, rec, err)
}

// Retake implements turn.Plans.
func (r Runs) Retake(ctx context.Context, draft plan.Run, taken []plan.Taken, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Retake(ctx, draft, taken, rec)
	return r.run(ctx, next, false, rec, err)
}

// Confirm implements run.Runs.
func (r Runs) Confirm(ctx context.Context, draft plan.Run, chat conversation.Chat, by, user string, due time.Time, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Confirm(ctx, draft, chat, by, user, due, rec)
	return r.run(ctx, next, true, rec, err)
}

// Discard implements run.Runs.
func (r Runs) Discard(ctx context.Context, draft plan.Run, chat conversation.Chat, to plan.Status, rec run.Record) (plan.Run, error) {
	next, err := r.Store.Discard(ctx, draft, chat, to, rec)
	return r.run(ctx, next, chat.ID != "", rec, err)
}

// EndConclusion implements run.Concluder.
func (r Runs) EndConclusion(ctx context.Context, c run.Conclusion, chat conversation.Key, outcome string, at time.Time, said ...conversation.Message) error {
	err := r.Store.EndConclusion(ctx, c, chat, outcome, at, said...)
	if err == nil && len(said) > 0 {
		r.Notifier.Notify(ctx, c.Account, realtime.Said(chat.ChatID, said...)...)
		failpoint.Verb("push", "Runs", "after")
	}
	return err
}

// RequestCancel implements run.Runs.
func (r Runs) RequestCancel(ctx context.Context, active plan.Run, due time.Time, rec run.Record) (plan.Run, error) {
	next, err := r.Store.RequestCancel(ctx, active, due, rec)
	return r.run(ctx, next, true, rec, err)
}

// BeginUndo implements run.Runs.
func (r Runs) BeginUndo(ctx context.Context, ended plan.Run, rec run.Record) (plan.Run, error) {
	next, err := r.Store.BeginUndo(ctx, ended, rec)
	return r.run(ctx, next, true, rec, err)
}

// MoveEffect implements run.EffectMover. Its event has no number yet: clients hear that the run moved, and get the event
// when it has its number.
func (r Runs) MoveEffect(ctx context.Context, active plan.Run, m run.Move) (plan.Run, error) {
	next, err := r.Store.MoveEffect(ctx, active, m)
	if err != nil {
		return next, err
	}
	r.Notifier.Notify(ctx, next.Account, realtime.Moved(next))
	failpoint.Verb("push", "Runs", "after")
	return next, nil
}

// MoveRun implements run.Mover.
func (r Runs) MoveRun(ctx context.Context, active plan.Run, moves ...run.Move) (plan.Run, error) {
	next, err := r.Store.MoveRun(ctx, active, moves...)
	var all run.Record
	inChat := true
	for _, m := range moves {
		all.Messages = append(all.Messages, m.Messages...)
		inChat = inChat && (m.End == nil || m.End.Chat.ID != "")
	}
	return r.run(ctx, next, inChat, all, err)
}

// Jobs is the store of jobs, announced.
type Jobs struct {
	*jobs.Store
	Notifier realtime.Notifier
}

// job announces a job that has new events.
func (s Jobs) job(ctx context.Context, j job.Job, events []job.Event, err error) (job.Job, error) {
	if err == nil && len(events) > 0 {
		s.Notifier.Notify(ctx, j.Account, realtime.Job{ChatID: j.ChatID, ID: j.ID, Status: string(j.Status), Rounds: j.Rounds}.Event())
	}
	return j, err
}

// CreateJob implements job.Store.
func (s Jobs) CreateJob(ctx context.Context, j job.Job, events ...job.Event) (job.Job, error) {
	j, err := s.Store.CreateJob(ctx, j, events...)
	return s.job(ctx, j, events, err)
}

// SaveJob implements job.Store.
func (s Jobs) SaveJob(ctx context.Context, j job.Job, rounds []job.Round, events ...job.Event) (job.Job, error) {
	j, err := s.Store.SaveJob(ctx, j, rounds, events...)
	return s.job(ctx, j, events, err)
}
