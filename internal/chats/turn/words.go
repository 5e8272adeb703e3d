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
	notes, err := d.checker().notes(ctx, claim.Reading{Acts: said.Acts}) // the plan waits
	if err != nil {
		return nil, err
	}
	m := run.Message(d.service.IDs, r, conversation.KindText, at, d.req.Locale, locale.Verbatim(shorten(text)))
	m.By, m.Notes = d.by(), notes
	return []conversation.Message{m}, nil
}

// reconsiders reports whether the model is asked once more, because its text pretends. It is not asked where it cannot propose,
// or has no further call, and not a second time.
func (d *dialog) reconsiders(ctx context.Context, text string) bool {
	if d.doubted != "" || d.final || d.dryRun() != "" || len(d.listed) == 0 || !d.agent.mayPropose() {
		return false
	}
	return d.checker().pretends(ctx, d.chat, text)
}

// checker returns what the texts of this turn are checked with.
func (d *dialog) checker() checker {
	ends := ""
	if d.req.anew != nil && d.req.anew.draft != nil {
		ends = d.req.anew.draft.ID
	}
	return d.service.checker(d.req, d.chat, ends, func(context.Context) (evidence.Facts, error) { return d.facts(), nil })
}
