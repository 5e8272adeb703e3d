package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/retry"
	"piloto/internal/models/cache"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// Bounds of a job.
const (
	mostJobLooks   = 200
	closingTokens  = 600              // of the last text of a job that is ended
	endTime        = 10 * time.Second // for that text, and for an evaluation, when the time of the agent is over
	stopJobEvery   = time.Second
	mostBusy       = 20       // attempts of a call whose credit others hold, of 30 s each
	sourcesOfJob   = 24       // under its last message
	bytesOfSources = 96 << 10 // of their answers
)

// work is a job while one of its rounds is made. It converses as a turn does; in its prompt the rounds of the job follow
// the message.
type work struct {
	*dialog
	job    job.Job
	rounds []job.Round
	block  *eligibility.Block // the reason why no model can be asked now

	closing bool // the next call is for the last text
	own     bool // the last text is the program's, and not the model's

	goal string // of the plan that the round proposed; "": another invocation did
}

// Round makes the next round of a job, and says how its execution goes on. It may be repeated: a round that was answered
// is not asked again, and a plan that was proposed is not proposed again. It returns errors of the store only.
func (s *Service) Round(ctx context.Context, account, id string) (job.Next, error) {
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
	if last := w.last(); last == nil || last.Answered.IsZero() || !last.Handled.IsZero() {
		judges := w.toJudge()
		reason, err := w.askRound(ctx)
		switch {
		case err != nil:
			return "", err
		case reason != "" && w.isBusy():
			w.addTime()
			return job.NextRound, w.save(ctx, nil)
		case reason != "" && judges && reason != conversation.StopPerson:
			return job.NextEnd, w.endUnjudged(ctx)
		case reason != "":
			return job.NextClose, w.stop(ctx, reason)
		}
	}
	return w.handle(ctx)
}

// withCache has the calls of the job's model answered from a cache, if it asks for that.
func (w *work) withCache(ctx context.Context) context.Context {
	if w.job.Cache {
		return cache.Wanted(ctx)
	}
	return ctx
}

// loadJob reads a job with its rounds.
func (s *Service) loadJob(ctx context.Context, account, id string) (*work, error) {
	w := &work{}
	var err error
	if w.job, err = s.Jobs.Job(ctx, account, id); err != nil || w.job.Status.Terminal() {
		return w, err
	}
	j := w.job
	w.dialog = s.dialog(Request{
		Principal: auth.Principal{Account: j.Account, User: j.User}, ChatID: j.ChatID, Message: j.Prompt, Locale: locale.Tag(j.Locale), TraceID: j.TraceID,
	}, conversation.Chat{ID: j.ChatID, ProjectID: j.ProjectID})
	w.dialog.job, w.began = &w.job, s.Now()
	w.saveNext = w.keepNext
	w.agent = actor{Loop: j.Loop}
	w.agent.Name = j.Agent
	w.rounds, err = s.Jobs.Rounds(ctx, account, id)
	return w, err
}

func (w *work) last() *job.Round {
	if len(w.rounds) == 0 {
		return nil
	}
	return &w.rounds[len(w.rounds)-1]
}

