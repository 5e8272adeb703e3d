package kv

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/ground/ids"
)

func TestAccountsAreSpreadOverThePartitionsOfAList(t *testing.T) {
	used := map[string]int{}
	for i := range 1000 {
		account := ids.Account(fmt.Sprint("account-", i))
		partition := DueList("DUE", account)
		if partition != DueList("DUE", account) || !IsDue(partition, "DUE") || IsDue(partition, "DU") || IsDue(partition, "UNPLACED") {
			t.Fatalf("%s is in %s", account, partition)
		}
		used[partition]++
	}
	for partition, n := range used {
		if n < 30 || n > 130 {
			t.Errorf("%d of 1000 accounts are in %s", n, partition)
		}
	}
	if len(used) != dueShards || IsDue("DUE", "DUE") {
		t.Errorf("%d partitions are used", len(used))
	}
}

// slowClient answers each query a second later, with no row.
type slowClient struct {
	Client

	all, now, most atomic.Int64
}

func (c *slowClient) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.all.Add(1)
	now := c.now.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	time.Sleep(time.Second)
	c.now.Add(-1)
	return &dynamodb.QueryOutput{}, nil
}

func TestPartitionsOfAllListsAreReadEightAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &slowClient{}
		table, began := New(client, "t"), time.Now()
		var lists sync.WaitGroup
		for n := range 7 {
			lists.Go(func() {
				if _, err := table.Due(t.Context(), fmt.Sprint("LIST", n), began, 10); err != nil {
					t.Error(err)
				}
			})
		}
		lists.Wait()
		if client.all.Load() != 7*dueShards || client.most.Load() != dueReads {
			t.Errorf("%d reads, %d at a time, want 112 and 8", client.all.Load(), client.most.Load())
		}
		if took := time.Since(began); took != 14*time.Second {
			t.Errorf("112 reads take %v, want 14 s", took)
		}
	})
}
