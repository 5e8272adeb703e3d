package reach

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/infra/local/process"
	"piloto/internal/ground/visible"
)

// DataFolder is the usual name of the data folder, which is hidden in every workspace. Only a folder of this name is ever
// opened without being named.
const DataFolder = process.DefaultData

// Folders is the data folder of a command, and the folders that this person's command made or was given.
type Folders struct {
	Con   *console.Console
	Data  string
	Named bool // the person named data
}

// DataFolder returns the data folder for a command that uses it or the process that has it. One that nobody named must be
// new, or noted: a .piloto that came with a folder has agents, providers and a token of somebody else. The error says how to
// name it.
func (f *Folders) DataFolder() (string, error) {
	return f.Data, f.checkOwned(f.Data, process.DataFile, f.Named)
}

// checkOwned refuses a folder that nobody named, and that this person did not make here.
func (f *Folders) checkOwned(folder, data string, named bool) error {
	switch {
	case strings.TrimSpace(folder) == "":
		return ending.Miswritten(ending.Refusal("cli.wrong.no_data"))
	case named || isNew(folder):
		return nil
	case f.notes().have(folder, data):
		return f.checkKeys(folder)
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return ending.Miswritten(err)
	}
	return ending.Miswritten(ending.Refusal("cli.wrong.not_opened", "folder", whole, "command", f.Con.Again("--data", folder)))
}

// checkKeys refuses a data folder of this person with a key that another program wrote: git writes over ignored files.
func (f *Folders) checkKeys(folder string) error {
	strange := f.notes().strange(folder)
	if len(strange) == 0 {
		return nil
	}
	key := "cli.wrong.strange_keys"
	if slices.Contains(strange, process.TokenFile) != slices.Contains(strange, process.TokenNote) { // another program wrote one of the two
		key = "cli.wrong.strange_token"
	}
	lines, command := make([]string, len(strange)), f.Con.Again("--data", folder)
	remove := "rm --"
	for i, name := range strange {
		file := filepath.Join(folder, name)
		lines[i] = "  " + visible.ScreenLine(file) + ": " + f.Con.Text("cli.key."+strings.ReplaceAll(name, ".", "_"))
		remove += " " + visible.Word(file)
	}
	return &ending.Error{Code: ending.Usage, Text: f.Con.Prose(key, "keys", strings.Join(lines, "\n"), "remove", remove+" && "+command, "command", command)}
}

// MakeData returns the data folder for a command that opens it. A new one is made and noted first, before anything is in it,
// so that another command finds it as this person's.
func (f *Folders) MakeData() (string, error) {
	folder, err := f.DataFolder()
	if err != nil || filepath.Base(folder) != DataFolder || !isNew(folder) {
		return folder, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := f.notes().put(folder, process.DataFile); err != nil && !f.Named {
		f.Con.Report("cli.not_noted", "why", f.Con.Worded(err).Error(), "command", "--data "+visible.Word(folder))
	}
	return folder, nil
}

// KeepData notes a data folder that this command opened, so that it need not be named again.
func (f *Folders) KeepData(folder string) {
	if filepath.Base(folder) != DataFolder {
		return
	}
	known := f.notes().have(folder, process.DataFile)
	if err := f.notes().put(folder, process.DataFile); err == nil && !known && f.Named {
		whole, err := filepath.Abs(folder)
		if err == nil {
			f.Con.Report("cli.noted", "folder", whole)
		}
	}
}

// OwnEngines checks the usual folder of the command engines in the same way, and makes and notes a new one.
func (f *Folders) OwnEngines(folder string) error {
	if err := f.checkOwned(folder, "", false); err != nil || !isNew(folder) {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := f.notes().put(folder, ""); err != nil {
		f.Con.Report("cli.not_noted", "why", f.Con.Worded(err).Error(), "command", "--data "+folder)
	}
	return nil
}

// KeepDataApart refuses a data folder of another name inside of the workspace: it holds tokens and keys.
func (f *Folders) KeepDataApart(root string) error {
	data, err := real(f.Data)
	if err != nil {
		return nil //nolint:nilerr // it is not there
	}
	if root, err = real(root); err != nil {
		return ending.Miswritten(err)
	}
	inside, err := filepath.Rel(root, data)
	if err != nil || !filepath.IsLocal(inside) || inside == DataFolder {
		return nil //nolint:nilerr // paths without a relation are apart
	}
	return ending.Miswritten(ending.Refusal("cli.machine.data_inside", "data", f.Data))
}

// real returns the path of a file without links.
func real(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(whole)
}
