package secretsmanager

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"localaws/disk"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	fileMode   = 0o600
	folderMode = 0o700
	fileFormat = 2
)

// errUnsure reports that the new file has its name, and that a power cut may still bring the old
// one back.
var errUnsure = errors.New("secretsmanager: the folder of the secrets could not be flushed")

// document is the contents of the file. Sum is the SHA-256 of the secrets as compact JSON, because
// a key with one changed letter would be another key.
type document struct {
	Format  int             `json:"format"`
	Sum     string          `json:"sum"`
	Secrets json.RawMessage `json:"secrets"`
}

// sum returns the expected sum of a document.
func (d document) sum() (string, error) {
	var text bytes.Buffer
	if err := json.Compact(&text, d.Secrets); err != nil {
		return "", err
	}
	sum := sha256.Sum256(text.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// load reads the file; there is none before the first write. No error contains parts of it.
func load(path string) (map[string]*secret, error) {
	err := disk.Private(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]*secret{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secretsmanager: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	damaged := func(how string) error {
		return fmt.Errorf("secretsmanager: %s is damaged: %s; restore it from a backup, or remove it and set the keys again", path, how)
	}
	var d document
	if json.Unmarshal(text, &d) != nil {
		return nil, damaged("it is not the JSON that was written")
	}
	if d.Format != fileFormat {
		return nil, damaged(fmt.Sprintf("its format is %d, and this version reads %d", d.Format, fileFormat))
	}
	var all []*secret
	if json.Unmarshal(d.Secrets, &all) != nil {
		return nil, damaged("it is not the JSON that was written")
	}
	kept := make(map[string]*secret, len(all))
	for _, s := range all {
		if s == nil || !s.isValid() || kept[s.Name] != nil {
			return nil, damaged("a secret in it is not whole")
		}
		kept[s.Name] = s
	}
	if sum, err := d.sum(); err != nil || sum != d.Sum {
		return nil, damaged("it does not sum up to what was written")
	}
	return kept, nil
}

// isValid reports whether this engine could have written the secret.
func (s *secret) isValid() bool {
	name, ok := nameOf(s.ARN)
	if !ok || name != s.Name || s.Deleted.IsZero() != s.Gone.IsZero() {
		return false
	}
	labels := map[string]int{}
	for _, v := range s.Versions {
		if v.ID == "" || v.Text.reveal() == "" || len(v.Stages) != 1 {
			return false
		}
		labels[v.Stages[0]]++
	}
	current, previous := labels[stageCurrent], labels[stagePrevious]
	return current+previous == len(s.Versions) && current <= 1 && previous <= current
}

func encode(kept map[string]*secret) ([]byte, error) {
	all := []*secret{}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		all = append(all, kept[name])
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	d := document{Format: fileFormat, Secrets: text}
	if d.Sum, err = d.sum(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(d, "", "  ")
}

// save replaces the whole file.
func save(path string, kept map[string]*secret) error {
	text, err := encode(kept)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	before, after := unfinishedName(path)
	tmp, err := os.CreateTemp(folder, before+"*"+after) // with mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(text, '\n'))
	if err == nil {
		err = tmp.Chmod(fileMode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	if err := syncFolder(folder); err != nil {
		return fmt.Errorf("%w: %w", errUnsure, err)
	}
	return nil
}

// unfinishedName returns the prefix and the suffix of the names of unfinished files.
func unfinishedName(path string) (before, after string) {
	return "." + filepath.Base(path) + ".", ".tmp"
}

// sweep removes the leftovers of a killed process, because they hold secrets.
func sweep(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	before, after := unfinishedName(path)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), before) || !strings.HasSuffix(entry.Name(), after) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(path), entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot flush a folder
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
