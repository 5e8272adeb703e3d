package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"strings"

	"github.com/djherbis/times"
)

// notes is the folder in which this person's command notes each data folder that it made or that the person named. It is
// beside the logins and not in the data folder, so that nothing that came with a data folder is evidence. Each note is a file
// named after the folder's identity: a line with its path, for a person to read, and one with the identity of its data file;
// this is empty until there was one. "" is no place: nothing is noted, and a folder counts when it is named.
type notes string

// notes returns the notes of this person.
func (a *app) notes() notes {
	folder, err := a.configFolder()
	if err != nil {
		return ""
	}
	return notes(filepath.Join(folder, "folders"))
}

// have reports whether a data folder is noted, and has the data file with which it was noted, or none. A note that others
// can write is none.
func (n notes) have(folder, data string) bool {
	place, err := n.placeOf(folder)
	if err != nil || disk.Private(place) != nil {
		return false
	}
	text, err := os.ReadFile(place)
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 3 {
		return false
	}
	now, err := identity(filepath.Join(folder, data))
	return errors.Is(err, fs.ErrNotExist) || err == nil && (lines[1] == "" || lines[1] == now)
}

// put notes a data folder, with its data file if there is one.
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
	return writePrivate(place, []byte(strings.ReplaceAll(path, "\n", " ")+"\n"+now+"\n"))
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

var errNoPlace = refusal("cli.wrong.no_place")

// identity tells a file or a folder from every other that is, was or will be on this machine, also from a copy with the same
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
