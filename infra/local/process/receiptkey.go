package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"

	"piloto/internal/runs/receipt"
)

// receiptKeyFile holds the private key that signs receipts, under the lock of the data file. The
// public keys of its predecessors are in the table.
const receiptKeyFile = "receipts.key"

// receiptKeyPath returns the absolute path of the key of a data folder, because functions may have
// other working directories.
func receiptKeyPath(folder string) (string, error) {
	return filepath.Abs(filepath.Join(folder, receiptKeyFile))
}

// ensureReceiptKey makes the key of a data folder when there is none. It refuses a file that others
// can read, or that holds no key.
func ensureReceiptKey(path string) error {
	err := disk.Private(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newReceiptKey(path)
	}
	if err != nil {
		return fmt.Errorf("the key that signs receipts: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := receipt.NewLocal(text); err != nil {
		return fmt.Errorf("%s is damaged: %w; put it back from a backup, or remove it to have another key made: what was signed can still be verified", path, err)
	}
	return nil
}

func newReceiptKey(path string) error {
	text, err := receipt.NewPrivate()
	if err != nil {
		return err
	}
	return writeAtomically(path, string(text))
}

// RotateKey makes a new key, which signs receipts from the next start. The old private key is
// removed. Its public key stays in GET /api/keys, so that older receipts can be verified. No
// process may hold the folder meanwhile.
func RotateKey(folder string, out io.Writer) (err error) {
	if _, err := os.Lstat(filepath.Join(folder, dataFile)); err != nil {
		return fmt.Errorf("there is no data in %s: %w", folder, err)
	}
	store, err := disk.Open(filepath.Join(folder, dataFile))
	if err != nil {
		return withAdvice(folder, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	path, err := receiptKeyPath(folder)
	if err != nil {
		return err
	}
	if err := newReceiptKey(path); err != nil {
		return err
	}
	fmt.Fprintf(out, "piloto: %s is new; receipts are signed with it from the next start on, and GET /api/keys keeps the public half of the one before\n", path)
	return nil
}
