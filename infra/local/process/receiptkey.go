package process

import (
	"context"
	"errors"
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
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := receipt.NewLocal(text); err != nil {
		return refusal("key.damaged", "file", path).Because(err)
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
// process may hold the folder meanwhile. It returns the file of the key.
func RotateKey(ctx context.Context, folder string) (path string, err error) {
	if err := hasData(folder); err != nil {
		return "", err
	}
	if err := checkFolder(ctx, folder); err != nil {
		return "", ofStore(folder, err)
	}
	store, err := disk.Open(filepath.Join(folder, dataFile))
	if err != nil {
		return "", ofStore(folder, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if path, err = receiptKeyPath(folder); err != nil {
		return "", err
	}
	return path, newReceiptKey(path)
}
