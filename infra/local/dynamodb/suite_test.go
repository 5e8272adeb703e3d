package dynamodb_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"piloto/infra/local/disk"
	"piloto/infra/local/dynamodb"
	"piloto/infra/local/inproc"
)

// The suite runs against the engine in process, or against any other endpoint:
// go test ./infra/local/dynamodb -run Suite -endpoint http://127.0.0.1:8000
var endpoint = flag.String("endpoint", "", "URL of the DynamoDB to test instead of the embedded engine")

// shared is the one client and set of tables that the suite's tests use.
var shared = sync.OnceValue(func() *env {
	client := clientOf(httpClient())
	e := &env{client: client, ctx: context.Background(), prefix: fmt.Sprintf("suite-%d-", rand.Uint32())}
	e.createTables()
	return e
})

func httpClient() aws.HTTPClient {
	if *endpoint != "" {
		return http.DefaultClient
	}
	dir, err := filepath.Abs(suiteDir)
	if err != nil {
		panic(err)
	}
	store, err := disk.Open(filepath.Join(dir, "suite.db"))
	if err != nil {
		panic(err)
	}
	engine, err := dynamodb.Open(store)
	if err != nil {
		panic(err)
	}
	return inproc.Transport{Handler: engine}
}

func clientOf(h aws.HTTPClient) *sdk.Client {
	url := *endpoint
	if url == "" {
		url = "http://dynamodb.local"
	}
	return sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: &url, HTTPClient: h,
		Credentials:      credentials.NewStaticCredentialsProvider("local", "local", ""),
		RetryMaxAttempts: 1,
	})
}

// engineClient is a client of an engine of its own.
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
	return clientOf(inproc.Transport{Handler: engine}), store
}

// env is what a check runs in.
type env struct {
	client *sdk.Client
	ctx    context.Context
	prefix string
}

func (e *env) table(name string) *string { return aws.String(e.prefix + name) }

// The suite's tables: hash (pk S), range (pk S, sk S), number (pk S, sk N),
// binary (pk S, sk B) and indexed (pk S, sk S; all: g S, h N, ALL; keys: g S,
// KEYS_ONLY; some: g S, include a).
func (e *env) createTables() {
	for name, kind := range map[string]types.ScalarAttributeType{"hash": "", "range": "S", "number": "N", "binary": "B"} {
		in := &sdk.CreateTableInput{
			TableName: e.table(name), BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{definition("pk", "S")},
			KeySchema:            []types.KeySchemaElement{element("pk", "HASH")},
		}
		if kind != "" {
			in.AttributeDefinitions = append(in.AttributeDefinitions, definition("sk", kind))
			in.KeySchema = append(in.KeySchema, element("sk", "RANGE"))
		}
		e.create(in)
	}
	e.create(indexedTable(e.table("indexed")))
}

func indexedTable(name *string) *sdk.CreateTableInput {
	gsi := func(name string, p types.ProjectionType, include []string, keys ...types.KeySchemaElement) types.GlobalSecondaryIndex {
		return types.GlobalSecondaryIndex{IndexName: aws.String(name), KeySchema: keys, Projection: &types.Projection{ProjectionType: p, NonKeyAttributes: include}}
	}
	return &sdk.CreateTableInput{
		TableName: name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{definition("pk", "S"), definition("sk", "S"), definition("g", "S"), definition("h", "N")},
		KeySchema:            []types.KeySchemaElement{element("pk", "HASH"), element("sk", "RANGE")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			gsi("all", types.ProjectionTypeAll, nil, element("g", "HASH"), element("h", "RANGE")),
			gsi("keys", types.ProjectionTypeKeysOnly, nil, element("g", "HASH")),
			gsi("some", types.ProjectionTypeInclude, []string{"a"}, element("g", "HASH")),
		},
	}
}

func definition(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
}

func element(name string, kind types.KeyType) types.KeySchemaElement {
	return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
}

func (e *env) create(in *sdk.CreateTableInput) {
	if _, err := e.client.CreateTable(e.ctx, in); err != nil {
		panic(err)
	}
	if err := sdk.NewTableExistsWaiter(e.client).Wait(e.ctx, &sdk.DescribeTableInput{TableName: in.TableName}, time.Minute); err != nil {
		panic(err)
	}
}

// Items are written in the checks as JSON: text is S, a number N, true BOOL, null
// NULL, an array L, an object M; {"$ss":[…]}, {"$ns":[…]}, {"$bs":[…]} are sets
// and {"$b":"base64"} a binary. Numbers may be text too: {"$n":"1e3"}.
func item(text string) map[string]types.AttributeValue {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	out := map[string]types.AttributeValue{}
	for name, v := range m {
		out[name] = attribute(v)
	}
	return out
}

