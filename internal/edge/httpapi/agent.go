package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/rate"
	"piloto/internal/access/replay"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// agentPath is the route of the router's contract (document 001).
const agentPath = "/api/agent/chat"

// maxConfig is the most bytes of a config.
const maxConfig = 2 * clip.Instructions

// AgentRequest is the body of POST /api/agent/chat.
type AgentRequest struct {
	_         struct{}    `json:"-" additionalProperties:"true"`
	Message   string      `json:"message" minLength:"1" doc:"at most 32 KB of UTF-8"`
	SessionID string      `json:"session_id" minLength:"1" maxLength:"128" doc:"the client's own name for the conversation: a telephone number, an id"`
	Config    AgentConfig `json:"config"`
	Customer  string      `json:"customer_name,omitempty" maxLength:"200" doc:"the name of the person who writes, for the model"`
	TimeZone  string      `json:"time_zone,omitempty" maxLength:"64" doc:"of the person, as Europe/Madrid: the model is told the time there"`
}

// Resolve checks the rules that a schema cannot express.
func (r *AgentRequest) Resolve(huma.Context) (errs []error) {
	if r.SessionID != "" && (!isPrintable(r.SessionID) || visible.Blank(r.SessionID)) {
		errs = append(errs, errInvalid.At(field("string_pattern_mismatch", "body", "session_id")))
	}
	errs = append(errs, wrongZone(r.TimeZone)...)
	for _, f := range r.Config.faults {
		errs = append(errs, errInvalid.At(f))
	}
	return errs
}

// AgentConfig is the persona and the company of a message. Members that are absent or null get document 001's
// defaults; unknown members are passed to the agents.
type AgentConfig struct {
	persona agent.Persona
	faults  []fault.Field
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
			"idioma":             text("the language of reply: a tag (es, en-GB) or its name (español, inglés); else that of the request. The agents get it as it is", nil),
		},
	}
	s.PrecomputeMessages()
	return s
}

