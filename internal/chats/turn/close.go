package turn

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"piloto/internal/chats/ask"
	"piloto/internal/chats/brief"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
)

// A turn that has to end before the model is done ends with a text: the model lists its reads and the open points, in
// one last call without tools. The cost of that call is held from the first one on, and in a turn that may not read from
// the second one on: most of these have only one, and would keep others waiting. When it cannot be made, the text is
// made from the record. The call is not made when a person stopped the turn, or when the turn did not begin.

// Bounds of the closing call.
const (
	closeTime = 4 * time.Second // of the time of a turn, a fifth of it at most; the calls before it end so much earlier
)

// roundTime bounds a model call: when something was read, it leaves time to close.
func (d *dialog) roundTime(asking context.Context) (context.Context, context.CancelFunc) {
	if d.hasRead() {
		return d.beforeClosing(asking)
	}
	return context.WithCancel(asking)
}

// beforeClosing returns a context that ends early enough for the closing call.
func (d *dialog) beforeClosing(asking context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := asking.Deadline(); ok {
		bound, cause := d.time()
		return context.WithDeadlineCause(asking, deadline.Add(-min(closeTime, bound/5)), cause)
	}
	return context.WithCancel(asking)
}

// hasRead reports whether this turn read an answer of a service.
func (d *dialog) hasRead() bool {
	return slices.ContainsFunc(d.loop.sources, func(s conversation.Source) bool { return s.Answer != "" })
}

// stopOf returns why a turn ends after a failed model call; "" when the cause is an internal error.
func stopOf(round context.Context, err error) conversation.StopReason {
	var blocked paid.Blocked
	switch {
	case errors.Is(err, ask.ErrContextFull):
		return conversation.StopContext
	case errors.Is(round.Err(), context.DeadlineExceeded):
		return conversation.StopTime
	case !errors.As(err, &blocked):
		return ""
	}
	if blocked.Block.Reason.Unpaid() {
		return conversation.StopBudget
	}
	return conversation.StopModel
}

// close ends a turn before the model was done.
func (d *dialog) close(ctx, asking context.Context, stop conversation.StopReason) (Reply, error) {
	d.ending = ending{conversation.Partial, stop}
	why := d.closedBy(stop)
	answer, err := d.lastWords(asking, why)
	switch {
	case errors.Is(context.Cause(asking), ask.ErrStopped):
		return d.stopped(ctx, answer.Text)
	case err == nil && answer.Text != "":
		text := d.loop.words.with(answer.Text)
		notes, err := d.loop.checker().notes(ctx, claim.Read(text))
		if err != nil {
			return Reply{}, err
		}
		return d.finish(ctx, conversation.KindText, locale.Verbatim(shorten(text)), notes...)
	case err != nil:
		d.service.Log.WarnContext(ctx, "turn.closed_without_model", "turn_id", d.loop.calls.Turn.ID, "stop_reason", stop, "error", err)
	}
	d.ending.status = conversation.Failed
	switch {
	case stop == conversation.StopSteps && !d.hasRead() && d.loop.unproposed == nil:
		why = locale.Say("turn.too_many_rounds")
	case stop == conversation.StopModel && err == nil: // it gave an empty text again
		why = locale.Say("turn.empty")
	}
	return d.giveUp(ctx, why)
}

// closedBy says why a turn ends early.
func (d *dialog) closedBy(stop conversation.StopReason) locale.Phrase {
	if bound, cause := d.time(); stop == conversation.StopTime && cause != nil {
		return locale.Say("turn.closed.agent_time", "agent", d.loop.agent.Name, "seconds", strconv.Itoa(int(bound/time.Second)))
	}
	said := locale.Say("turn.closed." + string(stop))
	if b := d.unpaid.Block; b != nil && b.Detail() != nil {
		return locale.Joined{Phrases: []locale.Phrase{said, b.Detail()}, Between: " "}
	}
	return said
}

// lastWords makes the closing call of a turn, with the credit that was held for it.
func (d *dialog) lastWords(asking context.Context, why locale.Phrase) (llm.Reply, error) {
	if d.loop.calls.First != nil && (d.loop.calls.First.Reason == eligibility.NoAPIKey || d.loop.calls.First.Reason == eligibility.RateLimited) {
		return llm.Reply{}, paid.Blocked{Block: d.loop.calls.First} // the provider is not to be called
	}
	prompt := d.loop.calls.Use.Window
	if d.loop.calls.Reserved {
		prompt = d.loop.query.CloseFor
	}
	r, err := d.loop.query.Closing(d.loop.calls.Use, why.In(locale.English), ask.Room{Answer: ask.CloseOutput, Prompt: prompt})
	if err != nil {
		return llm.Reply{}, err
	}
	return ask.LastCall(asking, d.loop.calls, r)
}

// statePhrases list the reads, the open points and the waiting plan of the chat.
func (d *dialog) statePhrases() (all []locale.Phrase) {
	say := func(key, name string, value any) { all = append(all, locale.Say(key, name, value)) }
	read := ""
	for _, s := range d.loop.sources {
		if s.Answer != "" {
			read += "\n- " + s.Service + ": " + s.Called()
		}
	}
	if read != "" {
		say("turn.closed.read", "list", read)
	}
	if d.loop.unproposed != nil {
		say("turn.bad_call", "reason", d.loop.unproposed)
	}
	if goal := brief.Goal(draftIn(d.loop.past.Runs, d.loop.chat), d.service.Now()); goal != "" {
		say("turn.closed.waits", "goal", goal)
	}
	for _, r := range d.loop.past.Runs {
		key := "turn.closed.running"
		if r.Status == plan.Waiting {
			key = "turn.closed.approval"
		}
		if r.ID == d.loop.chat.ActiveRunID && r.Status.Active() {
			say(key, "goal", toolcall.OneLine(r.Plan.Goal))
		}
	}
	return all
}
