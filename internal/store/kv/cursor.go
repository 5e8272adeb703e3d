package kv

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
)

// ErrCursor is a cursor that no list here gave, or that another list gave.
var ErrCursor = fault.New(fault.Malformed, "cursor.invalid")

// cursorFormat is the first byte of a cursor. A client holds a cursor for as long as it reads a
// list, so one of another format is refused, and the client begins the list again.
const cursorFormat = 1

// WriteCursor returns the cursor of a position in a list: base64url, without padding, of the byte
// cursorFormat, the first 8 bytes of the SHA-256 of the scope, a zero byte and the position, and
// the position. The scope names the list and the account.
//
// A cursor is no secret and is not signed. The position only says where to go on inside of the
// partition that the request names; the checksum finds mistakes.
func WriteCursor(scope, position string) string {
	sum := sha256.Sum256([]byte(scope + "\x00" + position))
	return base64.RawURLEncoding.EncodeToString(slices.Concat([]byte{cursorFormat}, sum[:8], []byte(position)))
}

// ReadCursor returns the position of a cursor of a list; ErrCursor. The empty cursor is the
// beginning, which is the empty position.
func ReadCursor(scope, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= 9 || len(raw) > 256 {
		return "", ErrCursor
	}
	position := string(raw[9:])
	if strings.ContainsRune(position, 0) || WriteCursor(scope, position) != cursor {
		return "", ErrCursor
	}
	return position, nil
}

// Page reads a page of a list, the newest row first: at most limit rows after the cursor, and
// the cursor of the next page when there is one.
func (t *Table) Page(ctx context.Context, scope string, s Span, cursor string, limit int) ([]Item, string, error) {
	from, err := ReadCursor(scope, cursor)
	if err != nil {
		return nil, "", err
	}
	s.Newest, s.Before = true, from
	items, err := t.Read(ctx, s, limit+1)
	if err != nil || len(items) <= limit {
		return items, "", err
	}
	items = items[:limit]
	var last struct {
		ListSK string `dynamodbav:"GSI1SK"`
	}
	err = Decode(items[limit-1], &last)
	return items, WriteCursor(scope, last.ListSK), err
}
