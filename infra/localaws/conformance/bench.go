package main

import (
	"context"
	"fmt"
	"io"
	"localaws"
	"localaws/conformance/tables"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/inproc"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	bolt "go.etcd.io/bbolt"
)

// The benchmark measures a conditional update of a 1 KB item through the SDK. Our engine is called
// without a socket, and dynalite, in LevelDB on the same disk, over its socket. Raw bbolt reads and
// writes 1 KB values with one writer and one fsync each. They alternate in slices, so that noise of
// the machine affects them equally, and the result is the median of the slices.
const (
	turns     = 25
	sliceTime = 200 * time.Millisecond
	benchRows = 1000
)

// contender is one measured implementation: op does operation n.
type contender struct {
	name    string
	clients int
	op      func(n int64) error
	rates   []float64 // per slice, operations per second
	next    atomic.Int64
}

func bench(ctx context.Context, dir, dynaliteFolder string, out io.Writer) error {
	debug.SetGCPercent(localaws.GCPercent) // as in the deployment
	raw, err := rawUpdates(filepath.Join(dir, "raw.db"))
	if err != nil {
		return err
	}
	store, err := disk.Open(filepath.Join(dir, "engine.db"))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	engine, err := dynamodb.Open(store)
	if err != nil {
		return err
	}
	ours := tables.Client("http://dynamodb.local", inproc.Transport{Handler: engine}, tables.Unsigned)
	if err := fillBench(ctx, ours); err != nil {
		return err
	}
	list := []*contender{
		{name: "bbolt", clients: 1, op: raw},
		{name: "update", clients: 1, op: updates(ctx, ours)},
		{name: "update", clients: 16, op: updates(ctx, ours)},
		{name: "get", clients: 1, op: gets(ctx, ours)},
	}
	dynalite, found, err := startDynalite(ctx, dynaliteFolder, filepath.Join(dir, "dynalite"))
	if err != nil {
		return err
	}
	if found {
		defer dynalite.stop()
		theirs := tables.Client(dynalite.URL, nil)
		if err := fillBench(ctx, theirs); err != nil {
			return err
		}
		list = append(list, &contender{name: "dynalite", clients: 1, op: updates(ctx, theirs)}, &contender{name: "dynalite", clients: 16, op: updates(ctx, theirs)})
	}
	for range turns {
		for _, c := range list {
			if err := c.slice(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	reportBench(out, list)
	return ctx.Err()
}

// slice runs the contender for one slice.
func (c *contender) slice() error {
	began := time.Now()
	end := began.Add(sliceTime)
	first := c.next.Load()
	failed := make([]error, c.clients)
	var all sync.WaitGroup
	for i := range c.clients {
		all.Go(func() {
			for failed[i] == nil && time.Now().Before(end) {
				failed[i] = c.op(c.next.Add(1))
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	c.rates = append(c.rates, float64(c.next.Load()-first)/time.Since(began).Seconds())
	return nil
}

func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

func reportBench(out io.Writer, list []*contender) {
	rate := map[string]float64{}
	fmt.Fprintf(out, "%-10s %7s %12s %12s\n", "", "clients", "per second", "each")
	for _, c := range list {
		m := median(c.rates)
		rate[fmt.Sprint(c.name, c.clients)] = m
		fmt.Fprintf(out, "%-10s %7d %12.0f %12s\n", c.name, c.clients, m, time.Duration(float64(c.clients)/m*float64(time.Second)).Round(100*time.Nanosecond))
	}
	aim := func(what string, have, want float64, atLeast bool) {
		ok := "held"
		if atLeast && have < want || !atLeast && have > want {
			ok = "missed"
		}
		fmt.Fprintf(out, "%-62s %8.2f  aim %5.1f  %s\n", what, have, want, ok)
	}
	aim("16 clients: times the rate of raw bbolt's one writer, at least", rate["update16"]/rate["bbolt1"], 3, true)
	if rate["dynalite16"] > 0 {
		aim("16 clients: times the rate of dynalite's 16, at least", rate["update16"]/rate["dynalite16"], 3, true)
	}
	aim("1 client: times as slow as raw bbolt, at most", rate["bbolt1"]/rate["update1"], 1.5, false)
	aim("1 client: microseconds of a get, at most", 1e6/rate["get1"], 60, false)
}

// rawUpdates reads and writes 1 KB values in a bbolt file of their own.
func rawUpdates(path string) (func(n int64) error, error) {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	name := []byte("b")
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(name)
		for i := 0; i < benchRows && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "k%d", i), make([]byte, 1024))
		}
		return err
	})
	return func(n int64) error {
		return db.Update(func(tx *bolt.Tx) error {
			b, k := tx.Bucket(name), fmt.Appendf(nil, "k%d", n%benchRows)
			return b.Put(k, append([]byte(nil), b.Get(k)...))
		})
	}, err
}

func benchTable() *string { return aws.String("bench") }

// fillBench creates the table and its items.
func fillBench(ctx context.Context, client *sdk.Client) error {
	if _, err := client.CreateTable(ctx, &sdk.CreateTableInput{
		TableName: benchTable(), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	}); err != nil {
		return err
	}
	if err := sdk.NewTableExistsWaiter(client).Wait(ctx, &sdk.DescribeTableInput{TableName: benchTable()}, time.Minute); err != nil {
		return err
	}
	for i := 0; i < benchRows; i += 25 {
		var batch []types.WriteRequest
		for j := i; j < i+25; j++ {
			it := tables.Key(fmt.Sprint("k", j), `{"n":0,"status":"open","tags":["a","b"],"payload":"`+strings.Repeat("x", 960)+`"}`)
			batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		}
		if _, err := client.BatchWriteItem(ctx, &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*benchTable(): batch}}); err != nil {
			return err
		}
	}
	return nil
}

func benchKey(n int64) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: fmt.Sprint("k", n%benchRows)}}
}

func updates(ctx context.Context, client *sdk.Client) func(n int64) error {
	return func(n int64) error {
		_, err := client.UpdateItem(ctx, &sdk.UpdateItemInput{
			TableName: benchTable(), Key: benchKey(n), UpdateExpression: aws.String("SET n = n + :one"), ConditionExpression: aws.String("#s = :open"),
			ExpressionAttributeNames: map[string]string{"#s": "status"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":one": &types.AttributeValueMemberN{Value: "1"}, ":open": &types.AttributeValueMemberS{Value: "open"},
			},
		})
		return err
	}
}

func gets(ctx context.Context, client *sdk.Client) func(n int64) error {
	return func(n int64) error {
		_, err := client.GetItem(ctx, &sdk.GetItemInput{TableName: benchTable(), Key: benchKey(n), ConsistentRead: aws.Bool(true)})
		return err
	}
}
