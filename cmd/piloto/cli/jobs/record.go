package jobs

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"piloto/cmd/piloto/cli/files"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/workspace"
)

// The end of a job is printed from its record, and not from the text of its model.

// change is a file that a job changed, with the command that takes it back; "" where none can.
type change struct {
	job.ChangedFile
	Undo string `json:"undo,omitempty"`
}

// addRecord adds the record of a job to its outcome.
func (g *Group) addRecord(o *outcome, j httpapi.Job, t *jobTale) {
	o.Changes, o.Commands, o.Refused = []change{}, append([]job.RanCommand{}, j.Commands...), append([]httpapi.JobRefusal{}, j.Refused...)
	o.Unknown = append([]string{}, j.Unknown...)
	for _, c := range j.Changes {
		o.Changes = append(o.Changes, change{c, t.undo(c)})
	}
	o.Unlisted = j.Unlisted
}

// recordOf returns the record that a job has.
func recordOf(j httpapi.Job) job.Record {
	r := job.Record{Changes: j.Changes, Commands: j.Commands, Unknown: j.Unknown, More: j.Unlisted}
	for _, f := range j.Refused {
		r.Refused = append(r.Refused, f.Refusal)
	}
	return r
}

// printRecord writes the record of a job, with its refusals and the commands that undo it; an empty record writes
// nothing.
func (g *Group) printRecord(w io.Writer, j httpapi.Job, t *jobTale) error {
	r := recordOf(j)
	if r.Empty() {
		return nil
	}
	said := strings.Split(j.Output, "\n") // the last text that the program makes has it, too
	var lines []string
	for _, p := range r.Phrases() {
		if line := visible.Line(p.In(g.Con.Tag)); !slices.Contains(said, line) {
			lines = append(lines, "  "+line)
		}
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, "", g.Con.Text(headOf(j)))
	}
	var undo []string
	for _, c := range r.Changes {
		if command := t.undo(c); command != "" {
			undo = append(undo, "  "+command)
		}
	}
	switch {
	case len(undo) > 0 && t.machine == nil:
		lines = append(lines, g.Con.Text("cli.record.undo_there"))
	case len(undo) > 0:
		lines = append(lines, g.Con.Text("cli.record.undo"))
	}
	lines = append(lines, undo...)
	if slices.ContainsFunc(r.Commands, func(c job.RanCommand) bool { return !c.Safe }) {
		lines = append(lines, g.Con.Text("cli.record.commands"))
	}
	if len(lines) == 0 {
		return nil
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// headOf returns the key of the line above a record: how far the job came.
func headOf(j httpapi.Job) string {
	if j.Status.Terminal() {
		return "cli.record." + string(j.Status)
	}
	return "cli.record.so_far"
}

// tellRecord writes the record of a job that was stopped to stderr.
func (g *Group) tellRecord(j httpapi.Job, t *jobTale) {
	j.Output = "" // it is not printed
	if !g.Con.Quiet {
		_ = g.printRecord(g.Con.ErrOut, j, t)
	}
}

// undo returns the command that puts a file back as it was when the job began. It works from any folder of the machine; of a job that
// another command works for, in the folder of that one. A name that leads out of the folder has none.
func (t *jobTale) undo(c job.ChangedFile) string {
	if workspace.CheckName(c.Name) != nil {
		return ""
	}
	var where []string
	root := ""
	if t.machine != nil {
		root = t.machine.Root
		where = []string{"-w", visible.Word(root)}
	}
	for _, glob := range t.shown {
		where = append(where, "--show", visible.Word(glob))
	}
	switch {
	case c.Before != "":
		return strings.Join(slices.Concat([]string{cmp.Or(t.con.Name, "piloto"), "workspace", "restore"}, where, []string{"--", visible.Word(c.Name), c.Before[:files.ShortVersion]}), " ")
	case c.Made && !c.Deleted:
		path := filepath.Join(root, filepath.FromSlash(c.Name))
		if _, err := os.Lstat(path); t.machine != nil && errors.Is(err, fs.ErrNotExist) { // it was moved away
			return ""
		}
		return "rm -- " + visible.Word(path)
	}
	return ""
}
