// Package cli owns the commands of piloto: what they read, what they write where, and how they end.
//
// The result is on stdout, and nothing else is: progress, questions and errors are on stderr. Without a terminal
// nothing is asked, and there is no colour.
package cli

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/sandbox"
	"piloto/cmd/piloto/show"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/version"
	"piloto/internal/ground/visible"
)

// The sentences of the terminal.
//
//go:embed text
var sentences embed.FS

func init() { locale.Add(sentences) }

// app is one run of the command.
type app struct {
	in     *bufio.Reader
	out    io.Writer
	errOut io.Writer
	getenv func(string) string
	name   string   // by which the person called it; "" for piloto
	same   []string // the flags that say which deployment, as the person gave them
	whose  []string // those that say whose files

	asks   bool // a person is at stdin and stderr
	colour bool
	isTerm bool // stdout is a terminal
	tag    locale.Tag

	terminal atomic.Pointer[term.State] // as it was before a secret was asked for; nil: nobody asks for one
	global   globals
	hooks    []sandbox.Hook    // after an edit, of the configuration
	origins  map[string]string // where the flags that nobody typed come from: "piloto.yaml:3: max_steps", "PILOTO_MODE"
	unnamed  []string          // the flags that a configuration set which nobody named, of those in bounds
	args     []string          // of this command, as they were written
	signals  chan os.Signal
	underWay sync.Mutex // held from the beginning of a command on this machine until what it left for git is moved away

	socketTold bool // that the deployment's socket is not used
}

// globals are the flags of every command.
type globals struct {
	at, profile, data, lang, config string
	dataNamed                       bool // the person named data
	json, quiet, noColour, noStream bool
	verbose                         int

	// Of the data folder that this command opens itself.
	apiBase, logLevel, logFile string
}

// Main runs the command, and returns its exit code.
func Main(args []string, in *os.File, out, errOut *os.File, getenv func(string) string) int {
	a := &app{in: bufio.NewReader(in), out: out, errOut: errOut, getenv: getenv, name: called(os.Args[0])}
	a.isTerm = term.IsTerminal(int(out.Fd()))
	a.asks = term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(errOut.Fd()))
	a.colour = term.IsTerminal(int(errOut.Fd())) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return int(a.run(args))
}

// run runs the command until it ends, or until a signal, or until nobody reads what it writes.
func (a *app) run(args []string) Code {
	a.tag, a.args = a.language(), args
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	unread := func() { stop(&signalError{syscall.SIGPIPE}) }
	// What stderr has is read by a person, now or later.
	out, errOut := &screen{to: a.out, plain: !a.isTerm, unread: unread}, &screen{to: a.errOut, unread: unread}
	a.out, a.errOut = out, errOut
	defer errOut.end()
	defer a.obey(stop)()
	root := a.root()
	root.SetArgs(normalise(root, args))
	err := root.ExecuteContext(ctx)
	code := codeOf(err)
	if signalled, ok := errors.AsType[*signalError](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		code = signalled.code()
	}
	out.end()
	switch lost := out.err; {
	case errors.Is(lost, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE)): // as of head, which has enough
		err, code = nil, (&signalError{syscall.SIGPIPE}).code()
	case lost != nil && code == Success:
		err, code = refusal("cli.wrong.not_written").Because(lost), Failed
	}
	if err != nil {
		_ = a.settle() // arguments are refused before the language is known
		a.tell(ctx, err)
	}
	if code == Unauthenticated && err.Error() != "" {
		fmt.Fprintln(a.errOut, a.text("cli.login_hint"))
	}
	return code
}

// tell writes an error, if it has a text. Of a command that a signal ended (ctx) it says only which request may have been done.
func (a *app) tell(ctx context.Context, err error) {
	ended := ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, new(*client.DoubtError))
	if err == nil || err.Error() == "" || ended {
		return
	}
	fmt.Fprintln(a.errOut, "piloto:", visible.Lines(strings.TrimSpace(a.told(err))))
}

