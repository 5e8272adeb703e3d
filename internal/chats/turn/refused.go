package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"piloto/internal/chats/intent"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// A plan that a person refused is not shown to them again, even in other words of the model, until they ask for it with
// a message. The chat remembers it, so turns and jobs of the chat do alike.

// refusals are the plans that persons refused in a chat.
type refusals struct {
	service  *Service
	chat     conversation.Key
	incoming conversation.Message                // that is answered
	read     reads.Results                       // the model's reads
	unread   func(context.Context, error) string // returns the tool result of a store that cannot be read
}

func (l *loop) refusals() refusals {
	return refusals{l.service, l.chat.Key(l.req.Principal.Account), l.incoming, l.reading.Results(), l.unread}
}

// check returns plan.ErrInvalid for a plan that has all requests of one that a person refused in the chat, whole as a draft or one step
// of it at its approval; nil when it may be shown.
func (f refusals) check(ctx context.Context, p plan.Plan) error {
	wrong, err := f.of(ctx, p)
	if err != nil {
		wrong = []fault.Field{{Msg: f.unread(ctx, err)}}
	}
	if len(wrong) > 0 {
		return plan.ErrInvalid.At(wrong...)
	}
	return nil
}

func (f refusals) of(ctx context.Context, p plan.Plan) ([]fault.Field, error) {
	refusals, err := f.service.Drafts.Refused(ctx, f.chat, func() ([]string, error) {
		results, err := f.read.Of(p)
		if err != nil {
			return nil, err
		}
		return p.EachRequest(func(step string) (ref.Result, bool) { res, ok := results[step]; return res, ok })
	})
	if err != nil {
		return nil, err
	}
	for _, was := range refusals {
		if wrong, err := f.stands(ctx, was); err != nil || len(wrong) > 0 {
			return wrong, err
		}
	}
	return nil, nil
}

// stands returns the error of requests that a person refused; none when they asked for them since.
func (f refusals) stands(ctx context.Context, was plan.Refusal) ([]fault.Field, error) {
	r, err := f.service.Plans.Bare(ctx, f.chat.Account, was.RunID)
	if err != nil && !errors.Is(err, plan.ErrRunNotFound) {
		return nil, err
	}
	asked, err := f.askedAgain(ctx, r, was)
	if err != nil || asked {
		return nil, err
	}
	return []fault.Field{{Type: toolcall.Refused, Msg: "refused, because " + cmp.Or(toolcall.OneLine(was.Reason), "the person said no") +
		": they were shown exactly these requests, and have not asked for them since. Do not propose them again, alone or with others; do something else, or answer in text"}}, nil
}

// askedAgain reports whether a person asked again for a draft's content after they refused it.
func (f refusals) askedAgain(ctx context.Context, refused plan.Run, was plan.Refusal) (bool, error) {
	messages, err := f.service.history().Newest(ctx, f.chat)
	if err != nil {
		return false, err
	}
	of, said := cardOf(refused), -1
	about := intent.Refused{Words: slices.Concat(of.Titled, of.Words())}
	for i, m := range messages {
		if m.ID == refused.Question {
			about.Asked = m.Content
		}
		if cmp.Or(m.RunID, m.FromRunID) == was.RunID && (said < 0 || messages[said].At.Before(was.At)) { // that of the refusal, or the last one before it
			said = i
		}
	}
	if f.incoming.At.After(was.At) && !slices.ContainsFunc(messages, func(m conversation.Message) bool { return m.ID == f.incoming.ID }) {
		if len(messages) > 0 && f.incoming.At.Before(messages[0].At) && intent.AsksAgain(f.incoming.Content, false, about) { // it is older than those that were read
			return true, nil
		}
		messages = append(messages, f.incoming)
	}
	for i, m := range messages[said+1:] {
		if m.Role == conversation.RoleUser && !m.At.Before(was.At) && intent.AsksAgain(m.Content, isAsked(messages[:said+1+i]), about) {
			return true, nil
		}
	}
	return false, nil
}

// isAsked reports whether the last of some messages is an answer of the assistant, and asks something. A card asks about its own plan.
func isAsked(before []conversation.Message) bool {
	if len(before) == 0 {
		return false
	}
	m := before[len(before)-1]
	return m.Role == conversation.RoleAssistant && m.Kind == conversation.KindText && (m.Asks || intent.HasQuestionMark(m.Content))
}
