package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// Router is what routing needs beside what conversing does.
type Router struct {
	Memory   Memory
	Settings Settings
	Business Business
	Agents   Agents
	Context  string // URL of the business context where nobody names another; "": none
}

// Memory is what sessions remember.
type Memory interface {
	Memory(ctx context.Context, account string, company int64, session string) (agent.Memory, error)
	// Remember adds an exchange to a memory, also when it moved since it was read.
	Remember(ctx context.Context, account string, m agent.Memory, e agent.Exchange) error
}

// Settings are an account's own, as a company changes them.
type Settings interface {
	RouterSettings(ctx context.Context, account string, company int64) (agent.Settings, error)
}

// Business knows what is known of a company; "" when nothing is.
type Business interface {
	Read(ctx context.Context, account string, company int64, url string) string
}

// Agents answer what is delegated to them.
type Agents interface {
	Ask(ctx context.Context, account string, a agent.Agent, m agent.Message) (agent.Answer, error)
}

// mostDecisions is how often a model is asked for a decision: a second time when
// the first cannot be used.
const mostDecisions = 2

// routing is the way of a turn in which a model decides who answers.
type routing struct {
	inquiry
	said     conversation.Message
	known    conversation.Message // what answered it before, of a request that came again
	memory   agent.Memory
	settings agent.Settings
	business string
	agents   []agent.Agent
}

