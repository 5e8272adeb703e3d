package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/rate"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Chat serves functions/chat: the routes that answer a message (POST /api/send and POST /operator/chat); those that
// request an answer and stop it; the one that reads the answer of a long turn; and those that
// write a plan and read for it as a turn does (PATCH /api/runs/{id}/plan, POST /api/runs/{id}/look, and those that make a
// draft after a run).
func Chat(c Config, turns Turns, runs Runs) http.Handler {
	a := newAPI(c)
	a.chat(turns)
	a.drafts(runHandler{c, runs})
	return a.handler()
}

func (a *api) chat(turns Turns) {
	a.function = FunctionChat
	register(a, operation{
		method: http.MethodPost, path: "/api/send", id: "send", access: withChat, class: rate.Turns, long: true, describe: describeLong,
		summary:  "Send a message; it may answer, propose a plan, confirm or cancel one",
		failures: []int{404, 409, 410, 413, 415, 422},
	}, messageHandler{a.config, turns}.send)
	register(a, operation{
		method: http.MethodPost, path: "/operator/chat", id: "operatorChat", access: withChat, class: rate.Turns, long: true, describe: describeLong,
		summary:  "Send a message in a session that the client names (Operator API)",
		failures: []int{409, 410, 413, 415, 422, 503},
	}, messageHandler{a.config, turns}.operator)
	register(a, operation{
		method: http.MethodPost, path: "/api/chats/{id}/answer", id: "answerChat", access: withChat, optionalBody: true, class: rate.Turns, long: true, describe: describeLong,
		summary:  "Have what was last said answered: in manual mode, or after a block",
		failures: []int{404, 409, 410, 413, 415, 422},
	}, messageHandler{a.config, turns}.answer)
	register(a, operation{
		method: http.MethodPost, path: "/api/chats/{id}/stop", id: "stopAnswer", access: withChat, class: rate.Decisions, status: http.StatusAccepted,
		summary:  "Stop the answer that is being written; what was written so far stays",
		failures: []int{404},
	}, messageHandler{a.config, turns}.stop)
	register(a, operation{
		method: http.MethodGet, path: turnsPath + "{id}", id: "readTurn", access: withChat, describe: describeTurn,
		summary:  "Read what a turn was answered that took longer than its request waited",
		failures: []int{404, 503},
	}, a.config.readTurn)
	a.edits(turns)
}

// SendRequest is the body of POST /api/send.
type SendRequest struct {
	ChatID   string      `json:"chat_id"`
	Message  string      `json:"message" minLength:"1" doc:"at most 32 KB of UTF-8"`
	Replaces string      `json:"replaces,omitempty" doc:"id of the last message of the chat, in whose place this one comes. The one before stays stored"`
	TimeZone string      `json:"time_zone,omitempty" maxLength:"64" doc:"of the person, as Europe/Madrid: the model is told the time there"`
	Digest   plan.Digest `json:"digest,omitempty" pattern:"^[0-9a-f]{64}$" doc:"of the plan on the person's screen: a typed yes confirms no other"`
}

// Resolve refuses an unknown time zone.
func (r *SendRequest) Resolve(huma.Context) []error { return wrongZone(r.TimeZone) }

// SendAnswer is the result of a turn.
type SendAnswer struct {
	Kind turn.Kind `json:"kind" enum:"message,plan,queued,cancelled,notice,blocked"`
	Ending
	Before  []wire.Message    `json:"before,omitempty" doc:"what stands before the message: a line of a draft that the model withdrew, and what it said before the plan's card. They are messages of the chat as well"`
	Message wire.Message      `json:"message"`
	Chat    conversation.Chat `json:"chat"`
	Run     *Run              `json:"run,omitempty"`
	Pending *Run              `json:"pending_run,omitempty" doc:"beside a text, the plan that waits in the chat: its digest confirms it"`
	Block   *Block            `json:"block,omitempty"`
}

