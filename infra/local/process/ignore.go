package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ignoreFile keeps a data folder out of the repository in which it is: it holds secrets.
const ignoreFile = ".gitignore"

// keepFromGit writes the ignoreFile of a data folder, unless there is one.
func keepFromGit(folder string) error {
	file, err := os.OpenFile(filepath.Join(folder, ignoreFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("*\n")
	return errors.Join(err, file.Close())
}
