// Package account owns the commands about the settings of an account, and about the deployments that this machine knows.
package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/models/credit"
)

// Group are the commands about the settings of an account, and about the deployments that this machine knows.
type Group struct {
	Con        *console.Console
	Deployment *reach.Deployment
}

// Commands returns the commands of the group.
func (g *Group) Commands() []*cobra.Command {
	return []*cobra.Command{
		g.loginCommand(), g.logoutCommand(), g.profilesCommand(), g.agentsCommand(), g.assistantsCommand(), g.usageCommand(), g.creditsCommand(),
		g.hooksCommand(), g.healthCommand(),
	}
}

func (g *Group) agentsCommand() *cobra.Command {
	list := g.Deployment.Request(&cobra.Command{
		Use: "list", Short: "List the agents", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.AgentList](ctx, c, "/api/agents", nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, one := range got.Agents {
			rows = append(rows, []string{one.Name, g.Con.Word("cli.agent_kind.", string(one.Kind)), string(one.Mode), fmt.Sprint(one.MaxSteps), console.Cut(one.Description, 70)})
		}
		return g.Con.List(got, []string{"cli.name", "cli.kind", "cli.mode", "cli.steps", "cli.about"}, rows)
	})
	show := g.Deployment.Request(&cobra.Command{
		Use: "show NAME", Short: "Show an agent as JSON, as apply takes it", Args: usage.Exactly("NAME"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		return g.Con.PrintAnswer(client.Get[json.RawMessage](ctx, c, client.Path("api", "agents", args[0]), nil))
	})
	return usage.Group(&cobra.Command{
		Use: "agents", Short: "List, show, change and delete agents",
	}, list, show, g.agentsApply(), g.agentsDelete())
}

func (g *Group) agentsDelete() *cobra.Command {
	var seen int
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "delete NAME", Short: "Delete an agent of your own, or put a shipped one back", Args: usage.Exactly("NAME"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		path, body := client.Path("api", "agents", args[0]), httpapi.AgentDelete{Version: &seen}
		if seen < 0 {
			got, err := client.Get[httpapi.AgentView](ctx, c, path, nil)
			if err != nil {
				return err
			}
			body.Version = cmp.Or(got.Version, new(int)) // a service has none, and is not deleted here
		}
		return g.Deployment.Delete(ctx, c, path, body)
	})
	cmd.Flags().IntVar(&seen, "version", -1, "only while it has this `VERSION`; the one that it has now when absent")
	return cmd
}

func (g *Group) agentsApply() *cobra.Command {
	var file string
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "apply NAME -f FILE", Short: "Make or change an agent from a JSON file: a merge patch with the version that you read", Args: usage.Exactly("NAME"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		body, err := g.Con.JSONFile(file)
		if err != nil {
			return err
		}
		return g.Con.PrintAnswer(client.Send[httpapi.AgentView](ctx, c, client.Call{Method: http.MethodPut, Path: client.Path("api", "agents", args[0]), Body: body}))
	})
	cmd.Flags().StringVarP(&file, "file", "f", "-", "the `file`; - is stdin")
	return cmd
}

func (g *Group) assistantsCommand() *cobra.Command {
	show := g.Deployment.Request(&cobra.Command{
		Use: "show", Short: "Show the account's assistant", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		return g.Con.PrintAnswer(client.Get[json.RawMessage](ctx, c, "/ai/assistant", nil))
	})
	var file string
	set := g.Deployment.Request(&cobra.Command{
		Use: "set -f FILE", Short: "Set the account's assistant from a JSON file", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		body, err := g.Con.JSONFile(file)
		if err != nil {
			return err
		}
		return g.Con.PrintAnswer(client.Send[json.RawMessage](ctx, c, client.Call{Method: http.MethodPut, Path: "/ai/assistant", Body: body}))
	})
	set.Flags().StringVarP(&file, "file", "f", "-", "the `file`; - is stdin")
	remove := g.Deployment.Request(&cobra.Command{
		Use: "delete", Short: "Go back to the deployment's assistant", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		return g.Deployment.Delete(ctx, c, "/ai/assistant", nil)
	})
	return usage.Group(&cobra.Command{Use: "assistants", Short: "Who answers: provider, model, persona"}, show, set, remove)
}

func (g *Group) usageCommand() *cobra.Command {
	var by, from, to string
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "usage", Short: "What models were used for, and what they cost", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		query := url.Values{}
		for name, value := range map[string]string{"by": by, "from": from, "to": to} {
			if value != "" {
				query.Set(name, value)
			}
		}
		got, err := client.Get[httpapi.Usage](ctx, c, "/ai/usage", query)
		if err != nil {
			return err
		}
		total := got.Total
		var rows [][]string
		for _, u := range append(got.Usage, credit.Sum{
			Key: g.Con.Text("cli.total"), Turns: total.Turns, New: total.New, Cached: total.Cached, Output: total.Output, Micros: total.Micros, Listed: total.Listed,
		}) {
			cost := console.Money(u.Micros)
			if u.Listed > 0 {
				cost = "≈ " + cost
			}
			rows = append(rows, []string{u.Key, fmt.Sprint(u.Turns), fmt.Sprint(u.New), fmt.Sprint(u.Cached), fmt.Sprint(u.Output), cost})
		}
		return g.Con.List(got, []string{"cli.what", "cli.turns", "cli.new_tokens", "cli.cached_tokens", "cli.written_tokens", "cli.cost"}, rows)
	})
	f := cmd.Flags()
	f.StringVar(&by, "by", "", "account, day, project, chat, run, turn, model or source")
	f.StringVar(&from, "from", "", "a day (2026-03-01) or a moment")
	f.StringVar(&to, "to", "", "a day, which is in it, or a moment, which is not")
	return cmd
}

