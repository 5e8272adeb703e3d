package kv

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
)

// dueShards is the number of partitions of a list of rows that are due. One partition of an index
// takes 1,000 writes a second, and the accounts share its lists.
const dueShards = 16

// dueReads is the number of reads of such lists that a table has under way at once. The SDK's client keeps ten
// connections, and would make, and close, one for each read above that.
const dueReads = 8

// DueList returns the partition (DuePK) of a list in which the rows of an account stand.
func DueList(list string, account ids.Account) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(account))
	return shardOf(list, int(h.Sum32()%dueShards))
}

func shardOf(list string, n int) string { return fmt.Sprintf("%s#%02d", list, n) }

// IsDue reports whether a partition is one of a list.
func IsDue(pk, list string) bool { return strings.HasPrefix(pk, list+"#") }

// DueKey is the key of a row that is due, and its queue key.
type DueKey struct {
	Key

	DueSK string
}

// Due lists the rows of a list that are due by a time, the oldest first, at most limit.
func (t *Table) Due(ctx context.Context, list string, at time.Time, limit int) ([]DueKey, error) {
	var found [dueShards][]Item
	var errs [dueShards]error
	var reads sync.WaitGroup
	for n := range found {
		reads.Go(func() {
			t.dueReads <- struct{}{}
			defer func() { <-t.dueReads }()
			found[n], errs[n] = t.Read(ctx, DueBy(shardOf(list, n), at), limit)
		})
	}
	reads.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	var keys []DueKey
	for _, it := range slices.Concat(found[:]...) {
		keys = append(keys, DueKey{KeyOf(it), Text(it, "DueSK")})
	}
	slices.SortStableFunc(keys, func(a, b DueKey) int { return strings.Compare(a.DueSK, b.DueSK) })
	if limit > 0 && len(keys) > limit {
		keys = keys[:limit]
	}
	return keys, nil
}

// ErrBehind means that a row is no longer due: its index is behind.
var ErrBehind = errors.New("kv: the index is behind")

// DueRows is Due for a sweep. read returns the subject of a row; a row for which it fails is put off as any other, and one
// with ErrBehind is left out.
func DueRows[K any](ctx context.Context, t *Table, list string, at time.Time, limit int, read func(DueKey) (K, error)) ([]sweep.Row[K], error) {
	keys, err := t.Due(ctx, list, at, limit)
	var rows []sweep.Row[K]
	for _, k := range keys {
		r := sweep.Row[K]{Name: k.PK + " " + k.SK, Tries: triesOf(k.DueSK), PutOff: func(ctx context.Context, until time.Time) (bool, error) {
			return t.putOff(ctx, k, until)
		}}
		r.Err = sweep.Guard(func() (err error) {
			r.Key, err = read(k)
			return err
		})
		if !errors.Is(r.Err, ErrBehind) {
			rows = append(rows, r)
		}
	}
	return rows, err
}

// Unknown is the error of a row that is due, and whose key says nothing.
func (k DueKey) Unknown() error {
	return fmt.Errorf("store: %q %q is due, and nothing is known of such rows", k.PK, k.SK)
}

// putOff sets when a row is due again, unless somebody changed that since it was listed, or it is later already. The number
// of tries is stored with the time, so that any other write of the time resets it.
func (t *Table) putOff(ctx context.Context, k DueKey, until time.Time) (moved bool, err error) {
	_, id, _ := strings.Cut(k.DueSK, "#")
	id, _, _ = strings.Cut(id, triesMark)
	next := At(until, id) + triesMark + strconv.Itoa(triesOf(k.DueSK)+1)
	if next < k.DueSK {
		return false, nil
	}
	_, moved, err = t.Try(ctx, Update(k.Key).Set("DueSK", next).If(Is("DueSK", k.DueSK)))
	if errors.Is(err, fault.ErrMoved) { // a transaction moves it now
		return false, nil
	}
	return moved, err
}

// triesMark separates the due time of a row from the number of failed tries.
const triesMark = "#tries#"

func triesOf(due string) int {
	_, tries, _ := strings.Cut(due, triesMark)
	n, _ := strconv.Atoi(tries)
	return n
}
