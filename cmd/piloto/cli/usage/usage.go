// Package usage owns the form of commands: their arguments, their groups and the pages of their lists.
package usage

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/ending"
)

// None refuses arguments.
func None(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return ending.Miswritten(ending.Refusal("cli.wrong.argument", "name", args[0]))
	}
	return nil
}

// Exactly wants a number of arguments, whose names are given.
func Exactly(names ...string) cobra.PositionalArgs { return Between(len(names), names...) }

// Between wants at least a number of arguments, and at most those whose names are given.
func Between(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return ending.Miswritten(ending.Refusal("cli.wrong.missing", "name", names[len(args)], "usage", Of(cmd)))
		case len(args) > len(names):
			return ending.Miswritten(ending.Refusal("cli.wrong.too_many", "name", args[len(names)], "usage", Of(cmd)))
		}
		return nil
	}
}

// Of returns how a command is written, without its flags.
func Of(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// Group completes a command that has others below it; without a name the first one is meant.
func Group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = None, below[0].RunE
	cmd.AddCommand(below...)
	return cmd
}

// Page is the flags of a list that has pages.
type Page struct {
	limit  int
	cursor string
}

// Register adds the flags to a command.
func (p *Page) Register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 50, "how many at most, 1 to 200")
	cmd.Flags().StringVar(&p.cursor, "cursor", "", "where the page before ended")
}

// Query returns the query of the page.
func (p *Page) Query() url.Values {
	q := url.Values{"limit": {fmt.Sprint(p.limit)}}
	if p.cursor != "" {
		q.Set("cursor", p.cursor)
	}
	return q
}
