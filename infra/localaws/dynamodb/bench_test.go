package dynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"localaws/conformance/tables"
	"localaws/dynamodb"
	"localaws/inproc"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	bolt "go.etcd.io/bbolt"
)

// BenchmarkEngine measures operations of 1 KB items through the SDK in process,
// beside raw bbolt with one fsync per write on the same disk.
func BenchmarkEngine(b *testing.B) {
	payload := strings.Repeat("x", 900)
	client, store := engineClient(b)
	e := ownTable(b, client)
	engine, err := dynamodb.Open(store)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		it := tables.Item(fmt.Sprintf(`{"pk":"k%d","n":0,"status":"open","tags":["a","b"],"payload":"%s"}`, i, payload))
		if _, err := client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table("hash"), Item: it}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		parallel(b, 1, func(n int64) error {
			_, err := client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table("hash"), Key: tables.Key(fmt.Sprint("k", n%1000), ""), ConsistentRead: aws.Bool(true)})
			return err
		})
	})
	update := func(n int64) error {
		_, err := client.UpdateItem(e.ctx, &sdk.UpdateItemInput{
			TableName: e.table("hash"), Key: tables.Key(fmt.Sprint("k", n%1000), ""), UpdateExpression: aws.String("SET n = n + :one"),
			ConditionExpression: aws.String("#s = :open"), ExpressionAttributeNames: map[string]string{"#s": "status"},
			ExpressionAttributeValues: tables.Item(`{":one":1,":open":"open"}`),
		})
		return err
	}
	put := func(n int64) error {
		it := tables.Item(`{"n":0,"status":"open"}`)
		it["pk"], it["payload"] = tables.Key(fmt.Sprint("k", n%1000), "")["pk"], tables.Key(payload, "")["pk"]
		_, err := client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table("hash"), Item: it})
		return err
	}
	// The same update as a request that is already encoded: without the cost of the SDK, which on
	// few cores is most of it.
	wire := func(n int64) error {
		body := fmt.Sprintf(`{"TableName":"own-hash","Key":{"pk":{"S":"k%d"}},"UpdateExpression":"SET n = n + :one","ConditionExpression":"#s = :open",`+
			`"ExpressionAttributeNames":{"#s":"status"},"ExpressionAttributeValues":{":one":{"N":"1"},":open":{"S":"open"}}}`, n%1000)
		req, err := http.NewRequestWithContext(e.ctx, http.MethodPost, "http://dynamodb.local/", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.UpdateItem")
		res, err := inproc.Transport{Handler: engine}.Do(req)
		if err == nil && res.StatusCode != http.StatusOK {
			err = errors.New(res.Status)
		}
		return err
	}
	for _, c := range []int{1, 16} {
		b.Run(fmt.Sprintf("wire/c=%d", c), func(b *testing.B) { parallel(b, c, wire) })
		b.Run(fmt.Sprintf("put/c=%d", c), func(b *testing.B) { parallel(b, c, put) })
		b.Run(fmt.Sprintf("update/c=%d", c), func(b *testing.B) { parallel(b, c, update) })
		b.Run(fmt.Sprintf("bbolt/c=%d", c), func(b *testing.B) { rawUpdates(b, c, payload) })
	}
}

// rawUpdates reads and writes 1 KB values in a bbolt file of their own.
func rawUpdates(b *testing.B, c int, payload string) {
	db, err := bolt.Open(filepath.Join(b.TempDir(), "raw.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name := []byte("b")
	if err := db.Update(func(tx *bolt.Tx) error {
		bk, err := tx.CreateBucket(name)
		for i := 0; i < 1000 && err == nil; i++ {
			err = bk.Put(fmt.Appendf(nil, "k%d", i), []byte(payload))
		}
		return err
	}); err != nil {
		b.Fatal(err)
	}
	parallel(b, c, func(n int64) error {
		return db.Update(func(tx *bolt.Tx) error {
			bk, k := tx.Bucket(name), fmt.Appendf(nil, "k%d", n%1000)
			return bk.Put(k, append([]byte(nil), bk.Get(k)...))
		})
	})
}

// parallel spreads b.N operations over exactly c goroutines.
func parallel(b *testing.B, c int, op func(n int64) error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var next atomic.Int64
	done := make(chan error, c)
	b.ResetTimer()
	for range c {
		go func() {
			for ctx.Err() == nil {
				n := next.Add(1)
				if n > int64(b.N) {
					break
				}
				if err := op(n); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range c {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
