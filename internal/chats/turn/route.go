package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/ask"
	"piloto/internal/chats/brief"
	"piloto/internal/chats/history"
	"piloto/internal/chats/setup"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// Router holds the dependencies that only routing needs.
type Router struct {
	Memory   Memory
	Business Business
	Agents   Agents
	Context  string // default URL of the business context; "": none
}

// Memory stores the exchanges of sessions.
type Memory interface {
	Memory(ctx context.Context, account ids.Account, company int64, session string) (agent.Memory, error)
	// Remember adds an exchange to a memory, also when it changed since it was read.
	Remember(ctx context.Context, account ids.Account, m agent.Memory, e agent.Exchange) error
}

// Business reads the business context of a company; "" when there is none.
type Business interface {
	Read(ctx context.Context, account ids.Account, company int64, url string) string
}

// Agents calls agents.
type Agents interface {
	Ask(ctx context.Context, account ids.Account, a agent.Agent, m agent.Message) (agent.Answer, error)
}

// maxDecisions bounds how often a model is asked for a decision. It is asked again when the
// first decision is unusable.
const maxDecisions = 2

// routing is the strategy of a turn in which a model decides who answers.
type routing struct {
	exchange
	service  *Service
	incoming conversation.Message
	previous conversation.Message // the answer of an earlier attempt, for a retried request
	memory   agent.Memory
	settings agent.Settings
	business string
	agents   []agent.Agent
	set      setup.Setup
}

