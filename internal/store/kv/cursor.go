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
	return items, WriteCursor(scope, Text(items[limit-1], "GSI1SK")), nil
}

// Place is an entry of a list: the key of its row, its sort key in the list, and its chat, if any.
type Place struct {
	Key

	ListSK string
	ChatID string
}

// mostScanned is the number of rows of a list after which a page ends, although it is not full.
const mostScanned = 500

// Pick reads a page of a list: of the rows after the cursor those that show returns something for, at most limit, and
// the cursor of the next page when there is one. The newest row comes first when the span says so. show is given the
// rows in parts, and returns as many values, nil for a row that the page leaves out.
func Pick[T any](ctx context.Context, t *Table, scope string, s Span, cursor string, limit int, show func([]Place) ([]*T, error)) ([]T, string, error) {
	at, err := ReadCursor(scope, cursor)
	page := []T{}
	s.Fields = []Path{"PK", "SK", "GSI1SK", "chat_id"}
	for scanned := 0; err == nil; {
		if s.Newest {
			s.Before = at
		} else if at != "" {
			s.From = at + "\x00" // the least key after it
		}
		part, next := []Place(nil), []*T(nil)
		if part, err = places(t.Read(ctx, s, limit+1)); err != nil {
			break
		}
		if next, err = show(part); err != nil {
			break
		}
		for i, p := range part {
			if next[i] != nil && len(page) == limit {
				return page, WriteCursor(scope, at), nil
			}
			if next[i] != nil {
				page = append(page, *next[i])
			}
			at = p.ListSK
		}
		if scanned += len(part); len(part) <= limit {
			return page, "", nil
		}
		if scanned >= mostScanned {
			return page, WriteCursor(scope, at), nil
		}
	}
	return nil, "", err
}

func places(items []Item, err error) ([]Place, error) {
	list := make([]Place, len(items))
	for i, it := range items {
		list[i] = Place{KeyOf(it), Text(it, "GSI1SK"), Text(it, "chat_id")}
	}
	return list, err
}
