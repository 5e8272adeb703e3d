package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
)

func (g *jobGroup) jobsCommand() *cobra.Command {
	var p page
	list := g.deployment.request(&cobra.Command{Use: "list", Short: "List the jobs, the newest first", Args: none}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.JobList](ctx, c, "/api/jobs", p.query())
		if err != nil {
			return err
		}
		defer g.con.tellNext(got.Cursor)
		var rows [][]string
		for _, j := range got.Jobs {
			state := g.con.word("cli.job_state.", string(j.Status))
			switch seen := j.ClientSeen; {
			case j.StopReason != "":
				state += " (" + g.con.word("job.stopped.", string(j.StopReason)) + ")"
			case seen != nil && time.Since(*seen) > job.ClientSilence:
				state += " (" + g.con.text("cli.job.gone", "at", moment(*seen)) + ")"
			}
			rows = append(rows, []string{j.JobID, moment(j.UpdatedAt), j.Agent, state, money(j.CostMicros), cut(j.Prompt, 60)})
		}
		return g.con.list(got, []string{"cli.id", "cli.changed", "cli.agent", "cli.status", "cli.cost", "cli.prompt"}, rows)
	})
	p.register(list)
	show := g.deployment.request(&cobra.Command{Use: "show ID", Short: "Show a job as JSON", Args: exactly("ID")}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Get[httpapi.Job](ctx, c, client.Path("api", "jobs", args[0]), nil)
		if err != nil {
			return err
		}
		return g.con.printJSON(got)
	})
	watch := g.deployment.request(&cobra.Command{Use: "watch ID", Short: "Follow a job to its end, or to what it waits for", Args: exactly("ID")}, func(ctx context.Context, c *client.Client, args []string) error {
		return g.watch(ctx, c, args[0])
	})
	events := g.deployment.request(&cobra.Command{Use: "events ID", Short: "List what happened in a job", Args: exactly("ID")}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Get[httpapi.JobEventList](ctx, c, client.Path("api", "jobs", args[0], "events"), nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, e := range got.Events {
			rows = append(rows, []string{fmt.Sprint(e.Seq), moment(e.At), e.Type, cut(string(e.Data), 100)})
		}
		return g.con.list(got, []string{"cli.n", "cli.at", "cli.kind", "cli.what"}, rows)
	})
	stop := g.deployment.request(&cobra.Command{Use: "stop ID", Short: "Stop a job; a plan of it that waits or runs stays as it is", Args: exactly("ID")}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Post[httpapi.Job](ctx, c, client.Path("api", "jobs", args[0], "stop"), struct{}{})
		if err != nil {
			return err
		}
		return g.con.result(got, got.JobID+"  "+g.con.word("cli.job_state.", string(got.Status)))
	})
	return group(&cobra.Command{Use: "jobs", Short: "List, show, follow and stop the work of agents"}, list, show, watch, events, stop)
}

// watch follows a job of another command. A signal ends only the watching.
func (g *jobGroup) watch(ctx context.Context, c *client.Client, id string) error {
	began := time.Now()
	t := &jobTale{con: g.con, id: id}
	j, err := g.followJob(ctx, c, t)
	if err != nil {
		return err
	}
	return g.printOutcome(ctx, c, j, t, time.Since(began))
}
