package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
)

func (g *Group) jobsCommand() *cobra.Command {
	var p usage.Page
	list := g.Deployment.Request(&cobra.Command{
		Use: "list", Short: "List the jobs, the newest first", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.JobList](ctx, c, "/api/jobs", p.Query())
		if err != nil {
			return err
		}
		defer g.Con.TellNext(got.Cursor)
		var rows [][]string
		for _, j := range got.Jobs {
			state := g.Con.Word("cli.job_state.", string(j.Status))
			switch seen := j.ClientSeen; {
			case j.StopReason != "":
				state += " (" + g.Con.Word("job.stopped.", string(j.StopReason)) + ")"
			case seen != nil && time.Since(*seen) > job.ClientSilence:
				state += " (" + g.Con.Text("cli.job.gone", "at", console.Moment(*seen)) + ")"
			}
			rows = append(rows, []string{j.JobID, console.Moment(j.UpdatedAt), j.Agent, state, console.Money(j.CostMicros), console.Cut(j.Prompt, 60)})
		}
		return g.Con.List(got, []string{"cli.id", "cli.changed", "cli.agent", "cli.status", "cli.cost", "cli.prompt"}, rows)
	})
	p.Register(list)
	show := g.Deployment.Request(&cobra.Command{
		Use: "show ID", Short: "Show a job as JSON", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		return g.Con.PrintAnswer(client.Get[httpapi.Job](ctx, c, client.Path("api", "jobs", args[0]), nil))
	})
	watch := g.Deployment.Request(&cobra.Command{
		Use: "watch ID", Short: "Follow a job to its end, or to what it waits for", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		return g.watch(ctx, c, args[0])
	})
	events := g.Deployment.Request(&cobra.Command{
		Use: "events ID", Short: "List what happened in a job", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Get[httpapi.JobEventList](ctx, c, client.Path("api", "jobs", args[0], "events"), nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, e := range got.Events {
			rows = append(rows, []string{fmt.Sprint(e.Seq), console.Moment(e.At), e.Type, console.Cut(string(e.Data), 100)})
		}
		return g.Con.List(got, []string{"cli.n", "cli.at", "cli.kind", "cli.what"}, rows)
	})
	stop := g.Deployment.Request(&cobra.Command{
		Use: "stop ID", Short: "Stop a job; a plan of it that waits or runs stays as it is", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Post[httpapi.Job](ctx, c, client.Path("api", "jobs", args[0], "stop"), struct{}{})
		if err != nil {
			return err
		}
		return g.Con.Result(got, got.JobID+"  "+g.Con.Word("cli.job_state.", string(got.Status)))
	})
	return usage.Group(&cobra.Command{
		Use: "jobs", Short: "List, show, follow and stop the work of agents",
	}, list, show, watch, events, stop)
}

// watch follows a job of another command. A signal ends only the watching.
func (g *Group) watch(ctx context.Context, c *client.Client, id string) error {
	began := time.Now()
	t := &jobTale{con: g.Con, id: id}
	j, err := g.followJob(ctx, c, t)
	if err != nil {
		return err
	}
	return g.printOutcome(ctx, c, j, t, time.Since(began))
}
