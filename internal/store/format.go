package store

import (
	"context"
	"errors"

	"piloto/internal/store/kv"
)

// formatRow says of which format a table is. A deployment of one machine writes it when it makes
// the table. A table on AWS has none: there each row says it (kv.Format).
type formatRow struct {
	PK     string `dynamodbav:"PK"`
	SK     string `dynamodbav:"SK"`
	Format int    `dynamodbav:"format"`
}

const formatKey = "FORMAT" // of both: it is a partition of one row

// ErrNoFormat is a table that does not say of which format it is.
var ErrNoFormat = errors.New("store: the table does not say of which format it is")

// CheckFormat returns nil when this program reads the format of a table; ErrNoFormat; or
// kv.ErrFormat, when a later version wrote it. A table of an earlier format is of this program's from
// now on, because its rows will be of both.
func (s Stores) CheckFormat(ctx context.Context) error {
	var row formatRow
	if err := s.Table.Get(ctx, formatKey, formatKey, &row, ErrNoFormat); err != nil {
		return err
	}
	if row.Format > kv.Format {
		return kv.ErrFormat
	}
	if row.Format < kv.Format {
		return s.WriteFormat(ctx)
	}
	return nil
}

// WriteFormat notes that the table is of the format that this program writes.
func (s Stores) WriteFormat(ctx context.Context) error {
	return s.Table.Commit(ctx, kv.Put(formatRow{PK: formatKey, SK: formatKey, Format: kv.Format}, "", nil))
}
