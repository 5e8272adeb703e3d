package turn

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"piloto/internal/chats/ask"
	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
)

// jobJournal is the journal of a job: a round is stored when the model is asked, when it answered, and when its answer was handled.
type jobJournal struct {
	service *Service
	rows    *jobRows
	job     *job.Job // of the rows
	loop    *loop
	block   *eligibility.Block // the reason why no model can be asked now
	unpaid  *eligibility.Block // the reason why the next round does not fit into the budget, although a last text may

	now string // the news that the prompt has at its end; "": none

	mu     sync.Mutex
	denied bool // a call of this round that would have changed something is on record
}

// jobEnds is the reason to end a job, as the error of a call of its model.
type jobEnds conversation.StopReason

func (e jobEnds) Error() string { return "turn: the job ends: " + string(e) }

// ask implements journal.
func (jj *jobJournal) ask(ctx context.Context) (llm.Reply, error) {
	if !jj.rows.isAnswered() {
		reason, err := jj.askRound(ctx)
		if reason != "" {
			err = jobEnds(reason)
		}
		if err != nil {
			return llm.Reply{}, err
		}
	}
	r := jj.rows.last()
	if jj.loop.calls.Use == nil { // another invocation chose the model
		jj.loop.calls.Use = &eligibility.Selection{}
		jj.loop.calls.Use.Provider, jj.loop.calls.Use.Model = r.Provider, r.Model
	}
	jj.loop.runID = ids.DeriveAt(r.Answered, "job", jj.job.ID, strconv.Itoa(r.N))
	steps, _ := jj.rows.tally()
	jj.loop.left = max(0, jj.job.Loop.MaxSteps-steps)
	jj.loop.final = jj.loop.left == 0
	return answerOf(*r), nil
}

// bound implements journal.
func (jj *jobJournal) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return jj.bounded(ctx, job.MostLife, 0)
}

// wasProposed implements journal.
func (jj *jobJournal) wasProposed(ctx context.Context) (bool, error) {
	_, err := jj.service.Plans.Status(ctx, jj.job.Account, jj.loop.runID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return false, nil
	}
	return err == nil, err
}

// proposing implements journal. It is stored before the plan, so that an invocation that finds the plan knows its change set.
func (jj *jobJournal) proposing(ctx context.Context, next job.Changes) error {
	next.Round = jj.rows.last().N
	return jj.rows.keepNext(ctx, next)
}

// note implements journal: the last message of the job has the notes.
func (jj *jobJournal) note(n conversation.Note) {
	jj.mu.Lock()
	defer jj.mu.Unlock()
	jj.job.Denied = withNote(jj.job.Denied, n)
}

// cardNotes implements journal: the last message has them.
func (jj *jobJournal) cardNotes() []conversation.Note { return nil }

// deny implements journal.
func (jj *jobJournal) deny(call plan.Step) {
	jj.mu.Lock()
	defer jj.mu.Unlock()
	kind := job.DeedCall
	if plan.RiskOf(call.Method) == plan.Read {
		kind = job.DeedRead
	}
	jj.denied = jj.denied || kind == job.DeedCall
	jj.job.Record.Deny(kind, toolcall.OneLine(call.Called()))
}

// askRound asks the model for the next answer, and stores it. It returns the reason to end the job instead.
func (jj *jobJournal) askRound(ctx context.Context) (conversation.StopReason, error) {
	if jj.block != nil {
		return jj.blockedReason(jj.block), nil
	}
	r, err := jj.nextRound(ctx)
	if err != nil {
		return "", err
	}
	if r.Now = jj.now; r.N == 1 {
		r.Now = jj.loop.trail.now
	}
	if r.Eval = jj.rows.toJudge(); r.Eval {
		askToJudge(&jj.loop.query)
	}
	request := jj.loop.query.Request(jj.loop.calls.Use)
	r.Held = jj.loop.calls.Use.Price.MostOf(request.Most())
	if !jj.limitSpending(r.Held, request) {
		return conversation.StopBudget, nil
	}
	until := jj.service.Now().Add(mostAsking)
	jj.loop.query.Again = func() (context.Context, context.CancelFunc) {
		return jj.bounded(ctx, min(jj.service.modelTime(), until.Sub(jj.service.Now())), 0)
	}
	return jj.call(ctx, r, func(asking context.Context) (llm.Reply, error) { return jj.loop.query.Ask(asking, jj.loop.calls) })
}

