package store

import (
	"context"
	"errors"

	"piloto/internal/store/kv"
)

// formatRow holds the format of a table. A deployment of one machine writes it when it makes the table. A table on AWS has
// none: there the rows of runs and of wallets have the format (kv.Format).
type formatRow struct {
	kv.Key
	Format int `dynamodbav:"format"`
}

const formatKey = "FORMAT" // of both: it is a partition of one row

// ErrNoFormat is a table without a format row.
var ErrNoFormat = errors.New("store: the table does not say of which format it is")

// ReadFormat returns the format of a table; ErrNoFormat.
func (s Stores) ReadFormat(ctx context.Context) (int, error) {
	var row formatRow
	err := s.Table.Get(ctx, kv.Key{PK: formatKey, SK: formatKey}, &row, ErrNoFormat)
	return row.Format, err
}

// WriteFormat notes in a table that says no format that it is of the one that this program writes.
func (s Stores) WriteFormat(ctx context.Context) error {
	return s.Table.Do(ctx, kv.Insert(formatRow{Key: kv.Key{PK: formatKey, SK: formatKey}, Format: kv.Format}))
}
