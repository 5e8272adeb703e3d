package folder

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
)

// The folders and the file of a history. A content is stored once, under its version. The versions of a file are
// stored under the hash of its name. testdata has an example.
const (
	contentsDir = "content"
	keptDir     = "kept"
	claimFile   = "lock"
	jobFile     = "job"
)

// historyFormat is the format of the stored versions. docs/storage.md describes it.
const historyFormat = 1

// history keeps the versions that were replaced.
type history struct {
	path string
	root *os.Root
	now  func() time.Time
}

// earlier is a version that was replaced.
type earlier struct {
	Version  string    `json:"version"`
	Size     int64     `json:"size"`
	At       time.Time `json:"at"`       // when it was written
	Replaced time.Time `json:"replaced"` // or deleted
}

func (e earlier) file(name string) workspace.File {
	return workspace.File{Name: name, Size: e.Size, Version: e.Version, At: e.At}
}

// record is the stored metadata of the versions of one file.
type record struct {
	Format int       `json:"format"`
	Name   string    `json:"name"`
	Kept   []earlier `json:"kept"` // the last replaced first
}

func openHistory(path string, now func() time.Time) (*history, error) {
	for _, dir := range []string{contentsDir, keptDir} {
		if err := os.MkdirAll(filepath.Join(path, dir), 0o700); err != nil {
			return nil, unwritable(path, err)
		}
	}
	root, err := os.OpenRoot(path)
	return &history{path: path, root: root, now: now}, err
}

func (h *history) Close() error { return h.root.Close() }

// lock waits until no other process writes. The caller closes the file.
func (h *history) lock(ctx context.Context) (*os.File, error) {
	const pause = 5 * time.Millisecond
	for {
		f, err := claim(filepath.Join(h.path, claimFile))
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, errClaimed):
			return nil, fault.ErrStorage.Because(err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func keptFile(name string) string       { return keptDir + "/" + workspace.Sum([]byte(name)) + ".json" }
func contentFile(version string) string { return contentsDir + "/" + version }

// read returns a part of an earlier version of a file.
func (h *history) read(name, version string, from, n int64) ([]byte, workspace.File, error) {
	kept, err := h.kept(name)
	if err != nil {
		return nil, workspace.File{}, err
	}
	for _, k := range kept {
		if k.Version != version {
			continue
		}
		content, err := h.root.ReadFile(contentFile(version))
		if err == nil && workspace.Sum(content) != version {
			err = errors.New("the stored content is not the one of this version")
		}
		if err != nil {
			return nil, workspace.File{}, fmt.Errorf("earlier version of %q: %w", name, err)
		}
		return workspace.Part(content, from, n), k.file(name), nil
	}
	return nil, workspace.File{}, notFound(name)
}

// kept returns the earlier versions of a file that are not too old, the last replaced first.
func (h *history) kept(name string) ([]earlier, error) {
	r, err := h.record(keptFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return h.recent(r.Kept), err
}

func (h *history) record(path string) (record, error) {
	var r record
	content, err := h.root.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	if r.Format != historyFormat {
		return r, fmt.Errorf("%s has format %d; this program reads format %d", path, r.Format, historyFormat)
	}
	return r, nil
}

// recent returns the versions that are kept for longer.
func (h *history) recent(all []earlier) []earlier {
	since := h.now().Add(-workspace.KeepVersions)
	var recent []earlier
	for _, e := range all {
		if e.Replaced.After(since) && len(recent) < workspace.MaxVersions {
			recent = append(recent, e)
		}
	}
	return recent
}

// add keeps a version that is about to be replaced. The caller has the lock.
func (h *history) add(file workspace.File, content []byte) error {
	kept, err := h.kept(file.Name)
	if err != nil {
		return err
	}
	if _, err := h.root.Lstat(contentFile(file.Version)); err != nil {
		if err := h.write(contentFile(file.Version), content); err != nil {
			return err
		}
	}
	all := []earlier{{Version: file.Version, Size: file.Size, At: file.At, Replaced: h.now().UTC()}}
	for _, e := range kept {
		if e.Version != file.Version {
			all = append(all, e)
		}
	}
	return h.save(record{Format: historyFormat, Name: file.Name, Kept: h.recent(all)})
}

func (h *history) save(r record) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return h.write(keptFile(r.Name), content)
}

// write replaces a file of the history. After a crash it has the old or the new content.
func (h *history) write(path string, content []byte) error {
	temporary := keptDir + "/" + workspace.Temporary + rand.Text()
	_, err := writeNew(h.root, temporary, content, 0o600)
	if err == nil {
		err = h.root.Rename(temporary, path)
	}
	if err == nil {
		err = h.sync(filepath.Dir(path))
	}
	if err != nil {
		_ = h.root.Remove(temporary)
		return fault.ErrStorage.Because(err)
	}
	return nil
}

func (h *history) sync(dir string) error {
	d, err := h.root.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return syncFolder(d)
}

// sweep removes the versions that are too old, the contents that no version has, and the remains of a crash. It removes no
// content if a record cannot be read. The caller has the lock.
func (h *history) sweep(ctx context.Context) error {
	used := map[string]bool{}
	records, err := fs.ReadDir(h.root.FS(), keptDir)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := keptDir + "/" + r.Name()
		if strings.HasPrefix(r.Name(), workspace.Temporary) {
			err = h.root.Remove(path)
		} else {
			err = h.sweepRecord(path, used)
		}
		if err != nil {
			return err
		}
	}
	contents, err := fs.ReadDir(h.root.FS(), contentsDir)
	if err != nil {
		return err
	}
	for _, c := range contents {
		if !used[c.Name()] {
			if err := h.root.Remove(contentsDir + "/" + c.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepRecord removes the versions of one file that are too old, and adds the others to used.
func (h *history) sweepRecord(path string, used map[string]bool) error {
	r, err := h.record(path)
	if err != nil {
		return err
	}
	recent := h.recent(r.Kept)
	for _, e := range recent {
		used[e.Version] = true
	}
	switch {
	case len(recent) == 0:
		return h.root.Remove(path)
	case len(recent) < len(r.Kept):
		r.Kept = recent
		return h.save(r)
	}
	return nil
}
