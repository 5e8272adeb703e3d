package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/meaning"
)

// awayPause is how long a command waits before it asks a deployment again that is away.
const awayPause = time.Second

// isAway reports whether no answer of the deployment came, and one may come soon: it restarts, or there is no network.
func isAway(err error) bool {
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return meaning.Away(p.Status)
	}
	lost, ok := errors.AsType[*client.UnreachableError](err)
	return ok && !errors.Is(err, context.Canceled) && (lost.Came == client.CameNothing || lost.Came == client.CameStatus && meaning.Away(lost.Status))
}

// patiently makes a request of a job until the deployment answers, for as long as the job does not miss its client. A line says so. A
// process that has restarted waits until it hears of the client, so it hears at once.
func patiently[T any](ctx context.Context, t *jobTale, c *client.Client, request func() (T, error)) (T, error) {
	patience := cmp.Or(t.patience, job.ClientSilence)
	for began, told := time.Now(), false; ; told = true {
		got, err := request()
		switch {
		case !isAway(err):
			if told && t.machine != nil {
				t.here(ctx, c)
			}
			return got, err
		case ctx.Err() != nil:
			return got, ctx.Err()
		case t.gaveUp || time.Since(began) >= patience:
			t.gaveUp = true
			return got, err
		case !told:
			if t.thinks != nil {
				t.thinks.hide()
			}
			t.line("⏳", t.app.text("cli.job.away", "url", c.Origin, "n", fmt.Sprint(int(patience.Seconds()))))
		}
		select {
		case <-ctx.Done():
			return got, ctx.Err()
		case <-time.After(awayPause):
		}
	}
}

// here says to the deployment that this command is there. What it may miss is said again, so a failure is none.
func (t *jobTale) here(ctx context.Context, c *client.Client) {
	_, _ = t.send(ctx, c, []job.ToldCall{})
}

// send tells the deployment what calls came to.
func (t *jobTale) send(ctx context.Context, c *client.Client, told []job.ToldCall) (httpapi.Job, error) {
	return client.Post[httpapi.Job](ctx, c.Following(), client.Path("api", "jobs", t.id, "results"), httpapi.ResultsRequest{Results: told})
}

// known returns the job as it was read last, with the record of what this command did for it.
func (t *jobTale) known() httpapi.Job {
	j, own := t.seen, t.own.Record
	if t.machine == nil {
		return j
	}
	j.Changes, j.Commands, j.Unlisted, j.Refused, j.Acted = own.Changes, own.Commands, own.More, nil, j.Acted || own.Acted()
	for _, f := range t.seen.Refused {
		if f.Kind == job.DeedPlan || f.Kind == job.DeedCall { // not of this machine
			j.Refused = append(j.Refused, f)
		}
	}
	for _, f := range own.Refused {
		j.Refused = append(j.Refused, httpapi.JobRefusal{Refusal: f, Why: f.Why().In(t.app.tag)})
	}
	return j
}

// leaveJob stops the job of a command that an error or a signal ended, and tells its record. Where the deployment does not answer, that is
// what this command did. It returns the error.
func (a *app) leaveJob(ctx context.Context, c *client.Client, t *jobTale, cause error, took time.Duration) error {
	away := isAway(cause)
	if !away {
		a.say(a.text("cli.stopping"))
	}
	failed := t.stop()
	if failed != nil && failed.Error() != cause.Error() && (!away || !isAway(failed)) { // else cause says it
		a.tell(ctx, failed)
	}
	if len(t.untold) > 0 && !isAway(failed) { // a job that ended hears it, too
		_, _ = t.send(ctx, c, t.untold)
	}
	var j httpapi.Job
	if !isAway(failed) {
		j = untilEnded(ctx, c, t.id)
	}
	unread := j.JobID == ""
	if unread {
		j = t.known()
	}
	isThere := !errors.Is(cause, job.ErrNotFound)
	if codeOf(cause) == Failed && !errors.Is(cause, context.Canceled) && j.Acted {
		cause = &exitError{code: Partial, text: a.told(cause)}
	}
	switch {
	case a.global.json:
		cause = errors.Join(a.printJSON(a.newOutcome(j, t, took)), cause)
	case !away:
		a.tellRecord(j, t)
	default:
		cause = errors.Join(a.printRecord(a.out, j, t), cause)
	}
	if unread && isThere {
		a.say(a.text("cli.job.look", "id", t.id))
	}
	return cause
}
