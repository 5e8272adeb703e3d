package turn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// All that a model says is kept and shown. Its words are data: what it claims is compared with
// the record of the chat's runs. When the record does not agree, a note under the text says
// so.

// keep adds a text of the model to what this turn will store.
func (d *dialog) keep(text string) {
	text = strings.TrimSpace(text)
	if text == "" || slices.Contains(d.words, text) {
		return
	}
	d.words = append(d.words, text)
	if d.writing != nil {
		d.writing.keep(text)
	}
}

// spelled is all that the model said in this turn, and its last words.
func (d *dialog) spelled(last string) string {
	words := slices.Clone(d.words)
	if last = strings.TrimSpace(last); last != "" && !slices.Contains(words, last) {
		words = append(words, last)
	}
	return strings.Join(words, "\n\n")
}

// giveUp answers with a notice of ours, after what the model said.
func (d *dialog) giveUp(ctx context.Context, notice string) (Reply, error) {
	if said := d.spelled(""); said != "" {
		notice = shortened(said) + "\n\n" + notice
	}
	return d.say(ctx, conversation.KindNotice, notice)
}

// beside are the words that the model said beside the call that proposes a run. That a
// plan waits is so by then; that something was done has to be in the record.
func (d *dialog) beside(ctx context.Context, r plan.Run, at time.Time) ([]conversation.Message, error) {
	text := d.spelled("")
	if text == "" {
		return nil, nil
	}
	pose := intent.Poses(text)
	notes, err := d.noted(ctx, intent.Pose{Done: pose.Done})
	if err != nil {
		return nil, err
	}
	m := run.Message(d.IDs, r, conversation.KindText, at, shortened(text))
	m.By, m.Notes = d.by(), notes
	return []conversation.Message{m}, nil
}

// pretends reports a text for which the model is asked again, with a tool call forced. There
// is a service to call, and the text poses as a plan while no draft waits, or claims an act in
// a chat in which nothing was ever done.
func (d *dialog) pretends(text string) bool {
	if len(d.listed) == 0 {
		return false
	}
	pose := intent.Poses(text)
	return pose.Pending && d.chat.PendingRunID == "" || pose.Done && !slices.ContainsFunc(d.runs, acted)
}

// acted reports a run that did something, or is doing it.
func acted(r plan.Run) bool {
	return r.Status == plan.Queued || r.Status == plan.Running || didSince(r, time.Time{})
}

// didSince reports a run that did a step since a time.
func didSince(r plan.Run, since time.Time) bool {
	return slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		return st.Status == plan.StepDone && st.Reused == "" && !st.UpdatedAt.Before(since)
	})
}

// notes are the lines that stand under a text of the model, by the record as it is now.
func (d *dialog) notes(ctx context.Context, text string) ([]conversation.Note, error) {
	return d.noted(ctx, intent.Poses(text))
}

// noted are the lines that stand under a text that poses so.
func (d *dialog) noted(ctx context.Context, pose intent.Pose) ([]conversation.Note, error) {
	if pose == (intent.Pose{}) {
		return nil, nil
	}
	st, err := d.record(ctx)
	if err != nil {
		return nil, err
	}
	var list []conversation.Note
	note := func(code, key string, args ...string) {
		list = append(list, conversation.Note{Code: code, Text: locale.Text(d.req.Locale, key, args...)})
	}
	switch {
	case pose.Pending && st.draft != nil:
		note(conversation.NoteNothingPending, "note.still_pending", "goal", st.draft.Plan.Goal)
	case pose.Pending:
		note(conversation.NoteNothingPending, "note.nothing_pending")
	}
	if pose.Done && !st.did {
		note(conversation.NoteNothingDone, "note.nothing_done")
	}
	return list, nil
}

// record is what the chat's runs say: which draft waits, and whether anything was done, or is
// being done, since the person's message.
func (d *dialog) record(ctx context.Context) (st struct {
	draft *plan.Run
	did   bool
}, err error,
) {
	account := d.req.Principal.Account
	chat, err := d.Store.Chat(ctx, account, d.chat.ID)
	if err != nil {
		return st, err
	}
	ids := slices.DeleteFunc([]string{chat.PendingRunID, chat.ActiveRunID, chat.LastRunID}, func(id string) bool { return id == "" })
	runs := make([]plan.Run, len(ids))
	reads := make([]func() error, len(ids))
	for i, id := range ids {
		reads[i] = func() (err error) { runs[i], err = d.Store.Run(ctx, account, id); return }
	}
	if err := parallel.Do(reads...); err != nil && !errors.Is(err, plan.ErrRunNotFound) {
		return st, err
	}
	for _, r := range runs {
		switch {
		case r.Status == plan.Draft && d.Now().Before(r.Plan.ExpiresAt):
			st.draft = &r
		case r.Status == plan.Queued, r.Status == plan.Running, didSince(r, d.heard.At):
			st.did = true
		}
	}
	return st, nil
}
