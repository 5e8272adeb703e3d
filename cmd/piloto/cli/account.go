package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
)

// addAccount adds the commands about what an account has set.
func (a *app) addAccount(root *cobra.Command) {
	for _, cmd := range []*cobra.Command{
		a.loginCommand(), a.logoutCommand(), a.profilesCommand(), a.servicesCommand(), a.agentsCommand(), a.rulesCommand(), a.assistantsCommand(),
		a.usageCommand(), a.creditsCommand(), a.tokensCommand(), a.hooksCommand(), a.healthCommand(),
	} {
		cmd.GroupID = "account"
		root.AddCommand(cmd)
	}
}

// request returns a command whose work needs a deployment.
func (a *app) request(use, about string, args cobra.PositionalArgs, do func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: about, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error { return do(ctx, c, args) })
		},
	}
}

// group returns a command that has others below it; without a name the first one is meant.
func group(use, about string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: about, Args: none, RunE: below[0].RunE}
	cmd.AddCommand(below...)
	return cmd
}

// delete sends a DELETE, with a body or nil, and says that it was done.
func (a *app) delete(ctx context.Context, c *client.Client, path string, body any) error {
	if _, err := c.Raw(ctx, client.Call{Method: http.MethodDelete, Path: path, Body: body}, "application/json"); err != nil {
		return err
	}
	a.say(a.text("cli.deleted"))
	return nil
}

func (a *app) agentsCommand() *cobra.Command {
	list := a.request("list", "List the agents", none, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.AgentList](ctx, c, "/api/agents", nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, g := range got.Agents {
			rows = append(rows, []string{g.Name, a.word("cli.agent_kind.", string(g.Kind)), string(g.Mode), fmt.Sprint(g.MaxSteps), cut(g.Description, 70)})
		}
		return a.list(got, []string{"cli.name", "cli.kind", "cli.mode", "cli.steps", "cli.about"}, rows)
	})
	show := a.request("show NAME", "Show an agent as JSON, as apply takes it", exactly("NAME"), func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Get[json.RawMessage](ctx, c, client.Path("api", "agents", args[0]), nil)
		if err != nil {
			return err
		}
		return a.printJSON(got)
	})
	return group("agents", "List, show, change and delete agents", list, show, a.agentsApply(), a.agentsDelete())
}

func (a *app) agentsDelete() *cobra.Command {
	var seen int
	cmd := a.request("delete NAME", "Delete an agent of your own, or put a shipped one back", exactly("NAME"), func(ctx context.Context, c *client.Client, args []string) error {
		path, body := client.Path("api", "agents", args[0]), httpapi.AgentDelete{Version: &seen}
		if seen < 0 {
			got, err := client.Get[httpapi.AgentView](ctx, c, path, nil)
			if err != nil {
				return err
			}
			body.Version = cmp.Or(got.Version, new(int)) // a service has none, and is not deleted here
		}
		return a.delete(ctx, c, path, body)
	})
	cmd.Flags().IntVar(&seen, "version", -1, "only while it has this `VERSION`; the one that it has now when absent")
	return cmd
}

// maxFile is the largest file that a command sends as a setting, in bytes.
const maxFile = 1 << 20

func (a *app) agentsApply() *cobra.Command {
	var file string
	cmd := a.request("apply NAME -f FILE", "Make or change an agent from a JSON file: a merge patch with the version that you read", exactly("NAME"),
		func(ctx context.Context, c *client.Client, args []string) error {
			body, err := a.jsonFile(file)
			if err != nil {
				return err
			}
			got, err := client.Send[httpapi.AgentView](ctx, c, client.Call{Method: http.MethodPut, Path: client.Path("api", "agents", args[0]), Body: body})
			if err != nil {
				return err
			}
			return a.printJSON(got)
		})
	cmd.Flags().StringVarP(&file, "file", "f", "-", "the `file`; - is stdin")
	return cmd
}

// jsonFile reads a JSON file that a person wrote.
func (a *app) jsonFile(name string) (json.RawMessage, error) {
	text, err := a.readInput(name, maxFile)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !json.Valid(text) {
		return nil, usage(notJSON(name, json.Unmarshal(text, new(any))))
	}
	return text, nil
}

func (a *app) assistantsCommand() *cobra.Command {
	show := a.request("show", "Show the account's assistant", none, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[json.RawMessage](ctx, c, "/ai/assistant", nil)
		if err != nil {
			return err
		}
		return a.printJSON(got)
	})
	var file string
	set := a.request("set -f FILE", "Set the account's assistant from a JSON file", none, func(ctx context.Context, c *client.Client, _ []string) error {
		body, err := a.jsonFile(file)
		if err != nil {
			return err
		}
		got, err := client.Send[json.RawMessage](ctx, c, client.Call{Method: http.MethodPut, Path: "/ai/assistant", Body: body})
		if err != nil {
			return err
		}
		return a.printJSON(got)
	})
	set.Flags().StringVarP(&file, "file", "f", "-", "the `file`; - is stdin")
	remove := a.request("delete", "Go back to the deployment's assistant", none, func(ctx context.Context, c *client.Client, _ []string) error {
		return a.delete(ctx, c, "/ai/assistant", nil)
	})
	return group("assistants", "Who answers: provider, model, persona", show, set, remove)
}

