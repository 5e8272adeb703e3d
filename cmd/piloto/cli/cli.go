// Package cli owns the commands of piloto: their flags, their output and their exit codes.
//
// stdout has the result alone; progress, questions and errors are on stderr. Without a terminal the command is
// non-interactive and has no colour.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"piloto/cmd/piloto/cli/account"
	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/files"
	"piloto/cmd/piloto/cli/jobs"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/cli/settings"
	"piloto/cmd/piloto/cli/talk"
	"piloto/internal/ground/version"
)

// app is one run of the command: the console, the shared values, and one value for each group of commands.
type app struct {
	con        *console.Console
	folders    *reach.Folders
	deployment *reach.Deployment
	config     *settings.Configuration
	interrupts *interruption

	runs     *runs.Group
	talk     *talk.Group
	jobs     *jobs.Group
	files    *files.Group
	account  *account.Group
	services *account.Services
	rules    *account.Rules
	tokens   *tokenGroup
	machine  *machineGroup
	doctor   *doctor
}

// assemble returns the app of a console.
func assemble(con *console.Console) *app {
	a := &app{con: con, folders: &reach.Folders{Con: con}, interrupts: &interruption{con: con}}
	a.deployment = &reach.Deployment{Con: con, Folders: a.folders}
	a.config = &settings.Configuration{Con: con, Folders: a.folders}
	a.runs = &runs.Group{Con: con, Deployment: a.deployment}
	a.talk = &talk.Group{Con: con, Deployment: a.deployment, Runs: a.runs}
	a.jobs = &jobs.Group{
		Con: con, Deployment: a.deployment, Folders: a.folders, Config: a.config, UnderWay: &a.interrupts.underWay, Runs: a.runs, Talk: a.talk,
	}
	a.files = &files.Group{Con: con, Deployment: a.deployment, Folders: a.folders}
	a.account = &account.Group{Con: con, Deployment: a.deployment}
	a.services = &account.Services{Con: con, Deployment: a.deployment}
	a.rules = &account.Rules{Con: con, Deployment: a.deployment, Runs: a.runs}
	a.tokens = &tokenGroup{con, a.deployment, a.folders}
	a.machine = &machineGroup{con, a.deployment, a.folders, a.config}
	a.doctor = &doctor{con, a.deployment, a.folders}
	return a
}

// Streams are the standard streams of a process.
type Streams struct{ In, Out, Err *os.File }

// Main runs the command, and returns its exit code.
func Main(args []string, std Streams, getenv func(string) string) int {
	con := &console.Console{In: bufio.NewReader(std.In), Out: std.Out, ErrOut: std.Err, Getenv: getenv, Name: called(os.Args[0])}
	con.IsTerm = term.IsTerminal(int(std.Out.Fd()))
	con.Asks = term.IsTerminal(int(std.In.Fd())) && term.IsTerminal(int(std.Err.Fd()))
	con.Colour = term.IsTerminal(int(std.Err.Fd())) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return int(assemble(con).run(args))
}

// run runs the command until it ends, or until a signal, or until the reader of its output is gone.
func (a *app) run(args []string) ending.Code {
	a.con.Tag, a.con.Args = a.con.Language(), args
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	unread := func() { stop(&ending.Signal{Signal: syscall.SIGPIPE}) }
	// A person reads stderr, now or later.
	out, errOut := &console.Screen{To: a.con.Out, Plain: !a.con.IsTerm, Unread: unread}, &console.Screen{To: a.con.ErrOut, Unread: unread}
	a.con.Out, a.con.ErrOut = out, errOut
	defer errOut.End()
	defer a.interrupts.obey(stop)()
	root := a.root()
	root.SetArgs(normalise(root, args))
	err := root.ExecuteContext(ctx)
	code := ending.CodeOf(err)
	if signalled, ok := errors.AsType[*ending.Signal](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		code = signalled.Code()
	}
	out.End()
	switch lost := out.Err; {
	case errors.Is(lost, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE)): // as of head, which has enough
		err, code = nil, (&ending.Signal{Signal: syscall.SIGPIPE}).Code()
	case lost != nil && code == ending.Success:
		err, code = ending.Refusal("cli.wrong.not_written").Because(lost), ending.Failed
	}
	if err != nil {
		_ = a.config.Apply() // arguments are refused before the language is known
		a.con.Tell(ctx, err)
	}
	if code == ending.Unauthenticated && err.Error() != "" {
		fmt.Fprintln(a.con.ErrOut, a.con.Text("cli.login_hint"))
	}
	return code
}

// root returns the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "piloto", Short: "A chat that acts, and asks first",
		SilenceErrors: true, SilenceUsage: true, Version: version.String(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.config.Configure(cmd) },
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return ending.Miswritten(ending.Refusal("cli.wrong.no_command", "name", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(a.con.Out)
	root.SetErr(a.con.ErrOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return ending.Miswritten(settings.FlagError(err)) })
	f := root.PersistentFlags()
	f.StringVar(&a.deployment.At, "at", "", "`URL` of a deployment, or here: the data folder of this machine")
	f.StringVar(&a.deployment.Profile, "profile", "", "`name` of a deployment that login stored")
	f.StringVar(&a.folders.Data, "data", reach.DataFolder, "`folder` of everything that lasts on this machine")
	f.StringVarP(&a.config.File, "config", "c", "", "`file` with settings; piloto.yaml when there is one")
	f.StringVar(&a.config.Lang, "lang", "", "language of what you read: es or en")
	f.BoolVar(&a.con.JSON, "json", false, "print the result as JSON")
	f.BoolVar(&a.con.Quiet, "quiet", false, "say nothing on stderr but errors")
	f.BoolVar(&a.config.NoColour, "no-color", false, "write without colours")
	f.CountVarP(&a.con.Verbose, "verbose", "v", "say more on stderr: -v, -vv, -vvv")
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"talk", "Talk and act:", slices.Concat(a.talk.Commands(), a.jobs.Commands(), a.files.Commands())},
		{"decide", "Decide:", a.runs.Commands()},
		{"account", "The account:", slices.Concat(a.account.Commands(), a.services.Commands(), a.rules.Commands(), a.tokens.commands())},
		{"machine", "This machine:", slices.Concat(a.machine.commands(), a.doctor.commands())},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	a.addHelp(root)
	root.SetVersionTemplate("{{.Version}}\n")
	return root
}

// normalise writes long flags with one dash as with two: -data is --data.
func normalise(root *cobra.Command, args []string) []string {
	known := map[string]bool{}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for name := range settings.FlagNames(cmd) {
			known[name] = true
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	out := make([]string, len(args))
	for i, arg := range args {
		if arg == "--" {
			copy(out[i:], args[i:])
			break
		}
		out[i] = arg
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(arg, "-") && known[name] {
			out[i] = "-" + arg
		}
	}
	return out
}
