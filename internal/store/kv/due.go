package kv

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"
)

// dueShards is the number of partitions of a list of rows that are due. One partition of an index
// takes 1,000 writes a second, and the accounts share its lists.
const dueShards = 16

// dueReads is the number of reads of such lists that a table has under way at once. The SDK's client keeps ten
// connections, and would make, and close, one for each read above that.
const dueReads = 8

// DueList returns the partition (DuePK) of a list in which the rows of an account stand.
func DueList(list, account string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(account))
	return shardOf(list, int(h.Sum32()%dueShards))
}

func shardOf(list string, n int) string { return fmt.Sprintf("%s#%02d", list, n) }

// IsDue reports whether a partition is one of a list.
func IsDue(pk, list string) bool { return pk == list || strings.HasPrefix(pk, list+"#") }

// DueKey is the key of a row that is due, and its place in the list.
type DueKey struct {
	PK    string `dynamodbav:"PK"`
	SK    string `dynamodbav:"SK"`
	DueSK string `dynamodbav:"DueSK"`
}

// Due lists the rows of a list that are due by a time, the oldest first, at most limit. In format 1 a
// list is one partition, with the name of the list.
func (t *Table) Due(ctx context.Context, list string, at time.Time, limit int) ([]DueKey, error) {
	var found [dueShards + 1][]Item
	var errs [dueShards + 1]error
	var reads sync.WaitGroup
	for n := range found {
		partition := list
		if n < dueShards {
			partition = shardOf(list, n)
		}
		reads.Go(func() {
			t.dueReads <- struct{}{}
			defer func() { <-t.dueReads }()
			found[n], errs[n] = t.Read(ctx, DueBy(partition, at), limit)
		})
	}
	reads.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	keys, err := DecodeAll[DueKey](slices.Concat(found[:]...))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(keys, func(a, b DueKey) int { return strings.Compare(a.DueSK, b.DueSK) })
	if limit > 0 && len(keys) > limit {
		keys = keys[:limit]
	}
	return keys, nil
}
