package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/access/replay"
)

func replayKey(account, hash string) string { return "A#" + account + "#Q#" + hash }

const replaySK = "REPLAY"

type replayRow struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	Fingerprint string `dynamodbav:"fingerprint"`
	Ticket      string `dynamodbav:"ticket"`
	At          int64  `dynamodbav:"at"`
	Holder      string `dynamodbav:"holder"`
	Until       int64  `dynamodbav:"held_until"` // 0: by nobody
	ExpiresAt   int64  `dynamodbav:"expires_at"`
	Done        bool   `dynamodbav:"done"`
	Answer      []byte `dynamodbav:"answer,omitempty"`
	Request     []byte `dynamodbav:"request,omitempty"`
	TTL         int64  `dynamodbav:"ttl"` // cleans up; the comparison is on expires_at
}

func replayRowOf(c replay.Claim) replayRow {
	return replayRow{
		PK: replayKey(c.Account, c.Key), SK: replaySK, Fingerprint: c.Fingerprint, Ticket: c.Ticket.ID, At: millis(c.Ticket.At),
		Holder: c.Holder, Until: millis(c.Until), ExpiresAt: millis(c.ExpiresAt), Done: c.Done, Answer: c.Answer, Request: c.Request,
		TTL: c.ExpiresAt.Add(time.Hour).Unix(),
	}
}

// claimIn reads a claim of an account and a key.
func claimIn(it item, account, hash string) (replay.Claim, error) {
	var row replayRow
	err := attributevalue.UnmarshalMap(it, &row)
	return row.claim(account, hash), err
}

func (row replayRow) claim(account, hash string) replay.Claim {
	return replay.Claim{
		Account: account, Key: hash, Fingerprint: row.Fingerprint, Ticket: replay.Ticket{ID: row.Ticket, At: fromMillis(row.At)},
		Holder: row.Holder, Until: fromMillis(row.Until), ExpiresAt: fromMillis(row.ExpiresAt), Done: row.Done, Answer: row.Answer,
		Request: row.Request,
	}
}

// ClaimReplay implements replay.Store.
func (t *Table) ClaimReplay(ctx context.Context, c replay.Claim, at time.Time) (replay.Claim, error) {
	there, put, err := t.putReplay(ctx, c, "attribute_not_exists(PK) OR expires_at <= :at", item{":at": num(millis(at))})
	if put {
		return c, nil
	}
	return there, err
}

// Replay implements replay.Store.
func (t *Table) Replay(ctx context.Context, account, hash string) (replay.Claim, error) {
	var row replayRow
	err := t.get(ctx, replayKey(account, hash), replaySK, &row, replay.ErrUnknown)
	return row.claim(account, hash), err
}

// TakeReplay implements replay.Store.
func (t *Table) TakeReplay(ctx context.Context, c replay.Claim, holder string) (bool, error) {
	_, put, err := t.putReplay(ctx, c, "holder = :holder AND done = :no", item{":holder": str(holder), ":no": no})
	return put, err
}

// FinishReplay implements replay.Store.
func (t *Table) FinishReplay(ctx context.Context, c replay.Claim) (replay.Claim, error) {
	c.Done = true
	there, put, err := t.putReplay(ctx, c, "ticket = :ticket AND done = :no", item{":ticket": str(c.Ticket.ID), ":no": no})
	if put {
		return c, nil
	}
	return there, err
}

// FreeReplay implements replay.Store.
func (t *Table) FreeReplay(ctx context.Context, c replay.Claim) error {
	c.Until, c.Done, c.Answer = time.Time{}, false, nil
	_, err := t.TakeReplay(ctx, c, c.Holder)
	return err
}

var no = &types.AttributeValueMemberBOOL{Value: false}

// putReplay writes a claim, if the one there is as condition says. If not, it
// returns the one there.
func (t *Table) putReplay(ctx context.Context, c replay.Claim, condition string, values item) (there replay.Claim, put bool, err error) {
	it, err := encode(replayRowOf(c))
	if err != nil {
		return there, false, err
	}
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &t.name, Item: it, ConditionExpression: aws.String(condition), ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		if len(failed.Item) == 0 { // there is none
			return there, false, nil
		}
		there, err = claimIn(failed.Item, c.Account, c.Key)
		return there, false, err
	}
	return there, err == nil, err
}
