package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"piloto/cmd/piloto/private"
)

// Kept is the file that keeps the common state of a folder and a workspace of a deployment.
type Kept string

// A Pair is a folder of this machine, and the workspace at a deployment that it is copied from or to.
type Pair struct{ Folder, Origin, Place string }

// KeptFor returns the file of a pair, in a folder of the person.
func KeptFor(dir string, of Pair) Kept {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", of.Folder, of.Origin, of.Place))
	return Kept(filepath.Join(dir, hex.EncodeToString(sum[:16])+".json"))
}

// Read returns the kept state. A missing or damaged file keeps nothing: every file counts as one that was never copied.
func (k Kept) Read() (map[string]Seen, error) {
	known := map[string]Seen{}
	text, err := os.ReadFile(string(k))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, &known) != nil {
		return map[string]Seen{}, nil //nolint:nilerr // it keeps nothing
	}
	return known, nil
}

// Write keeps a state.
func (k Kept) Write(known map[string]Seen) error {
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(string(k)), 0o700); err != nil {
		return err
	}
	return private.Write(string(k), text)
}
