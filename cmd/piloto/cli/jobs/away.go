package jobs

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
				t.thinks.Hide()
			}
			t.line("⏳", t.con.Text("cli.job.away", "url", c.Origin, "n", fmt.Sprint(int(patience.Seconds()))))
		}
		select {
		case <-ctx.Done():
			return got, ctx.Err()
		case <-time.After(awayPause):
		}
	}
}

// here sends a sign of life of this command. A failure is no error, because the next one follows soon.
func (t *jobTale) here(ctx context.Context, c *client.Client) {
	_, _ = client.Post[httpapi.Job](ctx, c, client.Path("api", "jobs", t.id, "results"), httpapi.ResultsRequest{Results: []job.ToldCall{}})
}

// known returns the last state of the job, with the record of this command's own calls.
func (t *jobTale) known() httpapi.Job {
	j, own := t.seen, t.own.Record
	if t.machine == nil {
		return j
	}
	j.Changes, j.Commands, j.Unlisted, j.Refused = own.Changes, own.Commands, own.More, nil
	for _, f := range t.seen.Refused {
		if f.Kind == job.DeedPlan || f.Kind == job.DeedCall { // not of this machine
			j.Refused = append(j.Refused, f)
		}
	}
	for _, f := range own.Refused {
		j.Refused = append(j.Refused, httpapi.JobRefusal{Refusal: f, Why: f.Why().In(t.con.Tag)})
	}
	return j
}

// leaveJob stops the job of a command that an error or a signal ended, and prints its record: of a deployment that is
// away, the record of this command's own calls. It returns the error.
func (g *Group) leaveJob(ctx context.Context, c *client.Client, t *jobTale, cause error, took time.Duration) error {
	away := isAway(cause)
	if !away {
		g.Con.Report("cli.stopping")
	}
	failed := t.stop()
	if !away || !isAway(failed) { // cause says it
		g.Con.Tell(ctx, failed)
	}
	if len(t.untold) > 0 && !isAway(failed) { // a job that ended hears it, too
		_, _ = client.Post[httpapi.Job](ctx, c, client.Path("api", "jobs", t.id, "results"), httpapi.ResultsRequest{Results: t.untold})
	}
	var j httpapi.Job
	if !isAway(failed) {
		j = untilEnded(ctx, c, t.id)
	}
	unread := j.JobID == ""
	if unread {
		j = t.known()
	}
	switch {
	case !away:
		g.tellRecord(j, t)
	case g.Con.JSON:
		cause = errors.Join(g.Con.PrintJSON(g.newOutcome(j, t, took)), cause)
	default:
		cause = errors.Join(g.printRecord(g.Con.Out, j, t), cause)
	}
	if unread {
		g.Con.Report("cli.job.look", "id", t.id)
	}
	return cause
}
