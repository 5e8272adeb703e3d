package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// ReadAll returns the whole content of a file, and the version it is of. A version that is not "" asks for an earlier
// version. The error is ErrTooLarge for a file over MaxFileBytes, and ErrMoved for one that became shorter while it
// was read.
func ReadAll(ctx context.Context, s Store, name, version string) ([]byte, File, error) {
	content, f, err := s.Read(ctx, name, version, 0, MaxFileBytes)
	if err != nil {
		return nil, File{}, err
	}
	if err := CheckSize(name, f.Size); err != nil {
		return nil, File{}, err
	}
	if int64(len(content)) < f.Size {
		return nil, File{}, ErrMoved.With("name", name)
	}
	return content, f, nil
}

// Sum returns the hex SHA-256 of a content.
func Sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

// Part returns at most n bytes of a content from an offset.
func Part(content []byte, from, n int64) []byte {
	from = min(max(from, 0), int64(len(content)))
	return content[from : from+min(max(n, 0), int64(len(content))-from)]
}

// Binary reports whether a content is no text: one of its first 8,000 bytes is zero, as git judges it.
func Binary(content []byte) bool { return bytes.IndexByte(content[:min(len(content), 8_000)], 0) >= 0 }
