package kv

import (
	"fmt"
	"testing"
)

func TestAccountsAreSpreadOverThePartitionsOfAList(t *testing.T) {
	used := map[string]int{}
	for i := range 1000 {
		account := fmt.Sprint("account-", i)
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
	if len(used) != dueShards || !IsDue("DUE", "DUE") {
		t.Errorf("%d partitions are used", len(used))
	}
}
