package dynamo

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Telling has the table tell n what it stored, from now on, and returns it.
func (t *Table) Telling(n realtime.Notifier) *Table {
	t.notifier = n
	return t
}

// told ends a verb that appended messages to a chat: what was committed is told,
// and the verb's error is returned as it is.
func (t *Table) told(ctx context.Context, account, chatID string, list []conversation.Message, err error) error {
	if err == nil {
		t.notifier.Notify(ctx, account, realtime.Said(chatID, list...)...)
		failpoint.Verb("push", "dynamo.(*Table)", "after")
	}
	return err
}

// moved ends a verb that moved a run: next is what it became, and recorded says
// whether its chat was there to take the messages of the record.
func (t *Table) moved(ctx context.Context, next plan.Run, recorded bool, rec run.Record, err error, before ...realtime.Event) error {
	if err != nil {
		return err
	}
	events := before
	if recorded {
		events = append(events, realtime.Said(next.ChatID, rec.Messages...)...)
	}
	t.notifier.Notify(ctx, next.Account, append(events, progress(next, rec)...)...)
	failpoint.Verb("push", "dynamo.(*Table)", "after")
	return nil
}

// progress is the event of a record, of a run as the record left it.
func progress(next plan.Run, rec run.Record) []realtime.Event {
	e, err := rec.Event(next.EventSeq)
	if err != nil { // it was marshalled before it was stored
		return nil
	}
	e.Hash = next.Chain
	return []realtime.Event{realtime.Run(next.ChatID, next.ID, next.Status, e)}
}

type connectionRow struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	ID          string `dynamodbav:"id"`
	User        string `dynamodbav:"user"`
	Parent      string `dynamodbav:"parent"`
	ConnectedAt int64  `dynamodbav:"connected_at"`
	PingedAt    int64  `dynamodbav:"pinged_at,omitempty"`
	ExpiresAt   int64  `dynamodbav:"expires_at"`
	Seq         int64  `dynamodbav:"seq"`
	TTL         int64  `dynamodbav:"ttl"` // cleans up; the comparison is on expires_at
}

// socketRow is how the account of a connection is found by its id.
type socketRow struct {
	PK      string `dynamodbav:"PK"`
	SK      string `dynamodbav:"SK"`
	Account string `dynamodbav:"account"`
	TTL     int64  `dynamodbav:"ttl"`
}

const socketSK = "CONN"

func socketsKey(account string) string { return "A#" + account + "#WS" }
func socketKey(id string) string       { return "WS#" + id }
func connectionSK(id string) string    { return "CONN#" + id }

func (row connectionRow) connection(account string) realtime.Connection {
	return realtime.Connection{
		Account: account, ID: row.ID, User: row.User, Parent: row.Parent, ConnectedAt: fromMillis(row.ConnectedAt),
		PingedAt: fromMillis(row.PingedAt), ExpiresAt: fromMillis(row.ExpiresAt), Seq: row.Seq,
	}
}

// AddConnection stores a new connection, to be found by its account and by its id.
func (t *Table) AddConnection(ctx context.Context, c realtime.Connection) error {
	ttl := c.ConnectedAt.Add(realtime.Forgotten).Unix()
	row, err := t.put(connectionRow{
		PK: socketsKey(c.Account), SK: connectionSK(c.ID), ID: c.ID, User: c.User, Parent: c.Parent,
		ConnectedAt: millis(c.ConnectedAt), PingedAt: millis(c.PingedAt), ExpiresAt: millis(c.ExpiresAt), Seq: c.Seq, TTL: ttl,
	}, "attribute_not_exists(PK)", errTaken)
	if err != nil {
		return err
	}
	found, err := t.put(socketRow{PK: socketKey(c.ID), SK: socketSK, Account: c.Account, TTL: ttl}, "attribute_not_exists(PK)", errTaken)
	if err != nil {
		return err
	}
	return t.commit(ctx, row, found)
}

// Connections returns an account's connections, expired ones among them.
func (t *Table) Connections(ctx context.Context, account string) ([]realtime.Connection, error) {
	items, err := t.read(ctx, kindsIn(socketsKey(account), connectionSK("")), 0)
	if err != nil {
		return nil, err
	}
	list := make([]realtime.Connection, len(items))
	for i, it := range items {
		var row connectionRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return nil, err
		}
		list[i] = row.connection(account)
	}
	return list, nil
}

// Connection returns the connection with an id; realtime.ErrGone when there is none.
func (t *Table) Connection(ctx context.Context, id string) (realtime.Connection, error) {
	var of socketRow
	if err := t.get(ctx, socketKey(id), socketSK, &of, realtime.ErrGone); err != nil {
		return realtime.Connection{}, err
	}
	var row connectionRow
	err := t.get(ctx, socketsKey(of.Account), connectionSK(id), &row, realtime.ErrGone)
	return row.connection(of.Account), err
}

// Advance takes the next n numbers of a connection and returns the last; it is
// realtime.ErrGone when there is none, or it expired by at.
func (t *Table) Advance(ctx context.Context, account, id string, n int, at time.Time) (int64, error) {
	return t.renumber(ctx, account, id, "ADD seq :n", "attribute_exists(PK) AND expires_at > :now", item{
		":n": num(int64(n)), ":now": num(millis(at)),
	})
}

// Renew notes a ping, sets when the connection expires, and skips numbers.
func (t *Table) Renew(ctx context.Context, account, id string, at, until time.Time, skip int) (int64, error) {
	return t.renumber(ctx, account, id, "SET pinged_at = :now, expires_at = :until ADD seq :n", "attribute_exists(PK)", item{
		":n": num(int64(skip)), ":now": num(millis(at)), ":until": num(millis(until)),
	})
}

// renumber changes a connection that is there and returns its number.
func (t *Table) renumber(ctx context.Context, account, id, change, condition string, values item) (int64, error) {
	out, err := t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key(socketsKey(account), connectionSK(id)), UpdateExpression: aws.String(change),
		ConditionExpression: aws.String(condition), ExpressionAttributeValues: values, ReturnValues: types.ReturnValueUpdatedNew,
	})
	if conditionFailed(err) {
		return 0, realtime.ErrGone
	}
	if err != nil {
		return 0, err
	}
	n, ok := out.Attributes["seq"].(*types.AttributeValueMemberN)
	if !ok {
		return 0, errors.New("dynamo: a connection without a number")
	}
	return strconv.ParseInt(n.Value, 10, 64)
}

// RemoveConnection removes a connection; one that is not there is removed already.
func (t *Table) RemoveConnection(ctx context.Context, account, id string) error {
	for _, k := range []item{key(socketsKey(account), connectionSK(id)), key(socketKey(id), socketSK)} {
		if _, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.name, Key: k}); err != nil {
			return err
		}
	}
	return nil
}