// root returns the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "piloto", Short: "A chat that acts, and asks first",
		SilenceErrors: true, SilenceUsage: true, Version: version.String(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.configure(cmd) },
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(refusal("cli.wrong.no_command", "name", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(a.out)
	root.SetErr(a.errOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(flagError(err)) })
	f := root.PersistentFlags()
	f.StringVar(&a.global.at, "at", "", "`URL` of a deployment, or here: the data folder of this machine")
	f.StringVar(&a.global.profile, "profile", "", "`name` of a deployment that login stored")
	f.StringVar(&a.global.data, "data", dataFolder, "`folder` of everything that lasts on this machine")
	f.StringVarP(&a.global.config, "config", "c", "", "`file` with settings; piloto.yaml when there is one")
	f.StringVar(&a.global.lang, "lang", "", "language of what you read: es or en")
	f.BoolVar(&a.global.json, "json", false, "print the result as JSON")
	f.BoolVar(&a.global.quiet, "quiet", false, "say nothing on stderr but errors")
	f.BoolVar(&a.global.noColour, "no-color", false, "write without colours")
	f.CountVarP(&a.global.verbose, "verbose", "v", "say more on stderr: -v, -vv, -vvv")
	root.AddGroup(
		&cobra.Group{ID: "talk", Title: "Talk and act:"},
		&cobra.Group{ID: "decide", Title: "Decide:"},
		&cobra.Group{ID: "account", Title: "The account:"},
		&cobra.Group{ID: "machine", Title: "This machine:"},
	)
	a.addMachine(root)
	a.addTalk(root)
	a.addRuns(root)
	a.addAccount(root)
	a.addHelp(root)
	root.SetVersionTemplate("{{.Version}}\n")
	return root
}

// normalise writes long flags with one dash as with two: -data is --data.
func normalise(root *cobra.Command, args []string) []string {
	known := map[string]bool{}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for name := range flagNames(cmd) {
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

// language returns the language of what a person reads: of --lang, else of the environment.
func (a *app) language() locale.Tag {
	for _, name := range []string{"PILOTO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		if set := a.getenv(name); set != "" {
			set, _, _ = strings.Cut(set, ".")
			return locale.Match(strings.ReplaceAll(set, "_", "-"))
		}
	}
	return locale.Spanish
}

// writer returns a writer for a terminal; coloured says where it will be written.
func (a *app) writer(coloured bool) *show.Writer {
	return &show.Writer{Tag: a.tag, Colour: coloured, Now: time.Now()}
}

// say writes progress to stderr.
func (a *app) say(text string) {
	if !a.global.quiet {
		fmt.Fprintln(a.errOut, text)
	}
}

// ask asks a person for a line. Without a person it is an error. What was typed before the question was read answers
// something else, so it is dropped. A signal ends the question.
func (a *app) ask(ctx context.Context, question string) (string, error) {
	if !a.asks {
		return "", errNobody
	}
	a.forgetTyped()
	fmt.Fprint(a.errOut, question)
	line, err := a.readLine(ctx)
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// readLine reads a line, until ctx ends. A read that is left behind ends with the command.
func (a *app) readLine(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := a.in.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// forgetTyped drops the typed text that was not read yet, because it answered no question.
func (a *app) forgetTyped() {
	_, _ = a.in.Discard(a.in.Buffered())
	flushTerminal(int(os.Stdin.Fd()))
}

var errNobody = refusal("cli.wrong.nobody")

// secret reads a secret: from the terminal without showing it, or the first line of stdin.
func (a *app) secret(question string) (string, error) {
	if a.asks {
		fmt.Fprint(a.errOut, question)
		if state, err := term.GetState(int(os.Stdin.Fd())); err == nil {
			a.terminal.Store(state)
			defer a.terminal.Store(nil)
		}
		text, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(a.errOut)
		return strings.TrimSpace(string(text)), err
	}
	line, err := a.in.ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.Join(usage(refusal("cli.wrong.no_secret")), ignoreEOF(err))
	}
	return line, nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
