package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"piloto/infra/local/process"
	"piloto/internal/ground/visible"
)

// dataFolder is the usual name of the data folder, which is hidden in every workspace. Only a folder of this name is ever
// opened without being named.
const dataFolder = process.DefaultData

// dataFolder returns the data folder for a command that uses it or the process that has it. One that nobody named must be
// new, or noted: a .piloto that came with a folder has agents, providers and a token of somebody else. The error says how to
// name it.
func (a *app) dataFolder() (string, error) {
	return a.global.data, a.checkOwned(a.global.data, process.DataFile, a.global.dataNamed)
}

// checkOwned refuses a folder that nobody named, and that this person did not make here.
func (a *app) checkOwned(folder, data string, named bool) error {
	switch {
	case strings.TrimSpace(folder) == "":
		return usage(refusal("cli.wrong.no_data"))
	case named || isNew(folder):
		return nil
	case a.notes().have(folder, data):
		return a.checkKeys(folder)
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return usage(err)
	}
	return usage(refusal("cli.wrong.not_opened", "folder", whole, "command", a.again("--data", folder)))
}

// checkKeys refuses a data folder of this person with a key that another program wrote: git writes over ignored files.
func (a *app) checkKeys(folder string) error {
	strange := a.notes().strange(folder)
	if len(strange) == 0 {
		return nil
	}
	key := "cli.wrong.strange_keys"
	if slices.Contains(strange, process.TokenFile) != slices.Contains(strange, process.TokenNote) { // they do not agree, whoever wrote one of them
		key = "cli.wrong.strange_token"
	}
	told, command := make([]string, len(strange)), a.again("--data", folder)
	remove := "rm --"
	for i, name := range strange {
		file := filepath.Join(folder, name)
		told[i] = "  " + visible.ScreenLine(file) + ": " + a.text("cli.key."+strings.ReplaceAll(name, ".", "_"))
		remove += " " + visible.Word(file)
	}
	return &exitError{code: Usage, text: a.prose(key, "keys", strings.Join(told, "\n"), "remove", remove+" && "+command, "command", command)}
}

// makeData returns the data folder for a command that opens it. A new one is made and noted first, before anything is in it,
// so that another command finds it as this person's.
func (a *app) makeData() (string, error) {
	folder, err := a.dataFolder()
	if err != nil || filepath.Base(folder) != dataFolder || !isNew(folder) {
		return folder, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := a.notes().put(folder, process.DataFile); err != nil && !a.global.dataNamed {
		a.say(a.text("cli.not_noted", "why", a.worded(err).Error(), "command", "--data "+visible.Word(folder)))
	}
	return folder, nil
}

// keepData notes a data folder that this command opened, so that it need not be named again.
func (a *app) keepData(folder string) {
	if filepath.Base(folder) != dataFolder {
		return
	}
	known := a.notes().have(folder, process.DataFile)
	if err := a.notes().put(folder, process.DataFile); err == nil && !known && a.global.dataNamed {
		whole, err := filepath.Abs(folder)
		if err == nil {
			a.say(a.text("cli.noted", "folder", whole))
		}
	}
}

// again returns this command, with flags before its own, as it is pasted into a shell.
func (a *app) again(flags ...string) string {
	words := append([]string{os.Args[0]}, flags...)
	words = append(words, a.args...)
	for i, w := range words {
		words[i] = visible.Word(w)
	}
	return strings.Join(words, " ")
}

// atAddress returns this command, up, as it was called and with another --addr.
func (a *app) atAddress(addr string) string {
	words, skip := []string{os.Args[0]}, false
	for _, arg := range a.args {
		name, _, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch is := name == "addr" && strings.HasPrefix(arg, "-"); {
		case skip:
			skip = false
		case is:
			skip = !joined
		default:
			words = append(words, arg)
		}
	}
	words = append(words, "--addr", addr)
	for i, w := range words {
		words[i] = visible.Word(w)
	}
	return strings.Join(words, " ")
}

// ownEngines checks the usual folder of the command engines in the same way, and makes and notes a new one.
func (a *app) ownEngines(folder string) error {
	if err := a.checkOwned(folder, "", false); err != nil || !isNew(folder) {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := a.notes().put(folder, ""); err != nil {
		a.say(a.text("cli.not_noted", "why", a.worded(err).Error(), "command", "--data "+folder))
	}
	return nil
}
