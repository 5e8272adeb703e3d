package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/job"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/cache"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// Bounds of a job.
const (
	mostJobReads   = 200
	closingTokens  = 600              // of the last text of a job that is ended
	endTime        = 10 * time.Second // for that text, and for an evaluation, when the time of the agent is over
	stopJobEvery   = time.Second
	mostAsking     = 13 * time.Minute // of an answer with all parts of a file: the function has 15
	mostBusy       = 20               // attempts of a call whose credit others hold, of 30 s each
	sourcesOfJob   = 24               // under its last message
	bytesOfSources = 96 << 10         // of their answers
)

// work is a job while one of its rounds is made: a step of its loop, with the rounds of the job after the message in its
// prompt. The round's results are stored in the job's rows.
type work struct {
	service *Service
	loop    *loop
	rows    *jobRows
	journal *jobJournal
	job     *job.Job // of the rows
	verdict verdict

	closing bool // the next call is for the last text
	own     bool // the last text is the program's, and not the model's
}

// Round makes the next round of a job, and says how its execution goes on. It may be repeated: a round that was answered
// is not asked again, and a plan that was proposed is not proposed again. It returns errors of the store only.
func (s *Service) Round(ctx context.Context, account ids.Account, id string) (job.Next, error) {
	w, err := s.loadJob(ctx, account, id)
	switch {
	case errors.Is(err, job.ErrNotFound): // its rows are gone
		return job.NextEnd, nil
	case err != nil || w.job.Status.Terminal():
		return job.NextEnd, err
	}
	ctx = w.withCache(ctx)
	if w.job.Status == job.Waiting {
		if next, waits, err := w.resume(ctx); waits || err != nil {
			return next, err
		}
	}
	if reason := w.overReason(); reason != "" {
		return job.NextClose, w.stop(ctx, reason)
	}
	if w.job.WasLeft(s.AloneSince) {
		return w.awaitClient(ctx)
	}
	if err := w.open(ctx); err != nil {
		if errors.Is(err, conversation.ErrChatNotFound) { // nobody is there to whom it could answer
			return job.NextClose, w.stop(ctx, conversation.StopBlocked)
		}
		return "", err
	}
	if w.rows.judges() {
		return w.judge(ctx)
	}
	before := w.loop.reading.Len()
	step, err := w.loop.next(ctx, ctx)
	if reason, ok := errors.AsType[jobEnds](err); ok {
		return w.unasked(ctx, conversation.StopReason(reason))
	}
	if err != nil {
		return "", err
	}
	return w.handle(ctx, step, w.loop.reading.Since(before))
}

// unasked says how a job goes on whose model was not asked, or gave no answer.
func (w *work) unasked(ctx context.Context, reason conversation.StopReason) (job.Next, error) {
	if w.isBusy() {
		w.addTime()
		return job.NextRound, w.rows.save(ctx, nil)
	}
	return job.NextClose, w.stop(ctx, reason)
}

// loadJob reads a job with its rounds.
func (s *Service) loadJob(ctx context.Context, account ids.Account, id string) (*work, error) {
	rows := &jobRows{service: s}
	w := &work{service: s, rows: rows, job: &rows.job}
	var err error
	if rows.job, err = s.Jobs.Job(ctx, account, id); err != nil || w.job.Status.Terminal() {
		return w, err
	}
	j := rows.job
	req := Request{
		Principal: auth.Principal{Account: j.Account, User: j.User}, ChatID: j.ChatID, Message: j.Prompt, Locale: locale.Tag(j.Locale), TimeZone: j.TimeZone, TraceID: j.TraceID,
	}
	w.loop = &loop{exchange: s.exchange(req, conversation.Chat{ID: j.ChatID, ProjectID: j.ProjectID}), service: s, terms: jobTerms(j), agent: actor{Loop: j.Loop}, trail: trail{job: true}}
	w.loop.began, w.loop.agent.Name = s.Now(), j.Agent
	w.journal = &jobJournal{service: s, rows: rows, loop: w.loop, job: &rows.job}
	w.loop.journal = w.journal
	rows.rounds, err = s.Jobs.Rounds(ctx, account, id)
	return w, err
}

