package turn

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
)

// converseAs has a loop that the router's model chose answer a customer: by a conversation under its prompt, within its
// bounds, in the same turn. Its proposal is a draft of the chat. A customer's message confirms nothing, because only the
// model's decision is asked of it: a person of the account confirms.
func (r *routing) converseAs(ctx, asking context.Context, l agent.Loop) (Reply, error) {
	s := r.service
	d := s.dialog(r.req, r.chat)
	c := d.loop
	c.began, c.calls, c.agent, c.chat.Agent = r.began, r.calls, actor{Loop: l}, l.Name
	var loads errgroup.Group
	for _, load := range d.loaders(ctx, r.incoming) {
		loads.Go(load)
	}
	loads.Go(func() error { return d.equip(ctx, r.set) })
	snapshot, err := s.Paid.Eligibility.Snapshot(ctx, c.agent.Asked(question(r.req.Principal.Account, r.chat)), r.set.AI)
	if loadErr := loads.Wait(); err == nil {
		err = loadErr
	}
	if err != nil {
		return Reply{}, err
	}
	if err := d.prepare(snapshot); err != nil {
		return Reply{}, err
	}
	if block := c.query.Resolve(c.calls, snapshot); block != nil {
		return s.thread().storeBlock(ctx, r.req, r.chat, block)
	}
	routed := Routed{Action: agent.Delegate, Agent: l.Name, Asked: l.Name, Attempts: 1}
	count := r.count
	r.count = func(ctx context.Context, reply Reply, err error) {
		if reply.Routed == nil && reply.Block == nil {
			reply.Routed = &routed
		}
		count(ctx, reply, err)
	}
	c.count = r.count
	reply, err := d.converse(ctx, asking)
	switch {
	case err != nil || reply.Block != nil:
		return reply, err
	case reply.Message.StopReason == conversation.StopPerson: // the written text stays in the chat, and the customer waits for a person
		return r.leaveToPerson(ctx)
	}
	reply.Routed = &routed
	r.remember(ctx, reply.ForCustomer(r.req.Locale), l.Name, reply.Message.ReadFrom)
	return reply, nil
}

// failed returns the agent of a conversation with a customer that had no result. A person who reads the answer needs no
// notification.
func (d *dialog) failed() failedAgent {
	if d.loop.req.Route == nil || d.ending.status != conversation.Failed {
		return failedAgent{}
	}
	return failedAgent{d.loop.agent.Name, string(d.ending.reason)}
}

// ForCustomer returns the text for a customer of the router. A plan is for the account's own people, who confirm it.
func (r Reply) ForCustomer(tag locale.Tag) string {
	if r.Kind == KindPlan {
		return locale.Text(tag, "router.proposed")
	}
	return r.Message.Content
}

// customerPersona says for whom an agent speaks that the router chose, and to whom.
func (r Request) customerPersona() string {
	p := r.Route.Persona
	lines := []string{locale.ModelText("prompt.customer"), p.Name, p.Goal, p.Personality, p.Modality}
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}
