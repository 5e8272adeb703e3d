package turn

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Every text of a model is kept and shown as data. Its claims are compared with the record of
// the chat's runs. When the record does not agree, a note stands under the text.

// keep adds a text of the model to the texts that this turn will store.
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

// fullText returns all texts of the model in this turn, with last at the end.
func (d *dialog) fullText(last string) string {
	words := slices.Clone(d.words)
	if last = strings.TrimSpace(last); last != "" && !slices.Contains(words, last) {
		words = append(words, last)
	}
	return strings.Join(words, "\n\n")
}

// giveUp answers with the model's texts and a system notice. Under that of a turn that failed stands its record.
func (d *dialog) giveUp(ctx context.Context, notice locale.Phrase) (Reply, error) {
	if d.ending.status == conversation.Failed {
		notice = locale.Joined{Phrases: append([]locale.Phrase{notice}, d.statePhrases()...), Between: "\n\n"}
		if d.hasRead() {
			d.ending.status = conversation.Partial
		}
	}
	if text := d.fullText(""); text != "" {
		notice = locale.Joined{Phrases: []locale.Phrase{locale.Verbatim(shorten(text)), notice}, Between: "\n\n"}
	}
	return d.finish(ctx, conversation.KindNotice, notice)
}

// textMessages returns the model's text beside the call that proposes a run, as a message. The
// claim that a plan waits is true by then; a claim of a finished act is compared with the
// record.
func (d *dialog) textMessages(ctx context.Context, r plan.Run, at time.Time) ([]conversation.Message, error) {
	text := d.fullText("")
	if text == "" {
		return nil, nil
	}
	pose := d.poses(text)
	notes, err := d.notesFor(ctx, intent.Pose{Done: pose.Done})
	if err != nil {
		return nil, err
	}
	m := run.Message(d.service.IDs, r, conversation.KindText, at, d.req.Locale, locale.Verbatim(shorten(text)))
	m.By, m.Notes = d.by(), notes
	return []conversation.Message{m}, nil
}

// poses returns what a text of the model claims. The rows that it lists after a look are what a service said, and
// claim nothing of this turn.
func (d *dialog) poses(text string) intent.Pose {
	if !slices.ContainsFunc(d.sources, func(s conversation.Source) bool { return s.Answer != "" }) {
		return intent.Poses(text)
	}
	var own []string
	for line := range strings.Lines(text) {
		if !row.MatchString(line) {
			own = append(own, line)
		}
	}
	return intent.Poses(strings.Join(own, ""))
}

// row matches a line of a list or of a table.
var row = regexp.MustCompile(`^\s*(?:[-*•|]|\d+[.)])\s`)

// needsRetry reports whether the model is asked again, with a tool call forced, because its text
// makes a false claim. There is a service to call, and the text poses as a plan while no draft
// waits, or claims an act in a chat in which nothing was done.
func (d *dialog) needsRetry(text string) bool {
	if len(d.listed) == 0 || !d.agent.mayPropose() {
		return false
	}
	pose := d.poses(text)
	return pose.Pending && d.chat.PendingRunID == "" || pose.Done && !slices.ContainsFunc(d.runs, hasActed)
}

// hasActed reports whether a run did something, or is doing it.
func hasActed(r plan.Run) bool {
	return r.Status == plan.Queued || r.Status == plan.Running || hasDoneStepSince(r, time.Time{})
}

// hasDoneStepSince reports whether a run finished a step since a time.
func hasDoneStepSince(r plan.Run, since time.Time) bool {
	return slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		return st.Status == plan.StepDone && st.Reused == "" && !st.UpdatedAt.Before(since)
	})
}

// notes returns the notes that stand under a text of the model, by the current record.
func (d *dialog) notes(ctx context.Context, text string) ([]conversation.Note, error) {
	return d.notesFor(ctx, d.poses(text))
}

// notesFor returns the notes for the claims of a text.
func (d *dialog) notesFor(ctx context.Context, pose intent.Pose) ([]conversation.Note, error) {
	if pose == (intent.Pose{}) {
		return nil, nil
	}
	st, err := d.record(ctx)
	if err != nil {
		return nil, err
	}
	var list []conversation.Note
	note := func(code, key string, args ...any) { list = append(list, d.req.note(code, key, args...)) }
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

// note returns a note in the language of the request.
func (r Request) note(code, key string, args ...any) conversation.Note {
	return conversation.Note{Code: code, Text: locale.Say(key, args...).In(r.Locale)}
}

// record reads the chat's runs. It returns the draft that waits, and whether anything was done,
// or is being done, since the user's message.
func (d *dialog) record(ctx context.Context) (st struct {
	draft *plan.Run
	did   bool
}, err error,
) {
	account := d.req.Principal.Account
	chat, err := d.service.Store.Chat(ctx, account, d.chat.ID)
	if err != nil {
		return st, err
	}
	ids := slices.DeleteFunc([]string{chat.PendingRunID, chat.ActiveRunID, chat.LastRunID}, func(id string) bool { return id == "" })
	runs := make([]plan.Run, len(ids))
	var reads errgroup.Group
	for i, id := range ids {
		reads.Go(func() (err error) {
			if runs[i], err = d.service.Store.Run(ctx, account, id); errors.Is(err, plan.ErrRunNotFound) {
				return nil
			}
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return st, err
	}
	for _, r := range runs {
		switch {
		case d.req.anew != nil && d.req.anew.draft != nil && r.ID == d.req.anew.draft.ID: // this answer ends it
		case r.Status == plan.Draft && d.service.Now().Before(r.Plan.ExpiresAt):
			st.draft = &r
		case r.Status == plan.Queued, r.Status == plan.Running, hasDoneStepSince(r, d.incoming.At):
			st.did = true
		}
	}
	return st, nil
}
