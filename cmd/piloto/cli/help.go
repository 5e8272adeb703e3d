package cli

import (
	"encoding/json"
	"io"
	"strings"
	"sync"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/usage"

	_ "embed"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piloto/internal/ground/locale"
)

// helpInSpanish has the texts of help that the commands have in English, in Spanish. A text of a flag with a value names the value
// between backquotes.
//
//go:embed help/es.json
var helpInSpanish []byte

var spanishHelp = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	if err := json.Unmarshal(helpInSpanish, &texts); err != nil {
		panic("help/es.json: " + err.Error())
	}
	return texts
})

const (
	completionAbout = "Print completions for a shell"
	completionLong  = `Print completions for a shell. To load them now, and in every new session:

  source <(piloto completion bash)                                   # in ~/.bashrc, with the package bash-completion
  source <(piloto completion zsh)                                    # in ~/.zshrc, after: autoload -U compinit; compinit
  piloto completion fish | source                                    # in ~/.config/fish/config.fish
  piloto completion powershell | Out-String | Invoke-Expression      # in $PROFILE`
)

// addHelp adds the commands help and completion, which refuse wrong arguments as every other command does, and help in
// the language of the person.
func (a *app) addHelp(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", GroupID: "machine",
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.config.Apply() },
		RunE: func(_ *cobra.Command, args []string) error {
			of, left, err := root.Find(args)
			if err != nil || len(left) > 0 {
				return ending.Miswritten(ending.Refusal("cli.wrong.topic", "name", strings.Join(args, " ")))
			}
			return of.Help()
		},
	})
	root.InitDefaultHelpCmd()
	root.SetCompletionCommandGroupID("machine")
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range append(cmd.Commands(), cmd) {
			shell.Args, shell.Short, shell.Long = usage.None, completionAbout, completionLong
			shell.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = "without descriptions" })
		}
	}
	english := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if _ = a.config.Apply(); a.con.Tag != locale.Spanish { // the command itself reports an unknown language
			english(cmd, args)
			return
		}
		speakSpanish(root)
		var text strings.Builder
		cmd.SetOut(&text)
		english(cmd, args)
		_, _ = io.WriteString(a.con.Out, strings.ReplaceAll(text.String(), "(default ", spanishHelp()["(default "]))
	})
}

// speakSpanish writes the help of every command in Spanish.
func speakSpanish(root *cobra.Command) {
	texts := spanishHelp()
	said := func(text *string) {
		if spanish, ok := texts[*text]; ok {
			*text = spanish
		}
	}
	var words []string
	for _, word := range []string{
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, "{{.CommandPath}} [command]",
		"Usage:", "Global Flags:", "Flags:", "Available Commands:", "Additional Commands:",
	} {
		words = append(words, word, texts[word])
	}
	template := strings.NewReplacer(words...).Replace(root.UsageTemplate())
	for _, g := range root.Groups() {
		said(&g.Title)
	}
	root.SetUsageTemplate(template)
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		said(&cmd.Short)
		said(&cmd.Long)
		if cmd.HasAvailableFlags() && !cmd.DisableFlagsInUseLine {
			cmd.DisableFlagsInUseLine, cmd.Use = true, cmd.Use+" "+texts["[flags]"]
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			switch f.Name {
			case "help":
				f.Usage = texts["help for this command"]
			case "version":
				if cmd == root {
					f.Usage = texts["print the version"]
				}
			}
			said(&f.Usage)
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root)
}
