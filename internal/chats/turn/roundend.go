package turn

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/chats/ask"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/visible"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
)

// CloseJob ends a job that is being ended, or whose execution failed; throttled: because the server had no room for it.
// The model writes the last text about the done and the open work; when it cannot, the text is made from the record. A
// job that ended is left as it is.
func (s *Service) CloseJob(ctx context.Context, account ids.Account, id string, throttled bool) error {
	w, err := s.loadJob(ctx, account, id)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil
	case err != nil || w.job.Status.Terminal():
		return err
	}
	ctx = w.withCache(ctx)
	switch {
	case w.job.StopReason != "":
	case throttled:
		w.job.StopReason = conversation.StopNoRoom
	default: // every attempt at a round failed
		w.job.StopReason = conversation.StopModel
		s.Log.ErrorContext(ctx, "job.broken", "account", account, "job_id", id, "rounds", len(w.rows.rounds))
	}
	if err := w.countOpen(ctx); err != nil {
		return err
	}
	text, err := w.lastText(ctx)
	if err != nil {
		return err
	}
	if err := w.countOpen(ctx); err != nil {
		return err
	}
	if err := w.proposeLeft(ctx); err != nil {
		return err
	}
	return w.end(ctx, w.job.StopReason, text, nil)
}

// countOpen counts the last call of a job that is being ended, when it is not counted yet. The calls of its answer are
// not made any more.
func (w *work) countOpen(ctx context.Context) error {
	last := w.rows.last()
	switch {
	case last == nil || !last.Handled.IsZero():
		return nil
	case last.Answered.IsZero():
		return w.journal.chargeLost(ctx, last)
	}
	for range last.Calls {
		last.Results = append(last.Results, `{"error":"the job ended before this was done"}`)
	}
	answered, err := w.count(ctx, last)
	if err != nil {
		return err
	}
	return w.rows.save(ctx, []job.Round{*last}, answered)
}

// lastText returns the last text of a job that is ended.
func (w *work) lastText(ctx context.Context) (string, error) {
	if answer, v := w.rows.lastAnswer(); answer != nil { // the agent was done, and was to answer better
		w.verdict = v
		return answer.Text, nil
	}
	if job.Graceful(w.job.StopReason) {
		text, err := w.askLastText(ctx)
		if err == nil && !visible.Blank(text) {
			return text, nil
		}
		w.service.Log.WarnContext(ctx, "job.no_last_text", "job_id", w.job.ID, "stop_reason", w.job.StopReason, "error", err)
	}
	return w.record(ctx)
}

// askLastText asks the model once, without tools, for the done and the open work.
func (w *work) askLastText(ctx context.Context) (string, error) {
	if last := w.rows.last(); last != nil && last.Closing { // "" when its answer was lost
		return last.Text, nil
	}
	w.closing = true
	if err := w.open(ctx); err != nil {
		return "", err
	}
	if w.journal.block != nil {
		return "", paid.Blocked{Block: w.journal.block}
	}
	r, err := w.journal.nextRound(ctx)
	if err != nil {
		return "", err
	}
	prompt := w.loop.calls.Use.Window
	if budget := w.job.Loop.BudgetMicros; budget > 0 {
		prompt = w.affordable(budget - w.job.Micros)
	}
	request, err := w.loop.query.Closing(w.loop.calls.Use, locale.Text(locale.English, "job.ended_by", "reason", locale.Text(locale.English, "job.stopped."+string(w.job.StopReason))),
		ask.Room{Answer: closingTokens, Prompt: prompt})
	if err != nil {
		return "", err
	}
	r.Closing, r.Held = true, w.loop.calls.Use.Price.MostOf(request.Most())
	if budget := w.job.Loop.BudgetMicros; budget > 0 && w.job.Micros+r.Held > budget {
		return "", errors.New("the budget has no room for it")
	}
	reason, err := w.journal.call(ctx, r, func(asking context.Context) (llm.Reply, error) { return ask.LastCall(asking, w.loop.calls, request) })
	if err != nil || reason != "" {
		return "", errors.Join(err, errors.New("the model gave none: "+string(reason)))
	}
	return w.rows.last().Text, nil
}

// affordable returns how many tokens the prompt of the last text may have for so many micros.
func (w *work) affordable(micros int64) int {
	price := w.loop.calls.Use.Price
	if price.Input == 0 {
		return w.loop.calls.Use.Window
	}
	left := float64(micros - price.MostOf(llm.Usage{Output: closingTokens}))
	return int(min(left/float64(price.Input)*1e6, float64(w.loop.calls.Use.Window))) // below 0 nothing fits
}

