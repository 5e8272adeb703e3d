package dynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"localaws/conformance/tables"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/inproc"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// itemClient is what the SDK's client and a client of the engine's process have in common.
type itemClient interface {
	GetItem(context.Context, *sdk.GetItemInput, ...func(*sdk.Options)) (*sdk.GetItemOutput, error)
	PutItem(context.Context, *sdk.PutItemInput, ...func(*sdk.Options)) (*sdk.PutItemOutput, error)
	UpdateItem(context.Context, *sdk.UpdateItemInput, ...func(*sdk.Options)) (*sdk.UpdateItemOutput, error)
	DeleteItem(context.Context, *sdk.DeleteItemInput, ...func(*sdk.Options)) (*sdk.DeleteItemOutput, error)
	Query(context.Context, *sdk.QueryInput, ...func(*sdk.Options)) (*sdk.QueryOutput, error)
	BatchWriteItem(context.Context, *sdk.BatchWriteItemInput, ...func(*sdk.Options)) (*sdk.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *sdk.TransactWriteItemsInput, ...func(*sdk.Options)) (*sdk.TransactWriteItemsOutput, error)
}

// call returns a call of either client.
func call[I, O any](method func(itemClient, context.Context, *I, ...func(*sdk.Options)) (*O, error), in *I) func(itemClient) (any, error) {
	return func(c itemClient) (any, error) {
		copied := *in // the SDK writes a token into the input of a transaction
		out, err := method(c, context.Background(), &copied)
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// A client of the process answers every call as the SDK's client does over the wire: the same answers, and errors of
// the same type with the same contents. Two engines get the same calls.
func TestClientAnswersAsOverTheWire(t *testing.T) {
	clock := dynamodb.WithClock(func() time.Time { return time.Unix(1_800_000_000, 0) })
	open := func() *dynamodb.Engine {
		store, err := disk.Open(filepath.Join(t.TempDir(), "data.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		engine, err := dynamodb.Open(store, clock)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tables.Client(local, inproc.Transport{Handler: engine}, tables.Unsigned).CreateTable(t.Context(), callsTable()); err != nil {
			t.Fatal(err)
		}
		return engine
	}
	wire := tables.Client(local, inproc.Transport{Handler: open()}, tables.Unsigned)
	direct := dynamodb.NewClient(open())
	rounds := 6000
	if testing.Short() {
		rounds = 1500
	}
	random := rand.New(rand.NewPCG(3, 4))
	failures, kinds := map[string]int{}, map[string]int{}
	for round := range rounds {
		name, do := randomCall(random)
		want, wantErr := do(wire)
		got, gotErr := do(direct)
		kinds[name]++
		if wantErr != nil {
			failures[code(wantErr)]++
		}
		if diff := cmp.Diff(shapeOf(wantErr), shapeOf(gotErr)); diff != "" {
			t.Fatalf("call %d, %s: errors differ (-wire +direct):\n%s\nwire: %v\ndirect: %v", round, name, diff, wantErr, gotErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(middleware.Metadata{}), unexported); diff != "" {
			t.Fatalf("call %d, %s: answers differ (-wire +direct):\n%s", round, name, diff)
		}
	}
	for _, want := range []string{"ConditionalCheckFailedException", "TransactionCanceledException", "ValidationException", "ResourceNotFoundException"} {
		if failures[want] == 0 {
			t.Errorf("no call failed with %s: %v", want, failures)
		}
	}
	if len(kinds) != 7 {
		t.Errorf("calls: %v", kinds)
	}
}

var unexported = cmpopts.IgnoreUnexported(
	sdk.GetItemOutput{}, sdk.PutItemOutput{}, sdk.UpdateItemOutput{}, sdk.DeleteItemOutput{}, sdk.QueryOutput{},
	sdk.BatchWriteItemOutput{}, sdk.TransactWriteItemsOutput{},
	types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{},
	types.AttributeValueMemberNULL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberL{}, types.AttributeValueMemberSS{},
	types.AttributeValueMemberNS{}, types.AttributeValueMemberBS{},
)

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// shapeOf returns what a program can see of an error, as text.
func shapeOf(err error) string {
	if err == nil {
		return ""
	}
	var failed *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case errors.As(err, &failed):
		return fmt.Sprint("condition: ", *failed.Message, " ", show(failed.Item))
	case errors.As(err, &cancelled):
		text := "cancelled: " + *cancelled.Message
		for _, r := range cancelled.CancellationReasons {
			text += fmt.Sprint("; ", aws.ToString(r.Code), " ", aws.ToString(r.Message), " ", show(r.Item))
		}
		return text
	case errors.As(err, &api):
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	return err.Error()
}

// show returns an item as text, with its attributes in order.
func show(it map[string]types.AttributeValue) string {
	if it == nil {
		return "none"
	}
	text := map[string]string{}
	for name, v := range it {
		text[name] = cmp.Diff(nil, v, unexported)
	}
	return fmt.Sprint(text)
}

func callsTable() *sdk.CreateTableInput {
	return &sdk.CreateTableInput{
		TableName: aws.String("calls"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			definition("pk", types.ScalarAttributeTypeS), definition("sk", types.ScalarAttributeTypeN), definition("list", types.ScalarAttributeTypeS),
		},
		KeySchema: []types.KeySchemaElement{element("pk", types.KeyTypeHash), element("sk", types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("lists"), KeySchema: []types.KeySchemaElement{element("list", types.KeyTypeHash), element("sk", types.KeyTypeRange)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	}
}
