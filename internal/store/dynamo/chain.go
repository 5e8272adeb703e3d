package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/ground/failpoint"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
)

// The lists of what the sweep must do: ended runs without a place in the chain, and links
// without a signature.
const (
	dueUnplaced = "UNPLACED"
	dueUnsigned = "UNSIGNED"
)

const (
	linkPrefix = "LINK#"
	signingKey = "SIGNING" // the partition of the public halves of keys: they are the deployment's
)

func chainKey(account string) string { return "A#" + account + "#CHAIN" }
func linkKey(seq int) string         { return linkPrefix + pad(int64(seq), 12) }
func keyKey(id string) string        { return "KEY#" + id }

// linkRow is a link as it is stored, under its place, or as TIP, which is a copy of the
// last one.
type linkRow struct {
	PK      string `dynamodbav:"PK"`
	SK      string `dynamodbav:"SK"`
	Account string `dynamodbav:"account"`
	Version string `dynamodbav:"version"`
	Seq     int    `dynamodbav:"seq"`
	Prev    string `dynamodbav:"prev"`
	At      int64  `dynamodbav:"at"`
	RunID   string `dynamodbav:"run_id"`
	Status  string `dynamodbav:"status"`
	Digest  string `dynamodbav:"digest"`
	Events  int    `dynamodbav:"events"`
	RunHead string `dynamodbav:"run_head"`
	Head    string `dynamodbav:"head"`

	KeyID string `dynamodbav:"key_id,omitempty"`
	Alg   string `dynamodbav:"alg,omitempty"`
	Value string `dynamodbav:"signature,omitempty"`

	DuePK string `dynamodbav:"DuePK,omitempty"`
	DueSK string `dynamodbav:"DueSK,omitempty"`
}

func rowOfLink(l receipt.Link, sk string) linkRow {
	return linkRow{
		PK: chainKey(l.Account), SK: sk, Account: l.Account, Version: l.Version, Seq: l.Seq, Prev: l.Prev, At: millis(l.At),
		RunID: l.RunID, Status: string(l.Status), Digest: string(l.Digest), Events: l.Events, RunHead: l.RunHead, Head: l.Head,
	}
}

func (row linkRow) link() receipt.Link {
	l := receipt.Link{
		Version: row.Version, Account: row.Account, Seq: row.Seq, Prev: row.Prev, At: fromMillis(row.At),
		RunID: row.RunID, Status: plan.Status(row.Status), Digest: plan.Digest(row.Digest), Events: row.Events, RunHead: row.RunHead, Head: row.Head,
	}
	if row.Value != "" {
		l.Signature = &receipt.Signature{KeyID: row.KeyID, Alg: row.Alg, Value: row.Value}
	}
	return l
}

// unplaced is the part of a transition that puts a run on the list of those that need a place
// in the chain.
func unplaced(at time.Time, runID string) (set string, values item) {
	return "DuePK = :unplaced, DueSK = :since", item{":unplaced": str(dueUnplaced), ":since": str(dueAt(at.Add(receipt.SealGrace), runID))}
}

// end is move to the end of a run.
func (t *Table) end(r plan.Run, to plan.Status, rec run.Record, set string, values item) (write, error) {
	due, all := unplaced(rec.At, r.ID)
	if set != "" {
		due += ", " + set
	}
	for k, v := range values {
		all[k] = v
	}
	return t.move(r, to, rec, due, "", all)
}

// Ended implements receipt.Store.
func (t *Table) Ended(ctx context.Context, account, runID string) (receipt.Link, error) {
	var row struct {
		Status string `dynamodbav:"status"`
		Digest string `dynamodbav:"digest"`
		Events int    `dynamodbav:"event_seq"`
		Chain  string `dynamodbav:"chain"`
		Link   int    `dynamodbav:"link"`
	}
	if err := t.get(ctx, runKey(account, runID), "RUN", &row, plan.ErrRunNotFound); err != nil {
		return receipt.Link{}, err
	}
	switch {
	case row.Link > 0:
		return t.Link(ctx, account, row.Link)
	case !plan.Status(row.Status).Terminal():
		return receipt.Link{}, plan.ErrAlreadyRunning
	}
	return receipt.Link{
		Account: account, RunID: runID, Status: plan.Status(row.Status), Digest: plan.Digest(row.Digest), Events: row.Events, RunHead: row.Chain,
	}, nil
}