// nextRound returns the round to ask: another attempt at the last one when its answer was lost, else a new one.
func (jj *jobJournal) nextRound(ctx context.Context) (job.Round, error) {
	last := jj.rows.last()
	if last == nil || !last.Answered.IsZero() {
		return job.Round{N: len(jj.rows.rounds) + 1, Attempt: 1}, nil
	}
	if err := jj.chargeLost(ctx, last); err != nil {
		return job.Round{}, err
	}
	jj.rows.rounds = jj.rows.rounds[:len(jj.rows.rounds)-1]
	return job.Round{N: last.N, Attempt: last.Attempt + 1}, nil
}

// limitSpending bounds the calls by the rest of the budget without the cost of the last text. It reports whether the next call fits.
func (jj *jobJournal) limitSpending(held int64, request llm.Request) bool {
	budget := jj.job.Loop.BudgetMicros
	if budget == 0 {
		return true
	}
	last := jj.loop.calls.Use.Price.MostOf(llm.Usage{Input: request.Estimate() + request.MaxTokens, Output: closingTokens})
	left := budget - jj.job.Micros - last
	if held > left {
		jj.unpaid = eligibility.Refuse(eligibility.AgentBudget, jj.loop.calls.Use.Provider)
		jj.unpaid.Passed = jj.passed(held + last)
		return held == 0
	}
	jj.loop.calls.Use.Budget = max(1, left)
	return true
}

// passed returns the budget of the job as a limit that a call passes.
func (jj *jobJournal) passed(needed int64) eligibility.Passed {
	return eligibility.Passed{Of: eligibility.BoundAgent, Limit: jj.job.Loop.BudgetMicros, Spent: jj.job.Micros, Needed: needed}
}

// sourceOf returns the source of the cost of a round.
func sourceOf(r job.Round) string {
	if r.Eval {
		return credit.SourceEval
	}
	return credit.SourceAgent
}

// roundRecord returns the record of the usage of a call, as it is before the call.
func (jj *jobJournal) roundRecord(r job.Round) credit.Turn {
	return credit.Turn{
		ID: ids.DeriveAt(r.Asked, "round", jj.job.ID, strconv.Itoa(r.N), strconv.Itoa(r.Attempt)), At: r.Asked, User: jj.job.User,
		ChatID: jj.job.ChatID, ProjectID: jj.job.ProjectID, Source: sourceOf(r),
	}
}

// chargeLost counts the possible cost of a call whose answer was lost as spent, once.
func (jj *jobJournal) chargeLost(ctx context.Context, r *job.Round) error {
	if r.Lost {
		return nil
	}
	turn := jj.roundRecord(*r)
	turn.Outcome, turn.Provider, turn.Model, turn.Estimated, turn.Micros = credit.OutcomeFailed, r.Provider, r.Model, true, r.Held
	calls := jj.service.Paid.Left(jj.job.Account, turn)
	if kept, err := jj.service.Paid.Credit.Kept(ctx, calls.Hold); err == nil {
		calls.Turn.Charged = kept.Tokens()
	}
	if err := calls.Settle(ctx); err != nil {
		jj.service.Log.WarnContext(ctx, "job.lost_unsettled", "job_id", jj.job.ID, "round", r.N, "error", err) // the sweep releases the hold
	}
	e, err := job.NewEvent(jj.service.Now(), job.EventLost, map[string]any{"round": r.N, "cost_micros": r.Held})
	if err != nil {
		return err
	}
	r.Lost = true
	jj.job.Micros, jj.job.Lost = jj.job.Micros+r.Held, jj.job.Lost+1
	jj.service.Log.WarnContext(ctx, "job.call_lost", "job_id", jj.job.ID, "round", r.N, "attempt", r.Attempt, "cost_micros", r.Held)
	return jj.rows.save(ctx, []job.Round{*r}, e)
}

// settleAgain charges a call whose answer was stored by an invocation that may have died before it charged it.
func (jj *jobJournal) settleAgain(ctx context.Context, r *job.Round) {
	if err := jj.service.Paid.Left(jj.job.Account, *r.Used).Settle(ctx); err != nil {
		jj.service.Log.ErrorContext(ctx, "job.unsettled", "job_id", jj.job.ID, "round", r.N, "micros", r.Micros, "error", err)
	}
}

