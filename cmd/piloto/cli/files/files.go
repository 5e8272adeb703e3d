// Package files owns the commands about files of a folder of this machine, of a project or of a chat.
package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/talk"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/machine"
	"piloto/internal/ground/visible"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// Group are the commands about files.
type Group struct {
	Con        *console.Console
	Deployment *reach.Deployment
	Folders    *reach.Folders
}

// Commands returns the commands of the group.
func (g *Group) Commands() []*cobra.Command {
	return []*cobra.Command{g.workspaceCommand()}
}

// workspaceCommand returns the commands about files and their earlier versions: those of a folder of this machine that
// piloto run worked on, or those of a project or a chat at the deployment.
func (g *Group) workspaceCommand() *cobra.Command {
	var f fileFlags
	with := func(use, about string, args cobra.PositionalArgs, do func(ctx context.Context, files openFiles, args []string) error) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: about, Args: args,
			RunE: func(cmd *cobra.Command, args []string) error {
				return g.withFiles(cmd.Context(), f, func(ctx context.Context, files openFiles) error { return do(ctx, files, args) })
			},
		}
	}
	list := with("ls", "List the files that an agent sees", usage.None, g.listFiles)
	cat := with("cat FILE [VERSION]", "Write a file to stdout, or an earlier version of it", usage.Between(1, "FILE", "VERSION"), g.catFile)
	log := with("log FILE", "List the versions of a file that are kept, also of one that was deleted", usage.Exactly("FILE"), g.logFile)
	diff := with("diff FILE VERSION", "Show what restoring a version would change", usage.Exactly("FILE", "VERSION"), g.diffFile)
	restore := with("restore FILE VERSION", "Put an earlier version back; the present one is kept, too", usage.Exactly("FILE", "VERSION"), g.restoreFile)
	cmd := usage.Group(&cobra.Command{Use: "workspace", Short: "Files: of a folder of this machine, or of a project or a chat"}, list, cat, log, diff, restore,
		g.getFileCommand(&f), g.putFileCommand(&f), g.pushCommand(&f), g.pullCommand(&f))
	cmd.Long = `With --project or --chat: the files of that project, or of that chat, at the deployment (--at, --profile).
Without them: the files of a folder of this machine (-w), with the versions that were kept here.
get, put, push and pull always need --project or --chat.`
	cmd.PersistentFlags().StringVar(&f.project, "project", "", "`id` of a project at the deployment")
	cmd.PersistentFlags().StringVar(&f.chat, "chat", "", "`id` of a chat at the deployment, or last; a chat of a project has its files")
	cmd.PersistentFlags().StringVarP(&f.root, "workspace", "w", ".", "`folder` of this machine, without --project and --chat")
	cmd.PersistentFlags().StringSliceVar(&f.shown, "show", nil, "`globs` of files of the folder that are hidden otherwise")
	return cmd
}

// fileFlags say whose files are meant.
type fileFlags struct {
	root          string
	shown         []string
	project, chat string
}

// remote reports whether the files of a deployment are meant.
func (f fileFlags) remote() bool { return f.project != "" || f.chat != "" }

// openFiles are files that a command works on, and how a change of them begins.
type openFiles struct {
	store   workspace.Store
	pending func() (*overlay.Overlay, error)
}

// withFiles calls do with the files that the flags name.
func (g *Group) withFiles(ctx context.Context, f fileFlags, do func(ctx context.Context, files openFiles) error) error {
	if f.remote() {
		return g.withRemote(ctx, f, func(ctx context.Context, files client.Files) error {
			return do(ctx, openFiles{files, func() (*overlay.Overlay, error) {
				return overlay.New(files, overlay.Set{}, overlay.Options{Now: time.Now, Check: workspace.Shown{}.Check})
			}})
		})
	}
	m, err := g.openFolder(f.root, f.shown)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, openFiles{m.Files(), m.Overlay}), m.Close())
}

// withRemote calls do with the files of a project or a chat.
func (g *Group) withRemote(ctx context.Context, f fileFlags, do func(ctx context.Context, files client.Files) error) error {
	switch {
	case f.project != "" && f.chat != "":
		return ending.Miswritten(ending.Refusal("cli.wrong.two_places"))
	case !f.remote():
		return ending.Miswritten(ending.Refusal("cli.files.place"))
	}
	return g.Deployment.Connect(ctx, func(ctx context.Context, c *client.Client) error {
		chat, err := talk.ChatOf(ctx, c, f.chat)
		if err != nil {
			return err
		}
		there := c.ChatFiles(chat)
		if f.project != "" {
			there = c.ProjectFiles(f.project)
		}
		there.OnRemoved = g.tellRemoved
		return do(ctx, there)
	})
}

