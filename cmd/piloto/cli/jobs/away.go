package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/meaning"
)

// awayPause is how long a command waits before it asks a deployment again that is away.
const awayPause = time.Second

// isAway reports whether the deployment did not answer, or asks for a pause, and may answer soon: it restarts, there is no network, or it was
// asked too often.
func isAway(err error) bool {
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return meaning.Away(p.Status) || meaning.Passes(p.Status, false) && !meaning.Errs(p.Status)
	}
	lost, ok := errors.AsType[*client.UnreachableError](err)
	return ok && !errors.Is(err, context.Canceled) && (lost.Came == client.CameNothing || lost.Came == client.CameStatus && meaning.Passes(lost.Status, lost.Wait > 0))
}

// askedPause reports whether the deployment answered that it is asked too often, and the pause that it asks for; 0: it names none.
func askedPause(err error) (time.Duration, bool) {
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return p.Wait, meaning.Limits(p.Status)
	}
	lost, ok := errors.AsType[*client.UnreachableError](err)
	if !ok {
		return 0, false
	}
	return lost.Wait, lost.Came == client.CameStatus && meaning.Limits(lost.Status)
}

// pauseAfter returns how long a command waits after a number of attempts that failed.
func pauseAfter(err error, attempts int) time.Duration {
	asked, limited := askedPause(err)
	if limited && asked == 0 {
		return awayPause * time.Duration(min(attempts, 5))
	}
	if limited {
		return max(asked, awayPause)
	}
	return awayPause
}

// patiently makes a request of a job until the deployment answers, for as long as the job does not miss its client. A line says so. A
// process that has restarted waits until it hears of the client, so it hears at once.
func patiently[T any](ctx context.Context, t *jobTale, c *client.Client, request func() (T, error)) (T, error) {
	patience, said := cmp.Or(t.patience, job.ClientSilence), false
	for began, n := time.Now(), 1; ; n++ {
		got, err := request()
		left := patience - time.Since(began)
		switch _, limited := askedPause(err); {
		case !isAway(err):
			if n > 1 && t.machine != nil {
				t.here(ctx, c)
			}
			return got, err
		case ctx.Err() != nil:
			return got, ctx.Err()
		case t.gaveUp || left <= 0:
			t.gaveUp = true
			return got, err
		case limited:
			t.pauses.Do(func() { t.tellAway("cli.job.pause", c, patience) })
		case !said:
			said = true
			t.tellAway("cli.job.away", c, patience)
		}
		if err := runs.Wait(ctx, min(pauseAfter(err, n), left)); err != nil {
			return got, err
		}
	}
}

// tellAway says that the deployment is asked again.
func (t *jobTale) tellAway(key string, c *client.Client, patience time.Duration) {
	if t.thinks != nil {
		t.thinks.Hide()
	}
	t.line("⏳", t.con.Text(key, "url", c.Origin, "n", fmt.Sprint(int(patience.Seconds()))))
}

// spaced makes a request again as long as the deployment asks for a pause, until the context ends.
func spaced[T any](ctx context.Context, request func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		got, err := request()
		if _, limited := askedPause(err); !limited || runs.Wait(ctx, pauseAfter(err, n)) != nil {
			return got, err
		}
	}
}

// here sends a sign of life of this command. A failure is no error, because the next one follows soon.
func (t *jobTale) here(ctx context.Context, c *client.Client) {
	_, _ = t.send(ctx, c, []job.ToolResult{})
}

// send sends the results of calls to the deployment.
func (t *jobTale) send(ctx context.Context, c *client.Client, told []job.ToolResult) (httpapi.Job, error) {
	return client.Post[httpapi.Job](ctx, c.Following(), client.Path("api", "jobs", t.id, "results"), httpapi.ResultsRequest{Results: told})
}

// known returns a job as it was read, with the record of this command's own calls.
func (t *jobTale) known(j httpapi.Job) httpapi.Job {
	own, read := t.own.Record, j.Refused
	if t.machine == nil {
		return j
	}
	j.Changes, j.Commands, j.Unlisted, j.Refused, j.Acted = own.Changes, own.Commands, own.More, nil, j.Acted || own.Acted()
	j.Unknown = slices.DeleteFunc(slices.Clone(j.Unknown), func(what string) bool {
		return slices.ContainsFunc(t.own.Open, func(o job.OpenCall) bool {
			return o.Object() == what && slices.ContainsFunc(t.unsent, func(u job.ToolResult) bool { return u.ID == o.ID })
		})
	})
	for _, f := range read {
		if f.Kind == job.DeedPlan || f.Kind == job.DeedCall { // not of this machine
			j.Refused = append(j.Refused, f)
		}
	}
	for _, f := range own.Refused {
		j.Refused = append(j.Refused, httpapi.JobRefusal{Refusal: f, Why: f.Why().In(t.con.Tag)})
	}
	return j
}

// leaveJob stops the job of a command that an error or a signal ended, and prints its record. The record of this command's
// own calls counts where the deployment does not have it, or does not answer. It returns the error.
func (g *Group) leaveJob(ctx context.Context, c *client.Client, t *jobTale, cause error, took time.Duration) error {
	away := isAway(cause)
	if !away {
		g.Con.Report("cli.stopping")
	}
	failed := t.stop()
	if failed != nil && failed.Error() != cause.Error() && (!away || !isAway(failed)) { // else cause says it
		g.Con.Tell(ctx, failed)
	}
	var j httpapi.Job
	if !isAway(failed) {
		t.tellAgain(ctx, c)
		j = untilEnded(ctx, c, t.id)
	}
	unread := j.JobID == ""
	if unread {
		j = t.seen
	}
	if unread || len(t.unsent) > 0 {
		j = t.known(j)
	}
	isThere := !errors.Is(cause, job.ErrNotFound)
	if ending.CodeOf(cause) == ending.Failed && !errors.Is(cause, context.Canceled) && j.Acted {
		cause = &ending.Error{Code: ending.Partial, Text: g.Con.Told(cause)}
	}
	switch {
	case g.Con.JSON:
		cause = errors.Join(g.Con.PrintJSON(g.newOutcome(j, t, took)), cause)
	case !away:
		g.tellRecord(j, t)
	default:
		cause = errors.Join(g.printRecord(g.Con.Out, j, t), cause)
	}
	if unread && isThere {
		g.Con.Report("cli.job.look", "id", t.id)
	}
	return cause
}

// tellAgain sends what the deployment did not take before. A job that ended hears it, too.
func (t *jobTale) tellAgain(ctx context.Context, c *client.Client) {
	if len(t.unsent) == 0 {
		return
	}
	within, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	_, err := spaced(within, func() (httpapi.Job, error) { return t.send(within, c, t.unsent) })
	if err == nil || errors.Is(err, job.ErrEnded) || errors.Is(err, job.ErrNoCalls) { // the answer to the first one was lost
		t.unsent = nil
	}
}
