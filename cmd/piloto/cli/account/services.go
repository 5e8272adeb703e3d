package account

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/tools/tool"
)

// Services are the commands about registered services.
type Services struct {
	Con        *console.Console
	Deployment *reach.Deployment
}

// Commands returns the commands of the group.
func (g *Services) Commands() []*cobra.Command {
	return []*cobra.Command{g.command()}
}

func (g *Services) command() *cobra.Command {
	list := g.Deployment.Request(&cobra.Command{
		Use: "list", Short: "List the registered services", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.ServerList](ctx, c, "/api/mcps", nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, s := range got.MCPs {
			state := g.Con.Word("page.server.", string(s.Status))
			if !s.Active {
				state = g.Con.Text("cli.off")
			}
			rows = append(rows, []string{s.MCPID, console.Cut(s.Name, 40), string(s.Kind), s.BaseURL, fmt.Sprint(s.Operations), string(s.Reads.Mode), state})
		}
		return g.Con.List(got, []string{"cli.id", "cli.name", "cli.kind", "cli.url", "cli.operations", "cli.reads", "cli.status"}, rows)
	})
	refresh := g.Deployment.Request(&cobra.Command{
		Use: "refresh ID", Short: "Read what a service offers again, and approve what changed", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Post[httpapi.ServerRefreshed](ctx, c, client.Path("api", "mcps", args[0], "refresh"), nil)
		if err != nil {
			return err
		}
		if g.Con.JSON {
			return g.Con.PrintJSON(got)
		}
		for sign, names := range map[string][]string{"+": got.Added, "-": got.Removed, "~": got.Changed} {
			for _, n := range names {
				fmt.Fprintln(g.Con.Out, sign, visible.Line(n))
			}
		}
		g.sayRefused(got.Endpoints)
		return nil
	})
	remove := g.Deployment.Request(&cobra.Command{
		Use: "remove ID", Short: "Remove a service; plans that call it can no longer be confirmed", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		return g.Deployment.Delete(ctx, c, client.Path("api", "mcps", args[0]), nil)
	})
	return usage.Group(&cobra.Command{
		Use: "services", Short: "Register and list services, what may be read of them, what their errors mean, and their keys",
	}, list, g.showCommand(), g.addCommand(), refresh, g.readsCommand(), g.errorsCommand(), g.keyCommand(), remove)
}

// sayRefused lists the operations that cannot be called, with the reasons.
func (g *Services) sayRefused(list []httpapi.Endpoint) {
	for _, e := range list {
		if e.Refused != nil {
			g.Con.Say("✗ " + visible.Line(e.Method+" "+e.Path) + ": " + visible.Line(e.Refused.Message))
		}
	}
}

func (g *Services) showCommand() *cobra.Command {
	return g.Deployment.Request(&cobra.Command{
		Use: "show ID", Short: "Show the operations of a service, and why some of them cannot be called", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := client.Get[httpapi.ServerDetail](ctx, c, client.Path("api", "mcps", args[0]), nil)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, e := range got.Endpoints {
			why := ""
			if e.Refused != nil {
				why = "✗ " + e.Refused.Message
			}
			rows = append(rows, []string{e.Method, e.Path, console.Cut(e.Summary, 60), why})
		}
		for _, t := range got.Tools {
			rows = append(rows, []string{"", t.Name, console.Cut(t.Description, 60), ""})
		}
		return g.Con.List(got, []string{"cli.method", "cli.path", "cli.about", "cli.refused"}, rows)
	})
}

func (g *Services) addCommand() *cobra.Command {
	var body httpapi.RegisterRequest
	var kind, reads, errors string
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "add URL", Short: "Register a service by its address, that of its OpenAPI document, or that of its MCP endpoint", Args: usage.Exactly("URL"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		body.URL, body.Kind = args[0], tool.Kind(kind)
		body.Errors = tool.Errors(errors)
		if reads != "" {
			body.Reads.Mode = tool.ReadMode(reads)
		}
		got, err := client.Post[httpapi.ServerDetail](ctx, c, "/api/mcps", body)
		if err != nil {
			return err
		}
		if g.Con.JSON {
			return g.Con.PrintJSON(got)
		}
		if err := g.Con.Print(got.MCPID + "  " + got.Name + "  " + g.Con.Text("cli.operations_n", "n", fmt.Sprint(got.Operations))); err != nil {
			return err
		}
		for _, w := range got.Warnings {
			g.Con.Say("! " + visible.Line(w))
		}
		g.sayRefused(got.Endpoints)
		if got.Reads.Mode == tool.ReadsOff {
			g.Con.Report("cli.reads_off", "id", got.MCPID)
		}
		return nil
	})
	f := cmd.Flags()
	f.StringVar(&body.Name, "name", "", "what people call it; the document's title when absent")
	f.StringVar(&kind, "kind", "", "openapi, or mcp")
	f.StringVar(&body.DocumentURL, "document", "", "`URL` of the OpenAPI document, when it is not at the service")
	f.StringVar(&reads, "reads", "", "off, preview or on: what may be read without a confirmation")
	f.StringVar(&errors, "errors", "", "doubt or rejected: whether it may have done what it answered with an error of its own")
	f.BoolVar(&body.AllowOffline, "offline", false, "store it although it cannot be reached now")
	f.BoolVar(&body.Force, "force", false, "store it although it is registered already")
	return cmd
}

