package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
)

// none refuses arguments.
func none(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(refusal("cli.wrong.argument", "name", args[0]))
	}
	return nil
}

// exactly wants a number of arguments, whose names are given.
func exactly(names ...string) cobra.PositionalArgs { return between(len(names), names...) }

// between wants at least a number of arguments, and at most those whose names are given.
func between(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(refusal("cli.wrong.missing", "name", names[len(args)], "usage", usageOf(cmd)))
		case len(args) > len(names):
			return usage(refusal("cli.wrong.too_many", "name", args[len(names)], "usage", usageOf(cmd)))
		}
		return nil
	}
}

// usageOf returns how a command is written, without its flags.
func usageOf(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// group completes a command that has others below it; without a name the first one is meant.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = none, below[0].RunE
	cmd.AddCommand(below...)
	return cmd
}

// task is the work of a command at a deployment.
type task func(ctx context.Context, c *client.Client, args []string) error

// request completes a command whose work needs a deployment.
func (d *deployment) request(cmd *cobra.Command, do task) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return d.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error { return do(ctx, c, args) })
	}
	return cmd
}

// delete sends a DELETE, with a body or nil, and says that it was done.
func (d *deployment) delete(ctx context.Context, c *client.Client, path string, body any) error {
	if _, err := c.Raw(ctx, client.Call{Method: http.MethodDelete, Path: path, Body: body}, "application/json"); err != nil {
		return err
	}
	d.con.report("cli.deleted")
	return nil
}

// page is the flags of a list that has pages.
type page struct {
	limit  int
	cursor string
}

func (p *page) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 50, "how many at most, 1 to 200")
	cmd.Flags().StringVar(&p.cursor, "cursor", "", "where the page before ended")
}

// query returns the query of the page.
func (p *page) query() url.Values {
	q := url.Values{"limit": {fmt.Sprint(p.limit)}}
	if p.cursor != "" {
		q.Set("cursor", p.cursor)
	}
	return q
}
