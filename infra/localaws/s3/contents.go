package s3

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"localaws/disk"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// errDamaged reports that a stored content is not the one that was written.
var errDamaged = errors.New("s3: a stored content is damaged")

// Content is a content that a version refers to: a file in the folder of the contents.
type Content struct {
	Name   string
	Size   int64
	SHA256 string // hex
}

// Contents returns the contents of all versions of a data file, which may have none.
func Contents(store *disk.Store) (all []Content, err error) {
	err = store.View(func(tx *disk.Tx) error {
		all = nil
		if tx.Bucket(bucketTable) == nil {
			return nil
		}
		return eachVersion(tx, func(_ string, v version) {
			if !v.Marker {
				all = append(all, Content{v.Content, v.Size, v.SHA256})
			}
		})
	})
	return all, err
}

// IsContent reports whether a text can be the name of a content's file.
func IsContent(name string) bool {
	return len(name) == idLength && strings.Trim(name, base32) == ""
}

// contents is the folder of the contents, each in a file that is never changed.
type contents string

func (c contents) path(name string) string { return filepath.Join(string(c), name) }

// add stores a content on the disk and returns the name of its file.
func (c contents) add(content []byte) (name string, err error) {
	name = rand.Text()
	file, err := os.OpenFile(c.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = c.sync()
	}
	if err != nil {
		return "", errors.Join(err, c.remove(name))
	}
	return name, nil
}

// sync puts the names of the files on the disk.
func (c contents) sync() error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot flush a folder
	}
	folder, err := os.Open(string(c))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// read returns the content of a version, if it is the one that was written.
func (c contents) read(v version) ([]byte, error) {
	content, err := os.ReadFile(c.path(v.Content))
	if err != nil {
		return nil, err
	}
	if sum(content) != v.SHA256 {
		return nil, fmt.Errorf("%w: %s", errDamaged, c.path(v.Content))
	}
	return content, nil
}

func (c contents) remove(name string) error { return os.Remove(c.path(name)) }

// keep removes all other files.
func (c contents) keep(used map[string]bool) error {
	files, err := os.ReadDir(string(c))
	if err != nil {
		return err
	}
	for _, f := range files {
		if used[f.Name()] {
			continue
		}
		if err := c.remove(f.Name()); err != nil {
			return err
		}
	}
	return nil
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
