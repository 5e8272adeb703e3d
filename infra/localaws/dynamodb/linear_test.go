package dynamodb_test

import (
	"errors"
	"fmt"
	"localaws/conformance/tables"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// registers is the state of the history: two registers, x and y; -1 is an absent item.
type registers struct{ x, y int }

type registerInput struct {
	op       string // read, cas (x from→to), both (x from→to and y to), sum (x and y at once)
	from, to int
}

type registerOutput struct {
	ok   bool
	seen registers
}

var registerModel = porcupine.Model{
	Init: func() any { return registers{-1, -1} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(registers), input.(registerInput), output.(registerOutput)
		switch in.op {
		case "read":
			return out.seen.x == s.x, s
		case "sum":
			return out.seen == s, s
		}
		if out.ok != (s.x == in.from) {
			return false, s
		}
		if !out.ok {
			return true, s
		}
		next := registers{in.to, s.y}
		if in.op == "both" {
			next.y = in.to
		}
		return true, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, output) },
}

// TestHistoryIsLinearizable: gets, transactional gets, conditional updates and transactions by
// concurrent clients behave as if they ran one after another, each between its request and its
// response.
func TestHistoryIsLinearizable(t *testing.T) {
	const clients, each, values = 8, 40, 3
	client, _ := engineClient(t)
	e := ownTable(t, client)
	start := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 1))
			for range each {
				in := registerInput{[]string{"read", "sum", "cas", "both"}[random.IntN(4)], random.IntN(values+1) - 1, random.IntN(values)}
				called := time.Since(start)
				out, err := e.register(in)
				returned := time.Since(start)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: c, Input: in, Call: int64(called), Output: out, Return: int64(returned)})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if got := porcupine.CheckOperationsTimeout(registerModel, history, 30*time.Second); got != porcupine.Ok {
		t.Errorf("history of %d operations is %s", len(history), got)
	}
}

func (e *env) register(in registerInput) (registerOutput, error) {
	switch in.op {
	case "read":
		out, err := e.client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table("hash"), Key: tables.Key("x", ""), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return registerOutput{}, err
		}
		return registerOutput{seen: registers{x: registerOf(out.Item)}}, nil
	case "sum":
		get := func(pk string) types.TransactGetItem {
			return types.TransactGetItem{Get: &types.Get{TableName: e.table("hash"), Key: tables.Key(pk, "")}}
		}
		out, err := e.client.TransactGetItems(e.ctx, &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get("x"), get("y")}})
		if err != nil {
			return registerOutput{}, err
		}
		return registerOutput{seen: registers{registerOf(out.Responses[0].Item), registerOf(out.Responses[1].Item)}}, nil
	}
	condition, values := "v = :from", fmt.Sprintf(`{":from":%d,":to":%d}`, in.from, in.to)
	if in.from < 0 {
		condition, values = "attribute_not_exists(pk)", fmt.Sprintf(`{":to":%d}`, in.to)
	}
	w := e.tUpdate(`{"pk":"x"}`, "SET v = :to", values)
	w.Update.ConditionExpression = &condition
	var err error
	if in.op == "both" {
		_, err = e.client.TransactWriteItems(e.ctx, &sdk.TransactWriteItemsInput{TransactItems: writes{w, e.tPut(fmt.Sprintf(`{"pk":"y","v":%d}`, in.to), "")}})
	} else {
		_, err = e.client.UpdateItem(e.ctx, &sdk.UpdateItemInput{
			TableName: w.Update.TableName, Key: w.Update.Key, UpdateExpression: w.Update.UpdateExpression,
			ConditionExpression: &condition, ExpressionAttributeValues: w.Update.ExpressionAttributeValues,
		})
	}
	var failed *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &failed) || errors.As(err, &cancelled) {
		return registerOutput{}, nil
	}
	return registerOutput{ok: err == nil}, err
}

func registerOf(it map[string]types.AttributeValue) int {
	n, ok := it["v"].(*types.AttributeValueMemberN)
	if !ok {
		return -1
	}
	var v int
	if _, err := fmt.Sscan(n.Value, &v); err != nil {
		return -2
	}
	return v
}
