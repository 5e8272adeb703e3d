// Package usage owns the rows of the counters of turns: eight for each account and UTC day.
package usage

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"piloto/internal/chats/usage"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// A day's counters are attributes of its rows, so that counting a turn is one
// update that adds to them. A turn is counted in one of the rows, at random, because
// DynamoDB takes 1,000 writes a second of one row; a reader adds them up. The names of agents are a set
// beside the counters: the condition compares its size, which bounds how large each
// row can become. A reader keeps as many names of a day as one row may have: those
// that were counted first, in the order of their time, and the others under the
// name of all others.
//
// Days have no time to live: a total of an account only grows.
const (
	dayPrefix = "DAY#"
	agentsSet = "agents"
	shards    = 8
)

func dayKey(at time.Time, shard int) string {
	return dayPrefix + usage.DateOf(at) + "#" + strconv.Itoa(shard)
}

// Store is the counters of a table.
type Store struct{ table *kv.Table }

// New returns the counters of a table.
func New(table *kv.Table) *Store { return &Store{table} }

func usageKey(account ids.Account) string { return kv.Account(account) + "#TALLY" }

// CountTurn adds a turn's counters to one of the account's rows of the UTC day of at. A turn of
// one agent too many is counted by a second update, under the name of all others.
func (s *Store) CountTurn(ctx context.Context, account ids.Account, at time.Time, turn usage.Turn) error {
	shard := rand.IntN(shards)
	err := s.table.Do(ctx, counting(account, at, shard, turn))
	if errors.Is(err, errManyAgents) {
		turn.Agent = usage.Other
		return s.table.Do(ctx, counting(account, at, shard, turn))
	}
	return err
}

var errManyAgents = errors.New("store: the row counts as many agents as it may")

// counting returns the update that counts a turn.
func counting(account ids.Account, at time.Time, shard int, turn usage.Turn) kv.Write {
	w := kv.Update(kv.Key{PK: usageKey(account), SK: dayKey(at, shard)}).Else(errManyAgents)
	for name, by := range turn.Counters() {
		w = w.Add(kv.Path(name), by)
	}
	if turn.Agent == "" {
		return w
	}
	for name, by := range turn.AgentCounters(turn.Agent) {
		w = w.Add(kv.Path(name), by)
	}
	if turn.Agent == usage.Other {
		return w
	}
	since := kv.Path(usage.SinceCounter(turn.Agent))
	return w.Add(agentsSet, kv.Strings(turn.Agent)).Set(since, since.IfMissing(at)).
		If(kv.Any(kv.Missing(agentsSet), kv.Contains(agentsSet, turn.Agent), kv.Shorter(agentsSet, usage.MostAgents)))
}

// Days returns the account's days from a date on, in order.
func (s *Store) Days(ctx context.Context, account ids.Account, from string) ([]usage.Day, error) {
	span := kv.Rows(usageKey(account), dayPrefix)
	span.From = dayPrefix + from
	items, err := s.table.Read(ctx, span, 0)
	if err != nil {
		return nil, err
	}
	days := make([]usage.Day, 0, len(items))
	for _, it := range items {
		date, _, _ := strings.Cut(strings.TrimPrefix(kv.Text(it, "SK"), dayPrefix), "#")
		if n := len(days); n == 0 || days[n-1].Date != date {
			days = append(days, usage.Day{Date: date, Counters: map[string]int64{}})
		}
		if err := add(&days[len(days)-1], it); err != nil {
			return nil, err
		}
	}
	for i := range days {
		days[i].BoundAgents()
	}
	return days, nil
}

// add adds the counters of a row to its day.
func add(d *usage.Day, it kv.Item) error {
	for name := range it {
		n, isCounter, err := kv.Int(it, name)
		if err != nil {
			return err
		}
		if isCounter {
			d.Add(name, n)
		}
	}
	return nil
}
