package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/machine"
	"piloto/internal/ground/visible"
	"piloto/internal/workspace"
	"piloto/internal/workspace/overlay"
)

// workspaceCommand returns the commands about the files of a folder that piloto run worked on, and about their earlier
// versions.
func (a *app) workspaceCommand() *cobra.Command {
	var root string
	var shown []string
	with := func(use, about string, args cobra.PositionalArgs, do func(ctx context.Context, m *machine.Machine, args []string) error) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: about, Args: args,
			RunE: func(cmd *cobra.Command, args []string) error {
				m, err := a.openFolder(root, shown)
				if err != nil {
					return err
				}
				return a.worded(errors.Join(do(cmd.Context(), m, args), m.Close()))
			},
		}
	}
	list := with("ls", "List the files that an agent sees", none, a.listFiles)
	cat := with("cat FILE [VERSION]", "Write a file to stdout, or an earlier version of it", cobra.RangeArgs(1, 2), a.catFile)
	log := with("log FILE", "List the versions of a file that are kept, also of one that was deleted", exactly("FILE"), a.logFile)
	diff := with("diff FILE VERSION", "Show what restoring a version would change", exactly("FILE", "VERSION"), a.diffFile)
	restore := with("restore FILE VERSION", "Put an earlier version back; the present one is kept, too", exactly("FILE", "VERSION"), a.restoreFile)
	cmd := group("workspace", "The files of a folder that an agent worked on, and their earlier versions", list, cat, log, diff, restore)
	cmd.PersistentFlags().StringVarP(&root, "workspace", "w", ".", "the `folder`")
	cmd.PersistentFlags().StringSliceVar(&shown, "show", nil, "`globs` of files that are hidden otherwise")
	return cmd
}

// openFolder opens a folder without its agent.
func (a *app) openFolder(root string, shown []string) (*machine.Machine, error) {
	history, err := historyFolder()
	if err != nil {
		return nil, err
	}
	m, err := machine.Open(machine.Options{Root: root, History: history, Shown: shown, Tag: a.tag, Now: now, Log: a.errOut})
	if err != nil {
		return nil, usage(a.worded(err))
	}
	return m, nil
}

// historyFolder returns where the replaced contents of all workspaces of the person are kept.
func historyFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for earlier versions of files: %w", err)
	}
	return filepath.Join(cache, "piloto", "history"), nil
}

func (a *app) listFiles(ctx context.Context, m *machine.Machine, _ []string) error {
	all, err := m.Files().List(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range all.Files {
		rows = append(rows, fileRow(f))
	}
	return a.list(map[string]any{"files": jsonFiles(all.Files), "version": all.Version}, []string{"cli.name", "cli.size", "cli.changed", "cli.version"}, rows)
}

func fileRow(f workspace.File) []string {
	return []string{f.Name, fmt.Sprint(f.Size), moment(f.At), f.Version[:min(len(f.Version), shortVersion)]}
}

// shortVersion is the number of characters of a version that lists show and commands take.
const shortVersion = 12

// file is a file as JSON.
type file struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Version string `json:"version"`
	At      string `json:"at"`
}

func jsonFiles(list []workspace.File) []file {
	out := make([]file, len(list))
	for i, f := range list {
		out[i] = file{f.Name, f.Size, f.Version, f.At.UTC().Format("2006-01-02T15:04:05Z07:00")}
	}
	return out
}

// whole returns the version of a file that begins with what a person typed; "" is the present one.
func whole(ctx context.Context, m *machine.Machine, name, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	kept, err := m.Files().Versions(ctx, name)
	if err != nil {
		return "", err
	}
	found := ""
	for _, f := range kept {
		if len(typed) < 8 || len(f.Version) < len(typed) || f.Version[:len(typed)] != typed || f.Version == found {
			continue
		}
		if found != "" {
			return "", usage(fmt.Errorf("more than one version of %s begins with %s", name, typed))
		}
		found = f.Version
	}
	if found == "" {
		return "", usage(fmt.Errorf("no version of %s begins with %s (8 characters or more); piloto workspace log %s lists them", name, typed, name))
	}
	return found, nil
}

func (a *app) catFile(ctx context.Context, m *machine.Machine, args []string) error {
	version := ""
	if len(args) == 2 {
		var err error
		if version, err = whole(ctx, m, args[0], args[1]); err != nil {
			return err
		}
	}
	content, _, err := workspace.ReadAll(ctx, m.Files(), args[0], version)
	if err != nil {
		return err
	}
	if a.isTerm { // no control character reaches a terminal
		if workspace.Binary(content) {
			return usage(errors.New(a.text("cli.files.binary", "name", args[0])))
		}
		content = []byte(visible.Lines(string(content)))
	}
	_, err = a.out.Write(content)
	return err
}

func (a *app) logFile(ctx context.Context, m *machine.Machine, args []string) error {
	kept, err := m.Files().Versions(ctx, args[0])
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range kept {
		rows = append(rows, fileRow(f))
	}
	return a.list(map[string]any{"versions": jsonFiles(kept)}, []string{"cli.name", "cli.size", "cli.changed", "cli.version"}, rows)
}

// restoring returns the change that puts a version of a file back.
func (a *app) restoring(ctx context.Context, m *machine.Machine, name, typed string) (overlay.Set, error) {
	version, err := whole(ctx, m, name, typed)
	if err != nil {
		return overlay.Set{}, err
	}
	content, _, err := workspace.ReadAll(ctx, m.Files(), name, version)
	if err != nil {
		return overlay.Set{}, err
	}
	pending, err := m.Overlay()
	if err != nil {
		return overlay.Set{}, err
	}
	present, err := pending.Stat(ctx, name)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return overlay.Set{}, err
	}
	if _, err := pending.Write(ctx, name, content, present.Version); err != nil {
		return overlay.Set{}, err
	}
	return pending.Changes(), nil
}

func (a *app) diffFile(ctx context.Context, m *machine.Machine, args []string) error {
	set, err := a.restoring(ctx, m, args[0], args[1])
	if err != nil {
		return err
	}
	diff, err := overlay.Diff(ctx, m.Files(), set)
	if err != nil || diff == "" {
		return err
	}
	return a.copyTo(a.out, diff, a.isTerm)
}

func (a *app) restoreFile(ctx context.Context, m *machine.Machine, args []string) error {
	set, err := a.restoring(ctx, m, args[0], args[1])
	if err != nil {
		return err
	}
	if _, err := overlay.Apply(ctx, m.Files(), set); err != nil {
		return err
	}
	for _, c := range set.Changes {
		a.say(c.Phrase().In(a.tag))
	}
	return nil
}
