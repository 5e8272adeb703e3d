// Package kv owns the one DynamoDB table: its keys, conditional writes, transactions,
// queries, cursors and encodings. It knows nothing about the rows: a store owns each of
// them (the packages beside this one).
package kv

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/retry"
)

// Table is a DynamoDB table with the two indexes of template.yaml.
type Table struct {
	client Client
	name   string

	// Log hears of rows that lists leave out.
	Log *slog.Logger

	dueReads chan struct{} // one element for each read of a list of due rows that is under way
}

// New returns the table with a name.
func New(client Client, name string) *Table {
	return &Table{client, name, slog.Default(), make(chan struct{}, dueReads)}
}

// Row reads one row, as the last write left it; nil when there is none.
func (t *Table) Row(ctx context.Context, key Key) (Item, error) {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key.Item(), ConsistentRead: aws.Bool(true)})
	if err != nil || len(out.Item) == 0 {
		return nil, err
	}
	return out.Item, nil
}

// Get reads one row, as the last write left it, into row, which is a pointer. It returns
// missing when there is no such row.
func (t *Table) Get(ctx context.Context, key Key, row any, missing error) error {
	it, err := t.Row(ctx, key)
	if err != nil {
		return err
	}
	if it == nil {
		return missing
	}
	return Decode(it, row)
}

// Commit makes all writes, or none, in one transaction of at most 100. When a condition does
// not hold it returns the error of the first such write. A conflict with another transaction
// is tried again, because nothing was written; it ends as fault.ErrMoved.
func (t *Table) Commit(ctx context.Context, writes ...Write) error {
	return t.commit(ctx, attempts, writes)
}

// CommitOnce is Commit with one attempt: a conflict is fault.ErrMoved at once. It is for a caller who reads again, because
// the other transaction changes its write.
func (t *Table) CommitOnce(ctx context.Context, writes ...Write) error {
	return t.commit(ctx, 1, writes)
}

func (t *Table) commit(ctx context.Context, most int, writes []Write) error {
	items := make([]types.TransactWriteItem, len(writes))
	for i, w := range writes {
		var err error
		if items[i], err = w.item(&t.name); err != nil {
			return err
		}
	}
	return outlast(ctx, most, func() error { return t.transact(ctx, items, writes) })
}

// attempts bounds the attempts of one write that meets transactions.
const attempts = 64

var errConflict = errors.New("kv: another transaction holds a row")

// outlast calls write until it meets no transaction, at most a number of times. One attempt ends as fault.ErrMoved, for a
// caller who reads again; several as retry.GaveUp, because such a caller would begin as many once more.
func outlast(ctx context.Context, most int, write func() error) error {
	for attempt := 0; ; attempt++ {
		err := write()
		if !errors.Is(err, errConflict) {
			return err
		}
		switch moved := fault.ErrMoved.Because(err); {
		case attempt+1 < most:
		case most == 1:
			return moved
		default:
			return retry.GaveUp{Cause: moved}
		}
		if err := retry.Wait(ctx, retry.Pause(attempt)); err != nil {
			return err
		}
	}
}

// transact makes one attempt. Each has a new request token, which the SDK writes into the
// input: DynamoDB must not take an attempt for the one before.
func (t *Table) transact(ctx context.Context, items []types.TransactWriteItem, writes []Write) error {
	failpoint.Verb("", "(*Store)", "before")
	_, err := t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
	failpoint.Verb("", "(*Store)", "after")
	var cancelled *types.TransactionCanceledException
	var conflict *types.TransactionConflictException
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return errConflict
	case !errors.As(err, &cancelled):
		return err
	}
	conflicts := false
	for i, reason := range cancelled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "ConditionalCheckFailed":
			if i < len(writes) && writes[i].otherwise != nil {
				return writes[i].otherwise
			}
		case "TransactionConflict":
			conflicts = true
		}
	}
	if conflicts {
		return errConflict
	}
	return err
}

// Try makes one write if its condition holds, outside of a transaction, and says whether it
// did. It returns the row as an update left it, or the row that a deletion removed; the row
// that failed the condition when it did nothing. The row is nil when there is none. A transaction
// that holds the row is waited for; the wait ends as fault.ErrMoved.
func (t *Table) Try(ctx context.Context, w Write) (row Item, done bool, err error) {
	return t.write(ctx, w, shown{types.ReturnValueAllNew, types.ReturnValueAllOld, types.ReturnValuesOnConditionCheckFailureAllOld})
}