// record returns the done, the open and the waiting work, from the record of the job.
func (w *work) record(ctx context.Context) (string, error) {
	w.own = true
	tag := w.loop.req.Locale
	_, err := w.service.Chats.Chat(ctx, w.job.Account, w.job.ChatID)
	deleted := errors.Is(err, conversation.ErrChatNotFound)
	if err != nil && !deleted {
		return "", err
	}
	reason := w.rows.reasonText()
	if deleted && w.job.StopReason == conversation.StopBlocked {
		reason = locale.Text(tag, "job.stopped.without_chat")
	}
	lines := []string{locale.Text(tag, "job.ended_by", "reason", reason)}
	if w.job.Why != "" {
		lines = append(lines, w.job.Why)
	}
	if n := w.job.Reads; n > 0 {
		lines = append(lines, locale.Text(tag, "job.looks", "n", strconv.Itoa(n)))
	}
	for _, r := range w.rows.rounds {
		if r.RunID == "" {
			continue
		}
		run, err := w.service.Plans.Bare(ctx, w.job.Account, r.RunID)
		if errors.Is(err, plan.ErrRunNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		status := "job.status." + string(run.Status)
		if run.Status == plan.Draft && deleted {
			status = "job.status.draft_without_chat"
		}
		lines = append(lines, locale.Text(tag, "job.plan", "goal", run.Plan.Goal, "status", locale.Text(tag, status)))
	}
	w.job.CloseRecord()
	for _, p := range w.job.Record.Phrases() {
		lines = append(lines, p.In(tag))
	}
	if len(lines) == 1 {
		lines = append(lines, locale.Text(tag, "job.nothing"))
	}
	return strings.Join(lines, "\n"), nil
}

// end stores the last text of a job as its message, and the job as ended. It may be repeated: the message's id and
// position are derived from the job.
func (w *work) end(ctx context.Context, reason conversation.StopReason, text string, rounds []job.Round, events ...job.Event) error {
	if err := w.beginEnd(ctx); err != nil {
		return err
	}
	at := w.job.EndedAt
	w.job.Output, w.job.Token = shorten(strings.TrimSpace(text)), ""
	w.job.CloseRecord() // the client may have answered since the text was written
	w.job.StopReason, w.job.Status = reason, w.job.Record.Ended(w.finalStatus(reason))
	if err := w.say(ctx, w.job.Output); err != nil {
		return err
	}
	ended, err := w.job.EndEvent(at)
	if err != nil {
		return err
	}
	w.service.Log.InfoContext(ctx, "job.ended", "account", w.job.Account, "job_id", w.job.ID, "status", w.job.Status, "stop_reason", reason)
	return w.rows.save(ctx, rounds, append(events, ended)...)
}

// beginEnd stores the time of the job's end, which is the position of its last message. Nothing that is to be stored
// later may have been changed before, because it would be counted again after a crash.
func (w *work) beginEnd(ctx context.Context) error {
	if !w.job.EndedAt.IsZero() {
		return nil
	}
	w.job.EndedAt = w.service.Now()
	return w.rows.save(ctx, nil)
}

// finalStatus returns the status of a job that ends for a reason.
func (w *work) finalStatus(reason conversation.StopReason) job.Status {
	acted := slices.ContainsFunc(w.rows.rounds, func(r job.Round) bool {
		return len(r.Reads) > 0 || r.RunID != "" || r.IsText() && !visible.Blank(r.Text)
	})
	switch {
	case reason == "" && !w.verdict.partial():
		return job.Success
	case reason == conversation.StopBlocked, (reason == conversation.StopModel || reason == conversation.StopNoRoom) && !acted:
		return job.Failed
	}
	return job.Partial
}

// say adds the last message of the job to its chat. A chat that was deleted hears nothing.
func (w *work) say(ctx context.Context, text string) error {
	m := conversation.Message{
		ID: conversation.AnswerID(w.job.MessageID), Seq: job.EndSeq(*w.job), Role: conversation.RoleAssistant, Kind: conversation.KindText,
		Content: text, JobID: w.job.ID, At: w.job.EndedAt, ReadFrom: w.job.ReadFrom,
	}
	var err error
	if m.Sources, err = w.lastSources(ctx); err != nil {
		return err
	}
	last := w.rows.last()
	if answer, _ := w.rows.lastAnswer(); answer != nil {
		last = answer
	}
	if last != nil {
		m.By = &conversation.By{Agent: w.job.Agent, Provider: last.Provider, Model: last.Model}
	}
	if !w.own {
		if m.Notes, err = w.loop.checker().notes(ctx, claim.Read(text)); err != nil && !errors.Is(err, conversation.ErrChatNotFound) {
			return err
		}
	}
	m.Notes = slices.Concat(m.Notes, w.job.Denied, w.verdict.note(w.loop.req), w.loop.agent.costNote(w.loop.req, w.job.Micros))
	w.job.Notes = m.Notes
	if w.job.Status != job.Success {
		m.Status, m.StopReason = conversation.Status(w.job.Status), w.job.StopReason
	}
	err = retry.Do(ctx, func() error {
		return w.service.Chats.AddMessages(ctx, w.job.Chat(), "", w.job.EndedAt, m)
	})
	if errors.Is(err, conversation.ErrChatNotFound) {
		return nil
	}
	return err
}

// lastSources returns the sources of the last message of a job: its newest reads, and the answers to its plans. Those
// that do not fit are there without their answers.
func (w *work) lastSources(ctx context.Context) ([]conversation.Source, error) {
	var list []conversation.Source
	size := 0
	add := func(s conversation.Source) {
		known := slices.ContainsFunc(list, func(o conversation.Source) bool { return o.MCPID == s.MCPID })
		if len(list) < sourcesOfJob || !known { // each service is there, because its zone bounds the next reads
			list = append(list, s)
		}
	}
	for _, r := range slices.Backward(w.rows.rounds) {
		for _, l := range slices.Backward(r.Reads) {
			s := l.Source
			if size += len(s.Answer); size > bytesOfSources {
				s.Answer, s.Cut = "", true
			}
			add(s)
		}
		if r.RunID == "" {
			continue
		}
		run, err := w.service.Plans.Bare(ctx, w.job.Account, r.RunID)
		if err != nil && !errors.Is(err, plan.ErrRunNotFound) {
			return nil, err
		}
		for _, s := range slices.Backward(resultsOf(run)) {
			add(s)
		}
	}
	slices.Reverse(list)
	return list, nil
}
