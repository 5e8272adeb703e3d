package turn

import (
	"context"
	"errors"
	"strconv"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// askRound asks the model for the next answer, and stores it. It returns the reason to end the job instead.
func (w *work) askRound(ctx context.Context) (conversation.StopReason, error) {
	if w.block != nil {
		return w.blockedReason(w.block), nil
	}
	r, err := w.nextRound(ctx)
	if err != nil {
		return "", err
	}
	if r.Eval = w.toJudge(); r.Eval {
		w.askToJudge()
	}
	request := w.query.request(w.calls.Use)
	r.Held = w.calls.Use.Price.Cost(request.Estimate(), request.MaxTokens)
	if !w.limitSpending(r.Held, request) {
		return conversation.StopBudget, nil
	}
	return w.call(ctx, r, func(asking context.Context) (llm.Reply, error) { return w.query.ask(asking, w.calls) })
}

// nextRound returns the round to ask: another attempt at the last one when its answer was lost, else a new one.
func (w *work) nextRound(ctx context.Context) (job.Round, error) {
	last := w.last()
	if last == nil || !last.Answered.IsZero() {
		return job.Round{N: len(w.rounds) + 1, Attempt: 1}, nil
	}
	if err := w.chargeLost(ctx, last); err != nil {
		return job.Round{}, err
	}
	w.rounds = w.rounds[:len(w.rounds)-1]
	return job.Round{N: last.N, Attempt: last.Attempt + 1}, nil
}

// limitSpending bounds the calls by what is left of the budget without the cost of the last text. It reports whether the
// next call fits.
func (w *work) limitSpending(held int64, request llm.Request) bool {
	budget := w.job.Loop.BudgetMicros
	if budget == 0 {
		return true
	}
	left := budget - w.job.Micros - w.calls.Use.Price.Cost(request.Estimate()+request.MaxTokens, closingTokens)
	if held > left {
		return held == 0
	}
	w.calls.Use.Budget = max(1, left)
	return true
}

// sourceOf returns the source of the cost of a round.
func sourceOf(r job.Round) string {
	if r.Eval {
		return credit.SourceEval
	}
	return credit.SourceAgent
}

// roundRecord returns the record of the usage of a call, as it is before the call.
func (w *work) roundRecord(r job.Round) credit.Turn {
	return credit.Turn{
		ID: ids.DeriveAt(r.Asked, "round", w.job.ID, strconv.Itoa(r.N), strconv.Itoa(r.Attempt)), At: r.Asked, User: w.job.User,
		ChatID: w.job.ChatID, ProjectID: w.job.ProjectID, Source: sourceOf(r),
	}
}

// chargeLost counts what a call whose answer was lost may have cost as spent, once.
func (w *work) chargeLost(ctx context.Context, r *job.Round) error {
	if r.Lost {
		return nil
	}
	turn := w.roundRecord(*r)
	turn.Outcome, turn.Provider, turn.Model, turn.Estimated, turn.Micros = credit.OutcomeFailed, r.Provider, r.Model, true, r.Held
	calls := w.service.Paid.Left(w.job.Account, turn)
	if kept, err := w.service.Paid.Credit.Kept(ctx, calls.Hold); err == nil {
		calls.Turn.Charged = kept.Tokens()
	}
	if err := calls.Settle(ctx); err != nil {
		w.service.Log.WarnContext(ctx, "job.lost_unsettled", "job_id", w.job.ID, "round", r.N, "error", err) // the sweep releases the hold
	}
	e, err := job.NewEvent(w.service.Now(), job.EventLost, map[string]any{"round": r.N, "cost_micros": r.Held})
	if err != nil {
		return err
	}
	r.Lost = true
	w.job.Micros, w.job.Lost = w.job.Micros+r.Held, w.job.Lost+1
	w.service.Log.WarnContext(ctx, "job.call_lost", "job_id", w.job.ID, "round", r.N, "attempt", r.Attempt, "cost_micros", r.Held)
	return w.save(ctx, []job.Round{*r}, e)
}

// settleAgain charges a call whose answer was stored by an invocation that may have died before it charged it.
func (w *work) settleAgain(ctx context.Context, r *job.Round) {
	if r.Used == nil { // it was stored before records were kept with it
		return
	}
	if err := w.service.Paid.Left(w.job.Account, *r.Used).Settle(ctx); err != nil {
		w.service.Log.ErrorContext(ctx, "job.unsettled", "job_id", w.job.ID, "round", r.N, "micros", r.Micros, "error", err)
	}
}

// call stores a round as asked, asks the model, and stores its answer. It returns the reason to end the job when there is
// no answer.
func (w *work) call(ctx context.Context, r job.Round, ask func(context.Context) (llm.Reply, error)) (conversation.StopReason, error) {
	s := w.service
	r.Asked, r.Provider, r.Model = s.Now(), w.calls.Use.Provider, w.calls.Use.Model
	w.calls.Begin(w.roundRecord(r))
	if err := s.Jobs.AskRound(ctx, w.job, r); err != nil {
		return "", err
	}
	w.rounds = append(w.rounds, r)
	least := time.Duration(0)
	if r.Closing || r.Eval {
		least = endTime
	}
	asking, cancel := w.bounded(ctx, s.modelTime(), least)
	defer cancel()
	failpoint.Here("round.model.before")
	answer, err := ask(asking)
	failpoint.Here("round.model.after")
	if err != nil {
		reason := w.failedReason(ctx, context.Cause(asking), err)
		s.settle(ctx, w.calls, nil, Reply{By: w.endedBy(reason)}, err)
		return reason, w.forget(ctx)
	}
	r.Answered, r.Text, r.Calls = s.Now(), answer.Text, jobCalls(answer.Calls)
	r.Provider, r.Model, r.Micros = w.calls.Use.Provider, answer.Model, w.calls.Turn.Micros
	used := w.calls.Turn
	used.Outcome = string(KindRound)
	r.Used = &used
	if err := s.Jobs.AnswerRound(ctx, w.job, r); err != nil { // it is lost, and counted as such later
		return "", err
	}
	*w.last() = r
	s.settle(ctx, w.calls, nil, Reply{Kind: KindRound, By: w.by()}, nil)
	return "", nil
}

// forget notes that a call failed, so that it is not counted as lost.
func (w *work) forget(ctx context.Context) error {
	r := w.last()
	r.Lost, r.Micros = true, w.calls.Turn.Micros
	w.job.Micros += r.Micros
	return w.save(ctx, []job.Round{*r})
}

// endedBy returns the model whose call a person ended; nil for any other reason.
func (w *work) endedBy(reason conversation.StopReason) *conversation.By {
	if reason != conversation.StopPerson {
		return nil
	}
	by := w.by()
	by.Stopped = true
	return by
}

// bounded bounds a model call, or the looks of a round, to at most so much time. It ends with the time of the agent, of
// which there is at least so much, and when a person stops the job. The caller must call the function.
func (w *work) bounded(ctx context.Context, most, least time.Duration) (context.Context, context.CancelFunc) {
	var cause error
	if left := max(least, w.timeLeft()); left < most {
		most, cause = left, errAgentTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most, cause)
	ctx, unfollow := w.followStop(ctx)
	return ctx, func() { unfollow(); cancel() }
}

// timeLeft returns how long the job may still work.
func (w *work) timeLeft() time.Duration {
	return time.Duration(w.job.Loop.TimeoutS)*time.Second - w.job.Worked - w.service.Now().Sub(w.began)
}

// followStop cancels the returned context when a person stops the job. The caller must call the function.
func (w *work) followStop(ctx context.Context) (context.Context, func()) {
	account, id := w.job.Account, w.job.ID // the job may be stored meanwhile
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(stopJobEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if j, err := w.service.Jobs.Job(ctx, account, id); err == nil && !j.StopAt.IsZero() {
					cancel(errStopped)
					return
				}
			}
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// failedReason returns the reason to end a job whose model gave no answer. cause is that of the end of its context.
func (w *work) failedReason(ctx context.Context, cause, err error) conversation.StopReason {
	if errors.Is(cause, errAgentTime) {
		return conversation.StopTime
	}
	if blocked, ok := errors.AsType[paid.Blocked](err); ok {
		return w.blockedReason(blocked.Block)
	}
	if errors.Is(err, errContextFull) {
		return conversation.StopContext
	}
	if errors.Is(err, errStopped) || errors.Is(err, llm.ErrStopped) {
		return conversation.StopPerson
	}
	w.service.Log.WarnContext(ctx, "job.unanswered", "job_id", w.job.ID, "error", err)
	return conversation.StopModel
}

// blockedReason returns the reason to end a job that may not call a model.
func (w *work) blockedReason(b *eligibility.Block) conversation.StopReason {
	w.block = b
	switch b.Reason {
	case eligibility.BudgetExceeded, eligibility.AgentBudget:
		return conversation.StopBudget
	case eligibility.ProviderUnreachable, eligibility.RateLimited, eligibility.ProviderRefused:
		return conversation.StopModel
	}
	return conversation.StopBlocked
}
