package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// addHelp adds the commands help and completion. They refuse what is wrong as every other one does.
func (a *app) addHelp(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", GroupID: "machine",
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.settle() },
		RunE: func(_ *cobra.Command, args []string) error {
			of, left, err := root.Find(args)
			if err != nil || len(left) > 0 {
				return usage(refusal("cli.wrong.topic", "name", strings.Join(args, " ")))
			}
			return of.Help()
		},
	})
	root.InitDefaultHelpCmd()
	root.SetCompletionCommandGroupID("machine")
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range append(cmd.Commands(), cmd) {
				shell.Args = none
			}
		}
	}
}
