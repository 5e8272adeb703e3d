package dynamodb_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"localaws/conformance/tables"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/inproc"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// These rules hold for this engine only, and always run in process.

func ownTable(t testing.TB, client *sdk.Client) *env {
	t.Helper()
	e := &env{client: client, ctx: context.Background(), prefix: "own-"}
	e.create(&sdk.CreateTableInput{
		TableName: e.table("hash"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{definition("pk", "S")}, KeySchema: []types.KeySchemaElement{element("pk", "HASH")},
	})
	return e
}

func TestExpiredItemsAreRemovedLazily(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	client, _ := engineClient(t, dynamodb.WithClock(func() time.Time { return now }))
	e := ownTable(t, client)
	e.put(t, "hash", "before", fmt.Sprintf(`{"x":%d}`, now.Unix()-10)) // found when TTL is enabled
	on, name := true, "x"
	if _, err := client.UpdateTimeToLive(e.ctx, &sdk.UpdateTimeToLiveInput{TableName: e.table("hash"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &name, Enabled: &on}}); err != nil {
		t.Fatal(err)
	}
	e.put(t, "hash", "read", fmt.Sprintf(`{"x":%d}`, now.Unix()+10))
	if got := e.get(t, "hash", "before", ""); got != "" {
		t.Errorf("a write did not take the expired item along: %s", got)
	}
	e.put(t, "hash", "old", fmt.Sprintf(`{"x":%d}`, now.Add(-6*365*24*time.Hour).Unix()))
	e.put(t, "hash", "text", `{"x":"1"}`)
	for range 2 {
		if e.get(t, "hash", "read", "") == "" {
			t.Error("an item went before its time")
		}
	}
	now = now.Add(time.Minute)
	if e.get(t, "hash", "read", "") == "" {
		t.Error("the read that comes upon an expired item does not show it")
	}
	if got := e.get(t, "hash", "read", ""); got != "" {
		t.Errorf("an expired item that was read is still there: %s", got)
	}
	for _, pk := range []string{"old", "text"} {
		if e.get(t, "hash", pk, "") == "" {
			t.Errorf("%s: removed, though its attribute is no expiry", pk)
		}
	}
}

func TestTokensExpireAfterTenMinutes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	client, _ := engineClient(t, dynamodb.WithClock(func() time.Time { return now }))
	e := ownTable(t, client)
	add := func(token string) {
		t.Helper()
		if _, err := client.TransactWriteItems(e.ctx, &sdk.TransactWriteItemsInput{
			TransactItems: writes{e.tUpdate(`{"pk":"a"}`, "ADD n :a", `{":a":1}`)}, ClientRequestToken: &token,
		}); err != nil {
			t.Fatal(err)
		}
	}
	add("token")
	now = now.Add(10 * time.Minute)
	add("token")
	expect(t, e.get(t, "hash", "a", ""), `{"n":1}`)
	now = now.Add(time.Second)
	add("token")
	expect(t, e.get(t, "hash", "a", ""), `{"n":2}`)
}

// TestIndexMadeUnderWritersIsComplete creates an index while writers are at work. The index misses
// none of their writes.
func TestIndexMadeUnderWritersIsComplete(t *testing.T) {
	client, _ := engineClient(t)
	e := ownTable(t, client)
	const writers, each = 8, 40
	var wg sync.WaitGroup
	half := make(chan struct{})
	var written atomic.Int32
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, err := client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table("hash"), Item: tables.Key(fmt.Sprintf("%d-%d", w, i), `{"g":"x"}`)})
				if err != nil {
					t.Error(err)
				}
				if written.Add(1) == writers*each/2 {
					close(half)
				}
			}
		})
	}
	<-half
	if _, err := client.UpdateTable(e.ctx, &sdk.UpdateTableInput{
		TableName: e.table("hash"), AttributeDefinitions: []types.AttributeDefinition{definition("g", "S")},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: text("late"), KeySchema: []types.KeySchemaElement{element("g", "HASH")}, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}}},
	}); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	out, err := client.Query(e.ctx, &sdk.QueryInput{TableName: e.table("hash"), IndexName: text("late"), KeyConditionExpression: text("g = :g"), ExpressionAttributeValues: tables.Item(`{":g":"x"}`)})
	if err != nil || out.Count != writers*each {
		t.Errorf("index holds %d of %d items: %v", out.Count, writers*each, err)
	}
}

