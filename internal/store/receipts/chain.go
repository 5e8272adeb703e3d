// Package receipts owns the rows of an account's chain of receipts, and of the public keys that
// signed them.
package receipts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/store/kv"
	"piloto/internal/store/runs"
)

// dueUnsigned is the list of the links without a signature.
const dueUnsigned = "UNSIGNED"

const (
	linkPrefix = "LINK#"
	signingKey = "SIGNING" // the partition of the public halves of keys: they are the deployment's
)

// Store is the chains of a table.
type Store struct{ table *kv.Table }

// New returns the chains of a table.
func New(table *kv.Table) *Store { return &Store{table} }

func chainKey(account ids.Account) string { return kv.Account(account) + "#CHAIN" }
func linkKey(seq int) string              { return linkPrefix + kv.Pad(int64(seq), 12) }
func keyKey(id string) string             { return "KEY#" + id }

func linkAt(account ids.Account, seq int) kv.Key {
	return kv.Key{PK: chainKey(account), SK: linkKey(seq)}
}

// linkRow is a stored link; its key is its position in the chain.
type linkRow struct {
	kv.Key
	Account ids.Account `dynamodbav:"account"`
	Version string      `dynamodbav:"version"`
	Seq     int         `dynamodbav:"seq"`
	Prev    string      `dynamodbav:"prev"`
	At      int64       `dynamodbav:"at"`
	RunID   string      `dynamodbav:"run_id"`
	Status  string      `dynamodbav:"status"`
	Digest  string      `dynamodbav:"digest"`
	Events  int         `dynamodbav:"events"`
	RunHead string      `dynamodbav:"run_head"`
	Head    string      `dynamodbav:"head"`

	KeyID string `dynamodbav:"key_id,omitempty"`
	Alg   string `dynamodbav:"alg,omitempty"`
	Value string `dynamodbav:"signature,omitempty"`

	DuePK string `dynamodbav:"DuePK,omitempty"`
	DueSK string `dynamodbav:"DueSK,omitempty"`
}

func rowOfLink(l receipt.Link) linkRow {
	return linkRow{
		Key: linkAt(l.Account, l.Seq), Account: l.Account, Version: l.Version, Seq: l.Seq, Prev: l.Prev, At: kv.Millis(l.At),
		RunID: l.RunID, Status: string(l.Status), Digest: string(l.Digest), Events: l.Events, RunHead: l.RunHead, Head: l.Head,
	}
}

func (row linkRow) link() receipt.Link {
	l := receipt.Link{
		Version: row.Version, Account: row.Account, Seq: row.Seq, Prev: row.Prev, At: kv.Time(row.At),
		RunID: row.RunID, Status: plan.Status(row.Status), Digest: plan.Digest(row.Digest), Events: row.Events, RunHead: row.RunHead, Head: row.Head,
	}
	if row.Value != "" {
		l.Signature = &receipt.Signature{KeyID: row.KeyID, Alg: row.Alg, Value: row.Value}
	}
	return l
}

// Ended implements receipt.Store.
func (s *Store) Ended(ctx context.Context, account ids.Account, runID string) (receipt.Link, error) {
	l, err := runs.Ended(ctx, s.table, account, runID)
	if err == nil && l.Seq > 0 {
		return s.Link(ctx, account, l.Seq)
	}
	return l, err
}

// Tip returns the last link of an account's chain; the zero Link when it has none.
func (s *Store) Tip(ctx context.Context, account ids.Account) (receipt.Link, error) {
	span := kv.Rows(chainKey(account), linkPrefix)
	span.Newest = true
	links, err := s.links(ctx, span, 1)
	if err != nil || len(links) == 0 {
		return receipt.Link{}, err
	}
	return links[0], nil
}

// Link returns a link; receipt.ErrNoLink.
func (s *Store) Link(ctx context.Context, account ids.Account, seq int) (receipt.Link, error) {
	var row linkRow
	err := s.table.Get(ctx, linkAt(account, seq), &row, receipt.ErrNoLink)
	return row.link(), err
}

// Links returns links of an account's chain after a position, in their order, at most limit.
func (s *Store) Links(ctx context.Context, account ids.Account, after, limit int) ([]receipt.Link, error) {
	span := kv.Rows(chainKey(account), linkPrefix)
	span.From = linkKey(after + 1)
	return s.links(ctx, span, limit)
}

func (s *Store) links(ctx context.Context, span kv.Span, limit int) ([]receipt.Link, error) {
	items, err := s.table.Read(ctx, span, limit)
	if err != nil {
		return nil, err
	}
	links := make([]receipt.Link, len(items))
	for i, it := range items {
		var row linkRow
		if err := kv.Decode(it, &row); err != nil {
			return nil, err
		}
		links[i] = row.link()
	}
	return links, nil
}

