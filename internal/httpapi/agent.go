package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/agent"
	"piloto/internal/conversation"
	"piloto/internal/fault"
	"piloto/internal/locale"
	"piloto/internal/replay"
	"piloto/internal/turn"
)

// The router's contract (document 001).

// maxPersona bounds each text of a config, in bytes, and maxConfig all of it.
const (
	maxPersona = 2 << 10
	maxConfig  = 16 << 10
)

// AgentRequest is the body of POST /api/agent/chat.
type AgentRequest struct {
	_         struct{}    `json:"-" additionalProperties:"true"`
	Message   string      `json:"message" minLength:"1" doc:"at most 32 KB of UTF-8"`
	SessionID string      `json:"session_id" minLength:"1" maxLength:"128" doc:"the client's own name for the conversation: a telephone number, an id"`
	Config    AgentConfig `json:"config"`
}

// Resolve finds what a schema cannot say.
func (r *AgentRequest) Resolve(huma.Context) []error {
	errs := notBlank(r.Message)
	if r.SessionID != "" && (!printable(r.SessionID) || strings.TrimSpace(r.SessionID) == "") {
		errs = append(errs, errInvalid.At(field("string_pattern_mismatch", "body", "session_id")))
	}
	for _, f := range r.Config.wrong {
		errs = append(errs, errInvalid.At(f))
	}
	return errs
}

// AgentConfig says who speaks, and for which company. Members that are absent or
// null have document 001's defaults; members that are not known go to the agents.
type AgentConfig struct {
	persona agent.Persona
	wrong   []fault.Field
}

// Schema implements huma.SchemaProvider.
func (AgentConfig) Schema(huma.Registry) *huma.Schema {
	text := func(doc string, standard any) *huma.Schema {
		return &huma.Schema{Type: "string", Nullable: true, Description: doc, Default: standard}
	}
	s := &huma.Schema{
		Type: "object", AdditionalProperties: true, Required: []string{"id_empresa"},
		Description: "who speaks, and for which company; members that are not known are given to the agents",
		Properties: map[string]*huma.Schema{
			"id_empresa":         {Description: "the company: an integer > 0, or the same in digits; it belongs to the account of the token"},
			"nombre_bot":         text("", "Asistente"),
			"objetivo_principal": text("", "ayudar a los clientes"),
			"personalidad":       text("", "amable y profesional"),
			"modalidad":          text("", nil),
			"frase_saludo":       text("", "Hola! En que puedo ayudarte?"),
		},
	}
	s.PrecomputeMessages()
	return s
}

// UnmarshalJSON reads a config and remembers what is wrong with it, all of it.
func (c *AgentConfig) UnmarshalJSON(raw []byte) error {
	c.wrong = nil
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		c.bad("object_type")
		return nil //nolint:nilerr // it is told with all else that is wrong
	}
	if len(raw) > maxConfig {
		c.bad("too_long")
	}
	c.persona.Company = c.company(members["id_empresa"])
	delete(members, "id_empresa")
	for name, to := range map[string]*string{
		"nombre_bot": &c.persona.Name, "objetivo_principal": &c.persona.Goal, "personalidad": &c.persona.Personality,
		"modalidad": &c.persona.Modality, "frase_saludo": &c.persona.Greeting,
	} {
		if err := json.Unmarshal(orNull(members[name]), to); err != nil {
			c.bad("string_type", name)
		}
		if len(*to) > maxPersona {
			c.bad("string_too_long", name)
		}
		delete(members, name)
	}
	c.persona.More = members
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// company reads id_empresa: a whole number, or its digits in a string.
func (c *AgentConfig) company(raw json.RawMessage) int64 {
	if raw == nil {
		return 0 // the schema says that it is missing
	}
	text := string(bytes.TrimSpace(raw))
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		text = strings.TrimSpace(quoted)
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if whole, isNumber := strconv.ParseFloat(text, 64); err != nil && isNumber == nil && quoted == "" && whole == math.Trunc(whole) && math.Abs(whole) < 1<<53 {
		id, err = int64(whole), nil // 7.0: some clients know no other numbers
	}
	switch {
	case err != nil:
		c.bad("int_parsing", "id_empresa")
	case id <= 0:
		c.bad("greater_than_equal", "id_empresa")
	}
	return id
}

func (c *AgentConfig) bad(typ string, member ...any) {
	c.wrong = append(c.wrong, field(typ, append([]any{"body", "config"}, member...)...))
}

// AgentAnswer is document 001's answer. AgentUsed is null when the router answered
// by itself, and when the agent it chose could not be reached: Reply says so.
type AgentAnswer struct {
	Reply     string              `json:"reply"`
	SessionID string              `json:"session_id"`
	AgentUsed *string             `json:"agent_used"`
	Action    agent.Action        `json:"action" enum:"delegate,respond"`
	ChatID    string              `json:"chat_id" doc:"the conversation, as the rest of the API and the page show it"`
	Notes     []conversation.Note `json:"notes,omitempty" doc:"what reply says that is not so; for you, and not for the customer"`
	Block     *Block              `json:"block,omitempty" doc:"when the turn may not run: why, and what to do. Reply is for the customer and says neither"`
}

func (s sender) agent(ctx context.Context, in *struct {
	Keyed
	Body AgentRequest
},
) (*replayed[AgentAnswer], error) {
	if len(in.Body.Message) > conversation.MaxMessage {
		return nil, errMessage
	}
	return once(ctx, s.config, func(ctx context.Context, t ticket) (AgentAnswer, error) {
		got, err := s.turns.Route(ctx, turn.Request{
			Principal: caller(ctx), ChatID: in.Body.SessionID, Message: in.Body.Message,
			Locale: askedFrom(ctx).lang, TraceID: s.config.Trace(ctx),
			Route: &turn.Route{Persona: in.Body.Config.persona}, MessageID: t.ID, MessageAt: t.At,
		})
		if err != nil {
			return AgentAnswer{}, err
		}
		return showRouted(got, in.Body.SessionID, askedFrom(ctx).lang), unkept(got)
	})
}

// unkept is nil for a turn whose answer is given again when its request comes again:
// a turn that could not run may run by then.
func unkept(got turn.Reply) error {
	if got.Block != nil {
		return replay.ErrNothingDone
	}
	return nil
}

func showRouted(got turn.Reply, session string, lang locale.Tag) AgentAnswer {
	v := AgentAnswer{
		Reply: got.Message.Content, SessionID: session, Action: agent.Respond, ChatID: got.Chat.ID, Notes: got.Message.Notes, Block: showBlock(got.Block),
	}
	switch {
	case got.Block != nil:
		v.Reply = locale.Text(lang, "router.busy")
	case got.Routed != nil:
		v.Action = got.Routed.Action
		if name := got.Routed.Agent; name != "" {
			v.AgentUsed = &name
		}
	}
	return v
}