// Tip returns the last link of an account's chain; the zero Link when it has none.
func (t *Table) Tip(ctx context.Context, account string) (receipt.Link, error) {
	l, err := t.linkAt(ctx, account, "TIP")
	if errors.Is(err, receipt.ErrNoLink) {
		return receipt.Link{}, nil
	}
	return l, err
}

// Link returns a link; receipt.ErrNoLink.
func (t *Table) Link(ctx context.Context, account string, seq int) (receipt.Link, error) {
	return t.linkAt(ctx, account, linkKey(seq))
}

func (t *Table) linkAt(ctx context.Context, account, sk string) (receipt.Link, error) {
	var row linkRow
	err := t.get(ctx, chainKey(account), sk, &row, receipt.ErrNoLink)
	return row.link(), err
}

// Links returns links of an account's chain after a place, in their order, at most
// limit.
func (t *Table) Links(ctx context.Context, account string, after, limit int) ([]receipt.Link, error) {
	s := kindsIn(chainKey(account), linkPrefix)
	s.from = linkKey(after + 1)
	items, err := t.read(ctx, s, limit)
	if err != nil {
		return nil, err
	}
	links := make([]receipt.Link, len(items))
	for i, it := range items {
		var row linkRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return nil, err
		}
		links[i] = row.link()
	}
	return links, nil
}

// Place puts a link at the end of its account's chain. It fails when the last link, or the
// run, changed since they were read.
func (t *Table) Place(ctx context.Context, l receipt.Link, due time.Time) error {
	row := rowOfLink(l, linkKey(l.Seq))
	row.DuePK, row.DueSK = dueUnsigned, dueAt(due, l.RunID)
	placed, err := t.put(row, "attribute_not_exists(PK)", plan.ErrMoved)
	if err != nil {
		return err
	}
	condition := "attribute_not_exists(PK)"
	if l.Seq > 1 {
		condition = "head = :prev"
	}
	tip, err := t.put(rowOfLink(l, "TIP"), condition, plan.ErrMoved)
	if err != nil {
		return err
	}
	if l.Seq > 1 {
		tip.Put.ExpressionAttributeValues = item{":prev": str(l.Prev)}
	}
	noted := t.update(runKey(l.Account, l.RunID), "RUN", "SET link = :seq REMOVE DuePK, DueSK", "event_seq = :events AND attribute_not_exists(link)",
		item{":seq": num(int64(l.Seq)), ":events": num(int64(l.Events))}, plan.ErrMoved)
	return t.commit(ctx, tip, placed, noted)
}

// Sign stores the signature of a link. A link that has one keeps it.
func (t *Table) Sign(ctx context.Context, l receipt.Link) error {
	failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
	_, err := t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key(chainKey(l.Account), linkKey(l.Seq)),
		UpdateExpression:    aws.String("SET key_id = :key, alg = :alg, signature = :value REMOVE DuePK, DueSK"),
		ConditionExpression: aws.String("head = :head AND attribute_not_exists(signature)"),
		ExpressionAttributeValues: item{
			":key": str(l.Signature.KeyID), ":alg": str(l.Signature.Alg), ":value": str(l.Signature.Value), ":head": str(l.Head),
		},
	})
	failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
	if conditionFailed(err) { // somebody signed it
		return nil
	}
	return err
}

type signingRow struct {
	PK     string `dynamodbav:"PK"`
	SK     string `dynamodbav:"SK"`
	ID     string `dynamodbav:"id"`
	Alg    string `dynamodbav:"alg"`
	Public string `dynamodbav:"public_key"`
	From   int64  `dynamodbav:"from"`
	Until  int64  `dynamodbav:"until,omitempty"`
}