// Route answers one message of a session, with the model's response or with the answer of an
// agent that the model chooses.
//
// Every outcome is a Reply, except an error of the store. Its Routed names the agent, and its
// Block is set when the turn may not run.
func (s *Service) Route(ctx context.Context, req Request) (Reply, error) {
	chat, err := s.thread().chat(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	at := s.Now()
	r := &routing{exchange: s.exchange(req, chat), service: s}
	return s.respond(ctx, r, s.thread().userMessage(req, at), func(message conversation.Message) (conversation.Chat, error) {
		return s.thread().say(ctx, req, chat, message)
	})
}

func (r *routing) state() *exchange { return &r.exchange }

// loaders implements strategy. A failure to read optional data does not fail the turn.
func (r *routing) loaders(ctx context.Context, message conversation.Message) []func() error {
	account, company := r.req.Principal.Account, r.req.Route.Persona.Company
	r.incoming = message
	return []func() error{
		func() error {
			var err error
			if r.memory, err = r.service.Router.Memory.Memory(ctx, account, company, r.req.ChatID); err != nil {
				r.service.Log.WarnContext(ctx, "router.memory_unread", "session_id", r.req.ChatID, "error", err)
				r.memory = agent.Memory{Company: company, Session: r.req.ChatID}
			}
			r.memory = r.memory.Without(message.ID) // an earlier attempt of this message is no history
			return nil
		},
		func() (err error) { r.previous, err = r.loadPreviousAnswer(ctx, account); return },
	}
}

// equip implements strategy.
func (r *routing) equip(ctx context.Context, set setup.Setup) (err error) {
	account, company := r.req.Principal.Account, r.req.Route.Persona.Company
	r.set, r.settings = set, set.Router
	if r.business = r.settings.Context; r.business == "" {
		r.business = r.service.Router.Business.Read(ctx, account, company, cmp.Or(r.settings.ContextURL, r.service.Router.Context))
	}
	if r.agents, err = r.loadAgents(ctx, set.Servers); err != nil {
		return err
	}
	loops, err := agent.Delegates(set.Router, set.Loops, r.req.Locale)
	r.agents = append(r.agents, loops...)
	return err
}

// loadPreviousAnswer returns the message's answer when an earlier attempt stored one.
func (r *routing) loadPreviousAnswer(ctx context.Context, account ids.Account) (conversation.Message, error) {
	if !r.service.thread().mayBeRepeat(r.req) {
		return conversation.Message{}, nil
	}
	messages, err := r.service.history().Newest(ctx, r.chat.Key(account))
	return history.Answer(messages, r.req.MessageID), err
}

// loadAgents returns the account's active agents, as they were approved.
func (r *routing) loadAgents(ctx context.Context, servers []tool.Server) ([]agent.Agent, error) {
	var list []agent.Agent
	for _, server := range servers {
		if !server.Active || !server.IsAgent() {
			continue
		}
		chat, err := r.service.Servers.Operation(ctx, r.req.Principal.Account, server, tool.Entry{Name: tool.ChatTool})
		if errors.Is(err, tool.ErrNotAllowed) {
			continue // registered while it was offline: no tool is approved yet
		}
		if err != nil {
			return nil, err
		}
		list = append(list, agent.Agent{Name: server.Name, About: server.About, Keywords: server.Keywords, Server: server, Chat: chat})
	}
	return list, nil
}

// endEarly implements strategy. It returns an earlier answer again. In a chat that a person took
// over, it sends a notice. Otherwise the router answers at once.
func (r *routing) endEarly(ctx context.Context, _ conversation.Message) (bool, Reply, error) {
	switch {
	case r.previous.ID != "":
	case r.automation.Mode == eligibility.Manual:
		reply, err := r.leaveToPerson(ctx)
		return true, reply, err
	default:
		return false, Reply{}, nil
	}
	reply, err := r.service.thread().previousReply(ctx, r.req, r.chat, r.previous)
	if err != nil {
		return true, Reply{}, err
	}
	reply.Routed = &Routed{Action: agent.Respond}
	if by := r.previous.By; by != nil && by.Agent != "" {
		reply.Routed = &Routed{Action: agent.Delegate, Agent: by.Agent}
	}
	r.remember(ctx, reply.ForCustomer(r.req.Locale), reply.Routed.Agent, r.previous.ReadFrom)
	return true, reply, nil
}

// leaveToPerson returns the reply of a chat that a person took over.
func (r *routing) leaveToPerson(ctx context.Context) (Reply, error) {
	reply := r.service.thread().transientNotice(r.req, r.chat, "router.manual")
	reply.Routed = &Routed{Action: agent.Respond, Manual: true}
	_, err := r.service.thread().add(context.WithoutCancel(ctx), r.req, r.chat, r.began) // the person finds the chat at the top of the list
	return reply, err
}

// prepare implements strategy.
func (r *routing) prepare(snapshot eligibility.Snapshot) error {
	zone := firstZone(r.req.TimeZone)
	if snapshot.Assistant != nil {
		zone = firstZone(r.req.TimeZone, snapshot.Assistant.TimeZone)
	}
	if allowed := r.settings.Agents; allowed != nil {
		r.agents = slices.DeleteFunc(r.agents, func(a agent.Agent) bool {
			return !slices.ContainsFunc(allowed, func(name string) bool { return strings.EqualFold(name, a.Name) })
		})
	}
	system, err := agent.Prompt(r.req.Locale, agent.Scene{
		Today: brief.Today(r.req.Locale, r.service.Now(), zone), Persona: r.req.Route.Persona, Business: r.business,
		Memory: r.memory.Recent(), Current: r.memory.Current(), Agents: r.agents, Overrides: r.settings.Prompts,
	})
	r.query.Messages = []llm.Message{{Role: llm.System, Content: system}, {Role: llm.User, Content: r.req.Message}}
	r.query.Answered = len(r.query.Messages) - 1
	r.query.Format = agent.Format(r.agents)
	return err
}

// converse implements strategy. A person who takes the chat over meanwhile stops the answer.
func (r *routing) converse(ctx, asking context.Context) (Reply, error) {
	r.calls.Use.Assistant.Temperature = agent.Temperature
	live, watch := r.stream(ctx, r.service)
	defer watch.End(ctx)
	if until, bounded := asking.Deadline(); bounded {
		var cancel context.CancelFunc
		asking, cancel = context.WithDeadline(live, until)
		defer cancel()
	}
	decision, ok, err := r.decide(asking)
	if ok && r.reconsiders(ctx, decision) {
		decision = r.decideAgain(asking, decision)
	}
	switch {
	case errors.Is(context.Cause(live), ask.ErrStopped):
		return r.leaveToPerson(ctx)
	case err != nil:
		return r.service.blockedReply(ctx, &r.exchange, err)
	case !ok:
		return r.finish(ctx, locale.Say("router.apology"), Routed{Action: agent.Respond, Undecided: true}, nil)
	case decision.Action == agent.Delegate && r.named(decision.Agent).Loop != nil:
		return r.converseAs(ctx, asking, *r.named(decision.Agent).Loop)
	case decision.Action == agent.Delegate:
		waiting, cancel := r.service.Limits.withDeadline(live, r.began, r.service.Now())
		defer cancel()
		text, routed := r.delegate(waiting, decision.Agent)
		if errors.Is(context.Cause(live), ask.ErrStopped) {
			return r.leaveToPerson(ctx)
		}
		return r.finish(ctx, text, routed, nil)
	}
	asks := r.asks(decision)
	if asks == nil {
		return r.finish(ctx, locale.Verbatim(decision.Response), Routed{Action: decision.Action}, nil)
	}
	return r.finish(ctx, locale.Verbatim(asks.content()), Routed{Action: decision.Action}, asks)
}

// decide asks the model for its decision, at most maxDecisions times. It returns false when no
// decision is usable.
func (r *routing) decide(ctx context.Context) (agent.Decision, bool, error) {
	for range maxDecisions {
		answer, err := r.query.Ask(ctx, r.calls)
		if err != nil {
			return agent.Decision{}, false, err
		}
		r.query.Messages = append(r.query.Messages, llm.Message{Role: llm.Assistant, Content: shorten(answer.Text)})
		decision, wrong := r.parseDecision(answer)
		if wrong == nil {
			r.service.Log.InfoContext(ctx, "router.decided", "session_id", r.req.ChatID, "action", decision.Action, "agent_to_invoke", decision.Agent)
			return decision, true, nil
		}
		r.service.Log.WarnContext(ctx, "router.undecided", "session_id", r.req.ChatID, "error", wrong)
		r.query.Messages = append(r.query.Messages, llm.Message{Role: llm.System, Content: locale.Text(r.req.Locale, "prompt.undecided", "reason", wrong.Error())})
	}
	return agent.Decision{}, false, nil
}

// parseDecision decodes the model's answer as a decision.
func (r *routing) parseDecision(answer llm.Reply) (agent.Decision, error) {
	if answer.Cut {
		return agent.Decision{}, errors.New("the answer was cut: be brief")
	}
	raw, err := toolcall.LastObject(answer.Text, "action")
	if err != nil {
		return agent.Decision{}, err
	}
	return agent.ReadDecision(raw, r.agents)
}

// delegate calls an agent and returns its answer. When the agent fails, the text names it and
// the next step for the user.
func (r *routing) delegate(ctx context.Context, name string) (locale.Phrase, Routed) {
	answer, err := r.askAgent(ctx, r.named(name), agent.Message{
		Text: r.req.Message, Session: r.req.ChatID, Context: r.agentContext(), Idempotency: r.incoming.ID, TraceID: r.req.TraceID,
	})
	routed := Routed{Action: agent.Delegate, Asked: name, Attempts: answer.Attempts, Failures: answer.Failures, Failure: err}
	if err == nil {
		routed.Agent = name
		return locale.Verbatim(answer.Text), routed
	}
	r.service.Log.WarnContext(ctx, "router.agent_failed", "session_id", r.req.ChatID, "agent_to_invoke", name, "code", fault.Of(err).Code,
		"attempts", answer.Attempts, "error", err)
	key := "router.unreachable"
	switch {
	case fault.Of(err).Args["minutes"] != "":
		key = "router.agent_paused"
	case errors.Is(err, agent.ErrLate):
		key = "router.agent_late"
	case agent.MayHaveActed(err):
		key = "router.agent_doubt"
	case errors.Is(err, agent.ErrFrozen):
		key = "router.agent_frozen"
	case errors.Is(err, agent.ErrOpen):
		key = "router.agent_open"
	}
	return locale.Say(key, "agent", name, "retry_after", fault.Of(err).Args["retry_after"], "minutes", fault.Of(err).Args["minutes"]), routed
}

// named returns the agent of a name that was offered.
func (r *routing) named(name string) agent.Agent {
	return r.agents[slices.IndexFunc(r.agents, func(a agent.Agent) bool { return a.Name == name })]
}

// askAgent calls an agent. For a request that may be retried, it first records the call: after a
// crash the retry does not call an agent again, because the first call may have had effects.
func (r *routing) askAgent(ctx context.Context, a agent.Agent, m agent.Message) (agent.Answer, error) {
	account := r.req.Principal.Account
	if !r.req.MayRepeat {
		return r.service.Router.Agents.Ask(ctx, account, a, m)
	}
	switch err := r.service.Answers.NoteAsked(ctx, r.chat.Key(account), r.incoming.ID, r.service.Now()); {
	case errors.Is(err, conversation.ErrAsked):
		return agent.Answer{}, agent.ErrLate.With("agent", a.Name).Because(err)
	case err != nil:
		return agent.Answer{}, agent.ErrSilent.With("agent", a.Name).Because(err)
	}
	return r.service.Router.Agents.Ask(ctx, account, a, m)
}

// allowRetry deletes the record of the agent call after its failure was reported, because a user
// who sends the message again wants a new call. After an answer this is not needed: the answer
// is in the chat.
func (r *routing) allowRetry(ctx context.Context) {
	if !r.req.MayRepeat {
		return
	}
	if err := r.service.Answers.EndAsked(ctx, r.chat.Key(r.req.Principal.Account), r.incoming.ID, r.service.Now()); err != nil {
		r.service.Log.WarnContext(ctx, "router.asked_kept", "session_id", r.req.ChatID, "error", err)
	}
}

// agentContext returns the context that an agent receives with the message (document 001): the
// persona, the business and the history.
func (r *routing) agentContext() map[string]any {
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
	if recent := r.shareable(); len(recent) > 0 {
		c["historial"] = recent
	}
	return c
}

// readFrom returns the ids of the services whose data the router's prompt has: in answers of loops, and in texts of the
// router's own model that follow from them.
func (r *routing) readFrom() (list []string) {
	for _, e := range r.memory.Recent() {
		list = union(list, e.ReadFrom)
	}
	return list
}

// shareable returns the exchanges that a server may get. A loop's answer may have data of a service, which goes to no
// other, and neither do texts that were written from it.
func (r *routing) shareable() []agent.Exchange {
	return slices.DeleteFunc(slices.Clone(r.memory.Recent()), func(e agent.Exchange) bool {
		return len(e.ReadFrom) > 0 || slices.ContainsFunc(r.set.Loops, func(c agent.Change) bool { return c.ServerID == "" && c.Name == e.Agent }) || agent.IsShipped(e.Agent)
	})
}

// finish stores the answer, which may be a question with options, adds the exchange to the session's memory and settles
// the turn's hold. A failed write of the memory does not fail the answer.
func (r *routing) finish(ctx context.Context, text locale.Phrase, routed Routed, asks *inquiry) (reply Reply, err error) {
	by, answer := writtenBy(&r.exchange), text.In(r.req.Locale)
	by.Agent = routed.Agent
	kind, readFrom := conversation.KindText, []string(nil)
	if routed.Action == agent.Respond {
		readFrom = r.readFrom()
	}
	if routed.Failure != nil || routed.Undecided { // a fixed system text
		kind = conversation.KindNotice
	}
	req := r.req
	if routed.Failure != nil { // a retry calls the agent again, so this answer gets no fixed ID
		req.MessageID = ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	notes, unread := r.notes(ctx, kind, answer, routed, asks)
	if unread != nil { // the answer is stored all the same
		r.service.Log.WarnContext(ctx, "router.unread", "chat_id", r.chat.ID, "error", unread)
	}
	var writes sync.WaitGroup // each is done although another fails
	writes.Go(func() {
		r.service.settle(ctx, r.calls, r.count, Reply{Kind: replyOf(kind), By: by, Routed: &routed}, nil)
	})
	writes.Go(func() { r.remember(ctx, answer, routed.Agent, readFrom) })
	reply, err = r.service.thread().text(ctx, req, r.chat, kind, text, answerMeta{by: by, notes: notes, readFrom: readFrom, failed: routed.failed(), question: asks})
	writes.Wait()
	reply.Routed = &routed
	if err == nil && routed.Failure != nil {
		r.allowRetry(ctx)
	}
	return reply, err
}

// failed returns the agent that gave no answer. One that is not called for now failed before, and had its notification then.
func (r Routed) failed() failedAgent {
	if r.Failure == nil || errors.Is(r.Failure, agent.ErrOpen) {
		return failedAgent{}
	}
	return failedAgent{r.Asked, fault.Of(r.Failure).Code}
}

// remember adds the message and its answer to the session's memory.
func (r *routing) remember(ctx context.Context, text, by string, readFrom []string) {
	e := agent.Exchange{ID: r.incoming.ID, User: r.req.Message, Agent: by, Response: text, At: r.began, ReadFrom: readFrom}
	if err := r.service.Router.Memory.Remember(ctx, r.req.Principal.Account, r.memory, e); err != nil {
		r.service.Log.ErrorContext(ctx, "router.memory_unwritten", "session_id", r.req.ChatID, "error", err)
	}
}

// finishTime bounds the time for storing an answer.
const finishTime = 4 * time.Second
