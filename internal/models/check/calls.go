package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// The calls of a check, in their order.
const (
	callText       = "text"
	callTool       = "tool"
	callTwo        = "two_tools"
	callStructured = "structured"
	callStream     = "stream"
)

// skipped is the error of a call that was not made.
const skipped = "skipped"

const (
	maxTokens   = 1024 // of an answer: a model that thinks needs some hundreds before it calls a tool
	temperature = 0.2
	continued   = 1500 // tokens of the earlier answer that the second call of tools repeats, at most
)

// probe is one call.
type probe struct {
	name    string
	request llm.Request
}

// The tool of the check, which nobody carries out.
const toolName = "look_up_weather"

var weather = llm.Tool{
	Name: toolName, Description: "Returns the weather of one city.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"],"additionalProperties":false}`),
}

var report = llm.Format{
	Name:   "report",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"integer"}},"required":["city","degrees"],"additionalProperties":false}`),
}

const instructions = "This is a test of a connection. Answer as briefly as you can, and do exactly what is asked."

// requests returns the five calls. A system message stands inside of the first one, as in the prompts of turns.
func requests(model string) []probe {
	ask := func(text string) []llm.Message {
		return []llm.Message{{Role: llm.System, Content: instructions}, {Role: llm.User, Content: text}}
	}
	list := []probe{
		{callText, llm.Request{Messages: []llm.Message{
			{Role: llm.System, Content: instructions},
			{Role: llm.User, Content: "Say hello."},
			{Role: llm.Assistant, Content: "Hello."},
			{Role: llm.System, Content: "The next answer is one word."},
			{Role: llm.User, Content: "Say yes."},
		}}},
		{callTool, llm.Request{Messages: ask("Look up the weather of Lima with the tool."), Tools: []llm.Tool{weather}}},
		{callTwo, llm.Request{Messages: ask("Look up the weather of Cusco and of Tacna with the tool: two calls, both in this answer."), Tools: []llm.Tool{weather}}},
		{callStructured, llm.Request{Messages: ask(`It is 21 degrees in Lima. Answer with one JSON object alone: {"city": the name, "degrees": the number}.`), Format: &report}},
		{callStream, llm.Request{Messages: ask("Count from one to five in words."), Sink: nowhere{}}},
	}
	for i := range list {
		list[i].request.Model, list[i].request.MaxTokens, list[i].request.Temperature = model, maxTokens, temperature
	}
	return list
}

// nowhere is a sink for a text that nobody reads.
type nowhere struct{}

// Text implements llm.Sink.
func (nowhere) Text(string) {}

// Reset implements llm.Sink.
func (nowhere) Reset() {}

// callAll makes the calls, until the first one fails, the time is over, or the check is gone.
func (r *running) callAll(ctx context.Context) {
	var found findings
	noTools := false
	var asked []llm.Message // for the tool, and its answer
	for _, p := range requests(r.check.Model) {
		switch {
		case !r.isAsked(ctx):
			return
		case p.name == callTwo && noTools, ctx.Err() != nil:
			r.check.Calls = append(r.check.Calls, eligibility.CheckCall{Name: p.name, Error: skipped})
			continue
		case p.name == callTwo:
			p.request.Messages = slices.Concat(asked, p.request.Messages[1:])
		}
		reply, seen, err := r.call(ctx, p)
		if blocked, ok := errors.AsType[paid.Blocked](err); ok {
			r.block(blocked.Block)
			return
		}
		r.health = errors.Join(r.health, first(p, err))
		if p.name == callText && err != nil {
			r.fail(whyOf(err, seen))
			return
		}
		found.read(p, reply, seen, err)
		if p.name == callTool {
			noTools = err != nil || len(reply.Calls) == 0
			asked = answered(p.request.Messages, reply)
		}
	}
	r.check.Status = eligibility.CheckDone
	r.finish(found)
}

// first returns the error of the first call: those of the others are what was to be found out.
func first(p probe, err error) error {
	if p.name != callText {
		return nil
	}
	return err
}

// isAsked reports whether the check is still the one that was begun. An account that cannot be read keeps its check.
func (r *running) isAsked(ctx context.Context) bool {
	settings, err := r.Eligibility.Store.Settings(ctx, r.account)
	return err != nil || settings.Checks[r.check.Provider].ID == r.check.ID
}

// call makes one call, within its time. seen are its exchanges with the provider, the refused ones too.
func (r *running) call(ctx context.Context, p probe) (reply llm.Reply, seen []llm.Exchange, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	began := r.Now()
	r.called = true
	reply, err = r.calls.Once(llm.Watching(ctx, func(e llm.Exchange) { seen = append(seen, e) }), p.request)
	c := eligibility.CheckCall{Name: p.name, OK: err == nil, Millis: r.Now().Sub(began).Milliseconds(), Tokens: reply.Usage.Input + reply.Usage.Output}
	if err != nil {
		r.Log.WarnContext(ctx, "check.call_failed", "provider", r.check.Provider, "model", r.check.Model, "call", p.name, "error", err)
		c.Error = string(whyOf(err, seen))
	}
	r.check.Calls = append(r.check.Calls, c)
	return reply, seen, err
}

// answered returns a conversation with the answer of a model and the results of its calls.
func answered(messages []llm.Message, reply llm.Reply) []llm.Message {
	calls := llm.Distinct(reply.Calls, messages)
	out := append(slices.Clone(messages), llm.Message{Role: llm.Assistant, Content: reply.Text, Calls: calls, Thought: reply.Thought, Extra: reply.Extra, From: reply.From})
	for _, c := range calls {
		out = append(out, llm.Message{Role: llm.ToolRole, CallID: c.ID, Content: `{"degrees":19}`})
	}
	return out
}

// whyOf returns the reason of a failed call: what a turn would tell, as exactly as its exchanges show it.
func whyOf(err error, seen []llm.Exchange) eligibility.Reason {
	blocked, isBlocked := errors.AsType[paid.Blocked](err)
	switch {
	case isBlocked:
		return blocked.Block.Reason
	case errors.Is(err, context.DeadlineExceeded):
		return eligibility.CheckTimeout
	case errors.Is(err, context.Canceled):
		return eligibility.CheckInterrupted
	case len(seen) > 0 && seen[len(seen)-1].NoAPI && !errors.Is(err, llm.ErrNoKey):
		return eligibility.CheckNoAPI
	}
	return cmp.Or(causes[llm.CauseOf(err)], reasonOf(err))
}

// causes are the reasons that a check gives for the causes of a refusal.
var causes = map[llm.Cause]eligibility.Reason{
	llm.Unpaid: eligibility.CheckBalance, llm.NoModel: eligibility.CheckModel, llm.Filtered: eligibility.CheckFiltered,
	llm.CutShort: eligibility.CheckCutShort, llm.TooLong: eligibility.CheckTooLong,
}
