package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/chats/toolset"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Limits of an Operator client's session data.
const (
	maxSessionID = 128     // bytes
	anyone       = "local" // the user of a session without a user
	maxMetadata  = 8 << 10 // bytes, names and values
	maxPairs     = 64
)

// OperatorRequest is the body of POST /operator/chat (document 004). Unknown members are ignored, because its
// clients send more.
type OperatorRequest struct {
	_         struct{}                   `json:"-" additionalProperties:"true"`
	Message   string                     `json:"message" minLength:"1" doc:"at most 32 KB of UTF-8"`
	SessionID string                     `json:"session_id,omitempty" maxLength:"128" doc:"the client's own name for the session; made when absent"`
	UserID    string                     `json:"user_id,omitempty" maxLength:"128" doc:"whom the client speaks for; a session is of whom it named first; local when absent"`
	Summary   string                     `json:"context_summary,omitempty" maxLength:"16384"`
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty" doc:"at most 64 members and 8 KB"`
	Customer  string                     `json:"customer_name,omitempty" maxLength:"200" doc:"the name of the person who writes, for the model"`
	TimeZone  string                     `json:"time_zone,omitempty" maxLength:"64" doc:"of the person, as Europe/Madrid: the model is told the time there"`
}

// Resolve checks the rules that a schema cannot express.
func (r *OperatorRequest) Resolve(huma.Context) (errs []error) {
	if r.SessionID != "" && !isPrintable(r.SessionID) {
		errs = append(errs, errInvalid.At(field("string_pattern_mismatch", "body", "session_id")))
	}
	if r.UserID != "" && !isPrintable(r.UserID) {
		errs = append(errs, errInvalid.At(field("string_pattern_mismatch", "body", "user_id")))
	}
	errs = append(errs, wrongZone(r.TimeZone)...)
	size := 0
	for name, value := range r.Metadata {
		size += len(name) + len(value)
	}
	if size > maxMetadata || len(r.Metadata) > maxPairs {
		errs = append(errs, errInvalid.At(field("too_long", "body", "metadata")))
	}
	return errs
}

// OperatorAnswer is document 004's answer. ToolCalls is null, or the steps that wait for a confirmation.
type OperatorAnswer struct {
	SessionID string     `json:"session_id"`
	Response  string     `json:"response"`
	ToolCalls []ToolCall `json:"tool_calls" nullable:"true"`
	Kind      turn.Kind  `json:"kind" enum:"message,plan,queued,cancelled,notice"`
	Ending
	Provider string                `json:"provider,omitempty" doc:"who answered, when a model did"`
	Model    string                `json:"model,omitempty"`
	Notes    []conversation.Note   `json:"notes,omitempty" doc:"lines of the system about the response, in the order of its texts. One that contradicts a text (nothing_pending, nothing_done, not_in_results, in_doubt) is shown before it; of a text before the last it stands in response, too"`
	Sources  []conversation.Source `json:"sources,omitempty" doc:"what was read for the response"`
	Pending  *Run                  `json:"pending_run,omitempty" doc:"beside a text, the plan that waits in the chat: its digest confirms it"`
	Asks     bool                  `json:"asks,omitempty" doc:"the response is a question of the model: the next message answers it, and confirms and refuses nothing"`
	Options  []conversation.Option `json:"options,omitempty" doc:"of a question: answers to choose from, at most 10. The response has them as numbered lines; a person may answer with an id, with a title, or otherwise"`
	Fallback *StoodIn              `json:"fallback,omitempty" doc:"when another provider than the preferred one answered"`
}

// StoodIn is the preferred provider that did not answer, and the reason.
type StoodIn struct {
	Preferred string `json:"preferred" doc:"the provider that the assistant names first"`
	Reason    string `json:"reason"`
}

