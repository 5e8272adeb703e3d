package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/machine"
	"piloto/cmd/piloto/mirror"
	"piloto/cmd/piloto/private"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/workspace"
)

func (g *Group) getFileCommand(f *fileFlags) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "get FILE [PATH]", Short: "Write a file of the deployment to this machine", Args: usage.Between(1, "FILE", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := path.Base(args[0])
			if len(args) == 2 {
				to = args[1]
			}
			if info, err := os.Stat(to); err == nil && info.IsDir() {
				to = filepath.Join(to, path.Base(args[0]))
			}
			return g.withRemote(cmd.Context(), *f, func(ctx context.Context, files client.Files) error {
				content, _, err := workspace.ReadAll(ctx, files, args[0], "")
				if err != nil {
					return err
				}
				return g.save(to, content, force)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	return cmd
}

// save writes a file of this machine, whole or not at all.
func (g *Group) save(name string, content []byte, force bool) error {
	if _, err := os.Lstat(name); err == nil && !force {
		return ending.Refusal("cli.files.exists", "name", name)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return private.Write(name, content)
}

func (g *Group) putFileCommand(f *fileFlags) *cobra.Command {
	return &cobra.Command{
		Use: "put PATH [FILE]", Short: "Write a file of this machine to the deployment; what was there is kept as an earlier version", Args: usage.Between(1, "PATH", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := filepath.Base(args[0])
			if len(args) == 2 {
				name = args[1]
			}
			content, err := console.ReadPlain(args[0], workspace.MaxFileBytes)
			if err != nil {
				return ending.Miswritten(err)
			}
			return g.withRemote(cmd.Context(), *f, func(ctx context.Context, files client.Files) error {
				present, err := files.Stat(ctx, name)
				if err != nil && !errors.Is(err, workspace.ErrNotFound) {
					return err
				}
				made, err := files.Write(ctx, name, content, present.Version)
				if err != nil {
					return err
				}
				if g.Con.JSON {
					return g.Con.PrintJSON(jsonFiles([]workspace.File{made})[0])
				}
				return g.Con.Table(fileTitles, [][]string{fileRow(made)})
			})
		},
	}
}

// transfer is a push or a pull of a folder.
type transfer struct {
	folder  string
	files   *fileFlags
	options mirror.Options
	makes   bool // the folder, if it is not there
	run     func(*mirror.Mirror, context.Context, mirror.Options) (mirror.Result, error)
}

func (g *Group) pushCommand(f *fileFlags) *cobra.Command {
	t := transfer{files: f, run: (*mirror.Mirror).Push}
	cmd := g.transferCommand(&t, "push FOLDER", "Send the files of a folder that differ. Those of .gitignore and hidden ones stay here")
	cmd.Flags().BoolVar(&t.options.Delete, "delete", false, "delete over there what the folder had at its last push or pull, and has not any more")
	return cmd
}

func (g *Group) pullCommand(f *fileFlags) *cobra.Command {
	t := transfer{files: f, run: (*mirror.Mirror).Pull, makes: true, options: mirror.Options{Strange: true}}
	return g.transferCommand(&t, "pull FOLDER", "Write the files that differ into a folder. One that was changed here since the last pull or push is not written over")
}

func (g *Group) transferCommand(t *transfer, use, about string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: about, Args: usage.Exactly("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.folder = args[0]
			return g.transfer(cmd.Context(), t)
		},
	}
	cmd.Flags().BoolVar(&t.options.DryRun, "dry-run", false, "say what would be done, and change nothing")
	cmd.Flags().BoolVar(&t.options.Force, "force", false, "write over files that were changed meanwhile")
	return cmd
}

func (g *Group) transfer(ctx context.Context, t *transfer) error {
	if _, err := os.Lstat(t.folder); !t.makes || err == nil {
		if err := g.Folders.KeepDataApart(t.folder); err != nil {
			return err
		}
	}
	return g.withRemote(ctx, *t.files, func(ctx context.Context, there client.Files) error {
		if err := g.makeFolder(ctx, t, there); err != nil {
			return err
		}
		here, err := g.openFolder(t.folder, t.files.shown)
		if err != nil {
			return err
		}
		kept, err := keptFor(here.Root, there)
		if err != nil {
			return errors.Join(err, here.Close())
		}
		known, err := kept.Read()
		if err != nil {
			return errors.Join(err, here.Close())
		}
		var out []machine.LeftOut
		if !t.makes {
			if out, err = here.LeftOut(ctx); err != nil {
				return errors.Join(err, here.Close())
			}
			for _, o := range out {
				t.options.Present = append(t.options.Present, norm.NFC.String(o.Name))
			}
		}
		m := &mirror.Mirror{Here: here.Files(), There: there, Known: known}
		result, err := t.run(m, ctx, t.options)
		if !t.options.DryRun {
			err = errors.Join(err, kept.Write(m.Known))
		}
		if err != nil && len(result.Written)+len(result.Deleted)+len(result.Conflicts) == 0 {
			return errors.Join(err, here.Close()) // nothing was done, and nothing is reported
		}
		told := g.tellTransfer(t.folder, result, out, t.options.DryRun)
		if err = errors.Join(err, here.Close()); err != nil && told != nil {
			told = console.ToldText(told.Error()) // the code is that of the error
		}
		return errors.Join(err, told)
	})
}

// makeFolder makes the missing folder of a pull, once the files of the deployment were listed.
func (g *Group) makeFolder(ctx context.Context, t *transfer, there client.Files) error {
	if _, err := os.Lstat(t.folder); !t.makes || t.options.DryRun || err == nil {
		return nil
	}
	if _, err := there.List(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(t.folder, 0o750); err != nil {
		return ending.Miswritten(err)
	}
	return g.Folders.KeepDataApart(t.folder)
}

// keptFor returns the file that keeps the common state of a folder and a workspace of a deployment.
func keptFor(root string, there client.Files) (mirror.Kept, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", ending.Refusal("cli.wrong.no_cache", "why", err.Error())
	}
	origin, place := there.Place()
	return mirror.KeptFor(filepath.Join(cache, "piloto", "copied"), mirror.Pair{Folder: root, Origin: origin, Place: place}), nil
}

// skipped is a file or a folder that was not sent, as JSON.
type skipped struct {
	Name string `json:"name"`
	Code string `json:"code"`
	Why  string `json:"why"` // a sentence
}

func (g *Group) skipped(out []machine.LeftOut) []skipped {
	list := make([]skipped, len(out))
	for i, o := range out {
		list[i] = skipped{o.Name, o.Why.Code, locale.OfFault(o.Why).In(g.Con.Tag)}
	}
	return list
}

// tellTransfer prints the names of the copied files. Its error has the code Failed if a file was in conflict, and Partial
// if one was not sent or not deleted.
func (g *Group) tellTransfer(folder string, r mirror.Result, out []machine.LeftOut, dry bool) error {
	var rows [][]string
	for _, name := range r.Deleted {
		rows = append(rows, []string{g.Con.Text("cli.files.deleted"), name})
	}
	for _, name := range r.Written {
		rows = append(rows, []string{g.Con.Text("cli.files.written"), name})
	}
	left := g.skipped(out)
	if g.Con.JSON {
		all := struct {
			mirror.Result
			Skipped []skipped `json:"skipped"`
		}{r, left}
		if err := g.Con.PrintJSON(all); err != nil {
			return err
		}
	} else if len(rows) > 0 {
		if err := g.Con.Table([]string{"cli.files.what", "cli.name"}, rows); err != nil {
			return err
		}
	}
	g.Con.Report("cli.files.same", "n", strconv.Itoa(r.Same))
	if dry {
		g.Con.Report("cli.files.dry")
	}
	code, lines := ending.Success, []string{}
	if len(left) > 0 {
		code, lines = ending.Partial, append(lines, g.Con.Prose("cli.files.skipped", "n", strconv.Itoa(len(left)), "names", sentencesOf(left)))
	}
	if len(r.Strange) > 0 {
		code, lines = ending.Partial, append(lines, g.Con.Text("cli.files.strange", "folder", folder, "names", strings.Join(r.Strange, ", ")))
	}
	if len(r.Conflicts) > 0 {
		code, lines = ending.Failed, append(lines, g.Con.Text("cli.files.conflicts", "names", strings.Join(r.Conflicts, ", ")))
	}
	if code == ending.Success {
		return nil
	}
	return &ending.Error{Code: code, Text: strings.Join(lines, "\n")}
}

func sentencesOf(list []skipped) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString("  " + visible.Line(s.Why) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