// shown says which rows a write returns: as an update left it, as a deletion found it, as a condition found it.
type shown struct {
	updated, deleted types.ReturnValue
	refused          types.ReturnValuesOnConditionCheckFailure
}

func (t *Table) write(ctx context.Context, w Write, show shown) (row Item, done bool, err error) {
	item, err := w.item(&t.name)
	if err != nil {
		return nil, false, err
	}
	err = outlast(ctx, attempts, func() (err error) {
		row, done, err = t.try(ctx, item, show)
		return err
	})
	return row, done, err
}

// try makes one attempt.
func (t *Table) try(ctx context.Context, w types.TransactWriteItem, show shown) (row Item, done bool, err error) {
	switch {
	case w.Put != nil:
		_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &t.name, Item: w.Put.Item, ConditionExpression: w.Put.ConditionExpression, ReturnValuesOnConditionCheckFailure: show.refused,
			ExpressionAttributeNames: w.Put.ExpressionAttributeNames, ExpressionAttributeValues: w.Put.ExpressionAttributeValues,
		})
	case w.Update != nil:
		var out *dynamodb.UpdateItemOutput
		if out, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &t.name, Key: w.Update.Key, UpdateExpression: w.Update.UpdateExpression, ConditionExpression: w.Update.ConditionExpression,
			ExpressionAttributeNames: w.Update.ExpressionAttributeNames, ExpressionAttributeValues: w.Update.ExpressionAttributeValues,
			ReturnValues: show.updated, ReturnValuesOnConditionCheckFailure: show.refused,
		}); err == nil {
			row = out.Attributes
		}
	default:
		var out *dynamodb.DeleteItemOutput
		if out, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &t.name, Key: w.Delete.Key, ConditionExpression: w.Delete.ConditionExpression,
			ExpressionAttributeNames: w.Delete.ExpressionAttributeNames, ExpressionAttributeValues: w.Delete.ExpressionAttributeValues,
			ReturnValues: show.deleted, ReturnValuesOnConditionCheckFailure: show.refused,
		}); err == nil {
			row = out.Attributes
		}
	}
	var failed *types.ConditionalCheckFailedException
	var conflict *types.TransactionConflictException
	switch {
	case errors.As(err, &failed):
		return failed.Item, false, nil
	case errors.As(err, &conflict):
		return nil, false, errConflict
	}
	return row, err == nil, err
}

// Do makes one write, outside of a transaction. When its condition does not hold it returns
// the error of the write.
func (t *Table) Do(ctx context.Context, w Write) error {
	failpoint.Verb("", "(*Store)", "before")
	_, done, err := t.write(ctx, w, shown{}) // none
	failpoint.Verb("", "(*Store)", "after")
	if err == nil && !done {
		return w.otherwise
	}
	return err
}

// DeleteAll deletes rows in batches.
func (t *Table) DeleteAll(ctx context.Context, rows []Item) error {
	var requests []types.WriteRequest
	for _, it := range rows {
		requests = append(requests, types.WriteRequest{
			DeleteRequest: &types.DeleteRequest{Key: KeyOf(it).Item()},
		})
	}
	return t.batch(ctx, requests)
}

// PutAll stores rows in batches, without conditions. It is not a transaction: a crash leaves some of them.
func (t *Table) PutAll(ctx context.Context, rows []Item) error {
	var requests []types.WriteRequest
	for _, it := range rows {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
	}
	return t.batch(ctx, requests)
}

const batchSize = 25

// batch makes requests in batches, until DynamoDB leaves none unprocessed.
func (t *Table) batch(ctx context.Context, requests []types.WriteRequest) error {
	for pause := 50 * time.Millisecond; len(requests) > 0; {
		n := min(batchSize, len(requests))
		failpoint.Verb("", "(*Store)", "before")
		out, err := t.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{t.name: requests[:n]},
		})
		failpoint.Verb("", "(*Store)", "after")
		if err != nil {
			return err
		}
		left := out.UnprocessedItems[t.name]
		requests = append(left, requests[n:]...)
		if len(left) > 0 {
			if err := retry.Wait(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, 2*time.Second)
		}
	}
	return nil
}

// Ping reads nothing, to learn whether the table answers. It returns fault.ErrStorage when the
// table says that it takes no writes.
func (t *Table) Ping(ctx context.Context) error {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: Key{"TOKEN#", "PING"}.Item()})
	if err != nil {
		return err
	}
	if unwritable(out.ResultMetadata) {
		return fault.ErrStorage
	}
	return nil
}