// TestAnsweredWritesAreInTheFiles copies the file and its log after each response, because the process
// may be killed at any later time.
func TestAnsweredWritesAreInTheFiles(t *testing.T) {
	client, store := engineClient(t)
	e := ownTable(t, client)
	e.create(tables.Indexed(*e.table("indexed")))
	for i := range 12 {
		if _, err := client.TransactWriteItems(e.ctx, &sdk.TransactWriteItemsInput{TransactItems: writes{
			e.tPut(fmt.Sprintf(`{"pk":"a%d"}`, i), ""), e.tPut(fmt.Sprintf(`{"pk":"b%d"}`, i), ""),
		}}); err != nil {
			t.Fatal(err)
		}
		e.put(t, "indexed", "p", fmt.Sprintf(`{"sk":"%d","g":"g","h":%d}`, i, i))
		if i%4 != 3 {
			continue
		}
		killed := filepath.Join(t.TempDir(), "killed")
		if err := os.CopyFS(killed, os.DirFS(filepath.Dir(store.Path()))); err != nil {
			t.Fatal(err)
		}
		checkCopy(t, filepath.Join(killed, filepath.Base(store.Path())), i+1)
	}
}

func checkCopy(t *testing.T, path string, n int) {
	t.Helper()
	store, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	engine, err := dynamodb.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{client: tables.Client(local, inproc.Transport{Handler: engine}), ctx: context.Background(), prefix: "own-"}
	for i := range n {
		if e.get(t, "hash", fmt.Sprint("a", i), "") == "" || e.get(t, "hash", fmt.Sprint("b", i), "") == "" {
			t.Fatalf("after %d transactions the file lacks %d", n, i)
		}
	}
	out, err := e.client.Query(e.ctx, &sdk.QueryInput{TableName: e.table("indexed"), IndexName: text("all"), KeyConditionExpression: text("g = :g"), ExpressionAttributeValues: tables.Item(`{":g":"g"}`)})
	if err != nil || int(out.Count) != n {
		t.Fatalf("index of the copy has %d of %d: %v", out.Count, n, err)
	}
}

func send(t *testing.T, h http.Handler, target, body string) (*http.Response, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	res := w.Result()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := strconv.FormatUint(uint64(crc32.ChecksumIEEE(raw)), 10); res.Header.Get("X-Amz-Crc32") != want || res.Header.Get("x-amzn-RequestId") == "" {
		t.Errorf("headers %v", res.Header)
	}
	return res, string(raw)
}

func TestBodiesMayBeCompressed(t *testing.T) {
	store, err := disk.Open(filepath.Join(t.TempDir(), "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	engine, err := dynamodb.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	pack := func(parts ...string) string {
		var b strings.Builder
		for _, part := range parts {
			z := gzip.NewWriter(&b)
			_, _ = z.Write([]byte(part))
			_ = z.Close()
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		encoding, body string
		status         int
	}{
		"whole":       {"gzip", pack(`{"Limit":1}`), http.StatusOK},
		"in two":      {"gzip", pack(`{"Lim`, `it":1}`), http.StatusOK},
		"plain":       {"gzip", `{"Limit":1}`, http.StatusInternalServerError},
		"cut":         {"gzip", strings.TrimSuffix(pack(`{"Limit":1}`), "\x00"), http.StatusInternalServerError},
		"empty":       {"gzip", "", http.StatusInternalServerError},
		"too large":   {"gzip", pack(`{"Limit":1` + strings.Repeat(" ", 16<<20) + `}`), http.StatusRequestEntityTooLarge},
		"another one": {"garbage", `{"Limit":1}`, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.body))
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
			req.Header.Set("Content-Encoding", c.encoding)
			w := httptest.NewRecorder()
			engine.ServeHTTP(w, req)
			if w.Code != c.status {
				t.Errorf("%d %s; want %d", w.Code, w.Body, c.status)
			}
		})
	}
}

