package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/job"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/command"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/mask"
)

// runCommand is the tool that runs a command.
var runCommand = filespec.Spec{
	Class: filespec.Write, Name: "run_command",
	About: "Run a command line (bash) in the folder, such as a test or a build, and read its exit code and output.",
	Params: []filespec.Param{
		{Name: "command", Kind: filespec.KindText, About: "one line", Required: true, Min: 1, Max: 4 << 10},
		{Name: "cwd", Kind: filespec.KindText, About: "folder below the workspace in which it runs; absent: the workspace", Max: 1_024, OneLine: true},
		{Name: "timeout_s", Kind: filespec.KindNumber, About: "absent: 120", Min: 1, Max: int(sandbox.MaxTimeout / time.Second)},
	},
}

// commandCall is a call of run_command. Dir is "" for the workspace, and Timeout 0 when the call has none.
type commandCall struct {
	Command, Dir string
	Timeout      time.Duration
}

// readCommand reads the arguments. The text says everything that is wrong with them.
func readCommand(arguments string) (c commandCall, wrong string) {
	a, all := runCommand.Judge(json.RawMessage(arguments))
	c = commandCall{a.Text("command"), path.Clean(filepath.ToSlash(a.Text("cwd"))), time.Duration(a.Number("timeout_s", 0)) * time.Second}
	if len(all) == 0 && strings.TrimSpace(c.Command) == "" {
		all = append(all, "command must not be empty")
	}
	if c.Dir == "." {
		c.Dir = ""
	} else if err := workspace.CheckName(c.Dir); err != nil {
		all = append(all, "cwd must be a folder below the workspace, such as internal/edge")
	}
	return c, strings.Join(all, "; ")
}

// run runs a command, after the person agreed where they have to.
func (m *Machine) run(ctx context.Context, arguments string) result {
	c, wrong := readCommand(arguments)
	if wrong != "" {
		return result{wrong: wrong}
	}
	d := sandbox.Policy{Mode: sandbox.Mode(m.Mode), AllowedOnly: m.AllowedOnly, Dev: m.Dev, Unconfined: m.Unconfined}.Judge(c.Command)
	did := job.Deed{Kind: job.DeedCommand, Name: c.Command, Safe: d.Class == command.Safe}
	var no refusal
	switch {
	case d.Verdict == sandbox.Refuse:
		no = refusal(job.RefusedPolicy)
	case d.Class != command.Safe && mask.InCommand(c.Command):
		no = refusal(job.RefusedMasked)
	default:
		no = cmp.Or(m.consent(d.Verdict == sandbox.Ask, m.describe(c, d), "cli.machine.ask_command"), m.stillWanted(ctx))
	}
	if no != "" {
		did.Refused = job.Refused(no)
		return result{wrong: no.text(), did: []job.Deed{did}}
	}
	did.Failed = true // until it has run
	var got sandbox.Result
	moved, err := m.guarded(func(base sandbox.Command) (err error) {
		base.Line, base.Timeout = c.Command, c.Timeout
		if c.Dir != "" {
			base.Dir = filepath.Join(m.Root, filepath.FromSlash(c.Dir))
		}
		got, err = sandbox.Run(ctx, base)
		return err
	})
	if err != nil {
		return result{wrong: m.sentence(err), did: []job.Deed{did}}
	}
	did.Failed, did.ExitCode, did.TimedOut, did.Masked = false, got.Code, got.TimedOut, got.Secrets
	head := fmt.Sprintf("exit code %d, %.1f s", got.Code, got.Duration.Seconds())
	if got.TimedOut {
		head += ", ended because its time was over"
	} else if (claim.Command{Line: c.Command, Code: got.Code}).Checks().Unproved() {
		head += ", which does not say how its tests or its build ended: it may be the code of another program of the line. " +
			"The record counts them only where their own code is that of the line, as alone, or after set -o pipefail"
	}
	if got.Secrets > 0 {
		head += fmt.Sprintf(", %d masked: %s stands for a secret, and is not to be written", got.Secrets, mask.Mark)
	}
	all := []job.Deed{did}
	for _, name := range got.Masks.Left {
		all = append(all, job.Deed{Kind: job.DeedChange, Name: name, Failed: true})
	}
	parts := slices.Concat([]string{head}, moved, got.Masks.Tell(locale.English), got.Masks.Explain(locale.English), []string{cut(got.Output)})
	return result{output: strings.Join(parts, "\n"), did: m.recheck(ctx, all)}
}

