package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/history"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/chats/toolset"
	"piloto/internal/ground/fault"
	"piloto/internal/models/llm"
)

// maxSearches bounds the searches of the catalogue in an answer.
const maxSearches = 4

// answerCalls answers the calls of a reply. Its proposals become one draft; every other call gets a result for the model.
func (l *loop) answerCalls(ctx, asking context.Context, answer llm.Reply) (step, error) {
	s := step{answer: answer, results: make([]string, len(answer.Calls))}
	if there, err := l.journal.wasProposed(ctx); there || err != nil {
		s.kind = stepPlanned
		return s, err
	}
	l.words.keep(answer.Text)
	l.query.Messages = append(l.query.Messages, answer.Message())
	l.trail.begin(answer, l.left)
	reading, cancel := l.journal.bound(asking)
	defer cancel()
	var b batch
	p := &b.proposals
	p.Early = l.terms.dryRunResult()
	for i, call := range answer.Calls {
		s.results[i] = l.answerCall(ctx, answer.Cut, call, toolCall{at: i, name: call.Name, batch: &b})
	}
	l.read(reading, b.reads, s.results, p)
	b.leaveToClient(s.results)
	s.open = b.open
	l.useFiles(reading, &b, s.results)
	l.withdraw(ctx, &b, s.results)
	l.trail.answer(s.results, l.sources)
	if b.apply != nil {
		var err error
		if s.reply, s.results[b.apply.at], err = l.applyChanges(ctx, &b); err != nil || s.reply.Run != nil {
			s.kind = stepPlanned
			return s, err
		}
	}
	if s.question = b.question; s.question != nil && p.Any() {
		p.Early = toolcall.Error("", "nothing was proposed: you asked the person in the same reply; propose again when you have their answer")
	}
	if p.Ready() { // a plan without one of its steps would be a different plan
		wrong, err := l.handleProposals(ctx, p, &s)
		if err != nil || len(wrong) == 0 {
			return s, err
		}
		p.Reject(wrong)
	}
	if p.Failed() {
		l.unproposed = p.Reason()
	}
	for i := range answer.Calls {
		if s.results[i] == "" && !s.isLeft(i) {
			s.results[i] = cmp.Or(p.Early, toolcall.Errors(p.Wrong))
		}
	}
	l.trail.answer(s.results, l.sources)
	for i, call := range answer.Calls {
		content := s.results[i]
		if i == len(answer.Calls)-1 && !s.isLeft(i) {
			content = history.WithLeft(content, l.left)
		}
		l.query.Messages = append(l.query.Messages, llm.Message{Role: llm.ToolRole, CallID: call.ID, Content: content})
	}
	return s, nil
}

// answerCall answers one call of a reply; "" when it is answered together with the others. A reply that was cut is refused
// whole: its last call may be incomplete, and others may be missing. A panic is a result and one log line.
func (l *loop) answerCall(ctx context.Context, cut bool, call llm.Call, c toolCall) (result string) {
	var spec *toolSpec
	defer func() {
		if cause := recover(); cause != nil {
			result = l.panicked(ctx, c, spec, cause)
		}
	}()
	spec = l.terms.spec(c.name)
	var err error
	c.raw, err = toolcall.Arguments(call.Arguments)
	why := ""
	switch {
	case cut:
		why = "nothing was called: your reply was cut; call again, with less in one reply: a long file in parts, the first with write_file, " +
			"each further one with write_file and mode append"
	case spec == nil || !l.offers(c.name):
		why = fmt.Sprintf("there is no tool %q; there are %s", c.name, toolNames(l.query.Tools))
	case err != nil:
		c.batch.proposals.Refused = err.Error()
		return toolcall.Errors([]fault.Field{{Msg: err.Error()}})
	default:
		if result, err = spec.do(ctx, l, c); err == nil {
			return result
		}
		if why = l.unread(ctx, err); spec.class == toolset.ClassRead {
			return toolcall.Error("", why)
		}
	}
	c.batch.proposals.Refused = why
	return toolcall.Error("", why)
}

// offers reports whether the model has a tool.
func (l *loop) offers(name string) bool {
	return slices.ContainsFunc(l.query.Tools, func(t llm.Tool) bool { return t.Name == name })
}

// panicked returns the result of a call that panicked. spec is nil when the tool is unknown, or was not found out before.
func (l *loop) panicked(ctx context.Context, c toolCall, spec *toolSpec, cause any) string {
	l.service.Log.ErrorContext(ctx, "turn.tool_panicked", "tool", c.name, "error", cause)
	const why = "internal error: this cannot be done now"
	if spec == nil || spec.class != toolset.ClassRead {
		c.batch.proposals.Refused = why // a plan without one of its steps would be a different plan
	}
	return toolcall.Error("", why)
}

// unread returns the tool result of a read that the store cannot make now.
func (l *loop) unread(ctx context.Context, err error) string {
	l.service.Log.ErrorContext(ctx, "turn.unread", "chat_id", l.chat.ID, "error", err)
	return "this cannot be read now: go on without it, or call again later"
}

// read makes the reads of a reply. Those that need a confirmation become proposals, unless something was read: the
// model then proposes again, because it wrote its proposals before it had read that.
func (l *loop) read(ctx context.Context, list []reads.Asked, results []string, p *proposal.Batch) {
	if len(list) == 0 {
		return
	}
	propose := l.reading.Make(ctx, list, results)
	l.sources = l.reading.Sources()
	if !l.agent.MayUse(toolset.Request) {
		for _, a := range propose {
			results[a.At] = toolcall.Error("", "this read needs the person's confirmation, and this agent proposes nothing")
		}
		return
	}
	if len(propose) < len(list) {
		for _, a := range propose {
			results[a.At] = toolcall.Error("", "this read needs the person's confirmation: propose it with mcp_request")
		}
		if p.Any() {
			p.Early = toolcall.Error("", "nothing was proposed: you proposed before you read the answers of this reply; propose again")
		}
		return
	}
	for _, a := range propose {
		p.AddCall(a.Call)
	}
}

// limitedSearch answers at most maxSearches search_tools calls.
func (l *loop) limitedSearch(ctx context.Context, raw json.RawMessage) (string, error) {
	if l.searches++; l.searches > maxSearches {
		return toolcall.Error("", "enough was searched: call another tool, or answer the person in text"), nil
	}
	return brief.Search(ctx, l.service.Servers, l.req.Principal.Account, l.listed, raw)
}
