package tables

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// callers is the number of concurrent callers.
const callers = 64

func contentionChecks() []Check {
	return []Check{
		check("contention", "one of 64 conditional updates wins", func(t *try) {
			pk := t.id()
			t.put("hash", pk, `{"status":"draft"}`)
			t.race(func(i int) error {
				_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
					TableName: t.table("hash"), Key: Key(pk, ""), UpdateExpression: text("SET #s = :to, winner = :i"), ConditionExpression: text("#s = :from"),
					ExpressionAttributeNames: names("#s=status"), ExpressionAttributeValues: Item(fmt.Sprintf(`{":from":"draft",":to":"queued",":i":%d}`, i)),
				})
				return err
			}, 1)
		}),
		check("contention", "one of 64 conditional puts creates the item", func(t *try) {
			pk := t.id()
			t.race(func(i int) error {
				_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{
					TableName: t.table("hash"), Item: Key(pk, fmt.Sprintf(`{"i":%d}`, i)), ConditionExpression: text("attribute_not_exists(pk)"),
				})
				return err
			}, 1)
		}),
		check("contention", "one of 64 transactions wins, whole", func(t *try) {
			pk := t.id()
			t.put("hash", pk, `{"status":"queued"}`)
			t.put("hash", pk+"chat", `{"runs":0}`)
			t.race(func(i int) error {
				first := t.tUpdate(`{"pk":"`+pk+`"}`, "SET #s = :to", `{":from":"queued",":to":"running"}`)
				first.Update.ConditionExpression, first.Update.ExpressionAttributeNames = text("#s = :from"), names("#s=status")
				_, err := t.Client.TransactWriteItems(t.ctx, &sdk.TransactWriteItemsInput{TransactItems: writes{
					first, t.tUpdate(`{"pk":"`+pk+`chat"}`, "ADD runs :one", `{":one":1}`), t.tPut(fmt.Sprintf(`{"pk":"%s-log-%d"}`, pk, i), "attribute_not_exists(pk)"),
				}})
				return err
			}, 1)
			t.expect(t.get("hash", pk+"chat", ""), `{"runs":1}`)
		}),
		check("contention", "64 unconditional additions all count", func(t *try) {
			pk := t.id()
			t.race(func(int) error {
				_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
					TableName: t.table("hash"), Key: Key(pk, ""), UpdateExpression: text("ADD n :one"), ExpressionAttributeValues: Item(`{":one":1}`),
				})
				return err
			}, callers)
			t.expect(t.get("hash", pk, ""), fmt.Sprintf(`{"n":%d}`, callers))
		}),
	}
}

// race starts all callers at the same time. So many must win, and the others must fail by their
// condition (or, on the service, by a conflict of transactions).
func (t *try) race(attempt func(i int) error, winners int32) {
	var won, lost atomic.Int32
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(callers)
	for i := range callers {
		done.Go(func() {
			ready.Done()
			<-start
			err := attempt(i)
			var failed *types.ConditionalCheckFailedException
			var cancelled *types.TransactionCanceledException
			switch {
			case err == nil:
				won.Add(1)
			case errors.As(err, &failed), errors.As(err, &cancelled):
				lost.Add(1)
			default:
				t.errorf("%v", err)
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	if won.Load() != winners || lost.Load() != callers-winners {
		t.errorf("%d won, %d lost; want %d and %d", won.Load(), lost.Load(), winners, callers-winners)
	}
}