func (g *Services) readsCommand() *cobra.Command {
	var body httpapi.ReadsRequest
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "reads ID [off|preview|on]", Short: "Set what may be read of a service without a confirmation; without a mode, show it", Args: usage.Between(1, "ID", "MODE"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		if len(args) == 1 {
			got, err := client.Get[httpapi.ServerDetail](ctx, c, client.Path("api", "mcps", args[0]), nil)
			if err != nil {
				return err
			}
			return g.showReads(got)
		}
		body.Mode = tool.ReadMode(args[1])
		got, err := client.Send[httpapi.ServerDetail](ctx, c, client.Call{Method: http.MethodPut, Path: client.Path("api", "mcps", args[0], "reads"), Body: body})
		if err != nil {
			return err
		}
		return g.showReads(got)
	})
	cmd.Flags().StringVar(&body.Zone, "circle", "", "`name` of a circle: what was read of a service may go into a read of another of the same circle")
	cmd.Flags().StringSliceVar(&body.Tools, "tools", nil, "of an MCP server: the tools that are read")
	cmd.Flags().BoolVar(&body.Although, "although", false, "read them although their server says of one that it changes or destroys something")
	return cmd
}

// showReads prints the read-only calls of a service, and the hints of its server about each tool.
func (g *Services) showReads(s httpapi.ServerDetail) error {
	if g.Con.JSON {
		return g.Con.PrintJSON(s)
	}
	if err := g.Con.Print(s.MCPID + "  " + s.Name + "  " + string(s.Reads.Mode)); err != nil || len(s.Tools) == 0 {
		return err
	}
	var rows [][]string
	for _, t := range s.Tools {
		read := ""
		if slices.Contains(s.Reads.Tools, t.Name) {
			read = g.Con.Text("cli.reads.named")
		}
		var said []string
		for _, one := range t.Hints.Said() {
			said = append(said, g.Con.Text("cli.hint."+one))
		}
		rows = append(rows, []string{t.Name, read, strings.Join(said, ", "), console.Cut(t.Description, 60)})
	}
	return g.Con.Table([]string{"cli.tool", "cli.reads", "cli.hints", "cli.about"}, rows)
}

func (g *Services) errorsCommand() *cobra.Command {
	return g.Deployment.Request(&cobra.Command{
		Use: "errors ID doubt|rejected", Short: "Set whether a service may have done what it answered with an error of its own (500, 502, 504)", Args: usage.Exactly("ID", "MEANING"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		body := httpapi.ErrorsRequest{Errors: tool.Errors(args[1])}
		got, err := client.Send[httpapi.ServerDetail](ctx, c, client.Call{Method: http.MethodPut, Path: client.Path("api", "mcps", args[0], "errors"), Body: body})
		if err != nil {
			return err
		}
		return g.Con.Result(got, got.MCPID+"  "+got.Name+"  "+string(got.Errors))
	})
}

func (g *Services) keyCommand() *cobra.Command {
	var body httpapi.KeyRequest
	var remove, list bool
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "key ID", Short: "Give a service the key of one place, read from stdin; --remove takes it away, --list lists the places", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		path := client.Path("api", "mcps", args[0], "key")
		if list {
			return g.listKeys(ctx, c, path)
		}
		if remove {
			where := url.Values{"in": {body.In}}
			if body.Name != "" {
				where.Set("name", body.Name)
			}
			_, err := c.Raw(ctx, client.Call{Method: http.MethodDelete, Path: path, Query: where}, "application/json")
			if err == nil {
				g.Con.Report("cli.deleted")
			}
			return err
		}
		var err error
		if body.Value, err = g.Con.Secret(g.Con.Text("cli.key")); err != nil {
			return err
		}
		_, err = c.Raw(ctx, client.Call{Method: http.MethodPut, Path: path, Body: body}, "application/json")
		if err == nil {
			g.Con.Report("cli.key_set")
		}
		return err
	})
	f := cmd.Flags()
	f.StringVar(&body.In, "in", "bearer", "where it goes: header, query, cookie, bearer, or oauth (then it is the client's secret)")
	f.StringVar(&body.Name, "name", "", "`name` of the header, the cookie or the member of the query; of oauth, the client's id")
	f.StringVar(&body.TokenURL, "token-url", "", "of oauth: where the client credentials give a token")
	f.StringVar(&body.Scope, "scope", "", "of oauth")
	f.BoolVar(&remove, "remove", false, "take the key of that place away")
	f.BoolVar(&list, "list", false, "list the places where the service wants a key, and those where one is set")
	return cmd
}

// listKeys lists the keys that a service takes, and whether each is stored.
func (g *Services) listKeys(ctx context.Context, c *client.Client, path string) error {
	got, err := client.Get[httpapi.ServerKeys](ctx, c, path, nil)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, k := range got.Keys {
		state := "cli.key_wanted"
		if k.Set {
			state = "cli.key_stored"
		}
		rows = append(rows, []string{k.In, k.Name, g.Con.Text(state)})
	}
	return g.Con.List(got, []string{"cli.key_in", "cli.name", "cli.status"}, rows)
}
