package turn

import (
	"context"
	"encoding/json"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/evidence"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
)

// asks returns the question of a decision that offers options; nil for another. The question says that options are
// missing which cannot be shown. The model gets no error: its decision is a good one without them.
func (r *routing) asks(d agent.Decision) *inquiry {
	q := &inquiry{text: d.Response, tag: r.req.Locale}
	if q.offer(json.RawMessage(d.Options)); len(q.options) == 0 && q.missing == nil {
		return nil
	}
	return q
}

// reconsiders reports whether the router's own model is asked once more, as the model of a turn is: its answer announces
// an act that only an agent does, or claims an act that the record does not have. It is not asked where there is no
// agent, nor for a question with options, because a false claim in that gets its note.
func (r *routing) reconsiders(ctx context.Context, d agent.Decision) bool {
	if d.Action != agent.Respond || len(r.agents) == 0 || r.asks(d) != nil {
		return false
	}
	return r.checker().pretends(ctx, r.chat, d.Response)
}

// decideAgain asks the model once more, and returns its new decision. When that is no decision, the first one stands.
func (r *routing) decideAgain(ctx context.Context, first agent.Decision) agent.Decision {
	r.service.Log.WarnContext(ctx, "turn.pretends", "chat_id", r.chat.ID)
	r.query.Messages = append(r.query.Messages, llm.Message{Role: llm.System, Content: locale.Text(r.req.Locale, "prompt.reconsider_router")})
	use, preferred := r.calls.Use, r.calls.First
	answer, err := r.query.Ask(ctx, r.calls)
	if err == nil {
		var again agent.Decision
		if again, err = r.parseDecision(answer); err == nil {
			return again
		}
	}
	r.calls.Use, r.calls.First = use, preferred // of the text that stands
	r.service.Log.WarnContext(ctx, "router.not_asked_again", "session_id", r.req.ChatID, "error", err)
	return first
}

// notes returns the notes beside an answer of the router's own model, which can only answer. An agent's claims get no
// note. A question with options asks for no confirmation, and its options are possible answers of the customer.
func (r *routing) notes(ctx context.Context, kind conversation.Kind, text string, routed Routed, asks *inquiry) ([]conversation.Note, error) {
	if kind != conversation.KindText || routed.Action != agent.Respond {
		return nil, nil
	}
	if asks != nil {
		return r.checker().notes(ctx, withoutOptions(asks.text))
	}
	return r.checker().notes(ctx, claim.Read(text))
}

// checker returns the checker of the router's texts: the record of the chat, and the texts of the business or its agents.
func (r *routing) checker() checker {
	return r.service.checker(r.req, r.chat, "", func(ctx context.Context) (evidence.Facts, error) {
		messages, err := r.service.history().Newest(ctx, r.chat.Key(r.req.Principal.Account))
		f := evidence.Facts{Named: evidence.Named(messages), Message: r.incoming, Given: []string{r.business, r.req.customerPersona()}}
		for _, m := range messages {
			for _, s := range m.Sources {
				f.Read = append(f.Read, s.Answer)
			}
		}
		for _, e := range r.memory.Exchanges {
			if e.Agent != "" {
				f.Given = append(f.Given, e.Response)
			}
		}
		return f, err
	})
}
