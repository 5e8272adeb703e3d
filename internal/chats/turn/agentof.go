package turn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/toolset"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// actor is the agent that a chat chose. The zero actor is none, and bounds nothing.
type actor struct {
	agent.Loop
	gone string // name of an agent that the chat chose, and that is no longer there
}

// actorOf returns the agent that a chat chose, as the account has it.
func actorOf(chat conversation.Chat, c agent.Change) (actor, error) {
	if chat.Agent == "" {
		return actor{}, nil
	}
	l, err := c.Loop(chat.Agent)
	if errors.Is(err, agent.ErrNoAgent) || errors.Is(err, agent.ErrNotALoop) { // deleted, and a server took the name
		return actor{gone: chat.Agent}, nil
	}
	return actor{Loop: l}, err
}

// rounds returns the number of model calls that a turn may make.
func (a actor) rounds() int {
	if a.MaxSteps == 0 {
		return maxRounds
	}
	return min(a.MaxSteps, maxRounds)
}

// errAgentTime is the cause of the end of a call when the time of the agent is over. That is no failure of a provider.
var errAgentTime = errors.New("turn: the time of the agent is over")

// time returns the bound of the model calls of a turn, and the cause with which it ends them; nil for the turn's own.
func (d *dialog) time() (bound time.Duration, cause error) {
	bound = d.service.modelTime()
	if own := time.Duration(d.loop.agent.TimeoutS) * time.Second; own > 0 && own < bound {
		return own, errAgentTime
	}
	return bound, nil
}

// within bounds the model calls of a turn by the agent's time.
func (d *dialog) within(asking context.Context) (context.Context, context.CancelFunc) {
	bound, cause := d.time()
	return context.WithTimeoutCause(asking, bound, cause)
}

// servers returns the servers that the agent may use.
func (a actor) servers(all []tool.Server) []tool.Server {
	return slices.DeleteFunc(slices.Clone(all), func(s tool.Server) bool { return !a.MayCall(s.ID) })
}

// tools returns the tools that the agent has. In a turn each may ask the person, because a question is an answer like any other; in a
// job its list decides, because a job that asks may wait for days.
func (a actor) tools(all []llm.Tool, inTurn bool) []llm.Tool {
	return slices.DeleteFunc(all, func(t llm.Tool) bool { return !a.MayUse(t.Name) && (!inTurn || t.Name != toolset.Ask) })
}

// mayPropose reports whether the agent has a tool that proposes.
func (a actor) mayPropose() bool {
	return slices.ContainsFunc([]string{toolset.Request, toolset.Plan, toolset.Revise}, a.MayUse)
}

// section is the agent's part of the system prompt.
type section struct{ Name, Text, Tools string }

// section returns the agent's part of the system prompt; nil without an agent.
func (a actor) section(tools []llm.Tool) (*section, error) {
	if a.Name == "" {
		return nil, nil
	}
	text, err := a.PromptIn(locale.English)
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return &section{Name: a.Name, Text: llm.Escape(text), Tools: strings.Join(names, ", ")}, err
}

// announceGone says once that the agent that the chat chose is no longer there. The chat goes on without it.
func (d *dialog) announceGone(ctx context.Context) {
	if d.loop.agent.gone == "" {
		return
	}
	at := d.service.Now()
	m := d.service.thread().message(d.loop.req, conversation.RoleSystem, conversation.KindNotice, at, locale.Say("turn.agent_gone", "agent", d.loop.agent.gone))
	d.loop.chat.Agent = ""
	err := d.service.Chats.DropAgent(ctx, d.loop.chat.Key(d.loop.req.Principal.Account), d.loop.agent.gone, at, m)
	if err != nil && !errors.Is(err, fault.ErrMoved) { // moved: another turn said it, or a person chose another agent
		d.service.Log.WarnContext(ctx, "turn.agent_kept", "chat_id", d.loop.chat.ID, "error", err)
	}
}

// costNote returns the note that an answer, which cost so many micros, cost more than the agent's warning, if it did.
func (a actor) costNote(req Request, micros int64) []conversation.Note {
	if a.WarnMicros == 0 || micros <= a.WarnMicros {
		return nil
	}
	return []conversation.Note{req.note(conversation.NoteCost, "note.cost", "agent", a.Name)}
}