// Ending is how a turn ended.
type Ending struct {
	Status     conversation.Status     `json:"status" enum:"success,partial,failed" doc:"partial: it ended early, and says what it came to until then; failed: it came to nothing"`
	StopReason conversation.StopReason `json:"stop_reason,omitempty" enum:"max_steps,timeout,budget_exceeded,context_full,user_interrupt,llm_error,blocked" doc:"why it ended early; absent when it did not"`
}

func showEnding(got turn.Reply) (e Ending) {
	e.Status, e.StopReason = got.Ending()
	return e
}

type messageHandler struct {
	config Config
	turns  Turns
}

func (s messageHandler) send(ctx context.Context, in *struct {
	Keyed
	Body SendRequest
},
) (*replayed[SendAnswer], error) {
	switch {
	case !ids.Valid(in.Body.ChatID):
		return nil, conversation.ErrChatNotFound
	case len(in.Body.Message) > conversation.MaxMessage:
		return nil, errMessage
	}
	return serveTurn(ctx, s.config, func(ctx context.Context, t ticket) (SendAnswer, error) {
		got, err := s.turns.Send(ctx, turn.Request{
			Principal: caller(ctx), ChatID: in.Body.ChatID, Message: in.Body.Message, Replaces: in.Body.Replaces, Seen: in.Body.Digest,
			Locale: requestInfoFrom(ctx).lang, TimeZone: in.Body.TimeZone, TraceID: s.config.Trace(ctx), MessageID: t.ID, MessageAt: t.At, ReceivedAt: s.config.arrivedAt(ctx, t),
		})
		if err != nil {
			return SendAnswer{}, err
		}
		return showTurn(got, requestInfoFrom(ctx).lang), notReplayable(got)
	})
}

func showTurn(got turn.Reply, lang locale.Tag) SendAnswer {
	v := SendAnswer{Kind: got.Kind, Ending: showEnding(got), Before: wire.Messages(got.Before), Message: wire.Message(got.Message), Chat: got.Chat, Block: showBlock(got.Block, lang)}
	if got.Run != nil {
		run := showRun(*got.Run)
		v.Run = &run
	}
	v.Pending = pending(got)
	return v
}

// pending returns the plan that waits beside a text; nil: none.
func pending(got turn.Reply) *Run {
	if got.Pending == nil {
		return nil
	}
	run := showRun(*got.Pending)
	return &run
}

// AnswerRequest is the body of POST /api/chats/{id}/answer.
type AnswerRequest struct {
	Again bool `json:"again,omitempty" doc:"answer the last message once more, although it has an answer, which the new one replaces"`

	TimeZone string `json:"time_zone,omitempty" maxLength:"64" doc:"of the person, as Europe/Madrid: the model is told the time there"`
}

// Resolve refuses an unknown time zone.
func (r *AnswerRequest) Resolve(huma.Context) []error { return wrongZone(r.TimeZone) }

func (s messageHandler) answer(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body AnswerRequest
},
) (*reply[SendAnswer], error) {
	if !ids.Valid(in.ID) {
		return nil, conversation.ErrChatNotFound
	}
	if err := s.config.take(ctx, rate.Turns); err != nil {
		return nil, err
	}
	got, err := s.turns.Answer(ctx, turn.Request{
		Principal: caller(ctx), ChatID: in.ID, Again: in.Body.Again, Locale: requestInfoFrom(ctx).lang, TimeZone: in.Body.TimeZone, TraceID: s.config.Trace(ctx),
	})
	if err != nil {
		return nil, err
	}
	return answer(showTurn(got, requestInfoFrom(ctx).lang)), nil
}

// StopAnswer confirms that an answer is being stopped.
type StopAnswer struct {
	Stopping bool `json:"stopping"`
}

func (s messageHandler) stop(ctx context.Context, in *chatInput) (*reply[StopAnswer], error) {
	if !ids.Valid(in.ID) {
		return nil, conversation.ErrChatNotFound
	}
	if err := s.turns.Stop(ctx, caller(ctx), in.ID); err != nil {
		return nil, err
	}
	return answer(StopAnswer{Stopping: true}), nil
}
