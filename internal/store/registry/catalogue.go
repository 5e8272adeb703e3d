package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
	"piloto/internal/tools/tool"
)

// An allowlist is kept twice over: as an index, to show, search and match, in as
// few items as it fits in; and operation by operation, so that checking one call
// reads one item. Both stand under a revision; the server names the one in force.
type pieceRow struct {
	kv.Key
	Data []byte `dynamodbav:"data"` // gzipped JSON
}

var (
	operations = kv.Document[tool.Operation]{Name: "operation"}
	allowlists = kv.Document[[]tool.Entry]{Name: "allowlist"}
)

func revisionKey(account ids.Account, server, revision string) string {
	return kv.Account(account) + "#S#" + server + "#" + revision
}

const pieceSize = 350 << 10

func operationKey(e tool.Entry) string {
	sum := sha256.Sum256([]byte(e.String()))
	return "OP#" + hex.EncodeToString(sum[:16])
}

func (s *Store) writeCatalogue(ctx context.Context, account ids.Account, serverID string, c tool.Catalogue) error {
	if c.Revision == "" {
		return nil
	}
	pk := revisionKey(account, serverID, c.Revision)
	var rows []kv.Item
	add := func(sk string, data []byte) error {
		row, err := kv.Encode(pieceRow{Key: kv.Key{PK: pk, SK: sk}, Data: data})
		rows = append(rows, row)
		return err
	}
	for _, op := range c.Operations {
		data, err := operations.Pack(op)
		if err != nil {
			return err
		}
		if len(data) > pieceSize {
			return fmt.Errorf("store: %s needs %d bytes", op, len(data))
		}
		if err := add(operationKey(op.Entry), data); err != nil {
			return err
		}
	}
	index, err := allowlists.Pack(c.Entries())
	if err != nil {
		return err
	}
	for n := 0; len(index) > 0; n++ {
		cut := min(pieceSize, len(index))
		if err := add("IDX#"+kv.Pad(int64(n), 4), index[:cut]); err != nil {
			return err
		}
		index = index[cut:]
	}
	return s.table.PutAll(ctx, rows)
}

func (s *Store) dropCatalogue(ctx context.Context, account ids.Account, serverID, revision string) error {
	if revision == "" {
		return nil
	}
	pk := revisionKey(account, serverID, revision)
	items, err := s.table.Read(ctx, kv.Rows(pk, "IDX#", "OP#"), 0)
	if err != nil {
		return err
	}
	return s.table.DeleteAll(ctx, items)
}

// Entries returns the entries of the allowlist in force, which callers only read.
func (s *Store) Entries(ctx context.Context, account ids.Account, server tool.Server) ([]tool.Entry, error) {
	list, err := s.Allowlist(ctx, account, server)
	return list.Entries(), err
}

// Allowlist returns the allowlist in force; nil when there is none.
func (s *Store) Allowlist(ctx context.Context, account ids.Account, server tool.Server) (*tool.Allowlist, error) {
	if server.Catalogue == "" {
		return nil, nil
	}
	pk := revisionKey(account, server.ID, server.Catalogue)
	if kept, ok := s.memo.get(pk); ok {
		return kept.(*tool.Allowlist), nil
	}
	items, err := s.table.Read(ctx, kv.Rows(pk, "IDX#"), 0)
	if err != nil {
		return nil, err
	}
	var index []byte
	for _, it := range items {
		var row pieceRow
		if err := kv.Decode(it, &row); err != nil {
			return nil, err
		}
		index = append(index, row.Data...)
	}
	if len(index) == 0 {
		return nil, nil
	}
	raw, err := kv.Unzip(index)
	if err != nil {
		return nil, fmt.Errorf("store: allowlist of %s: %w", server.ID, err)
	}
	entries, err := allowlists.Decode(raw)
	if err != nil {
		return nil, err
	}
	list := tool.NewAllowlist(entries)
	s.memo.put(pk, list, 2*len(raw)) // with its index
	return list, nil
}

// Operation returns one operation of the allowlist in force, which callers only
// read; tool.ErrNotAllowed when it has no such entry.
func (s *Store) Operation(ctx context.Context, account ids.Account, server tool.Server, e tool.Entry) (tool.Operation, error) {
	var row pieceRow
	var op tool.Operation
	if server.Catalogue == "" {
		return op, tool.ErrNotAllowed
	}
	pk, sk := revisionKey(account, server.ID, server.Catalogue), operationKey(e)
	if kept, ok := s.memo.get(pk + " " + sk); ok {
		return kept.(tool.Operation), nil
	}
	if err := s.table.Get(ctx, kv.Key{PK: pk, SK: sk}, &row, tool.ErrNotAllowed); err != nil {
		return op, err
	}
	raw, err := kv.Unzip(row.Data)
	if err != nil {
		return op, fmt.Errorf("store: operation of %s: %w", server.ID, err)
	}
	if op, err = operations.Decode(raw); err != nil {
		return op, err
	}
	s.memo.put(pk+" "+sk, op, len(raw))
	return op, nil
}