// call stores a round as asked, asks the model, and stores its answer. It returns the reason to end the job when there is
// no answer.
func (jj *jobJournal) call(ctx context.Context, r job.Round, ask func(context.Context) (llm.Reply, error)) (conversation.StopReason, error) {
	s := jj.service
	r.Asked, r.Provider, r.Model = s.Now(), jj.loop.calls.Use.Provider, jj.loop.calls.Use.Model
	jj.loop.calls.Begin(jj.roundRecord(r))
	if err := s.Jobs.AskRound(ctx, *jj.job, r); err != nil {
		return "", err
	}
	jj.rows.rounds = append(jj.rows.rounds, r)
	least := time.Duration(0)
	if r.Closing || r.Eval {
		least = endTime
	}
	asking, cancel := jj.bounded(ctx, s.modelTime(), least)
	defer cancel()
	failpoint.Here("round.model.before")
	answer, err := ask(asking)
	failpoint.Here("round.model.after")
	if err != nil {
		reason := jj.failedReason(ctx, context.Cause(asking), err)
		s.settle(ctx, jj.loop.calls, nil, Reply{By: jj.endedBy(reason)}, err)
		return reason, jj.forget(ctx)
	}
	if !r.Eval {
		noteLimits(jj, jj.loop.req, answer)
	}
	r.Answered, r.Text, r.Calls = s.Now(), answer.Text, jobCalls(answer.Calls)
	r.Thought, r.Extra, r.From, r.Cut = answer.Thought, answer.Extra, answer.From, answer.Cut
	r.Provider, r.Model, r.Micros = jj.loop.calls.Use.Provider, answer.Model, jj.loop.calls.Turn.Micros
	used := jj.loop.calls.Turn
	used.Outcome = string(KindRound)
	r.Used = &used
	if err := s.Jobs.AnswerRound(ctx, *jj.job, r); err != nil { // it is lost, and counted as such later
		return "", err
	}
	*jj.rows.last() = r
	s.settle(ctx, jj.loop.calls, nil, Reply{Kind: KindRound, By: jj.loop.by()}, nil)
	return "", nil
}

// forget notes that a call failed, so that it is not counted as lost.
func (jj *jobJournal) forget(ctx context.Context) error {
	r := jj.rows.last()
	r.Lost, r.Micros = true, jj.loop.calls.Turn.Micros
	jj.job.Micros += r.Micros
	return jj.rows.save(ctx, []job.Round{*r})
}

// endedBy returns the model whose call a person ended; nil for any other reason.
func (jj *jobJournal) endedBy(reason conversation.StopReason) *conversation.By {
	if reason != conversation.StopPerson {
		return nil
	}
	by := jj.loop.by()
	by.Stopped = true
	return by
}

// bounded bounds a model call, or the reads of a round, to at most so much time. It ends with the time of the agent, of
// which there is at least so much, and when a person stops the job. The caller must call the function.
func (jj *jobJournal) bounded(ctx context.Context, most, least time.Duration) (context.Context, context.CancelFunc) {
	var cause error
	if left := max(least, jj.timeLeft()); left < most {
		most, cause = left, errAgentTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most, cause)
	ctx, unfollow := jj.followStop(ctx)
	return ctx, func() { unfollow(); cancel() }
}

// timeLeft returns how long the job may still work.
func (jj *jobJournal) timeLeft() time.Duration {
	return time.Duration(jj.job.Loop.TimeoutS)*time.Second - jj.job.Worked - jj.service.Now().Sub(jj.loop.began)
}

// followStop cancels the returned context when a person stops the job. The caller must call the function.
func (jj *jobJournal) followStop(ctx context.Context) (context.Context, func()) {
	account, id := jj.job.Account, jj.job.ID // the job may be stored meanwhile
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
				if j, err := jj.service.Jobs.Job(ctx, account, id); err == nil && !j.StopAt.IsZero() {
					cancel(ask.ErrStopped)
					return
				}
			}
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// failedReason returns the reason to end a job whose model gave no answer. cause is that of the end of its context.
func (jj *jobJournal) failedReason(ctx context.Context, cause, err error) conversation.StopReason {
	if errors.Is(cause, errAgentTime) {
		return conversation.StopTime
	}
	if blocked, ok := errors.AsType[paid.Blocked](err); ok {
		return jj.blockedReason(blocked.Block)
	}
	if errors.Is(err, ask.ErrContextFull) {
		return conversation.StopContext
	}
	if errors.Is(err, ask.ErrStopped) || errors.Is(err, llm.ErrStopped) {
		return conversation.StopPerson
	}
	jj.service.Log.WarnContext(ctx, "job.unanswered", "job_id", jj.job.ID, "error", err)
	return conversation.StopModel
}

// blockedReason returns the reason to end a job that may not call a model.
func (jj *jobJournal) blockedReason(b *eligibility.Block) conversation.StopReason {
	if jj.block = b; b.Reason == eligibility.AgentBudget {
		b.Passed = jj.passed(b.Passed.Needed)
	}
	switch b.Reason {
	case eligibility.BudgetExceeded, eligibility.AgentBudget:
		return conversation.StopBudget
	case eligibility.ProviderUnreachable, eligibility.RateLimited, eligibility.ProviderRefused:
		return conversation.StopModel
	}
	return conversation.StopBlocked
}
