package turn

import (
	"context"
	"strings"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/models/llm"
)

// The evaluation of an answer of a job is a round of its own: it is stored as asked and as answered, as every round is. It
// has no tools, and it is no step of the agent. An evaluation that cannot be made leaves the answer as it is.

// evaluates reports whether a text is judged before the job ends with it.
func (w *work) evaluates(text string) bool {
	eval := w.job.Loop.Eval
	return (eval == agent.EvalBasic || eval == agent.EvalFull) && !ref.Blank(text)
}

// toJudge reports whether the next call judges the last answer.
func (w *work) toJudge() bool {
	last := w.last()
	switch {
	case last == nil:
		return false
	case last.Answered.IsZero(): // it was lost
		return last.Eval
	}
	return last.IsText() && !last.Doubted && !last.Handled.IsZero()
}

// isSilent reports whether the agent is done with a round, and has said nothing with which the job could end.
func (w *work) isSilent(r *job.Round) bool {
	answer, _ := w.lastAnswer()
	return len(r.Calls) == 0 && answer == nil
}

// lastAnswer returns the round with whose text the agent was done, and the verdict about it; nil when there is none, or
// when the agent proposed something after it.
func (w *work) lastAnswer() (answer *job.Round, v verdict) {
	for i, r := range w.rounds {
		switch {
		case r.Answered.IsZero():
		case r.IsText() && !ref.Blank(r.Text):
			answer, v = &w.rounds[i], verdict{}
		case r.Eval:
			v, _ = readVerdict(r.Text) // one that cannot be read says nothing
		case r.RunID != "":
			answer, v = nil, verdict{}
		}
	}
	return answer, v
}

// tally returns how many rounds are steps of the agent, and how many are evaluations.
func (w *work) tally() (steps, evaluations int) {
	for _, r := range w.rounds {
		if r.Eval {
			evaluations++
		} else {
			steps++
		}
	}
	return steps, evaluations
}

// handleVerdict ends the job with the answer that was judged, or has the model answer again in a further round.
func (w *work) handleVerdict(ctx context.Context) (job.Next, error) {
	r := w.last()
	v, err := readVerdict(r.Text)
	if err != nil {
		w.service.Log.WarnContext(ctx, "job.not_evaluated", "job_id", w.job.ID, "round", r.N, "error", err)
	}
	steps, evaluations := w.tally()
	if v.partial() && w.job.Loop.Eval == agent.EvalFull && evaluations <= mostCorrected && steps < w.job.Loop.MaxSteps {
		judged, err := w.count(ctx, r)
		if err != nil {
			return "", err
		}
		w.addTime()
		return job.NextRound, w.save(ctx, []job.Round{*r}, judged)
	}
	return job.NextEnd, w.endWith(ctx, r)
}

// endUnjudged ends the job with an answer whose evaluation cannot be made.
func (w *work) endUnjudged(ctx context.Context) error {
	w.service.Log.WarnContext(ctx, "job.not_evaluated", "job_id", w.job.ID, "round", len(w.rounds))
	return w.endWith(ctx, nil)
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
	answer, v := w.lastAnswer()
	w.verdict = v
	return w.end(ctx, "", answer.Text, rounds, events...)
}

// askToJudge makes the next call an evaluation of the last answer.
func (w *work) askToJudge() {
	w.query.tools, w.query.format, w.query.least = nil, verdictFormat(), verdictTokens
	w.query.messages = append(w.query.messages, llm.Message{Role: llm.System, Content: locale.Text(w.req.Locale, "prompt.evaluate")})
}

// correction tells the model what its answer lacks.
func correction(tag locale.Tag, v verdict) llm.Message {
	return llm.Message{Role: llm.System, Content: locale.Text(tag, "prompt.correct", "issues", strings.Join(v.Issues, "; "), "suggestion", v.Suggestion)}
}
