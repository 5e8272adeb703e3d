package turn

import (
	"context"

	"piloto/internal/chats/history"
	"piloto/internal/chats/job"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// leastRounds are the rounds of a job that are never summarised: the newest ones.
const leastRounds = 2

// summarise replaces the oldest rounds of a job by a summary when its prompt has no room for all of them. Its cost counts in
// the job. Without a summary the rounds stay, and those that do not fit are left out of the next call.
func (w *work) summarise(ctx context.Context) error {
	l := w.loop
	if l.calls.Use == nil || w.rows.isAnswered() || w.closing {
		return nil
	}
	most := float64(room(ctx, l.calls))
	if float64(tokensOf(l.calls, l.query.Messages)) <= fullShare*most {
		return nil
	}
	older, until := w.rows.older(l.calls, keptShare*most)
	if until <= w.job.Summed {
		return nil
	}
	calls := l.calls.Apart(w.service.record(l.req, l.chat, credit.SourceSummary))
	calls.Beside = w.job.Micros
	working, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	text, err := summary(working, calls, w.job.Summary, older)
	w.service.settle(ctx, calls, nil, Reply{Kind: KindMessage}, err)
	w.job.Micros += calls.Turn.Micros
	if err != nil || text == "" {
		w.service.Log.WarnContext(ctx, "job.not_summarised", "job_id", w.job.ID, "error", err)
		return w.rows.save(ctx, nil)
	}
	w.job.Summary, w.job.Summed = text, until
	if err := w.rows.save(ctx, nil); err != nil {
		return err
	}
	l.query.Messages = append(l.query.Messages[:l.query.Answered+1], w.rows.messages()...)
	return nil
}

// older returns the messages of the oldest rounds that are not summarised yet, and the number of the last of them, so many
// that the others have at most so many tokens.
func (jr *jobRows) older(calls *paid.Calls, most float64) (older []llm.Message, until int) {
	until = jr.job.Summed
	all := jr.after(until)
	rest := all
	for n := until + 1; n <= len(jr.rounds)-leastRounds && float64(tokensOf(calls, rest)) > most; n++ {
		until, rest = n, jr.after(n)
	}
	return all[:len(all)-len(rest)], until
}

// messages returns the rounds as the prompt has them: the summary of the oldest, and the others as they were.
func (jr *jobRows) messages() (list []llm.Message) {
	if jr.job.Summary != "" {
		text := locale.ModelText("prompt.summary_rounds") + "\n<summary>\n" + llm.Escape(jr.job.Summary) + "\n</summary>"
		list = append(list, llm.Message{Role: llm.System, Content: text})
	}
	return append(list, jr.after(jr.job.Summed)...)
}

// after returns the rounds after one, by its number, as the prompt has them.
func (jr *jobRows) after(n int) (list []llm.Message) {
	left := jr.job.Loop.MaxSteps
	for _, r := range jr.rounds {
		if !r.Eval {
			left--
		}
		if r.N <= n {
			continue
		}
		if r.N > 1 && r.Now != "" {
			list = append(list, llm.Message{Role: llm.System, Content: r.Now})
		}
		if r.Handled.IsZero() {
			continue
		}
		if r.Eval {
			v, _ := readVerdict(r.Text) // it can be read, because the job went on after it
			list = append(list, correction(v))
			continue
		}
		list = append(list, answerOf(r).Message())
		if r.Doubted {
			list = append(list, llm.Message{Role: llm.System, Content: locale.ModelText("prompt.reconsider")})
		}
		for k, call := range r.Calls {
			list = append(list, llm.Message{Role: llm.ToolRole, CallID: call.ID, Content: resultOf(r, k, left)})
		}
	}
	return list
}

// resultOf returns the result of a call of a round, as the prompt has it. left is how many steps the job has left after it.
func resultOf(r job.Round, k, left int) string {
	if k < len(r.Calls)-1 {
		return r.Results[k]
	}
	return history.WithLeft(r.Results[k], left)
}
