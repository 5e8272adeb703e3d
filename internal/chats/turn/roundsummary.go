package turn

import (
	"context"

	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
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
	most := float64(room(l.calls.Use))
	if float64(l.tokensOf(l.query.Messages)) <= fullShare*most {
		return nil
	}
	older, until := w.olderRounds(keptShare * most)
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
	l.query.Messages = l.query.Messages[:l.query.Answered+1]
	w.sayRounds()
	return nil
}

// olderRounds returns the messages of the oldest rounds that are not summarised yet, and the number of the last of them, so
// many that the others have at most so many tokens.
func (w *work) olderRounds(most float64) (older []llm.Message, until int) {
	until = w.job.Summed
	rest := w.roundMessages(until)
	for n := until + 1; n <= len(w.rows.rounds)-leastRounds && float64(w.loop.tokensOf(rest)) > most; n++ {
		until, rest = n, w.roundMessages(n)
	}
	all := w.roundMessages(w.job.Summed)
	return all[:len(all)-len(rest)], until
}
