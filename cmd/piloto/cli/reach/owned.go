package reach

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/djherbis/times"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/private"
	"piloto/infra/local/process"
)

// notes is the folder in which this person's command notes each data folder that it made or that the person named. It is
// beside the logins and not in the data folder, so that nothing that came with a data folder is evidence. Each note is a file
// named after the folder's identity: a line with its path, for a person to read, and one with the identity of its data file;
// this is empty until there was one. With "" nothing is noted, and a folder counts when it is named.
type notes string

// notes returns the notes of this person.
func (f *Folders) notes() notes {
	folder, err := f.configFolder()
	if err != nil {
		return ""
	}
	return notes(filepath.Join(folder, "folders"))
}

// have reports whether a data folder is noted, and has the data file with which it was noted, or none.
func (n notes) have(folder, data string) bool {
	noted, ok := n.read(folder)
	if !ok {
		return false
	}
	now, err := identity(filepath.Join(folder, data))
	return errors.Is(err, fs.ErrNotExist) || err == nil && (noted[0] == "" || noted[0] == now)
}

// strange returns the keys of a noted data folder that are there and not as they were noted. A note
// without keys was made before the folder had some.
func (n notes) strange(folder string) []string {
	noted, ok := n.read(folder)
	if !ok || len(noted) == 1 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(process.KeyFiles), func(name string) bool {
		now := sumOf(filepath.Join(folder, name))
		return now == "" || slices.Contains(noted[1:], name+" "+now)
	})
}

// read returns the lines of the note of a data folder after its path. A note that others can write is none.
func (n notes) read(folder string) (noted []string, ok bool) {
	place, err := n.placeOf(folder)
	if err != nil || disk.Private(place) != nil {
		return nil, false
	}
	text, err := os.ReadFile(place)
	if err != nil {
		return nil, false
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 3 || lines[len(lines)-1] != "" {
		return nil, false
	}
	return lines[1 : len(lines)-1], true
}

// put notes a data folder, with its data file if there is one, and its keys.
func (n notes) put(folder, data string) error {
	place, err := n.placeOf(folder)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	now, err := identity(filepath.Join(folder, data))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := []string{strings.ReplaceAll(path, "\n", " "), now}
	for _, name := range process.KeyFiles {
		if sum := sumOf(filepath.Join(folder, name)); sum != "" {
			lines = append(lines, name+" "+sum)
		}
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	return private.Write(place, []byte(strings.Join(lines, "\n")+"\n"))
}

// sumOf returns the sum of the content of a key; "" if there is none, and "unreadable" if it is nothing to read.
func sumOf(path string) string {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return "unreadable"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// placeOf returns the file of the note of a folder.
func (n notes) placeOf(folder string) (string, error) {
	if n == "" {
		return "", errNoPlace
	}
	id, err := identity(folder)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(string(n), hex.EncodeToString(sum[:16])), nil
}

var errNoPlace = ending.Refusal("cli.wrong.no_place")

// identity distinguishes a file or a folder from every other that is, was or will be on this machine, also a copy with the same
// content, name, owner and times: by its number and the moment at which its system made it, which no program sets. One that
// is moved keeps it. Where the system knows no such moment, and for a link, the path is part of it.
func identity(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	at, err := times.Stat(path)
	if err != nil {
		return "", err
	}
	id := fmt.Sprint(inode(info))
	if at.HasBirthTime() {
		id += fmt.Sprintf(" %d", at.BirthTime().UnixNano())
	}
	if link, err := os.Lstat(path); err != nil || link.Mode()&fs.ModeSymlink != 0 || !at.HasBirthTime() {
		folder, err := real(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		id += " " + filepath.Join(folder, filepath.Base(path))
	}
	return id, nil
}

// isNew reports whether a folder is not there yet, or has nothing in it, such as where a disk is mounted.
func isNew(folder string) bool {
	info, err := os.Lstat(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.IsDir() {
		return false
	}
	list, err := os.ReadDir(folder)
	return err == nil && (len(list) == 0 || len(list) == 1 && list[0].Name() == "lost+found")
}
