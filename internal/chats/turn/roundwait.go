package turn

import (
	"context"
	"errors"
	"strings"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// resume gives the outcome of the job's plan, or the answer to its question, to the call that waits for it. waits reports
// that there is none yet, or that the job ends without it.
func (w *work) resume(ctx context.Context) (next job.Next, waits bool, err error) {
	wait := w.ended
	switch {
	case w.rows.isBack():
		w.job.Status, w.job.Token = job.Running, ""
		return "", false, w.rows.save(ctx, nil)
	case w.job.Absent:
		wait = func(context.Context) (string, map[string]any, error) { return "", nil, nil }
	case w.job.Question != "":
		wait = func(context.Context) (string, map[string]any, error) { return w.rows.replied() }
	case len(w.job.Open) > 0:
		wait = func(context.Context) (string, map[string]any, error) { return w.rows.results() }
	}
	result, data, err := wait(ctx)
	switch {
	case err != nil:
		return "", false, err
	case result == "" && w.job.StopAt.IsZero() && w.service.Now().Before(w.job.EndsAt) && !w.job.ClientGone(w.rows.watch()):
		_, err := w.service.Chats.Chat(ctx, w.job.Account, w.job.ChatID)
		if errors.Is(err, conversation.ErrChatNotFound) { // nobody is there who could decide
			return job.NextClose, true, w.stop(ctx, conversation.StopBlocked)
		}
		return job.NextWait, true, err
	case result == "":
		reason := conversation.StopPerson
		switch {
		case !w.job.StopAt.IsZero():
		case w.job.ClientSilent(w.rows.watch()):
			return job.NextClose, true, w.stopWithoutClient(ctx)
		default:
			reason = conversation.StopExpired
		}
		return job.NextClose, true, w.stop(ctx, reason)
	}
	last := w.rows.last()
	for i, r := range last.Results {
		if r == "" {
			last.Results[i] = result
		}
	}
	e, err := job.NewEvent(w.service.Now(), job.EventResumed, data)
	if err != nil {
		return "", false, err
	}
	w.job.RunID, w.job.Question, w.job.Reply, w.job.Token, w.job.Status = "", "", "", "", job.Running
	w.job.Options, w.job.Open, w.job.Results, w.job.Notes = nil, nil, nil, nil
	if err := w.rows.save(ctx, []job.Round{*last}, e); err != nil {
		return "", false, err
	}
	return "", false, nil
}

// ended returns the tool result with the end of the job's plan; "" when it has not ended.
func (w *work) ended(ctx context.Context) (result string, data map[string]any, err error) {
	r, err := w.service.Plans.Bare(ctx, w.job.Account, w.job.RunID)
	data = map[string]any{"run_id": w.job.RunID, "status": r.Status}
	switch {
	case errors.Is(err, plan.ErrRunNotFound):
		return `{"status":"deleted"}`, data, nil
	case err != nil || !r.Status.Terminal():
		return "", nil, err
	}
	w.countRefusal(r)
	result, err = brief.Runs([]plan.Run{r}, w.service.Now())
	w.loop.past.Runs = []plan.Run{r}
	w.rows.addReadFrom(r.DataFrom()...)
	if err != nil {
		return "", nil, err
	}
	result = strings.TrimSpace(result)
	if doubts := brief.Doubts(&r, w.loop.req.Locale); doubts != "" {
		result += "\n" + doubts
	}
	files, err := w.filesResumed(ctx, r)
	return result + files, data, err
}

// awaitClient has the job wait until its client says that it is there. A client that is silent for too long ends it.
func (w *work) awaitClient(ctx context.Context) (job.Next, error) {
	w.job.Status, w.job.Absent, w.job.Waited = job.Waiting, true, w.service.Now()
	if w.job.ClientSilent(w.rows.watch()) {
		return job.NextClose, w.stopWithoutClient(ctx)
	}
	return job.NextWait, w.rows.save(ctx, nil)
}

// stopWithoutClient ends the job because its client is gone.
func (w *work) stopWithoutClient(ctx context.Context) error {
	w.job.Why = locale.Text(w.loop.req.Locale, "job.client_gone", "at", w.job.SeenText())
	return w.stop(ctx, conversation.StopClient)
}