func (a *app) usageCommand() *cobra.Command {
	var by, from, to string
	cmd := a.request("usage", "What models were used for, and what they cost", none, func(ctx context.Context, c *client.Client, _ []string) error {
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
		var rows [][]string
		for _, u := range got.Usage {
			rows = append(rows, []string{u.Key, fmt.Sprint(u.Turns), fmt.Sprint(u.Input), fmt.Sprint(u.Output), money(u.Micros)})
		}
		rows = append(rows, []string{a.text("cli.total"), fmt.Sprint(got.Total.Turns), fmt.Sprint(got.Total.Input), fmt.Sprint(got.Total.Output), money(got.Total.Micros)})
		return a.list(got, []string{"cli.what", "cli.turns", "cli.read_tokens", "cli.written_tokens", "cli.cost"}, rows)
	})
	f := cmd.Flags()
	f.StringVar(&by, "by", "", "account, day, project, chat, run, turn, model or source")
	f.StringVar(&from, "from", "", "a day (2026-03-01) or a moment")
	f.StringVar(&to, "to", "", "a day, which is in it, or a moment, which is not")
	return cmd
}

func (a *app) creditsCommand() *cobra.Command {
	show := a.request("show", "The balance, sessions and limits", none, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.Credits](ctx, c, "/ai/credits", nil)
		if err != nil {
			return err
		}
		if a.global.json {
			return a.printJSON(got)
		}
		err = a.print(a.text("cli.balance", "n", fmt.Sprint(got.Balance), "day", money(got.Spent.Day), "month", money(got.Spent.Month)))
		if got.Block != nil {
			err = errors.Join(err, a.print(got.Block.Message+" "+got.Block.Action))
		}
		return err
	})
	var p page
	ledger := a.request("ledger", "List the movements, the newest first", none, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.LedgerPage](ctx, c, "/ai/ledger", p.query())
		if err != nil {
			return err
		}
		defer a.tellNext(got.Cursor)
		var rows [][]string
		for _, e := range got.Entries {
			rows = append(rows, []string{e.ID, moment(e.At), a.word("cli.movement.", string(e.Kind)), fmt.Sprint(e.Amount), cut(e.Reason, 60)})
		}
		return a.list(got, []string{"cli.id", "cli.at", "cli.kind", "cli.amount", "cli.reason"}, rows)
	})
	p.register(ledger)
	return group("credits", "The balance of the account, and what moved it", show, ledger)
}

func (a *app) hooksCommand() *cobra.Command {
	list := a.request("list", "List the addresses that are told what happens", none, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.HookList](ctx, c, "/api/hooks", nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, h := range got.Hooks {
			state := a.text("cli.on")
			if !h.Enabled {
				state = a.text("cli.off") + " " + h.Off
			}
			rows = append(rows, []string{h.ID, h.URL, strings.Join(h.Events, ","), state})
		}
		return a.list(got, []string{"cli.id", "cli.url", "cli.events", "cli.status"}, rows)
	})
	var events []string
	add := a.request("add URL", "Tell an address what happens; its secret is printed once", exactly("URL"), func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Post[httpapi.HookMade](ctx, c, "/api/hooks", httpapi.HookRequest{URL: args[0], Events: events})
		if err != nil {
			return err
		}
		if a.global.json {
			return a.printJSON(got)
		}
		a.say(a.text("cli.secret_once"))
		return a.print(got.ID + "  " + got.Secret)
	})
	add.Flags().StringSliceVar(&events, "events", []string{"run.waiting", "run.finished", "run.in_doubt"}, "what is told")
	remove := a.request("remove ID", "Tell an address nothing any more", exactly("ID"), func(ctx context.Context, c *client.Client, args []string) error {
		return a.delete(ctx, c, client.Path("api", "hooks", args[0]), nil)
	})
	deliveries := a.request("deliveries ID", "List what was told to an address, and how it answered", exactly("ID"), func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Get[httpapi.DeliveryList](ctx, c, client.Path("api", "hooks", args[0], "deliveries"), nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, d := range got.Deliveries {
			rows = append(rows, []string{d.ID, moment(d.CreatedAt), d.Type, a.word("page.hook.state.", d.State), fmt.Sprint(len(d.Attempts))})
		}
		return a.list(got, []string{"cli.id", "cli.at", "cli.kind", "cli.status", "cli.attempts"}, rows)
	})
	resend := a.request("resend ID DELIVERY", "Send a delivery again", exactly("ID", "DELIVERY"), func(ctx context.Context, c *client.Client, args []string) error {
		_, err := c.Raw(ctx, client.Call{Method: http.MethodPost, Path: client.Path("api", "hooks", args[0], "deliveries", args[1], "resend")}, "application/json")
		return err
	})
	return group("hooks", "Addresses that are told what happens", list, add, remove, deliveries, resend)
}