// Place appends a link to its account's chain. It fails when another link took the position, the run changed since it was
// read, or another link is being appended: that will be the last one. A link is written once and is never removed, so the
// link before it is still the one that was read.
func (s *Store) Place(ctx context.Context, l receipt.Link, due time.Time) error {
	row := rowOfLink(l)
	if l.Signature != nil {
		row.KeyID, row.Alg, row.Value = l.Signature.KeyID, l.Signature.Alg, l.Signature.Value
	} else {
		row.DuePK, row.DueSK = kv.DueList(dueUnsigned, l.Account), kv.At(due, l.RunID)
	}
	placed := kv.Insert(row).Else(fault.ErrMoved)
	return s.table.CommitOnce(ctx, placed, runs.Placed(l))
}

// Sign stores the signature of a link. A link that has one keeps it.
func (s *Store) Sign(ctx context.Context, l receipt.Link) error {
	w := kv.Update(linkAt(l.Account, l.Seq)).Set("key_id", l.Signature.KeyID).Set("alg", l.Signature.Alg).Set("signature", l.Signature.Value)
	return s.table.Do(ctx, w.Remove("DuePK", "DueSK").If(kv.Is("head", l.Head), kv.Missing("signature")))
}

type signingRow struct {
	kv.Key
	ID     string `dynamodbav:"id"`
	Alg    string `dynamodbav:"alg"`
	Public string `dynamodbav:"public_key"`
	From   int64  `dynamodbav:"from"`
	Until  int64  `dynamodbav:"until,omitempty"`
}

// KeepKey stores the public half of a key, once, and marks the older keys as replaced.
func (s *Store) KeepKey(ctx context.Context, k receipt.Key) error {
	before, err := s.SigningKeys(ctx)
	if err != nil {
		return err
	}
	w := kv.Insert(signingRow{Key: kv.Key{PK: signingKey, SK: keyKey(k.ID)}, ID: k.ID, Alg: k.Alg, Public: k.PublicKey, From: kv.Millis(k.From)})
	writes := []kv.Write{w.Else(fault.ErrMoved)}
	for _, old := range before {
		switch {
		case old.ID == k.ID:
			return nil
		case old.Until == nil:
			replaced := kv.Update(kv.Key{PK: signingKey, SK: keyKey(old.ID)}).Set("until", k.From)
			writes = append(writes, replaced.If(kv.Missing("until")).Else(fault.ErrMoved))
		}
	}
	err = s.table.Commit(ctx, writes...)
	if errors.Is(err, fault.ErrMoved) { // another process kept it, or a third key
		return s.findKey(ctx, k.ID)
	}
	return err
}

// findKey returns nil when the key is stored.
func (s *Store) findKey(ctx context.Context, id string) error {
	var row signingRow
	return s.table.Get(ctx, kv.Key{PK: signingKey, SK: keyKey(id)}, &row, fault.ErrMoved)
}

// SigningKeys lists the public halves of the keys that ever signed a receipt here, the
// oldest first.
func (s *Store) SigningKeys(ctx context.Context) ([]receipt.Key, error) {
	items, err := s.table.Read(ctx, kv.Rows(signingKey, keyKey("")), 0)
	if err != nil {
		return nil, err
	}
	rows, err := kv.DecodeAll[signingRow](items)
	if err != nil {
		return nil, err
	}
	keys := make([]receipt.Key, len(rows))
	for i, row := range rows {
		keys[i] = receipt.Key{ID: row.ID, Alg: row.Alg, PublicKey: row.Public, From: kv.Time(row.From)}
		if row.Until != 0 {
			until := kv.Time(row.Until)
			keys[i].Until = &until
		}
	}
	slices.SortStableFunc(keys, func(a, b receipt.Key) int { return a.From.Compare(b.From) })
	return keys, nil
}

// Unplaced lists the ended runs without a link in the chain that are due by a time.
func (s *Store) Unplaced(ctx context.Context, at time.Time, limit int) ([]sweep.Row[run.Key], error) {
	return kv.DueRows(ctx, s.table, runs.DueUnplaced, at, limit, func(k kv.DueKey) (run.Key, error) {
		account, id, ok := kv.RunOf(k.PK)
		if !ok {
			return run.Key{}, k.Unknown()
		}
		return run.Key{Account: account, RunID: id}, nil
	})
}

// Unsigned lists the links without a signature that are due by a time.
func (s *Store) Unsigned(ctx context.Context, at time.Time, limit int) ([]sweep.Row[receipt.LinkKey], error) {
	return kv.DueRows(ctx, s.table, dueUnsigned, at, limit, func(k kv.DueKey) (link receipt.LinkKey, err error) {
		link.Account = kv.AccountOf(k.PK, "#CHAIN")
		if _, err := fmt.Sscanf(k.SK, linkPrefix+"%d", &link.Seq); err != nil || chainKey(link.Account) != k.PK {
			return link, k.Unknown()
		}
		return link, nil
	})
}