// Route answers one message of a session, by what the model says or by an agent
// that it chooses.
//
// Every outcome but a store that takes nothing is a Reply: Routed says who
// answered, and Block that nobody may.
func (s *Service) Route(ctx context.Context, req Request) (Reply, error) {
	chat, err := s.chat(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	at := s.Now()
	temperature := agent.Temperature
	r := &routing{inquiry: inquiry{Service: s, req: req, chat: chat, temperature: &temperature}}
	return s.respond(ctx, r, s.said(req, at), func(said conversation.Message) (conversation.Chat, error) {
		return s.add(ctx, req, chat, at, said)
	})
}

func (r *routing) asks() *inquiry { return &r.inquiry }

// reads implements way. What only helps is never a reason not to answer.
func (r *routing) reads(ctx context.Context, said conversation.Message) []func() error {
	account, company := r.req.Principal.Account, r.req.Route.Persona.Company
	r.said = said
	return []func() error{
		func() error {
			var err error
			if r.memory, err = r.Router.Memory.Memory(ctx, account, company, r.req.ChatID); err != nil {
				r.Log.WarnContext(ctx, "router.memory_unread", "session_id", r.req.ChatID, "error", err)
				r.memory = agent.Memory{Company: company, Session: r.req.ChatID}
			}
			r.memory = r.memory.Without(said.ID) // a message that is sent again is not what was said before it
			return nil
		},
		func() (err error) {
			if r.settings, err = r.Router.Settings.RouterSettings(ctx, account, company); err != nil {
				return err // without them it would be somebody else's agents and words
			}
			if r.business = r.settings.Context; r.business == "" {
				r.business = r.Router.Business.Read(ctx, account, company, cmp.Or(r.settings.ContextURL, r.Router.Context))
			}
			return nil
		},
		func() (err error) { r.agents, err = r.loadAgents(ctx, account); return },
		func() (err error) { r.known, err = r.answered(ctx, account); return },
	}
}

// answered is what answered the message when its request was served before.
func (r *routing) answered(ctx context.Context, account string) (conversation.Message, error) {
	if !r.mayBeAgain(r.req) {
		return conversation.Message{}, nil
	}
	messages, err := r.newest(ctx, account, r.chat.ID)
	return answerTo(messages, r.req), err
}

// loadAgents returns the account's active agents, as they were approved.
func (s *Service) loadAgents(ctx context.Context, account string) ([]agent.Agent, error) {
	servers, err := s.Store.Servers(ctx, account)
	if err != nil {
		return nil, err
	}
	var list []agent.Agent
	for _, server := range servers {
		if !server.Active || !server.IsAgent() {
			continue
		}
		chat, err := s.Store.Operation(ctx, account, server, tool.Entry{Name: tool.ChatTool})
		if errors.Is(err, tool.ErrNotAllowed) {
			continue // registered while it was offline: nothing of it was approved yet
		}
		if err != nil {
			return nil, err
		}
		list = append(list, agent.Agent{Name: server.Name, About: server.About, Keywords: server.Keywords, Server: server, Chat: chat})
	}
	return list, nil
}

// due implements way: whoever asks the router wants its answer now, and the same one
// when there is one. A chat that a person took over is theirs to answer.
func (r *routing) due(ctx context.Context, _ conversation.Message, snapshot eligibility.Snapshot) (bool, Reply, error) {
	switch {
	case r.known.ID != "":
	case snapshot.Automation().Mode == eligibility.Manual:
		reply := r.aside(r.req, r.chat, "router.manual")
		reply.Routed = &Routed{Action: agent.Respond, Manual: true}
		return true, reply, nil
	default:
		return false, Reply{}, nil
	}
	routed := Routed{Action: agent.Respond}
	if by := r.known.By; by != nil && by.Agent != "" {
		routed = Routed{Action: agent.Delegate, Agent: by.Agent}
	}
	r.remember(ctx, r.known.Content, routed.Agent)
	return true, Reply{Kind: replyOf(r.known.Kind), Message: r.known, Chat: r.chat, By: r.known.By, Routed: &routed}, nil
}

// prepare implements way.
func (r *routing) prepare(eligibility.Snapshot) error {
	if allowed := r.settings.Agents; allowed != nil {
		r.agents = slices.DeleteFunc(r.agents, func(a agent.Agent) bool {
			return !slices.ContainsFunc(allowed, func(name string) bool { return strings.EqualFold(name, a.Name) })
		})
	}
	system, err := agent.Prompt(r.req.Locale, agent.Scene{
		Today: today(r.req.Locale, r.Now()), Persona: r.req.Route.Persona, Business: r.business,
		Memory: r.memory.Recent(), Current: r.memory.Current(), Agents: r.agents, Overrides: r.settings.Prompts,
	})
	r.messages = []llm.Message{{Role: llm.System, Content: system}, {Role: llm.User, Content: r.req.Message}}
	r.format = agent.Format(r.agents)
	return err
}

// converse implements way.
func (r *routing) converse(ctx, asking context.Context) (Reply, error) {
	decision, ok, err := r.decide(asking)
	if err != nil {
		return r.unanswered(ctx, err)
	}
	switch {
	case !ok:
		return r.finish(ctx, locale.Text(r.req.Locale, "router.apology"), Routed{Action: agent.Respond, Sorry: true})
	case decision.Action == agent.Delegate:
		waiting, cancel := r.Limits.until(ctx, r.began, r.Now())
		defer cancel()
		text, routed := r.delegate(waiting, decision.Agent)
		return r.finish(ctx, text, routed)
	}
	return r.finish(ctx, decision.Response, Routed{Action: decision.Action})
}

// decide asks the model for its decision, again once when it cannot be used; false
// when neither can.
func (r *routing) decide(ctx context.Context) (agent.Decision, bool, error) {
	for range mostDecisions {
		answer, err := r.ask(ctx, false)
		if err != nil {
			return agent.Decision{}, false, err
		}
		decision, wrong := r.read(answer)
		if wrong == nil {
			r.Log.InfoContext(ctx, "router.decided", "session_id", r.req.ChatID, "action", decision.Action, "agent_to_invoke", decision.Agent)
			return decision, true, nil
		}
		r.Log.WarnContext(ctx, "router.undecided", "session_id", r.req.ChatID, "error", wrong)
		r.messages = append(r.messages,
			llm.Message{Role: llm.Assistant, Content: shortened(answer.Text)},
			llm.Message{Role: llm.System, Content: locale.Text(r.req.Locale, "prompt.undecided", "reason", wrong.Error())})
	}
	return agent.Decision{}, false, nil
}

func (r *routing) read(answer llm.Reply) (agent.Decision, error) {
	if answer.Cut {
		return agent.Decision{}, errors.New("the answer was cut: be brief")
	}
	raw, err := readArguments(answer.Text)
	if err != nil {
		return agent.Decision{}, err
	}
	return agent.ReadDecision(raw, r.agents)
}

// delegate has an agent answer. When it does not, the person is told which agent
// that is, and what happens next.
func (r *routing) delegate(ctx context.Context, name string) (string, Routed) {
	at := slices.IndexFunc(r.agents, func(a agent.Agent) bool { return a.Name == name })
	answer, err := r.consult(ctx, r.agents[at], agent.Message{
		Text: r.req.Message, Session: r.req.ChatID, Context: r.context(), Idempotency: r.said.ID, TraceID: r.req.TraceID,
	})
	routed := Routed{Action: agent.Delegate, Asked: name, Attempts: answer.Attempts, Failures: answer.Failures, Failure: err}
	if err == nil {
		routed.Agent = name
		return answer.Text, routed
	}
	r.Log.WarnContext(ctx, "router.agent_failed", "session_id", r.req.ChatID, "agent_to_invoke", name, "code", fault.Of(err).Code,
		"attempts", answer.Attempts, "error", err)
	key := "router.unreachable"
	switch {
	case errors.Is(err, agent.ErrLate):
		key = "router.agent_late"
	case errors.Is(err, agent.ErrFrozen):
		key = "router.agent_frozen"
	case errors.Is(err, agent.ErrOpen):
		key = "router.agent_open"
	}
	return locale.Text(r.req.Locale, key, "agent", name, "retry_after", fault.Of(err).Args["retry_after"]), routed
}

// consult asks an agent. Of a request that may come again it is noted before, because who
// dies while they ask has it come again, and no agent is asked twice for that: it may have
// done what it was asked for.
func (r *routing) consult(ctx context.Context, a agent.Agent, m agent.Message) (agent.Answer, error) {
	account := r.req.Principal.Account
	if !r.req.MayCome {
		return r.Router.Agents.Ask(ctx, account, a, m)
	}
	switch err := r.Store.NoteAsked(ctx, account, r.chat.ID, r.said.ID, r.Now()); {
	case errors.Is(err, conversation.ErrAsked):
		return agent.Answer{}, agent.ErrLate.With("agent", a.Name).Because(err)
	case err != nil:
		return agent.Answer{}, agent.ErrSilent.With("agent", a.Name).Because(err)
	}
	return r.Router.Agents.Ask(ctx, account, a, m)
}

// mayAsk notes that somebody was told that the agent failed: who sends the message again
// means it. Of an answer nothing needs to be noted, because it stands in the chat.
func (r *routing) mayAsk(ctx context.Context) {
	if !r.req.MayCome {
		return
	}
	if err := r.Store.EndAsked(ctx, r.req.Principal.Account, r.chat.ID, r.said.ID, r.Now()); err != nil {
		r.Log.WarnContext(ctx, "router.asked_kept", "session_id", r.req.ChatID, "error", err)
	}
}

// context is what an agent is told beside the message (document 001): who speaks,
// for whom, and what was said before.
func (r *routing) context() map[string]any {
	p := r.req.Route.Persona
	c := map[string]any{}
	for name, value := range p.More {
		c[name] = value
	}
	for name, value := range map[string]string{
		"nombre_bot": p.Name, "objetivo_principal": p.Goal, "personalidad": p.Personality, "modalidad": p.Modality,
		"frase_saludo": p.Greeting, "contexto_negocio": r.business, "idioma": cmp.Or(p.Language, string(r.req.Locale)),
	} {
		if value != "" {
			c[name] = value
		}
	}
	c["id_empresa"] = p.Company
	if recent := r.memory.Recent(); len(recent) > 0 {
		c["historial"] = recent
	}
	return c
}

// finish stores the answer and what the session remembers of it, and settles what
// the turn used. A memory that cannot be written is a loss, and no reason to keep
// an answer from whoever waits for it.
func (r *routing) finish(ctx context.Context, text string, routed Routed) (reply Reply, err error) {
	by := r.by()
	by.Agent = routed.Agent
	kind := conversation.KindText
	if routed.Failure != nil || routed.Sorry { // the system's own words
		kind = conversation.KindNotice
	}
	req := r.req
	if routed.Failure != nil { // the message is tried again when it comes again: this answers it for now only
		req.MessageID = ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	_ = parallel.Do(
		func() error {
			reply, err = r.text(ctx, req, r.chat, kind, text, by, r.notes(kind, text, routed)...)
			return nil
		},
		func() error {
			r.meter.settle(ctx, Reply{Kind: replyOf(kind), By: by, Routed: &routed}, nil)
			return nil
		},
		func() error { r.remember(ctx, text, routed.Agent); return nil },
	)
	reply.Routed = &routed
	if err == nil && routed.Failure != nil {
		r.mayAsk(ctx)
	}
	return reply, err
}

// notes are the notes under an answer of the router's own model, which can only answer. An
// agent answers for its own claims.
func (r *routing) notes(kind conversation.Kind, text string, routed Routed) []conversation.Note {
	if kind != conversation.KindText || routed.Action != agent.Respond || !intent.Poses(text).Done {
		return nil
	}
	return []conversation.Note{{Code: conversation.NoteNothingDone, Text: locale.Text(r.req.Locale, "note.nothing_done")}}
}

// remember adds what was said and answered to the memory of the session.
func (r *routing) remember(ctx context.Context, text, by string) {
	e := agent.Exchange{ID: r.said.ID, User: r.req.Message, Agent: by, Response: text, At: r.began}
	if err := r.Router.Memory.Remember(ctx, r.req.Principal.Account, r.memory, e); err != nil {
		r.Log.ErrorContext(ctx, "router.memory_unwritten", "session_id", r.req.ChatID, "error", err)
	}
}

// finishTime bounds what storing an answer may take.
const finishTime = 4 * time.Second
