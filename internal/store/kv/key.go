package kv

import (
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/ids"
)

// Key is the primary key of a row. The struct of a row has it.
type Key struct {
	PK string `dynamodbav:"PK"`
	SK string `dynamodbav:"SK"`
}

// Item returns the key as DynamoDB takes it.
func (k Key) Item() Item { return Item{"PK": S(k.PK), "SK": S(k.SK)} }

// KeyOf returns the key of a stored row.
func KeyOf(it Item) Key { return Key{Text(it, "PK"), Text(it, "SK")} }

// Account is the partition of the rows of an account that have no partition of their own. Every
// other partition of an account begins with it, so that no query can leave the account.
func Account(account ids.Account) string { return "A#" + string(account) }

// Chat is the partition of the messages of a chat. The row of the chat itself is in Account.
func Chat(account ids.Account, chat string) string { return Account(account) + "#C#" + chat }

// Run is the partition of a run.
func Run(account ids.Account, run string) string { return Account(account) + "#R#" + run }

// Job is the partition of a job.
func Job(account ids.Account, job string) string { return Account(account) + "#J#" + job }

// Waiting is the list of the waits of an account's runs, steps and jobs for a person, by due time. Each row is of the store
// of its kind.
func Waiting(account ids.Account) string { return Account(account) + "#WAITING" }

// Pad writes a number with leading zeros, so that the order of texts is that of numbers.
func Pad(n int64, width int) string {
	s := strconv.FormatInt(n, 10)
	for len(s) < width {
		s = "0" + s
	}
	return s
}

// At is a sort key of an index: a time, and an id because times are not unique.
func At(t time.Time, id string) string { return Pad(t.UnixMilli(), 13) + "#" + id }

// AccountOf returns the account of a partition that ends with suffix.
func AccountOf(pk, suffix string) ids.Account {
	return ids.Account(strings.TrimSuffix(strings.TrimPrefix(pk, Account("")), suffix))
}

// ChatOf returns the chat of a partition that Chat made.
func ChatOf(pk string) (account ids.Account, chat string, ok bool) { return part(pk, "#C#") }

// RunOf returns the run of a partition that Run made.
func RunOf(pk string) (account ids.Account, run string, ok bool) { return part(pk, "#R#") }

// JobOf returns the job of a partition that Job made.
func JobOf(pk string) (account ids.Account, job string, ok bool) { return part(pk, "#J#") }

func part(pk, between string) (account ids.Account, id string, ok bool) {
	before, after, ok := strings.Cut(strings.TrimPrefix(pk, Account("")), between)
	return ids.Account(before), after, ok
}
