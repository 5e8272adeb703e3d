package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/ground/failpoint"
)

type stopRow struct {
	PK  string `dynamodbav:"PK"`
	SK  string `dynamodbav:"SK"`
	At  int64  `dynamodbav:"at"`
	TTL int64  `dynamodbav:"ttl"`
}

// AskStop notes that somebody wants the answer that is being written to end.
func (t *Table) AskStop(ctx context.Context, account, chatID string, at time.Time) error {
	it, err := encode(stopRow{PK: chatKey(account, chatID), SK: "STOP", At: millis(at), TTL: at.Add(time.Hour).Unix()})
	if err != nil {
		return err
	}
	failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.name, Item: it})
	failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
	return err
}

// StopAsked returns when somebody last did; the zero time: never.
func (t *Table) StopAsked(ctx context.Context, account, chatID string) (time.Time, error) {
	var row stopRow
	err := t.get(ctx, chatKey(account, chatID), "STOP", &row, errNoStop)
	if errors.Is(err, errNoStop) {
		return time.Time{}, nil
	}
	return fromMillis(row.At), err
}

var errNoStop = errors.New("dynamo: nobody asked to stop")
