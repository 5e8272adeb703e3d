package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
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

// page is a page of a list that stands in the index of lists, the newest first:
// at most limit items after the cursor, and the cursor of the next page when there
// is one.
func (t *Table) page(ctx context.Context, scope string, s span, cursor string, limit int) ([]item, string, error) {
	from, err := readCursor(scope, cursor)
	if err != nil {
		return nil, "", err
	}
	s.newest, s.before = true, from
	items, err := t.read(ctx, s, limit+1)
	if err != nil || len(items) <= limit {
		return items, "", err
	}
	items = items[:limit]
	var last struct {
		ListSK string `dynamodbav:"GSI1SK"`
	}
	err = attributevalue.UnmarshalMap(items[limit-1], &last)
	return items, writeCursor(scope, last.ListSK), err
}
