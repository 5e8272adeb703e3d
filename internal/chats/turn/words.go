package turn

import (
	"context"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/evidence"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// A text of a model is shown as data. Its claims are compared with the record of the chat. When the record contradicts it, a
// note stands beside it.

// keep adds a text of the model to the texts that this turn will store.
func (d *dialog) keep(text string) {
	text = strings.TrimSpace(text)
	if text == "" || slices.Contains(d.words, text) {
		return
	}
	d.words = append(d.words, text)
	if d.query.writing != nil {
		d.query.writing.keep(text)
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
// record, except that a text that asks to confirm the plan may say what it made or changed of it.
func (d *dialog) textMessages(ctx context.Context, r plan.Run, at time.Time) ([]conversation.Message, error) {
	text := d.fullText("")
	if text == "" {
		return nil, nil
	}
	said := claim.Read(text)
	draft := evidence.OfDraft(r)
	said.Acts = slices.DeleteFunc(said.Acts, func(a claim.Act) bool { // the plan may come in the place of another
		return a.Withdraws || said.Asks && draft.Drafts(a, r.Plan.Replaces != "")
	})
	notes, err := d.notesOf(ctx, claim.Reading{Acts: said.Acts}) // the plan waits
	if err != nil {
		return nil, err
	}
	m := run.Message(d.service.IDs, r, conversation.KindText, at, d.req.Locale, locale.Verbatim(shorten(text)))
	m.By, m.Notes = d.by(), notes
	return []conversation.Message{m}, nil
}

// reconsiders reports whether the model is asked once more, because its text announces what no call does, or tells of an act
// that the record does not have. It is not asked where it cannot propose, or has no further call, and not a second time.
func (d *dialog) reconsiders(ctx context.Context, text string) bool {
	if d.doubted != "" || d.final || d.dryRun() != "" || len(d.listed) == 0 || !d.agent.mayPropose() {
		return false
	}
	said := claim.Read(text)
	if d.chat.PendingRunID == "" && said.Poses() {
		return true
	}
	lacking, err := d.lacking(ctx, said.Acts)
	return err == nil && len(lacking) > 0
}

// notes returns the notes that stand beside a text of the model, by the current record.
func (d *dialog) notes(ctx context.Context, text string) ([]conversation.Note, error) {
	return d.notesOf(ctx, claim.Read(text))
}

// questionNotes returns the notes that stand beside a question of ask_person, without its options: what it asks for is not a
// confirmation, and its options are what the person may say.
func (d *dialog) questionNotes(ctx context.Context, text string) ([]conversation.Note, error) {
	return d.notesOf(ctx, claim.Reading{Acts: claim.Read(text).Acts})
}

// notesOf returns the notes of what a text says: it asks for a confirmation although no plan waits, or it claims an act that
// the record does not have.
func (d *dialog) notesOf(ctx context.Context, said claim.Reading) ([]conversation.Note, error) {
	var list []conversation.Note
	if said.Asks {
		waits, err := d.waits(ctx)
		if err != nil {
			return nil, err
		}
		if !waits {
			list = append(list, d.req.note(conversation.NoteNothingPending, "note.nothing_pending"))
		}
	}
	lacking, err := d.lacking(ctx, said.Acts)
	return append(list, d.req.notDone(lacking)...), err
}

// note returns a note in the language of the request.
func (r Request) note(code, key string, args ...any) conversation.Note {
	return conversation.Note{Code: code, Text: locale.Say(key, args...).In(r.Locale)}
}