// UnmarshalJSON decodes a config and collects all faults in it.
func (c *AgentConfig) UnmarshalJSON(raw []byte) error {
	c.faults = nil
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		c.bad("object_type")
		return nil //nolint:nilerr // reported together with the other faults
	}
	if len(raw) > maxConfig {
		c.bad("too_long")
	}
	c.persona.Company = c.company(members["id_empresa"])
	delete(members, "id_empresa")
	for name, to := range map[string]*string{
		"nombre_bot": &c.persona.Name, "objetivo_principal": &c.persona.Goal, "personalidad": &c.persona.Personality,
		"modalidad": &c.persona.Modality, "frase_saludo": &c.persona.Greeting, "idioma": &c.persona.Language,
	} {
		if err := json.Unmarshal(orNull(members[name]), to); err != nil {
			c.bad("string_type", name)
		}
		if len(*to) > clip.Instructions {
			c.faults = append(c.faults, fault.TooLong(*to, clip.Instructions, "body", "config", name))
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

// company parses id_empresa: a whole number, or its digits in a string.
func (c *AgentConfig) company(raw json.RawMessage) int64 {
	if raw == nil {
		return 0 // the schema reports that it is missing
	}
	text := string(bytes.TrimSpace(raw))
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		text = strings.TrimSpace(quoted)
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if whole, isNumber := strconv.ParseFloat(text, 64); err != nil && isNumber == nil && quoted == "" && whole == math.Trunc(whole) && math.Abs(whole) < 1<<53 {
		id, err = int64(whole), nil // 7.0: some clients send only such numbers
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
	c.faults = append(c.faults, field(typ, append([]any{"body", "config"}, member...)...))
}

// AgentAnswer is document 001's answer. AgentUsed is null when the router answered itself, and when the chosen
// agent could not be reached; then Reply explains it.
type AgentAnswer struct {
	Reply     string                `json:"reply"`
	SessionID string                `json:"session_id"`
	AgentUsed *string               `json:"agent_used"`
	Action    agent.Action          `json:"action" enum:"delegate,respond"`
	ChatID    string                `json:"chat_id" doc:"the conversation, as the rest of the API and the page show it"`
	Notes     []conversation.Note   `json:"notes,omitempty" doc:"lines of the system about reply. One that contradicts it (nothing_pending, nothing_done, not_in_results, in_doubt) is shown before it; for you, and not for the customer"`
	Options   []conversation.Option `json:"options,omitempty" doc:"when the reply asks: answers to choose from, at most 10. Reply has them as numbered lines; the customer may answer with an id, with a title, or otherwise"`
	Agent     string                `json:"agent,omitempty" doc:"with failure: the agent that was asked"`
	Failure   *AgentFailure         `json:"failure,omitempty" doc:"the agent did not answer: why. Reply says so to the customer. The same message under the same key is tried again"`
	Run       *Run                  `json:"run,omitempty" doc:"the plan that an agent of yours proposed: nothing ran. Reply tells the customer that somebody decides on it"`
	Pending   *Run                  `json:"pending_run,omitempty" doc:"beside a reply in text, the plan that still waits for you: its digest confirms it"`
	Sources   []conversation.Source `json:"sources,omitempty" doc:"what an agent of yours read for its answer; for you, and not for the customer"`
	Manual    bool                  `json:"manual,omitempty" doc:"a person took over: reply only confirms that the message came, and need not be sent"`
	Block     *Block                `json:"block,omitempty" doc:"when the turn may not run: why, and what to do. Reply is for the customer and says neither"`
}

// AgentFailure is the reason why an agent did not answer.
type AgentFailure struct {
	Code    string `json:"code" doc:"stable; agent.open: it is not called for now; agent.unreachable: it was not reached; agent.timeout: it heard the message, and did not answer in time; agent.in_doubt, agent.unintelligible: it heard the message, and its answer does not say what it did; agent.failed: it answered that it did nothing"`
	RetryAt string `json:"retry_at,omitempty" format:"date-time" doc:"it is not called before"`
}

// Router serves functions/router: POST /api/agent/chat, the contract of document 001.
func Router(c Config, turns Turns) http.Handler {
	a := newAPI(c)
	a.routed(turns)
	return a.handler()
}

// Apart serves the routes of functions/chat and of functions/router, for turns that are answered apart from their requests, and
// the checks of providers.
func Apart(c Config, turns Turns, services AIServices) http.Handler {
	a := newAPI(c)
	a.chat(turns)
	a.routed(turns)
	a.providerChecks(aiHandler{c, services})
	return a.handler()
}

func (a *api) routed(turns Turns) {
	a.function = FunctionRouter
	register(a, operation{
		method: http.MethodPost, path: agentPath, id: "agentChat", access: withChat, class: rate.Turns, long: true, describe: describeLong, signed: true,
		summary:  "Route a message: answered by the model's decision, or by the agent that it delegates to",
		failures: []int{409, 413, 415, 422, 503},
	}, messageHandler{a.config, turns}.agent)
}

func (s messageHandler) agent(ctx context.Context, in *struct {
	Keyed
	Body AgentRequest
},
) (*replayed[AgentAnswer], error) {
	if len(in.Body.Message) > conversation.MaxMessage {
		return nil, errMessage
	}
	persona := in.Body.Config.persona
	lang := locale.Parse(persona.Language, requestInfoFrom(ctx).lang)
	return serveTurn(ctx, s.config, func(ctx context.Context, t ticket) (AgentAnswer, error) {
		got, err := s.turns.Route(ctx, turn.Request{
			Principal: caller(ctx), ChatID: in.Body.SessionID, Message: in.Body.Message,
			Locale: lang, TimeZone: in.Body.TimeZone, TraceID: s.config.Trace(ctx),
			Route: &turn.Route{Persona: persona, Customer: in.Body.Customer}, MessageID: t.ID, MessageAt: t.At, MayRepeat: mayBeRetried(ctx),
		})
		if err != nil {
			return AgentAnswer{}, err
		}
		return showRouted(got, in.Body.SessionID, lang), notReplayable(got)
	})
}

// notReplayable returns replay.ErrNothingDone for a turn whose answer must not be replayed: a turn that could not
// run, an agent that failed, or a person who took over may have another result when the request is sent again.
func notReplayable(got turn.Reply) error {
	if r := got.Routed; got.Block != nil || r != nil && (r.Failure != nil || r.Manual) {
		return replay.ErrNothingDone
	}
	return nil
}

func showRouted(got turn.Reply, session string, lang locale.Tag) AgentAnswer {
	v := AgentAnswer{
		Reply: got.Message.Content, SessionID: session, Action: agent.Respond, ChatID: got.Chat.ID, Notes: got.Message.Notes, Block: showBlock(got.Block, lang), Pending: pending(got),
	}
	switch {
	case got.Block != nil:
		v.Reply = locale.Text(lang, "router.busy")
	case got.Routed != nil:
		v.Reply, v.Action = got.ForCustomer(lang), got.Routed.Action
		v.Sources, v.Options = got.Message.Sources, got.Message.Options
		if got.Run != nil {
			run := showRun(*got.Run)
			v.Run = &run
		}
		v.Manual = got.Routed.Manual
		if name := got.Routed.Agent; name != "" {
			v.AgentUsed = &name
		}
		if err := got.Routed.Failure; err != nil {
			f := fault.Of(err)
			v.Agent, v.Failure = got.Routed.Asked, &AgentFailure{Code: f.Code, RetryAt: f.Args["retry_at"]}
		}
	}
	return v
}
