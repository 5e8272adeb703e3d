package run

import (
	"context"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// deniedError refuses a plan because a rule denies one of its calls.
type deniedError struct {
	error
	by   rule.Rule
	call plan.Step
}

// Unwrap returns the refusal.
func (e *deniedError) Unwrap() error { return e.error }

// mostBetween is how many messages after a note about a rule the same note is not given again.
const mostBetween = 50

// noteDenied leaves a note in the chat of a draft that cannot be confirmed: which rule denies it, once. Two requests at the same time
// read the same last message, so that theirs is one.
func (s *Service) noteDenied(ctx context.Context, r plan.Run, denied *deniedError, tag locale.Tag) {
	called := clip.Runes(clip.Line(denied.call.Called()), 200)
	text := locale.Say("note.rule_denied", "rule", denied.by.ID, "reason", clip.Line(denied.by.Reason), "called", called)
	note := conversation.Note{Code: conversation.NoteRuleDenied, Text: text.In(tag)}
	last, _, err := s.Chats.Messages(ctx, conversation.Key{Account: r.Account, ChatID: r.ChatID}, "", mostBetween)
	has := func(m conversation.Message) bool { return m.RunID == r.ID && slices.Contains(m.Notes, note) }
	if err != nil || len(last) == 0 || slices.ContainsFunc(last, has) {
		return
	}
	m := Message(s.IDs, r, conversation.KindNotice, s.Now(), tag, locale.Say("turn.denied_since", "goal", r.Plan.Goal))
	m.ID = ids.Following(last[len(last)-1].Seq, r.ID, note.Text)
	m.Seq, m.Notes = m.ID, []conversation.Note{note}
	if err := s.Chats.AddMessages(ctx, conversation.Key{Account: r.Account, ChatID: r.ChatID}, "", m.At, m); err != nil {
		s.Log.WarnContext(ctx, "run.denied_untold", "run_id", r.ID, "error", err)
	}
}