func (g *Group) creditsCommand() *cobra.Command {
	show := g.Deployment.Request(&cobra.Command{
		Use: "show", Short: "The balance, sessions and limits", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.Credits](ctx, c, "/ai/credits", nil)
		if err != nil {
			return err
		}
		if g.Con.JSON {
			return g.Con.PrintJSON(got)
		}
		err = g.Con.Print(g.Con.Text("cli.balance", "n", fmt.Sprint(got.Balance), "day", console.Money(got.Spent.Day), "month", console.Money(got.Spent.Month)))
		if got.Block != nil {
			err = errors.Join(err, g.Con.Print(got.Block.Message+" "+got.Block.Action))
		}
		return err
	})
	var p usage.Page
	ledger := g.Deployment.Request(&cobra.Command{
		Use: "ledger", Short: "List the movements, the newest first", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.LedgerPage](ctx, c, "/ai/ledger", p.Query())
		if err != nil {
			return err
		}
		defer g.Con.TellNext(got.Cursor)
		var rows [][]string
		for _, e := range got.Entries {
			rows = append(rows, []string{e.ID, console.Moment(e.At), g.Con.Word("cli.movement.", string(e.Kind)), fmt.Sprint(e.Amount), console.Cut(e.Reason, 60)})
		}
		return g.Con.List(got, []string{"cli.id", "cli.at", "cli.kind", "cli.amount", "cli.reason"}, rows)
	})
	p.Register(ledger)
	return usage.Group(&cobra.Command{Use: "credits", Short: "The balance of the account, and what moved it"}, show, ledger)
}

func (g *Group) hooksCommand() *cobra.Command {
	list := g.Deployment.Request(&cobra.Command{
		Use: "list", Short: "List the addresses that are told what happens", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.HookList](ctx, c, "/api/hooks", nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, h := range got.Hooks {
			state := g.Con.Text("cli.on")
			if !h.Enabled {
				state = g.Con.Text("cli.off") + " " + h.Off
			}
			rows = append(rows, []string{h.ID, h.URL, strings.Join(h.Events, ","), state})
		}
		return g.Con.List(got, []string{"cli.id", "cli.url", "cli.events", "cli.status"}, rows)
	})
	var events []string
	add := g.Deployment.Request(&cobra.Command{
		Use: "add URL", Short: "Tell an address what happens; its secret is printed once", Args: usage.Exactly("URL"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Post[httpapi.HookMade](ctx, c, "/api/hooks", httpapi.HookRequest{URL: args[0], Events: events})
		if err != nil {
			return err
		}
		if g.Con.JSON {
			return g.Con.PrintJSON(got)
		}
		g.Con.Report("cli.secret_once")
		return g.Con.Print(got.ID + "  " + got.Secret)
	})
	add.Flags().StringSliceVar(&events, "events", []string{"run.waiting", "run.finished", "run.in_doubt"}, "what is told")
	remove := g.Deployment.Request(&cobra.Command{
		Use: "remove ID", Short: "Tell an address nothing any more", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		return g.Deployment.Delete(ctx, c, client.Path("api", "hooks", args[0]), nil)
	})
	deliveries := g.Deployment.Request(&cobra.Command{
		Use: "deliveries ID", Short: "List what was told to an address, and how it answered", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Get[httpapi.DeliveryList](ctx, c, client.Path("api", "hooks", args[0], "deliveries"), nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, d := range got.Deliveries {
			rows = append(rows, []string{d.ID, console.Moment(d.CreatedAt), d.Type, g.Con.Word("page.hook.state.", d.State), fmt.Sprint(len(d.Attempts))})
		}
		return g.Con.List(got, []string{"cli.id", "cli.at", "cli.kind", "cli.status", "cli.attempts"}, rows)
	})
	resend := g.Deployment.Request(&cobra.Command{
		Use: "resend ID DELIVERY", Short: "Send a delivery again", Args: usage.Exactly("ID", "DELIVERY"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		_, err := c.Raw(ctx, client.Call{Method: http.MethodPost, Path: client.Path("api", "hooks", args[0], "deliveries", args[1], "resend")}, "application/json")
		return err
	})
	return usage.Group(&cobra.Command{
		Use: "hooks", Short: "Addresses that are told what happens",
	}, list, add, remove, deliveries, resend)
}
