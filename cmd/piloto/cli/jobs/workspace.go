package jobs

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/files"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/machine"
	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/edge/httpapi"
)

// workspaceFlags are the flags of run about the files of this machine.
type workspaceFlags struct {
	root                    string
	allowDelete             bool
	allow, no, allowedOnly  bool
	unconfined              bool
	dev, env                []string
	readOnly, write, showed []string
}

func (w *workspaceFlags) register(f *pflag.FlagSet) {
	f.StringVarP(&w.root, "workspace", "w", "", "`folder` of this machine that the agent works on: it reads, searches and changes its files, and runs commands there")
	f.BoolVar(&w.allowDelete, "allow-delete", false, "files may be deleted, too")
	f.BoolVar(&w.allow, "allow-commands", false, "end when commands cannot be run here, instead of going on without them")
	f.BoolVar(&w.no, "no-commands", false, "run no commands")
	f.BoolVar(&w.allowedOnly, "allowed-only", false, "refuse commands that are not safe and not of --dev")
	f.StringSliceVar(&w.dev, "dev", nil, "commands of the workspace, such as \"go test\": yolo runs them without asking")
	f.StringSliceVar(&w.env, "env", nil, "`names` of variables that commands get, beside PATH, HOME and LANG")
	f.StringSliceVar(&w.readOnly, "read-only", nil, "`paths` beside the workspace that commands may read")
	f.StringSliceVar(&w.write, "writable", nil, "`paths` beside the workspace that commands may write")
	f.StringSliceVar(&w.showed, "show", nil, "`globs` of files that are hidden otherwise, such as .env.example")
	f.BoolVar(&w.unconfined, "no-sandbox", false, "run commands without namespaces: they can read and write what you can")
}

// openWorkspace opens the folder that the flags name; nil when they name none.
func (g *Group) openWorkspace(ctx context.Context, c *client.Client, w *work) (*machine.Machine, error) {
	f := w.workspace
	if f.root == "" {
		return nil, nil
	}
	mode := agent.Mode(w.mode)
	if mode == "" {
		as, err := client.Get[httpapi.AgentView](ctx, c, client.Path("api", "agents", w.agent), nil)
		if err != nil {
			return nil, err
		}
		if mode = agent.ConfirmSensitive; as.Mode == agent.ConfirmAll { // over there nobody decides that this machine asks less
			mode = as.Mode
		}
	}
	commands, err := g.mayRunCommands(ctx, f)
	if err != nil {
		return nil, err
	}
	history, err := files.HistoryFolder()
	if err != nil {
		return nil, err
	}
	if err := g.Folders.KeepDataApart(f.root); err != nil {
		return nil, err
	}
	o := machine.Options{
		Root: f.root, History: history, Shown: f.showed, Mode: mode, AllowDelete: f.allowDelete,
		Commands: commands, AllowedOnly: f.allowedOnly, Dev: f.dev, Unconfined: f.unconfined, Env: g.passed(f.env),
		ReadOnly: absolute(f.readOnly), Write: absolute(f.write), Hooks: g.Config.Hooks, Tag: g.Con.Tag, Now: time.Now, Log: g.Con.ErrOut,
	}
	o.During = func() func() { g.UnderWay.Lock(); return g.UnderWay.Unlock }
	o.Tell = func(text string) { _ = g.Con.CopyTo(g.Con.ErrOut, text, true) }
	if g.Con.Asks {
		o.Ask = func(shown, question string) (bool, error) { return g.askShown(ctx, shown, question) }
	}
	m, err := machine.Open(o)
	if err != nil {
		return nil, ending.Miswritten(err)
	}
	if err := m.Claim(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// mayRunCommands reports whether commands can be run here. Where they cannot, that is said, and is an error with
// --allow-commands.
func (g *Group) mayRunCommands(ctx context.Context, f workspaceFlags) (bool, error) {
	if f.no {
		return false, nil
	}
	if f.unconfined {
		return true, nil
	}
	err := sandbox.Check(ctx)
	if err == nil {
		return true, nil
	}
	err = g.Con.Worded(err)
	if f.allow {
		return false, ending.Miswritten(err)
	}
	g.Con.Report("cli.machine.no_commands", "why", err.Error())
	return false, nil
}

// askShown shows something to a person, and asks about it.
func (g *Group) askShown(ctx context.Context, shown, question string) (bool, error) {
	if err := g.Con.CopyTo(g.Con.ErrOut, shown, true); err != nil {
		return false, err
	}
	answer, err := g.Con.Ask(ctx, question)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "s", "yes", "sí", "si":
		return true, nil
	}
	return false, nil
}

// passed returns the variables that commands get.
func (g *Group) passed(names []string) map[string]string {
	env := map[string]string{}
	for _, name := range names {
		if value := g.Con.Getenv(name); value != "" {
			env[name] = value
		}
	}
	return env
}

// absolute returns paths as the sandbox takes them.
func absolute(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if whole, err := filepath.Abs(p); err == nil {
			out = append(out, whole)
		}
	}
	return out
}