// jobTerms returns the terms of the loop of a job. Nobody waits for its answer, so its plan is shown to the person who says yes
// to it before the yes counts, unless their client sends the digest that they saw. It may not ask unless the agent may,
// because it may wait for days.
func jobTerms(j job.Job) terms {
	return terms{
		jobID: j.ID, dryRun: j.DryRun, parts: true, long: true, workspace: j.Context, client: j.Tools,
		below: []locale.Phrase{locale.Say("turn.proposed_by_job")},
	}
}

// withCache has the calls of the job's model answered from a cache, if it asks for that.
func (w *work) withCache(ctx context.Context) context.Context {
	if w.job.Cache {
		return cache.Wanted(ctx)
	}
	return ctx
}

// overReason returns the reason to end the job before another round. An answer that waits for its evaluation is judged
// although the steps or the time of the agent are used up.
func (w *work) overReason() conversation.StopReason {
	now := w.service.Now()
	steps, _ := w.rows.tally()
	switch {
	case w.job.StopReason != "":
		return w.job.StopReason
	case !w.job.StopAt.IsZero():
		return conversation.StopPerson
	case w.job.Refused >= job.MostRefused:
		return conversation.StopRefused
	case w.rows.toJudge():
		return ""
	case w.job.Worked >= time.Duration(w.job.Loop.TimeoutS)*time.Second, !now.Before(w.job.EndsAt):
		return conversation.StopTime
	case steps >= w.job.Loop.MaxSteps && !w.rows.last().Handled.IsZero():
		return conversation.StopSteps
	}
	return ""
}

// stop stores the reason for which the job is being ended.
func (w *work) stop(ctx context.Context, reason conversation.StopReason) error {
	if w.job.StopReason == reason {
		return nil
	}
	w.job.StopReason = reason
	if b := cmp.Or(w.journal.block, w.journal.unpaid); b != nil {
		w.job.Why = b.Message().In(w.loop.req.Locale) + " " + b.Action().In(w.loop.req.Locale)
	}
	return w.rows.save(ctx, nil)
}

// isBusy reports whether others hold the credit that the last call needs: it is tried again, because they release it. Each
// try has waited for it.
func (w *work) isBusy() bool {
	return w.journal.block != nil && w.journal.block.Reason == eligibility.Busy && w.rows.last() != nil && w.rows.last().Attempt < mostBusy
}

// addTime adds the time of this invocation to the worked time of the job.
func (w *work) addTime() { w.job.Worked += w.service.Now().Sub(w.loop.began) }

// handle stores the result of a step, with the reads that it made.
func (w *work) handle(ctx context.Context, s step, made []reads.Made) (job.Next, error) {
	r := w.rows.last()
	r.Calls, r.Doubted = jobCalls(s.answer.Calls), s.kind == stepDoubted
	if answer, _ := w.rows.lastAnswer(); len(r.Calls) == 0 && answer == nil { // it has said nothing with which the job could end
		return job.NextClose, w.stop(ctx, conversation.StopModel)
	}
	if len(r.Calls) == 0 && !r.Doubted && !w.rows.evaluates(r.Text) {
		return job.NextEnd, w.endWith(ctx, r)
	}
	answered, err := w.count(ctx, r)
	if err != nil {
		return "", err
	}
	events := []job.Event{answered}
	if len(r.Calls) > 0 {
		if err := w.keepCalls(ctx, r, s, made, &events); err != nil {
			return "", err
		}
	}
	w.addTime()
	next := job.NextRound
	if r.RunID != "" || r.Question != "" || len(r.Open) > 0 {
		w.job.RunID, w.job.Question, w.job.Options, w.job.Open = r.RunID, r.Question, r.Options, r.Open
		w.job.Status, w.job.Waited, next = job.Waiting, w.service.Now(), job.NextWait
	}
	return next, w.rows.save(ctx, []job.Round{*r}, events...)
}

