package dynamodb_test

import (
	"context"
	"fmt"
	"localaws/conformance/tables"
	"localaws/disk"
	"localaws/dynamodb"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TestEngineServesOverSocket uses the SDK's own client, with its checksums and its connections, and
// expects the same responses over a socket.
func TestEngineServesOverSocket(t *testing.T) {
	store, err := disk.Open(filepath.Join(t.TempDir(), "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	engine, err := dynamodb.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	defer server.Close()
	e := &env{ctx: context.Background(), prefix: "own-", client: sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})}
	e.create(tables.Indexed(*e.table("indexed")))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 20 {
				if _, err := e.client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table("indexed"), Item: tables.Key(fmt.Sprint(w), fmt.Sprintf(`{"sk":"%d","g":"g","h":%d}`, i, i))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	out, err := e.client.Query(e.ctx, &sdk.QueryInput{TableName: e.table("indexed"), IndexName: text("all"), KeyConditionExpression: text("g = :g"), ExpressionAttributeValues: tables.Item(`{":g":"g"}`)})
	if err != nil || out.Count != 80 {
		t.Errorf("index holds %d of 80: %v", out.Count, err)
	}
	_, err = e.client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table("nowhere"), Key: tables.Key("x", "")})
	expect(t, tables.Said("", err), "!ResourceNotFoundException: Requested resource not found")
}
