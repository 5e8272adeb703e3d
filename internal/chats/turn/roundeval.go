package turn

import (
	"context"
	"strings"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
)

// judge makes a round in which the model evaluates its answer.
func (w *work) judge(ctx context.Context) (job.Next, error) {
	if w.rows.isAnswered() {
		return w.handleVerdict(ctx)
	}
	reason, err := w.journal.askRound(ctx)
	switch {
	case err != nil:
		return "", err
	case reason == "":
		return w.handleVerdict(ctx)
	case reason == conversation.StopPerson, w.isBusy():
		return w.unasked(ctx, reason)
	}
	w.service.Log.WarnContext(ctx, "job.not_evaluated", "job_id", w.job.ID, "round", len(w.rows.rounds))
	return job.NextEnd, w.endWith(ctx, nil) // with an answer whose evaluation cannot be made
}

// handleVerdict ends the job with the answer that was judged, or has the model answer again in a further round.
func (w *work) handleVerdict(ctx context.Context) (job.Next, error) {
	r := w.rows.last()
	v, err := readVerdict(r.Text)
	if err != nil {
		w.service.Log.WarnContext(ctx, "job.not_evaluated", "job_id", w.job.ID, "round", r.N, "error", err)
	}
	steps, evaluations := w.rows.tally()
	if v.partial() && w.job.Loop.Eval == agent.EvalFull && evaluations <= mostCorrected && steps < w.job.Loop.MaxSteps {
		judged, err := w.count(ctx, r)
		if err != nil {
			return "", err
		}
		w.addTime()
		return job.NextRound, w.rows.save(ctx, []job.Round{*r}, judged)
	}
	return job.NextEnd, w.endWith(ctx, r)
}

// endWith ends the job with the last answer. r is the round that is not handled yet, if there is one.
func (w *work) endWith(ctx context.Context, r *job.Round) error {
	if err := w.beginEnd(ctx); err != nil {
		return err
	}
	var rounds []job.Round
	var events []job.Event
	if r != nil {
		e, err := w.count(ctx, r)
		if err != nil {
			return err
		}
		w.addTime()
		rounds, events = []job.Round{*r}, []job.Event{e}
	}
	answer, v := w.rows.lastAnswer()
	w.verdict = v
	return w.end(ctx, "", answer.Text, rounds, events...)
}

// correction returns the message that names the issues of the model's answer.
func correction(v verdict) llm.Message {
	return llm.Message{Role: llm.System, Content: locale.ModelText("prompt.correct", "issues", strings.Join(v.Issues, "; "), "suggestion", v.Suggestion)}
}
