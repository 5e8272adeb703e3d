package dynamodb_test

import (
	"context"
	"errors"
	"localaws/conformance/tables"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/inproc"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// infra/localaws/conformance/tables checks the common behaviour of the engine and AWS. The tests
// here check the engine's own rules: it loses nothing, its histories are linearizable, and its
// parsers take any input.

const local = "http://dynamodb.local"

// engineClient returns a client of an engine of its own.
func engineClient(t testing.TB, options ...dynamodb.Option) (*sdk.Client, *disk.Store) {
	t.Helper()
	store, err := disk.Open(filepath.Join(t.TempDir(), "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	engine, err := dynamodb.Open(store, options...)
	if err != nil {
		t.Fatal(err)
	}
	return tables.Client(local, inproc.Transport{Handler: engine}, tables.Unsigned), store
}

// env is a client, and the prefix of its tables' names.
type env struct {
	client *sdk.Client
	ctx    context.Context
	prefix string
}

func (e *env) table(name string) *string { return aws.String(e.prefix + name) }

func (e *env) create(in *sdk.CreateTableInput) {
	if _, err := e.client.CreateTable(e.ctx, in); err != nil {
		panic(err)
	}
}

func definition(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
}

func element(name string, kind types.KeyType) types.KeySchemaElement {
	return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
}

// text returns nil for "", so that an expression is absent.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// expect compares two results; a wanted failure may leave out its end.
func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want && (want == "" || want[0] != '!' || !strings.HasPrefix(got, want)) {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// put stores an item under a partition key.
func (e *env) put(t *testing.T, table, pk, text string) {
	t.Helper()
	if _, err := e.client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table(table), Item: tables.Key(pk, text)}); err != nil {
		t.Fatal(err)
	}
}

// get returns the text of the item under a key, without its partition key.
func (e *env) get(t *testing.T, table, pk, rest string) string {
	t.Helper()
	out, err := e.client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table(table), Key: tables.Key(pk, rest), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	delete(out.Item, "pk")
	return tables.Show(out.Item)
}

type writes []types.TransactWriteItem

func (e *env) tPut(it, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: e.table("hash"), Item: tables.Item(it), ConditionExpression: text(condition)}}
}

func (e *env) tDelete(k string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: e.table("hash"), Key: tables.Item(k)}}
}

func (e *env) tUpdate(k, expression, values string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: e.table("hash"), Key: tables.Item(k), UpdateExpression: text(expression), ExpressionAttributeValues: tables.Item(values)}}
}

func (e *env) tCheck(k, condition, values string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: e.table("hash"), Key: tables.Item(k), ConditionExpression: text(condition), ExpressionAttributeValues: tables.Item(values)}}
}

// transact returns the reasons as [Code: message, …] after the failure's type.
func (e *env) transact(w writes) string {
	_, err := e.client.TransactWriteItems(e.ctx, &sdk.TransactWriteItemsInput{TransactItems: w})
	return cancellation(err)
}

func cancellation(err error) string {
	var failed *types.TransactionCanceledException
	if !errors.As(err, &failed) {
		return tables.Said("", err)
	}
	var codes, shown []string
	for _, r := range failed.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
		s := aws.ToString(r.Code)
		if r.Message != nil {
			s += ": " + *r.Message
		}
		if r.Item != nil {
			s += " " + tables.Show(r.Item)
		}
		shown = append(shown, s)
	}
	if want := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"; failed.ErrorMessage() != want {
		return failed.ErrorMessage() + " is not " + want
	}
	return "!cancelled [" + strings.Join(shown, "; ") + "]"
}