// tellRemoved names the versions that made room for a write.
func (g *Group) tellRemoved(list []files.Removed) {
	for _, r := range list {
		key := "cli.files.removed_version"
		switch {
		case r.Unconfirmed:
			key = "cli.files.removed_change"
		case r.Deleted:
			key = "cli.files.removed_file"
		}
		name := visible.Line(r.Path)
		if r.ProjectID+r.ChatID != "" {
			name = g.Con.Text("cli.files.removed_elsewhere", "name", name, "id", r.ProjectID+r.ChatID)
		}
		g.Con.Report(key, "name", name, "at", r.At.Local().Format(time.DateTime))
	}
}

// openFolder opens a folder without its agent.
func (g *Group) openFolder(root string, shown []string) (*machine.Machine, error) {
	history, err := HistoryFolder()
	if err != nil {
		return nil, err
	}
	m, err := machine.Open(machine.Options{Root: root, History: history, Shown: shown, Tag: g.Con.Tag, Now: time.Now, Log: g.Con.ErrOut})
	if err != nil {
		return nil, ending.Miswritten(err)
	}
	return m, nil
}

// HistoryFolder returns where the replaced contents of all workspaces of the person are kept.
func HistoryFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", ending.Refusal("cli.wrong.no_cache", "why", err.Error())
	}
	return filepath.Join(cache, "piloto", "history"), nil
}

func (g *Group) listFiles(ctx context.Context, files openFiles, _ []string) error {
	all, err := files.store.List(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range all.Files {
		rows = append(rows, fileRow(f))
	}
	return g.Con.List(map[string]any{"files": jsonFiles(all.Files), "version": all.Version}, fileTitles, rows)
}

// fileTitles are the titles of a table of files.
var fileTitles = []string{"cli.name", "cli.size", "cli.changed", "cli.version"}

func fileRow(f workspace.File) []string {
	version := f.Version[:min(len(f.Version), ShortVersion)]
	if version != "" {
		version = visible.Word(version) // people paste it into a command
	}
	return []string{f.Name, fmt.Sprint(f.Size), console.Moment(f.At), version}
}

// ShortVersion is the number of characters of a version that lists show and commands take.
const ShortVersion = 12

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

// whole returns the version of a file that begins with the typed prefix; "" is the present one.
func whole(ctx context.Context, files openFiles, name, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	kept, err := files.store.Versions(ctx, name)
	if err != nil {
		return "", err
	}
	found := ""
	for _, f := range kept {
		if len(typed) < 8 || len(f.Version) < len(typed) || f.Version[:len(typed)] != typed || f.Version == found {
			continue
		}
		if found != "" {
			return "", ending.Miswritten(ending.Refusal("cli.wrong.versions", "name", name, "version", typed))
		}
		found = f.Version
	}
	if found == "" {
		return "", ending.Miswritten(ending.Refusal("cli.wrong.no_version", "name", name, "version", typed))
	}
	return found, nil
}

func (g *Group) catFile(ctx context.Context, files openFiles, args []string) error {
	version := ""
	if len(args) == 2 {
		var err error
		if version, err = whole(ctx, files, args[0], args[1]); err != nil {
			return err
		}
	}
	content, _, err := workspace.ReadAll(ctx, files.store, args[0], version)
	if err != nil {
		return err
	}
	if g.Con.IsTerm { // no control character reaches a terminal
		if workspace.Binary(content) {
			return ending.Miswritten(ending.Refusal("cli.files.binary", "name", args[0]))
		}
		content = []byte(visible.Lines(string(content)))
	}
	_, err = g.Con.Out.Write(content)
	return err
}

func (g *Group) logFile(ctx context.Context, files openFiles, args []string) error {
	kept, err := files.store.Versions(ctx, args[0])
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range kept {
		rows = append(rows, fileRow(f))
	}
	return g.Con.List(map[string]any{"versions": jsonFiles(kept)}, fileTitles, rows)
}

// restoring returns the change that puts a version of a file back.
func (g *Group) restoring(ctx context.Context, files openFiles, name, typed string) (overlay.Set, error) {
	version, err := whole(ctx, files, name, typed)
	if err != nil {
		return overlay.Set{}, err
	}
	content, _, err := workspace.ReadAll(ctx, files.store, name, version)
	if err != nil {
		return overlay.Set{}, err
	}
	pending, err := files.pending()
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

func (g *Group) diffFile(ctx context.Context, files openFiles, args []string) error {
	set, err := g.restoring(ctx, files, args[0], args[1])
	if err != nil {
		return err
	}
	diff, err := overlay.Diff(ctx, files.store, set)
	if err != nil || diff == "" {
		return err
	}
	return g.Con.CopyTo(g.Con.Out, diff, g.Con.IsTerm)
}

func (g *Group) restoreFile(ctx context.Context, files openFiles, args []string) error {
	set, err := g.restoring(ctx, files, args[0], args[1])
	if err != nil {
		return err
	}
	if _, err := overlay.Apply(ctx, files.store, set); err != nil {
		return err
	}
	for _, c := range set.Changes {
		g.Con.Say(c.Phrase().In(g.Con.Tag))
	}
	return nil
}