func attribute(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case []any:
		l := []types.AttributeValue{}
		for _, e := range v {
			l = append(l, attribute(e))
		}
		return &types.AttributeValueMemberL{Value: l}
	case map[string]any:
		return structured(v)
	default:
		return &types.AttributeValueMemberNULL{Value: true}
	}
}

func structured(v map[string]any) types.AttributeValue {
	texts := func(v any) []string {
		out := []string{}
		for _, e := range v.([]any) {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	raw := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			panic(err)
		}
		return b
	}
	for name, inner := range v {
		switch name {
		case "$n":
			return &types.AttributeValueMemberN{Value: inner.(string)}
		case "$b":
			return &types.AttributeValueMemberB{Value: raw(inner.(string))}
		case "$ss":
			return &types.AttributeValueMemberSS{Value: texts(inner)}
		case "$ns":
			return &types.AttributeValueMemberNS{Value: texts(inner)}
		case "$bs":
			var out [][]byte
			for _, s := range texts(inner) {
				out = append(out, raw(s))
			}
			return &types.AttributeValueMemberBS{Value: out}
		}
	}
	m := map[string]types.AttributeValue{}
	for name, inner := range v {
		m[name] = attribute(inner)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// show is the reverse of item: the same notation, names in order. Sets are shown
// in order of their text.
func show(it map[string]types.AttributeValue) string {
	if it == nil {
		return ""
	}
	m := map[string]any{}
	for name, v := range it {
		m[name] = plain(v)
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return map[string]any{"$b": base64.StdEncoding.EncodeToString(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberL:
		l := []any{}
		for _, e := range v.Value {
			l = append(l, plain(e))
		}
		return l
	case *types.AttributeValueMemberM:
		m := map[string]any{}
		for name, e := range v.Value {
			m[name] = plain(e)
		}
		return m
	case *types.AttributeValueMemberSS:
		return map[string]any{"$ss": inOrder(v.Value)}
	case *types.AttributeValueMemberNS:
		return map[string]any{"$ns": inOrder(v.Value)}
	case *types.AttributeValueMemberBS:
		var texts []string
		for _, b := range v.Value {
			texts = append(texts, base64.StdEncoding.EncodeToString(b))
		}
		return map[string]any{"$bs": inOrder(texts)}
	default:
		return nil
	}
}

// names reads "#a=status #b=x".
func names(text string) map[string]string {
	if text == "" {
		return nil
	}
	out := map[string]string{}
	for _, pair := range strings.Fields(text) {
		placeholder, name, _ := strings.Cut(pair, "=")
		out[placeholder] = name
	}
	return out
}

// text is nil for "", so that an expression is absent.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// outcome renders what came back, or "!Type: message".
func outcome(rendered string, err error) string {
	var failed smithy.APIError
	if errors.As(err, &failed) {
		return "!" + failed.ErrorCode() + ": " + failed.ErrorMessage()
	}
	if err != nil {
		return "!" + err.Error()
	}
	return rendered
}

// matches compares an outcome with what is wanted; a wanted failure may leave out
// the end of the message.
func matches(got, want string) bool {
	if strings.HasPrefix(want, "!") {
		return strings.HasPrefix(got, want)
	}
	return got == want
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if !matches(got, want) {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

var counter struct {
	sync.Mutex
	n int
}

// id gives a partition key of the check's own.
func id() string {
	counter.Lock()
	defer counter.Unlock()
	counter.n++
	return fmt.Sprintf("k%d", counter.n)
}

// put stores an item under a partition key.
func (e *env) put(t *testing.T, table, pk, text string) {
	t.Helper()
	it := item(text)
	it["pk"] = &types.AttributeValueMemberS{Value: pk}
	if _, err := e.client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table(table), Item: it}); err != nil {
		t.Fatal(err)
	}
}

// get shows the item under a key, without its partition key.
func (e *env) get(t *testing.T, table, pk, rest string) string {
	t.Helper()
	out, err := e.client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table(table), Key: key(pk, rest), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	delete(out.Item, "pk")
	return show(out.Item)
}

// key is a key with that partition key and, from text, what else it has.
func key(pk, rest string) map[string]types.AttributeValue {
	if rest == "" {
		rest = "{}"
	}
	k := item(rest)
	k["pk"] = &types.AttributeValueMemberS{Value: pk}
	return k
}