func TestProtocol(t *testing.T) {
	store, err := disk.Open(filepath.Join(t.TempDir(), "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	engine, err := dynamodb.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	const api = "DynamoDB_20120810."
	const serialization = "com.amazon.coral.service#SerializationException"
	const validation = "com.amazon.coral.validate#ValidationException"
	for name, c := range map[string]struct {
		target, body string
		status       int
		kind, word   string
	}{
		"an operation that does not exist": {api + "Frobnicate", "{}", 400, "com.amazon.coral.service#UnknownOperationException", ""},
		"another service":                  {"AWSStepFunctions.StartExecution", "{}", 400, "com.amazon.coral.service#UnknownOperationException", ""},
		"no target":                        {"", "{}", 400, "com.amazon.coral.service#UnknownOperationException", ""},
		"PartiQL":                          {api + "ExecuteStatement", "{}", 400, validation, "PartiQL"},
		"backups":                          {api + "UpdateContinuousBackups", "{}", 400, validation, "backups"},
		"global tables":                    {api + "CreateGlobalTable", "{}", 400, validation, "global tables"},
		"streams":                          {"DynamoDBStreams_20120810.ListStreams", "{}", 400, validation, "streams"},
		"no body":                          {api + "GetItem", "", 400, serialization, ""},
		"cut JSON":                         {api + "GetItem", `{"TableName":"x`, 400, serialization, ""},
		"two values":                       {api + "GetItem", `{} {}`, 400, serialization, ""},
		"an array":                         {api + "GetItem", `[]`, 400, serialization, ""},
		"bad UTF-8":                        {api + "GetItem", "{\"TableName\":\"\xff\"}", 400, serialization, "UTF-8"},
		"a number as name":                 {api + "GetItem", `{"TableName":5}`, 400, serialization, "NUMBER_VALUE cannot be converted to String"},
		"a number as S":                    {api + "GetItem", `{"TableName":"abc","Key":{"a":{"S":5}}}`, 400, serialization, "NUMBER_VALUE cannot be converted to String"},
		"a bare value":                     {api + "GetItem", `{"TableName":"abc","Key":{"a":"x"}}`, 400, serialization, "Unexpected value type in payload"},
		"an empty value":                   {api + "GetItem", `{"TableName":"abc","Key":{"a":{}}}`, 400, validation, "Supplied AttributeValue is empty"},
		"a value of two types":             {api + "GetItem", `{"TableName":"abc","Key":{"a":{"S":"x","N":"1"}}}`, 400, validation, "more than one datatypes"},
		"a false NULL":                     {api + "GetItem", `{"TableName":"abc","Key":{"a":{"NULL":false}}}`, 400, validation, "Null attribute value types must have the value of true"},
		"bad base64":                       {api + "GetItem", `{"TableName":"abc","Key":{"a":{"B":"!"}}}`, 400, serialization, "Base64"},
		"nothing":                          {api + "GetItem", `{}`, 400, validation, "2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null; Value null at 'key' failed to satisfy constraint: Member must not be null"},
		"deep JSON":                        {api + "GetItem", strings.Repeat(`{"a":`, 100_000), 400, serialization, "nested too deeply"},
		"a large body":                     {api + "GetItem", `{"x":"` + strings.Repeat("x", 16<<20) + `"}`, 413, "com.amazon.coral.service#RequestEntityTooLargeException", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := send(t, engine, c.target, c.body)
			if res.StatusCode != c.status || !strings.Contains(body, `"__type":"`+c.kind+`"`) || !strings.Contains(body, c.word) {
				t.Errorf("%d %.300s; want %d %s %s", res.StatusCode, body, c.status, c.kind, c.word)
			}
		})
	}
}

// FuzzRequest checks that no request makes the engine fail internally.
func FuzzRequest(f *testing.F) {
	store, err := disk.Open(filepath.Join(f.TempDir(), "data.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	engine, err := dynamodb.Open(store)
	if err != nil {
		f.Fatal(err)
	}
	ownTable(f, tables.Client(local, inproc.Transport{Handler: engine}))
	const t = `"TableName":"own-hash"`
	for _, seed := range [][2]string{
		{"PutItem", `{` + t + `,"Item":{"pk":{"S":"a"},"l":{"L":[{"NULL":true},{"BOOL":false},{"B":"AA=="},{"M":{"x":{"NS":["1","2"]}}}]}},"ConditionExpression":"attribute_not_exists(pk)","ReturnValues":"ALL_OLD"}`},
		{"GetItem", `{` + t + `,"Key":{"pk":{"S":"a"}},"ProjectionExpression":"l[3].x"}`},
		{"UpdateItem", `{` + t + `,"Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n = if_not_exists(n, :z) + :o REMOVE l[0]","ExpressionAttributeValues":{":z":{"N":"0"},":o":{"N":"1"}},"ReturnValues":"UPDATED_NEW"}`},
		{"DeleteItem", `{` + t + `,"Key":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"INDEXES"}`},
		{"Query", `{` + t + `,"KeyConditionExpression":"pk = :p","FilterExpression":"size(l) > :n","ExpressionAttributeValues":{":p":{"S":"a"},":n":{"N":"1"}},"Limit":1,"ScanIndexForward":false,"ExclusiveStartKey":{"pk":{"S":"a"}}}`},
		{"Scan", `{` + t + `,"Segment":1,"TotalSegments":3,"Select":"COUNT"}`},
		{"BatchGetItem", `{"RequestItems":{"own-hash":{"Keys":[{"pk":{"S":"a"}}],"ConsistentRead":true}}}`},
		{"BatchWriteItem", `{"RequestItems":{"own-hash":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"b"}}}}]}}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{` + t + `,"Item":{"pk":{"S":"a"}}}},{"ConditionCheck":{` + t + `,"Key":{"pk":{"S":"b"}},"ConditionExpression":"attribute_not_exists(pk)"}}],"ClientRequestToken":"t"}`},
		{"TransactGetItems", `{"TransactItems":[{"Get":{` + t + `,"Key":{"pk":{"S":"a"}}}}]}`},
		{"CreateTable", `{"TableName":"new","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST","GlobalSecondaryIndexes":[]}`},
		{"UpdateItem", `{` + t + `,"Key":{"pk":{"S":"a"}},"AttributeUpdates":{"l":{"Action":"ADD","Value":{"L":[{"S":"x"}]}},"n":{"Action":"DELETE"}},"Expected":{"n":{"Exists":false}}}`},
		{"Query", `{` + t + `,"KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}},"QueryFilter":{"n":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"}]}},"ConditionalOperator":"OR","AttributesToGet":["pk"]}`},
		{"Scan", `{` + t + `,"ScanFilter":{"l":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"a"}]}}}`},
		{"TagResource", `{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/own-hash","Tags":[{"Key":"a","Value":"b"}]}`},
		{"UpdateTable", `{"TableName":"own-none","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"x"}}]}`},
		{"DescribeTable", `{` + t + `}`},
		{"ListTables", `{"Limit":1}`},
		{"DescribeTimeToLive", `{` + t + `}`},
		{"UpdateTimeToLive", `{"TableName":"own-none","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"x"}}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, operation, body string) {
		if operation == "DeleteTable" {
			return // the other operations need their tables
		}
		res, answer := send(t, engine, "DynamoDB_20120810."+operation, body)
		if res.StatusCode >= 500 {
			t.Fatalf("%s %s: %d %s", operation, body, res.StatusCode, answer)
		}
	})
}

// TestDamagedItemIsAnError changes a page while the file is open. After that, opening the file
// again is refused.
func TestDamagedItemIsAnError(t *testing.T) {
	client, store := engineClient(t)
	e := ownTable(t, client)
	e.put(t, "hash", "a", `{"marker":"a text to be found"}`)
	if err := store.Close(); err != nil { // it writes the item to the file
		t.Fatal(err)
	}
	store, err := disk.Open(store.Path())
	if err != nil {
		t.Fatal(err)
	}
	engine, err := dynamodb.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	client = tables.Client(local, inproc.Transport{Handler: engine}, tables.Unsigned)
	file, err := os.OpenFile(store.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for at := range raw {
		if bytes.HasPrefix(raw[at:], []byte("a text to be found")) {
			found = true
			if _, err := file.WriteAt([]byte("A"), int64(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found {
		t.Fatal("the item is not in the file")
	}
	_, err = client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table("hash"), Key: tables.Key("a", "")})
	expect(t, tables.Said("", err), "!InternalServerError: a stored item is damaged")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Open(store.Path()); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("opened with %v", err)
	}
}
