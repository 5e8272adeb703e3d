package process

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/internal/models/cache"
)

// answersFolder is the folder of the answers that models gave to jobs with a cache, below the data folder. It is in no
// backup.
const answersFolder = "answers"

// answers keeps answers of models in a folder. An error is a miss, or an answer that is not kept.
type answers struct{ folder string }

var _ cache.Store = answers{}

// openAnswers returns the answers of a data folder, without those that are too old.
func openAnswers(data string, now time.Time) answers {
	a := answers{filepath.Join(data, answersFolder)}
	entries, err := os.ReadDir(a.folder)
	if err != nil {
		return a // there is none yet
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) >= cache.Life {
			_ = os.Remove(filepath.Join(a.folder, e.Name()))
		}
	}
	return a
}

// Get implements cache.Store.
func (a answers) Get(key string) []byte {
	raw, err := os.ReadFile(filepath.Join(a.folder, key+".json"))
	if err != nil {
		return nil
	}
	return raw
}

// Put implements cache.Store. An entry is there whole or not at all.
func (a answers) Put(key string, entry []byte) {
	if os.MkdirAll(a.folder, 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(a.folder, "."+strings.ToLower(key[:min(8, len(key))])+"-*")
	if err != nil {
		return
	}
	_, err = file.Write(entry)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil || os.Rename(file.Name(), filepath.Join(a.folder, key+".json")) != nil {
		_ = os.Remove(file.Name())
	}
}
