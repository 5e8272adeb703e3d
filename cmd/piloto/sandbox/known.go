package sandbox

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// Known remembers the secrets of the files of one workspace from one command to the next, so that a file is read again only
// when it was changed. The zero value knows no file. It is not safe for concurrent use.
type Known struct {
	files map[string]knownFile
	gone  []mask.Secret // of files that were changed since: an edit does not make them known to a model
	turn  int           // how many files were read
}

type knownFile struct {
	size    int64
	at      time.Time
	secrets []mask.Secret
	safe    []byte // its content with masks; nil: it has no secret
	text    bool
	opaque  bool   // it cannot be masked: it is too large, or no text
	unread  bool   // there was no time to read it
	copy    []byte // safe with masks for all secrets that were known at a turn
	turn    int
}

// Limits of the files that are read for their secrets before a command. A file without time left is read before the next
// command.
const (
	maxNamedFile  = workspace.MaxFileBytes // bytes: the limit of the tools
	maxKnownFile  = 1 << 20                // bytes: a larger one is read if a line names it
	alwaysRead    = 200                    // files: those that usually have secrets first, and then those nearest to the workspace
	maxKnownTime  = 300 * time.Millisecond
	maxNamedTime  = 10 * time.Second // of the files that a line names
	mostKnownFile = 20_000
	mostGone      = 1_000
	mostCopied    = 500 // files, the nearest, that have a masked copy because of their content: each is a mount
)

// Learn adds the secrets of a file of a workspace, by its slashed name.
func (k *Known) Learn(root string, shown workspace.Shown, name string) {
	if name = path.Clean(name); workspace.CheckName(name) == nil {
		k.read(root, name, shown, maxNamedFile, true)
	}
}

// In returns the secrets of the files of a workspace. An unreadable file has none.
func (k *Known) In(root string, shown workspace.Shown) *mask.Known {
	var names []string
	_ = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		name, outside := filepath.Rel(root, at)
		name = filepath.ToSlash(name)
		switch {
		case err != nil || outside != nil || name == ".":
		case e.IsDir() && (isGitName(e.Name()) || !shown.Enters(name)):
			return fs.SkipDir
		case e.Type().IsRegular() && mask.Mentions(shown, name):
			names = append(names, name)
		}
		return nil //nolint:nilerr // an unreadable file has none
	})
	known, _, _ := k.of(root, shown, names)
	return known
}

// of returns the secrets of files of a workspace, which are named by slashed names below it, the masked copies of those
// that have one, and those that cannot be masked.
func (k *Known) of(root string, shown workspace.Shown, names []string) (known *mask.Known, copies map[string][]byte, opaque []string) {
	far := make(map[string]int, len(names))
	for _, name := range names {
		if far[name] = strings.Count(name, "/"); shown.Secrets(name) == workspace.NoSecrets {
			far[name] += 1_000
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	start := time.Now()
	known, copies = &mask.Known{}, map[string][]byte{}
	defer func() {
		known.Add(k.gone)
		for name, f := range k.files { // of files that were renamed or removed, too
			if _, listed := far[name]; !listed && !shown.Names(name) {
				known.Add(f.secrets)
			}
		}
	}()
	for i, name := range names[:min(len(names), mostKnownFile)] {
		f := k.read(root, name, shown, maxKnownFile, i < alwaysRead || time.Since(start) < maxKnownTime)
		known.Add(f.secrets)
		switch {
		case f.opaque:
			opaque = append(opaque, name)
		case f.safe != nil && len(copies) < mostCopied:
			copies[name] = f.safe
		}
	}
	return known, copies, opaque
}

// read returns the known secrets of a file. It reads a changed file, if that has at most so many bytes, and there is
// time.
func (k *Known) read(root, name string, shown workspace.Shown, most int64, hasTime bool) knownFile {
	at := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Stat(at)
	if err != nil || !info.Mode().IsRegular() {
		return knownFile{}
	}
	f, ok := k.files[name]
	switch {
	case ok && f.size == info.Size() && f.at.Equal(info.ModTime()):
		return f
	case info.Size() > maxNamedFile:
		return knownFile{secrets: f.secrets, opaque: true}
	case info.Size() > most || !hasTime:
		return knownFile{secrets: f.secrets, unread: true}
	}
	if k.gone = append(k.gone, f.secrets...); len(k.gone) > mostGone {
		k.gone = k.gone[len(k.gone)-mostGone:]
	}
	f = knownFile{size: info.Size(), at: info.ModTime()}
	if content, err := os.ReadFile(at); err == nil { //nolint:gosec // a file of the workspace
		if f.text = !workspace.Binary(content); f.text {
			f.secrets, f.safe = mask.Find(shown, name, content)
		}
		f.opaque = !f.text
	}
	if k.files == nil || len(k.files) >= 2*mostKnownFile { // many of them are gone
		k.files = map[string]knownFile{}
	}
	k.files[name] = f
	k.turn++
	return f
}

// copyOf returns the masked copy of a file, with masks for the secrets of other files, too.
func (k *Known) copyOf(name string, masked []byte, known *mask.Known) []byte {
	f, ok := k.files[name]
	switch {
	case !ok || !bytes.Equal(f.safe, masked) && !bytes.Equal(f.copy, masked):
		return known.Copy(masked)
	case f.copy == nil || f.turn != k.turn:
		f.copy, f.turn = known.Copy(f.safe), k.turn
		k.files[name] = f
	}
	return f.copy
}
