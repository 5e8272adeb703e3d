package dynamo

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/access/rate"
)

// A quota is one item with one number: the time at which it is whole again, in microseconds. A
// change costs one write unit. The item is deleted an hour after that time.
const rateSK = "RATE"

func rateKey(name string) string { return "RATE#" + name }

const rateKept = time.Hour

// Charge implements rate.Store. It takes one conditional write when known is right, also for a
// refusal, and two when it is wrong.
func (t *Table) Charge(ctx context.Context, name string, at time.Time, q rate.Quota, known time.Time) (time.Time, bool, error) {
	now, part := at.UnixMicro(), q.Part.Microseconds()
	ttl := num(at.Add(rate.Absurd + rateKept).Unix())
	idle := charge{ // all of it is there
		"SET whole = :next, #ttl = :ttl", "attribute_not_exists(PK) OR whole <= :now OR whole > :absurd",
		item{":next": num(now + part), ":ttl": ttl, ":now": num(now), ":absurd": num(now + rate.Absurd.Microseconds())},
	}
	busy := charge{ // part of it is taken, and there is room
		"SET whole = whole + :part, #ttl = :ttl", "whole > :now AND whole <= :last",
		item{":part": num(part), ":ttl": ttl, ":now": num(now), ":last": num(now + (q.Room - q.Part).Microseconds())},
	}
	taken := known
	for range mostCharges {
		way := idle
		if taken.After(at) && taken.Sub(at) <= rate.Absurd {
			way = busy
		}
		there, ok, err := t.charge(ctx, rateKey(name), way)
		if err != nil || ok {
			return there, ok, err
		}
		if _, room := q.Take(there, at); !room {
			return there, false, nil
		}
		taken = there
	}
	return taken, false, errRateMoves
}

// At one moment a quota only goes from idle to busy to full. So there are at most three tries:
// one wrong guess, and two that came too late.
const mostCharges = 4

var errRateMoves = errors.New("dynamo: a quota is never as it was just seen")

// charge is a condition on a quota, and what it becomes.
type charge struct {
	change, condition string
	values            item
}

// charge changes a quota if the condition of c holds, and returns what is stored then.
func (t *Table) charge(ctx context.Context, pk string, c charge) (whole time.Time, ok bool, err error) {
	out, err := t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key(pk, rateSK), UpdateExpression: &c.change, ConditionExpression: &c.condition,
		ExpressionAttributeNames: map[string]string{"#ttl": "ttl"}, ExpressionAttributeValues: c.values,
		ReturnValues: types.ReturnValueUpdatedNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	var there item
	switch {
	case errors.As(err, &failed):
		there = failed.Item
	case err != nil:
		return time.Time{}, false, err
	default:
		there, ok = out.Attributes, true
	}
	n, has := there["whole"].(*types.AttributeValueMemberN)
	if !has { // there is no row
		return time.Time{}, ok, nil
	}
	micros, err := strconv.ParseInt(n.Value, 10, 64)
	return time.UnixMicro(micros).UTC(), ok && err == nil, err
}

var _ rate.Store = (*Table)(nil)