// count adds an answered round to the job as handled, and returns its event. Its caller stores both at once.
func (w *work) count(ctx context.Context, r *job.Round) (job.Event, error) {
	if !w.loop.calls.Begun() { // another invocation asked the model
		w.journal.settleAgain(ctx, r)
	}
	r.Handled = w.service.Now()
	w.job.Rounds = len(w.rows.rounds)
	w.job.Micros += r.Micros
	data := map[string]any{"round": r.N, "provider": r.Provider, "model": r.Model, "cost_micros": r.Micros}
	if r.Eval {
		if v, err := readVerdict(r.Text); err == nil { // else it says nothing
			data["completed"], data["confidence"], data["issues"] = v.Completed, v.Confidence, v.Issues
		}
		return job.NewEvent(r.Answered, job.EventJudged, data)
	}
	data["text"], data["calls"], data["objects"] = r.Text, callNames(r.Calls), w.objectsOf(r.Calls)
	if absent := w.absent(r); len(absent) > 0 {
		data["did"] = absent
	}
	return job.NewEvent(r.Answered, job.EventAnswered, data)
}

// keepCalls puts the results of the calls of a step into its round: the reads, and the plan, question or calls for which it waits.
func (w *work) keepCalls(ctx context.Context, r *job.Round, s step, made []reads.Made, events *[]job.Event) error {
	r.Results = make([]string, len(r.Calls))
	for i, result := range s.results {
		if r.Results[i] = result; s.kind != stepPlanned && !s.isLeft(i) {
			r.Results[i] = cmp.Or(result, "{}")
		}
	}
	for _, m := range made {
		e, err := w.keepRead(ctx, r, m)
		if err != nil {
			return err
		}
		*events = append(*events, e)
	}
	w.job.Reads += len(r.Reads)
	w.rows.addReadFrom(w.loop.dataFrom()...)
	w.job.Changes.Set, w.job.Changes.Proposed = w.loop.files.Set, w.loop.files.Proposed
	if s.kind == stepPlanned {
		r.RunID = w.loop.runID
		w.proposed()
	}
	w.noteCalls(r, s)
	r.Open = openCalls(r.N, s.open)
	var kind string
	var data map[string]any
	switch {
	case s.question != nil:
		posed, err := w.pose(ctx, r, s.question)
		if err != nil {
			return err
		}
		if !posed {
			r.Results[s.question.at] = toolcall.Error("", "it was not asked: another question waits for its answer in this chat; go on without it")
			return nil
		}
		r.Question, r.Options = s.question.content(), s.question.options
		kind, data = job.EventAsked, map[string]any{"round": r.N, "question": r.Question}
	case len(r.Open) > 0:
		kind, data = job.EventCalled, map[string]any{"round": r.N, "calls": openNames(r.Open), "objects": openObjects(r.Open)}
	case r.RunID == "":
		return nil
	default:
		kind, data = job.EventProposed, map[string]any{"round": r.N, "run_id": r.RunID, "goal": s.goal()}
	}
	e, err := job.NewEvent(w.service.Now(), kind, data)
	*events = append(*events, e)
	return err
}

// keepRead adds a read to a round, keeps the whole answer of one that was cut, and returns its event.
func (w *work) keepRead(ctx context.Context, r *job.Round, m reads.Made) (job.Event, error) {
	l := m.Source
	r.Reads = append(r.Reads, job.Read{Call: m.Sum, Source: l})
	if l.Cut {
		if err := w.service.Jobs.KeepText(ctx, *w.job, l.ID, m.Text); err != nil {
			return job.Event{}, err
		}
	}
	return job.NewEvent(l.At, job.EventRead, map[string]any{
		"id": l.ID, "mcp_id": l.MCPID, "service": l.Service, "tool": l.Tool, "method": l.Method, "url": l.URL,
		"status": l.Status, "request_hash": l.RequestHash, "answer_hash": l.AnswerHash, "error": l.Error,
	})
}

func jobCalls(calls []llm.Call) (list []job.Call) {
	for _, c := range calls {
		list = append(list, job.Call(c))
	}
	return list
}

// answerOf returns the answer of a round, as the model gave it.
func answerOf(r job.Round) llm.Reply {
	reply := llm.Reply{Text: r.Text, Thought: r.Thought, Extra: r.Extra, From: r.From, Cut: r.Cut}
	for _, c := range r.Calls {
		reply.Calls = append(reply.Calls, llm.Call(c))
	}
	return reply
}

func callNames(calls []job.Call) []string {
	names := []string{}
	for _, c := range calls {
		names = append(names, c.Name)
	}
	return names
}
