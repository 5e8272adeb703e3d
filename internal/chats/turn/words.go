package turn

import (
	"context"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/ask"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/evidence"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// A text of a model is shown as data. Its claims are compared with the record of the chat. When the record contradicts it, a
// note stands beside it.

// words are the texts of a model beside its calls: they are stored with its answer, and with the card of its plan.
type words struct {
	list   []string
	stream *ask.Stream // that shows them; nil: none
}

// keep adds a text.
func (w *words) keep(text string) {
	text = strings.TrimSpace(text)
	if text == "" || slices.Contains(w.list, text) {
		return
	}
	w.list = append(w.list, text)
	if w.stream != nil {
		w.stream.Keep(text)
	}
}

// with returns all texts, with last at the end.
func (w *words) with(last string) string {
	list := slices.Clone(w.list)
	if last = strings.TrimSpace(last); last != "" && !slices.Contains(list, last) {
		list = append(list, last)
	}
	return strings.Join(list, "\n\n")
}

// giveUp answers with the model's texts and a system notice. Under that of a turn that failed stands its record.
func (d *dialog) giveUp(ctx context.Context, notice locale.Phrase) (Reply, error) {
	if d.ending.status == conversation.Failed {
		notice = locale.Joined{Phrases: append([]locale.Phrase{notice}, d.statePhrases()...), Between: "\n\n"}
		if d.hasRead() {
			d.ending.status = conversation.Partial
		}
	}
	if text := d.loop.words.with(""); text != "" {
		notice = locale.Joined{Phrases: []locale.Phrase{locale.Verbatim(shorten(text)), notice}, Between: "\n\n"}
	}
	return d.finish(ctx, conversation.KindNotice, notice)
}

// textMessages returns the model's text beside the call that proposes a run, as a message. The claim that a plan waits
// is true by then; a claim of a finished act is compared with the record, except that a text that asks to confirm the
// plan may name its own changes of it.
func (l *loop) textMessages(ctx context.Context, r plan.Run, at time.Time) ([]conversation.Message, error) {
	text := l.words.with("")
	if text == "" {
		return nil, nil
	}
	said := claim.Read(text)
	draft := evidence.OfDraft(r)
	said.Acts = slices.DeleteFunc(said.Acts, func(a claim.Act) bool { // the plan may replace another
		return a.Withdraws || said.Asks && draft.Drafts(a, r.Plan.Replaces != "")
	})
	notes, err := l.checker().notes(ctx, claim.Reading{Acts: said.Acts}) // the plan waits
	if err != nil {
		return nil, err
	}
	m := run.Message(l.service.IDs, r, conversation.KindText, at, l.req.Locale, locale.Verbatim(shorten(text)))
	m.By, m.Notes = l.by(), notes
	return []conversation.Message{m}, nil
}

// reconsiders reports whether the model is asked once more, because its text pretends. It is not asked where it cannot propose,
// or has no further call, and not a second time.
func (l *loop) reconsiders(ctx context.Context, text string) bool {
	if l.doubted != "" || l.final || l.terms.dryRun || len(l.listed) == 0 || !l.agent.mayPropose() {
		return false
	}
	return l.checker().pretends(ctx, l.chat, text)
}

// checker returns the checker of this turn's texts.
func (l *loop) checker() checker {
	ends := ""
	if l.req.anew != nil && l.req.anew.draft != nil {
		ends = l.req.anew.draft.ID
	}
	return l.service.checker(l.req, l.chat, ends, func(context.Context) (evidence.Facts, error) {
		f := evidence.Facts{
			Named: l.past.Named, Longer: l.past.Longer, Message: l.incoming, Done: l.done, Commands: l.commands, Read: l.reported,
			Machine: len(l.terms.client) > 0, Given: []string{l.persona, l.project.Context, l.terms.workspace, l.chat.Summary},
		}
		for _, s := range slices.Concat(l.sources, l.past.Reads) {
			f.Read = append(f.Read, s.Answer)
		}
		for _, m := range l.past.Texts {
			if m.Role == llm.User && len(claim.Orders(m.Content)) == 0 {
				f.Given = append(f.Given, m.Content)
			}
		}
		return f, nil
	})
}