// ToolCall is one step of the proposed plan.
type ToolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	MCPID  string          `json:"mcp_id"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	RunID  string          `json:"run_id"`
	Digest plan.Digest     `json:"digest"`

	Headers json.RawMessage `json:"headers,omitempty"`
}

func (s messageHandler) operator(ctx context.Context, in *struct {
	Keyed
	Body OperatorRequest
},
) (*replayed[OperatorAnswer], error) {
	body := in.Body
	if len(body.Message) > conversation.MaxMessage {
		return nil, errMessage
	}
	return serveTurn(ctx, s.config, func(ctx context.Context, t ticket) (OperatorAnswer, error) {
		session := cmp.Or(body.SessionID, t.ID)
		got, err := s.turns.Send(ctx, turn.Request{
			Principal: caller(ctx), ChatID: session, Message: body.Message,
			Locale: requestInfoFrom(ctx).lang, TimeZone: body.TimeZone, TraceID: s.config.Trace(ctx), MessageID: t.ID, MessageAt: t.At, ReceivedAt: s.config.arrivedAt(ctx, t),
			Session: &turn.Session{UserID: body.UserID, Customer: body.Customer, Summary: body.Summary, Metadata: body.Metadata},
		})
		switch {
		case err != nil:
			return OperatorAnswer{}, err
		case got.Kind == turn.KindBlocked:
			return OperatorAnswer{}, blockedError(ctx, got)
		}
		return showOperator(got, session, requestInfoFrom(ctx).lang), nil
	})
}

func showOperator(got turn.Reply, session string, lang locale.Tag) OperatorAnswer {
	v := OperatorAnswer{
		SessionID: session, Response: got.Message.Content, Kind: got.Kind, Ending: showEnding(got), Notes: got.Message.Notes, Sources: got.Message.Sources,
		Pending: pending(got), Asks: got.Message.Asks, Options: got.Message.Options,
	}
	for _, m := range slices.Backward(got.Before) { // this contract has one text for all messages
		v.Response, v.Notes = warned(m, lang)+"\n\n"+v.Response, slices.Concat(m.Notes, v.Notes)
	}
	if by := got.By; by != nil {
		v.Provider, v.Model = by.Provider, by.Model
		if by.Preferred != "" {
			v.Fallback = &StoodIn{by.Preferred, by.Reason}
		}
	}
	if got.Kind == turn.KindPlan && got.Run != nil {
		v.ToolCalls = toolCalls(*got.Run)
	}
	return v
}

// warned returns a message with the lines before it that contradict it.
func warned(m conversation.Message, lang locale.Tag) string {
	above, _ := m.SplitNotes()
	lines := make([]string, 0, len(above)+1)
	for _, n := range above {
		lines = append(lines, "⚠️ "+n.Warning().In(lang))
	}
	return strings.Join(append(lines, m.Content), "\n\n")
}

// blockedError returns the Operator API's error for a turn that may not run.
func blockedError(ctx context.Context, got turn.Reply) error {
	p, lang := problem(ctx, errSwitch), requestInfoFrom(ctx).lang
	if got.Block != nil {
		p.Reason, p.Message, p.Action = string(got.Block.Reason), got.Block.Message().In(lang), got.Block.Action().In(lang)
		p.Remedy, p.CreditBalance = string(got.Block.Remedy), got.Block.CreditBalance
	}
	return p
}

func toolCalls(r plan.Run) []ToolCall {
	calls := make([]ToolCall, 0, len(r.Plan.Steps))
	for _, s := range r.Plan.Steps {
		calls = append(calls, ToolCall{
			ID: s.ID.String(), Name: toolset.Request, MCPID: s.MCPID, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body,
			RunID: r.ID, Digest: r.Digest,
		})
	}
	return calls
}

// isPrintable reports whether a client's own name is 1 to 128 bytes of visible characters and spaces.
func isPrintable(name string) bool {
	if name == "" || len(name) > maxSessionID || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Session is a session with its messages (document 004).
type Session struct {
	SessionID string                     `json:"session_id"`
	ChatID    string                     `json:"chat_id" doc:"the chat that it is: /api/chats/{id} takes it, and so does session_id"`
	UserID    string                     `json:"user_id"`
	CreatedAt time.Time                  `json:"created_at"`
	Summary   string                     `json:"context_summary,omitempty"`
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty" doc:"as it was sent"`
	Messages  []SessionMessage           `json:"messages" nullable:"false"`
	Cursor    string                     `json:"cursor,omitempty" doc:"of the messages before these, when there are some"`
}

// SessionMessage is one message of a session.
type SessionMessage struct {
	ID         string                 `json:"id"`
	Role       conversation.Role      `json:"role" enum:"user,assistant,system"`
	Content    string                 `json:"content"`
	Notes      []conversation.Note    `json:"notes,omitempty"`
	Asks       bool                   `json:"asks,omitempty" doc:"a question of the model"`
	Options    []conversation.Option  `json:"options,omitempty" doc:"of a question"`
	ReplacedBy string                 `json:"replaced_by,omitempty" doc:"id of the message that came in its place"`
	Feedback   *conversation.Feedback `json:"feedback,omitempty"`
	CreatedAt  time.Time              `json:"created_at"`
}

func (s sessionRecords) session(ctx context.Context, in *struct {
	ID     string `path:"id"`
	Cursor string `query:"cursor" doc:"from the answer before"`
},
) (*reply[Session], error) {
	if !isPrintable(in.ID) {
		return nil, errSession
	}
	chat, messages, next, err := s.chats.chats.Session(ctx, caller(ctx).Account, in.ID, in.Cursor)
	if errors.Is(err, conversation.ErrChatNotFound) {
		return nil, errSession
	}
	if err != nil {
		return nil, err
	}
	v := Session{
		SessionID: in.ID, ChatID: chat.ID, UserID: cmp.Or(chat.UserID, anyone), CreatedAt: chat.CreatedAt.UTC(), Summary: chat.Summary,
		Metadata: chat.Metadata, Messages: make([]SessionMessage, 0, len(messages)), Cursor: next,
	}
	for _, m := range messages {
		v.Messages = append(v.Messages, SessionMessage{
			ID: m.ID, Role: m.Role, Content: m.Content, Notes: m.Notes, Asks: m.Asks, Options: m.Options, ReplacedBy: m.ReplacedBy, Feedback: m.Feedback, CreatedAt: m.At.UTC(),
		})
	}
	return answer(v), nil
}