// KeepKey stores the public half of a key, once, and marks the older keys as replaced.
func (t *Table) KeepKey(ctx context.Context, k receipt.Key) error {
	before, err := t.SigningKeys(ctx)
	if err != nil {
		return err
	}
	w, err := t.put(signingRow{PK: signingKey, SK: keyKey(k.ID), ID: k.ID, Alg: k.Alg, Public: k.PublicKey, From: millis(k.From)}, "attribute_not_exists(PK)", plan.ErrMoved)
	if err != nil {
		return err
	}
	writes := []write{w}
	for _, old := range before {
		switch {
		case old.ID == k.ID:
			return nil
		case old.Until == nil:
			u := t.update(signingKey, keyKey(old.ID), "SET #until = :at", "attribute_not_exists(#until)", item{":at": num(millis(k.From))}, plan.ErrMoved)
			u.Update.ExpressionAttributeNames = map[string]string{"#until": "until"}
			writes = append(writes, u)
		}
	}
	err = t.commit(ctx, writes...)
	if errors.Is(err, plan.ErrMoved) { // another process kept it, or a third key
		return t.keptKey(ctx, k.ID)
	}
	return err
}

// keptKey returns nil when the key is stored.
func (t *Table) keptKey(ctx context.Context, id string) error {
	var row signingRow
	return t.get(ctx, signingKey, keyKey(id), &row, plan.ErrMoved)
}

// SigningKeys lists the public halves of the keys that ever signed a receipt here, the
// oldest first.
func (t *Table) SigningKeys(ctx context.Context) ([]receipt.Key, error) {
	items, err := t.read(ctx, kindsIn(signingKey, keyKey("")), 0)
	if err != nil {
		return nil, err
	}
	var rows []signingRow
	if err := attributevalue.UnmarshalListOfMaps(items, &rows); err != nil {
		return nil, err
	}
	keys := make([]receipt.Key, len(rows))
	for i, row := range rows {
		keys[i] = receipt.Key{ID: row.ID, Alg: row.Alg, PublicKey: row.Public, From: fromMillis(row.From)}
		if row.Until != 0 {
			until := fromMillis(row.Until)
			keys[i].Until = &until
		}
	}
	slices.SortStableFunc(keys, func(a, b receipt.Key) int { return a.From.Compare(b.From) })
	return keys, nil
}

// Unplaced lists the ended runs without a place in the chain that are due by a time.
func (t *Table) Unplaced(ctx context.Context, at time.Time, limit int) ([]run.Key, error) {
	rows, err := t.dueKeys(ctx, dueUnplaced, at, limit)
	if err != nil {
		return nil, err
	}
	keys := make([]run.Key, len(rows))
	for i, row := range rows {
		account, id, ok := strings.Cut(strings.TrimPrefix(row.PK, "A#"), "#R#")
		if !ok {
			return nil, fmt.Errorf("dynamo: %q ended and is no run", row.PK)
		}
		keys[i] = run.Key{Account: account, RunID: id}
	}
	return keys, nil
}

// Unsigned lists the links without a signature that are due by a time.
func (t *Table) Unsigned(ctx context.Context, at time.Time, limit int) ([]receipt.LinkKey, error) {
	rows, err := t.dueKeys(ctx, dueUnsigned, at, limit)
	if err != nil {
		return nil, err
	}
	keys := make([]receipt.LinkKey, len(rows))
	for i, row := range rows {
		account := strings.TrimSuffix(strings.TrimPrefix(row.PK, "A#"), "#CHAIN")
		if _, err := fmt.Sscanf(row.SK, linkPrefix+"%d", &keys[i].Seq); err != nil || chainKey(account) != row.PK {
			return nil, fmt.Errorf("dynamo: %q %q is to be signed and is no link", row.PK, row.SK)
		}
		keys[i].Account = account
	}
	return keys, nil
}
