package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// A model may take back the draft that it was shown, when a person refuses it in words that are on no list of ours. That is the
// model's act, not the person's: it is recorded as such, runs nothing, and loses to every decision of a person.

// withdrawal is a call that takes the draft back.
type withdrawal struct {
	at     int // its index in the reply
	reason string
}

var withdrawKeys = []string{"run_id", "reason"}

// needsDecider reports whether a turn answers a person who decides about the draft that waits.
func needsDecider(o offer) bool { return o.revises && o.decides }

// doWithdraw takes the call: it is made after the other calls of the reply were read, and before their plan is proposed.
func doWithdraw(_ context.Context, l *loop, c toolCall) (string, error) {
	var in struct {
		RunID  string `json:"run_id"`
		Reason string `json:"reason"`
	}
	if l.pending == nil {
		return noDraft, nil
	}
	wrong := toolcall.Decode(c.raw, &in, withdrawKeys)
	if in.Reason = toolcall.Line(in.Reason, len(in.Reason)); in.Reason == "" || utf8.RuneCountInString(in.Reason) > plan.MaxWithdrawalReason {
		wrong = append(wrong, fault.Field{Loc: []any{"reason"}, Type: "value_error", Msg: fmt.Sprintf("must say why, in at most %d characters", plan.MaxWithdrawalReason)})
	}
	if in.RunID != "" && in.RunID != l.pending.ID {
		wrong = append(wrong, fault.Field{Loc: []any{"run_id"}, Type: "value_error", Msg: "must be that of the draft which waits in this chat: " + l.pending.ID})
	}
	switch {
	case len(wrong) > 0:
		return toolcall.Errors(wrong), nil
	case c.batch.withdrawal != nil:
		return toolcall.Error("", "it is called once in a reply"), nil
	}
	c.batch.withdrawal = &withdrawal{c.at, in.Reason}
	return "", nil
}

// withdraw takes the draft back, as a reply asks. When it cannot, nothing else of the reply is done: the model wrote it for a
// chat in which the draft waits no longer.
func (l *loop) withdraw(ctx context.Context, b *batch, results []string) {
	w := b.withdrawal
	if w == nil {
		return
	}
	why := ""
	if b.proposals.Revises {
		why = toolcall.Error("", "it was not withdrawn: you change the same plan in this reply; do one of both")
	} else {
		results[w.at], why = l.takeBack(ctx, w.reason)
	}
	if why == "" {
		return
	}
	const undone = "nothing was done: the plan that you wanted to withdraw was not withdrawn; read why, and call again if it is still wanted"
	results[w.at] = why
	if b.proposals.Any() {
		b.proposals.Early = toolcall.Error("", undone)
	}
	if b.question != nil {
		results[b.question.at], b.question = toolcall.Error("", undone), nil
	}
	if b.apply != nil {
		results[b.apply.at], b.apply = toolcall.Error("", undone), nil
	}
}

// takeBack takes the draft back. It returns the result for the model, or why the draft was not taken back.
func (l *loop) takeBack(ctx context.Context, reason string) (result, why string) {
	draft := l.pending
	decision, err := l.service.Runs.Withdraw(ctx, run.Retraction{
		Account: draft.Account, RunID: draft.ID, Digest: draft.Digest, Locale: l.req.Locale,
		As: plan.Withdrawal{Message: l.incoming.ID, Reason: reason, Provider: l.calls.Use.Provider, Model: l.calls.Use.Model},
	})
	switch kind := fault.KindOf(err); {
	case err == nil:
	case kind == fault.Conflict, kind == fault.Gone, kind == fault.NotFound:
		return "", l.keptDraft(ctx, err)
	default:
		return "", toolcall.Error("", l.unread(ctx, err))
	}
	l.withdrawn = append(l.withdrawn, decision.Message)
	l.past.Named = append([]string{draft.ID}, l.past.Named...) // a claim is compared with it, although its card may be far above
	l.forgetDraft(decision.Run)
	l.chat.PendingRunID, l.chat.UpdatedAt = "", decision.Message.At
	return toolcall.Encode(map[string]any{
		"withdrawn": draft.ID,
		"note":      "the plan waits no longer and nothing of it was run; the person reads that you withdrew it, and can have it proposed again. Now answer the person, or propose another plan",
	}), ""
}

// keptDraft returns the tool result of a draft that was not taken back, with its state.
func (l *loop) keptDraft(ctx context.Context, err error) string {
	why := "it ended meanwhile"
	switch {
	case errors.Is(err, plan.ErrAlreadyRunning):
		why = "the person confirmed it meanwhile, and it runs"
	case errors.Is(err, plan.ErrStale):
		why = "it was changed or replaced meanwhile"
	case errors.Is(err, plan.ErrExpired):
		why = "it expired meanwhile"
	}
	out := map[string]any{"error": "it was not withdrawn, and nothing was done: " + why}
	r, err := l.service.Plans.Bare(ctx, l.pending.Account, l.pending.ID)
	if err != nil {
		return toolcall.Encode(out)
	}
	l.forgetDraft(r)
	if now, err := brief.Runs([]plan.Run{r}, l.service.Now()); err == nil {
		out["now"] = json.RawMessage(strings.TrimSpace(now))
	}
	return toolcall.Encode(out)
}

// forgetDraft stores the new state of the draft: the turn cannot change it any more.
func (l *loop) forgetDraft(now plan.Run) {
	for i := range l.past.Runs {
		if l.past.Runs[i].ID == now.ID {
			l.past.Runs[i] = now
		}
	}
	l.pending = nil
}
