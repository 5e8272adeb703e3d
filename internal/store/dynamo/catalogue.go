package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/tools/tool"
)

// An allowlist is kept twice over: as an index, to show, search and match, in as
// few items as it fits in; and operation by operation, so that checking one call
// reads one item. Both stand under a revision; the server names the one in force.
type pieceRow struct {
	PK   string `dynamodbav:"PK"`
	SK   string `dynamodbav:"SK"`
	Data []byte `dynamodbav:"data"` // gzipped JSON
}

const pieceSize = 350 << 10

func operationKey(e tool.Entry) string {
	sum := sha256.Sum256([]byte(e.String()))
	return "OP#" + hex.EncodeToString(sum[:16])
}

func (t *Table) writeCatalogue(ctx context.Context, account, serverID string, c tool.Catalogue) error {
	if c.Revision == "" {
		return nil
	}
	pk := revKey(account, serverID, c.Revision)
	var requests []types.WriteRequest
	add := func(sk string, data []byte) error {
		it, err := encode(pieceRow{PK: pk, SK: sk, Data: data})
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		return err
	}
	for _, op := range c.Operations {
		data, err := packed(op)
		if err != nil {
			return err
		}
		if len(data) > pieceSize {
			return fmt.Errorf("dynamo: %s needs %d bytes", op, len(data))
		}
		if err := add(operationKey(op.Entry), data); err != nil {
			return err
		}
	}
	index, err := packed(c.Entries())
	if err != nil {
		return err
	}
	for n := 0; len(index) > 0; n++ {
		cut := min(pieceSize, len(index))
		if err := add("IDX#"+pad(int64(n), 4), index[:cut]); err != nil {
			return err
		}
		index = index[cut:]
	}
	return t.batch(ctx, requests)
}

func packed(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return zip(raw)
}

func (t *Table) dropCatalogue(ctx context.Context, account, serverID, revision string) error {
	if revision == "" {
		return nil
	}
	pk := revKey(account, serverID, revision)
	items, err := t.read(ctx, kindsIn(pk, "IDX#", "OP#"), 0)
	if err != nil {
		return err
	}
	return t.removeAll(ctx, items)
}

// Entries returns the allowlist in force. The slice is the caller's own.
func (t *Table) Entries(ctx context.Context, account string, s tool.Server) ([]tool.Entry, error) {
	if s.Catalogue == "" {
		return nil, nil
	}
	pk := revKey(account, s.ID, s.Catalogue)
	if kept, ok := t.memo.get(pk); ok {
		return slices.Clone(kept.([]tool.Entry)), nil
	}
	items, err := t.read(ctx, kindsIn(pk, "IDX#"), 0)
	if err != nil {
		return nil, err
	}
	var index []byte
	for _, it := range items {
		var row pieceRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return nil, err
		}
		index = append(index, row.Data...)
	}
	raw, err := unzip(index)
	if err != nil {
		return nil, fmt.Errorf("dynamo: allowlist of %s: %w", s.ID, err)
	}
	var entries []tool.Entry
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, err
	}
	t.memo.put(pk, entries, len(raw))
	return slices.Clone(entries), nil
}

// Operation returns one operation of the allowlist in force, which callers only
// read; tool.ErrNotAllowed when it has no such entry.
func (t *Table) Operation(ctx context.Context, account string, s tool.Server, e tool.Entry) (tool.Operation, error) {
	var row pieceRow
	var op tool.Operation
	if s.Catalogue == "" {
		return op, tool.ErrNotAllowed
	}
	pk, sk := revKey(account, s.ID, s.Catalogue), operationKey(e)
	if kept, ok := t.memo.get(pk + " " + sk); ok {
		return kept.(tool.Operation), nil
	}
	if err := t.get(ctx, pk, sk, &row, tool.ErrNotAllowed); err != nil {
		return op, err
	}
	raw, err := unzip(row.Data)
	if err != nil {
		return op, fmt.Errorf("dynamo: operation of %s: %w", s.ID, err)
	}
	if err := json.Unmarshal(raw, &op); err != nil {
		return op, err
	}
	t.memo.put(pk+" "+sk, op, len(raw))
	return op, nil
}
