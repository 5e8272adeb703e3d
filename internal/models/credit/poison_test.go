package credit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/infra/local/fixture/table"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
)

// poisoned is a store that panics when a certain hold is released, or a certain ledger is summed.
type poisoned struct {
	credit.Store
	hold    string
	account ids.Account
}

func (p poisoned) Release(ctx context.Context, h credit.Hold) (bool, error) {
	if h.ID == p.hold {
		panic("poison")
	}
	return p.Store.Release(ctx, h)
}

func (p poisoned) AddUp(ctx context.Context, account ids.Account) (credit.Audit, error) {
	if account == p.account {
		panic("poison")
	}
	return p.Store.AddUp(ctx, account)
}

// TestABrokenHoldDoesNotStopTheSweep: one hold cannot be read, another panics, and the ledger of one account
// panics. The first sweep handles all the others.
func TestABrokenHoldDoesNotStopTheSweep(t *testing.T) {
	rows, engine, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	b := newBank(rows)
	b.grant(t, 1)
	if _, err := b.Open(ctx, account, credit.Purchase{ID: ids.Derive("x"), Actor: "ana", Reason: "test", Units: 1}, policy); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := b.Move(ctx, ids.Account(fmt.Sprint("account", i)), credit.Movement{Kind: credit.KindGrant, Amount: 1, Reason: "bought", Actor: "ana"}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for range 50 {
		turn := credit.Turn{ID: b.IDs.New(b.clock()), At: b.clock()}
		if _, err := b.Cover(ctx, credit.Hold{ID: turn.ID, Account: account, For: turn}, need(10)); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, turn.ID)
	}
	_, err := dynamodb.NewFromConfig(engine).UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &name,
		Key:                       map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "A#" + account + "#W"}, "SK": &types.AttributeValueMemberS{Value: "WALLET"}},
		UpdateExpression:          aws.String("SET holds.#hold.deadline = :torn"),
		ConditionExpression:       aws.String("attribute_exists(holds.#hold)"),
		ExpressionAttributeNames:  map[string]string{"#hold": ids[3]},
		ExpressionAttributeValues: map[string]types.AttributeValue{":torn": &types.AttributeValueMemberB{Value: []byte("{")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Store = poisoned{b.table, ids[17], "account4"}
	b.pass(time.Hour)
	swept, err := b.Sweep(ctx)
	if want := (credit.Swept{Released: len(ids) - 2, Audited: 10}); err == nil || swept != want {
		t.Errorf("swept %+v, want %+v; %v", swept, want, err)
	}
}