// overReason returns the reason to end the job before another round. An answer that waits for its evaluation is judged
// although the steps or the time of the agent are used up.
func (w *work) overReason() conversation.StopReason {
	now := w.service.Now()
	steps, _ := w.tally()
	switch {
	case w.job.StopReason != "":
		return w.job.StopReason
	case !w.job.StopAt.IsZero():
		return conversation.StopPerson
	case w.job.Refused >= job.MostRefused:
		return conversation.StopRefused
	case w.toJudge():
		return ""
	case w.job.Worked >= time.Duration(w.job.Loop.TimeoutS)*time.Second, !now.Before(w.job.EndsAt):
		return conversation.StopTime
	case steps >= w.job.Loop.MaxSteps && !w.last().Handled.IsZero():
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
	if w.block != nil {
		w.job.Why = w.block.Message().In(w.req.Locale) + " " + w.block.Action().In(w.req.Locale)
	}
	return w.save(ctx, nil)
}

// save stores the job with rounds and events. A request to stop that arrived meanwhile is kept.
func (w *work) save(ctx context.Context, rounds []job.Round, events ...job.Event) error {
	w.job.UpdatedAt = w.service.Now()
	w.job.DueAt = w.job.UpdatedAt.Add(job.CheckEvery)
	return retry.Do(ctx, func() error {
		saved, err := w.service.Jobs.SaveJob(ctx, w.job, rounds, slices.Clone(events)...)
		if err == nil {
			w.job = saved
		}
		if !errors.Is(err, fault.ErrMoved) {
			return err
		}
		now, readErr := w.service.Jobs.Job(ctx, w.job.Account, w.job.ID)
		if readErr != nil {
			return readErr
		}
		w.job.Version, w.job.StopAt, w.job.Events, w.job.Listed, w.job.Seen = now.Version, now.StopAt, now.Events, now.Listed, now.Seen
		w.takeTold(now)
		return err
	})
}

// handle does what the last answer asks for, and stores what became of it.
func (w *work) handle(ctx context.Context) (job.Next, error) {
	r := w.last()
	if w.calls.Use == nil { // the model was chosen when it was asked
		w.calls.Use = &eligibility.Selection{}
		w.calls.Use.Provider, w.calls.Use.Model = r.Provider, r.Model
	}
	switch {
	case r.Eval:
		return w.handleVerdict(ctx)
	case len(r.Calls) == 0 && w.files.Waits(): // the agent is done: what it changed is proposed
		r.Calls = jobCalls(w.applyAll())
	case w.isSilent(r):
		return job.NextClose, w.stop(ctx, conversation.StopModel)
	case w.doubts(ctx, r):
		w.service.Log.WarnContext(ctx, "turn.pretends", "chat_id", w.job.ChatID, "job_id", w.job.ID)
		r.Doubted = true
	case len(r.Calls) == 0 && !w.evaluates(r.Text):
		return job.NextEnd, w.endWith(ctx, r)
	}
	answered, err := w.count(ctx, r)
	if err != nil {
		return "", err
	}
	events := []job.Event{answered}
	if err := w.answerCalls(ctx, r, &events); err != nil {
		return "", err
	}
	w.addTime()
	next := job.NextRound
	if r.RunID != "" || r.Question != "" || len(r.Open) > 0 {
		w.job.RunID, w.job.Question, w.job.Options, w.job.Open = r.RunID, r.Question, r.Options, r.Open
		w.job.Status, w.job.Waited, next = job.Waiting, w.service.Now(), job.NextWait
	}
	return next, w.save(ctx, []job.Round{*r}, events...)
}

// doubts reports whether the model is asked once more about the text of a round, as that of a turn is.
func (w *work) doubts(ctx context.Context, r *job.Round) bool {
	steps, _ := w.tally()
	w.final = steps >= w.job.Loop.MaxSteps
	return len(r.Calls) == 0 && !ref.Blank(r.Text) && w.reconsiders(ctx, r.Text)
}

// isBusy reports whether others hold the credit that the last call needs: it is tried again, because they release it. Each
// try has waited for it.
func (w *work) isBusy() bool {
	return w.block != nil && w.block.Reason == eligibility.Busy && w.last() != nil && w.last().Attempt < mostBusy
}

// addTime adds the time of this invocation to what the job worked.
func (w *work) addTime() { w.job.Worked += w.service.Now().Sub(w.began) }

// count adds an answered round to the job as handled, and returns its event. Its caller stores both at once.
func (w *work) count(ctx context.Context, r *job.Round) (job.Event, error) {
	if !w.calls.Begun() { // another invocation asked the model
		w.settleAgain(ctx, r)
	}
	r.Handled = w.service.Now()
	w.job.Rounds = len(w.rounds)
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

// answerCalls answers the tool calls of a round: it makes its looks, and proposes its plan or asks its question.
func (w *work) answerCalls(ctx context.Context, r *job.Round, events *[]job.Event) error {
	if len(r.Calls) == 0 {
		return nil
	}
	s := w.service
	w.runID, w.round = ids.DeriveAt(r.Answered, "job", w.job.ID, strconv.Itoa(r.N)), r.N
	r.Results = make([]string, len(r.Calls))
	if _, err := s.Store.Status(ctx, w.job.Account, w.runID); err == nil { // an invocation that died proposed it
		r.RunID = w.runID
		w.proposed()
	} else if !errors.Is(err, plan.ErrRunNotFound) {
		return err
	} else if err := w.callTools(ctx, r); err != nil {
		return err
	}
	for _, made := range w.reading.Since(w.reading.Len() - len(r.Looks)) {
		l := made.Source
		if l.Cut {
			if err := s.Jobs.KeepText(ctx, w.job, l.ID, strings.Join(made.Lines, "\n")); err != nil {
				return err
			}
		}
		e, err := job.NewEvent(l.At, job.EventLooked, map[string]any{
			"id": l.ID, "mcp_id": l.MCPID, "service": l.Service, "tool": l.Tool, "method": l.Method, "url": l.URL,
			"status": l.Status, "request_hash": l.RequestHash, "answer_hash": l.AnswerHash, "error": l.Error,
		})
		if err != nil {
			return err
		}
		*events = append(*events, e)
	}
	w.job.Looks += len(r.Looks)
	kind, data := job.EventProposed, map[string]any{"round": r.N, "run_id": r.RunID, "goal": w.goal}
	switch {
	case r.Question != "":
		kind, data = job.EventAsked, map[string]any{"round": r.N, "question": r.Question}
	case len(r.Open) > 0:
		kind, data = job.EventCalled, map[string]any{"round": r.N, "calls": openNames(r.Open), "objects": openObjects(r.Open)}
	case r.RunID == "":
		return nil
	}
	e, err := job.NewEvent(s.Now(), kind, data)
	*events = append(*events, e)
	return err
}

// callTools hands the calls of a round to their tools.
func (w *work) callTools(ctx context.Context, r *job.Round) error {
	before := w.reading.Len()
	looking, cancel := w.bounded(ctx, job.MostLife, 0)
	defer cancel()
	reply, over, err := w.handleCalls(ctx, looking, llm.Reply{Text: r.Text, Calls: callsOf(*r)})
	if err != nil {
		return err
	}
	for _, made := range w.reading.Since(before) {
		r.Looks = append(r.Looks, job.Look{Call: made.Sum, Source: made.Source})
	}
	w.addCircles(w.dataFrom()...)
	w.job.Changes.Set, w.job.Changes.Proposed = w.files.Set, w.files.Proposed
	if over && reply.Run != nil {
		r.RunID, w.goal = reply.Run.ID, reply.Run.Plan.Goal
		w.proposed()
		copy(r.Results, w.results)
		w.noteCalls(r)
		return nil
	}
	results := w.query.messages[len(w.query.messages)-len(r.Calls):]
	for i, m := range results {
		if !w.isLeft(i) {
			r.Results[i] = cmp.Or(m.Content, "{}")
		}
	}
	w.noteCalls(r)
	r.Open = w.openCalls(r)
	if w.question == nil {
		return nil
	}
	posed, err := w.pose(ctx, r)
	if posed {
		r.Question, r.Options = w.question.content(), w.question.options
	} else {
		r.Results[w.question.at] = toolcall.Error("", "it was not asked: another question waits for its answer in this chat; go on without it")
	}
	return err
}

// dryRun returns the result of each proposal in a job that proposes nothing, else "".
func (d *dialog) dryRun() string {
	if d.job == nil || !d.job.DryRun {
		return ""
	}
	return `{"note":"this is a dry run: nothing is proposed. Say in your answer what you would propose"}`
}

func jobCalls(calls []llm.Call) (list []job.Call) {
	for _, c := range calls {
		list = append(list, job.Call(c))
	}
	return list
}

func callsOf(r job.Round) []llm.Call {
	var calls []llm.Call
	for _, c := range r.Calls {
		calls = append(calls, llm.Call(c))
	}
	return calls
}

func callNames(calls []job.Call) []string {
	names := []string{}
	for _, c := range calls {
		names = append(names, c.Name)
	}
	return names
}