// guarded runs do with the settings that all commands of the machine share. It moves away control files of git that do
// left, and returns the sentences about them for the model.
func (m *Machine) guarded(do func(base sandbox.Command) error) (sentences []string, err error) {
	if m.During != nil {
		defer m.During()()
	}
	c := sandbox.Command{
		Workspace: m.Root, Env: m.Env, ReadOnly: append([]string{}, m.ReadOnly...), Write: m.Write,
		Unconfined: m.Unconfined, Language: locale.English, Known: &m.known,
	}
	if m.Tell != nil {
		c.Tell = func(masks sandbox.Masks) {
			for _, sentence := range masks.Tell(m.Tag) {
				m.Tell(sentence)
			}
		}
	}
	guard, err := c.Protect(m.shown)
	if err == nil {
		err = guard.Keep(m.underWay())
	}
	if err != nil {
		return nil, err
	}
	defer func() { sentences = m.clear(guard) }()
	return nil, do(c)
}

// underWay is the file with the control files of git before the command that runs, or that ran when this program was
// killed.
func (m *Machine) underWay() string { return filepath.Join(m.own, "underway") }

// clear moves control files of git that a command left into the data folder. It tells the person, and returns the
// sentences for the model.
func (m *Machine) clear(guard *sandbox.Guard) []string {
	var sentences []string
	for _, moved := range guard.Clear(filepath.Join(m.own, "aside"), m.Now()) {
		id := "moved"
		switch {
		case moved.Err != nil:
			id = "left"
		case moved.Put:
			id = "replaced"
		}
		say := func(tag locale.Tag) string {
			return locale.Text(tag, "sandbox.git."+id, "name", visible.Line(moved.Name), "back", moved.Back)
		}
		sentences = append(sentences, say(locale.English))
		if m.Tell != nil {
			m.Tell(say(m.Tag))
		}
	}
	if err := os.Remove(m.underWay()); err != nil {
		_, _ = fmt.Fprintln(m.Log, err)
	}
	return sentences
}

// describe shows a command to a person, and why it is not safe.
func (m *Machine) describe(c commandCall, d sandbox.Decision) string {
	text := "$ " + c.Command
	if c.Dir != "" {
		text += "\n  " + locale.Text(m.Tag, "cli.machine.folder", "folder", c.Dir)
	}
	for _, f := range d.Findings {
		text += "\n  " + f.What + ": " + locale.Text(m.Tag, "command.why."+f.Why)
	}
	if d.Class == command.Destructive {
		text += "\n  " + locale.Text(m.Tag, "cli.machine.destructive")
	}
	return text
}

// afterEdit runs the hooks for a file that was changed.
func (m *Machine) afterEdit(ctx context.Context, file string) string {
	if len(m.Hooks) == 0 {
		return ""
	}
	outcomes := ""
	moved, err := m.guarded(func(base sandbox.Command) error {
		outcomes = sandbox.AfterEdit(ctx, m.Hooks, base, file)
		return nil
	})
	if err != nil {
		return m.sentence(err)
	}
	return cut(strings.Join(append(moved, outcomes), "\n"))
}

// The most of an output that a model reads, in bytes: its beginning and its end.
const (
	headBytes = 3_000
	tailBytes = 5_000
)

// cut leaves out the middle of a long output, and says how much.
func cut(text string) string {
	return clip.Middle(text, headBytes, func(n int) string { return fmt.Sprintf("\n… %d bytes left out …\n", n) }, tailBytes)
}
