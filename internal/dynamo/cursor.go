package dynamo

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// A cursor is a position and a checksum of it with the query it belongs to. The
// position alone decides nothing but where to go on inside the partition that
// the request names, so it needs no secret; the checksum tells a mistaken or
// foreign cursor from a position.
func writeCursor(scope, position string) string {
	sum := sha256.Sum256([]byte(scope + "\x00" + position))
	return base64.RawURLEncoding.EncodeToString(append(sum[:8], position...))
}

func readCursor(scope, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= 8 || len(raw) > 256 {
		return "", ErrCursor
	}
	position := string(raw[8:])
	if strings.ContainsRune(position, 0) || writeCursor(scope, position) != cursor {
		return "", ErrCursor
	}
	return position, nil
}
