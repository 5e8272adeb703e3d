// Package private writes files of this machine that are for their owner alone.
package private

import (
	"errors"
	"os"
	"path/filepath"

	"piloto/internal/workspace"
)

// Write writes a file with mode 0600, whole or not at all. Its folder exists. The name of an unfinished file is one that no
// workspace lists.
func Write(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), workspace.Temporary+"*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
