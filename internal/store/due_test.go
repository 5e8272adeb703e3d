package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture/table"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// planted is a row that is due, as far as a list of what is due reads it.
type planted struct {
	PK    string `dynamodbav:"PK"`
	SK    string `dynamodbav:"SK"`
	DuePK string `dynamodbav:"DuePK"`
	DueSK string `dynamodbav:"DueSK"`
	ID    any    `dynamodbav:"mcp_id,omitempty"`
	Chat  any    `dynamodbav:"chat_id,omitempty"`
	Until any    `dynamodbav:"taken_until,omitempty"`
}

// dueList is one list of what is due: its name, the row of an id, and a way through it with at most a number of rows. do
// is called with the text of a key.
type dueList struct {
	name  string
	row   func(id string) planted
	sweep func(most int, now func() time.Time, do func(key string) error) error
}

func listOf[K any](name string, row func(string) planted, due func(context.Context, time.Time, int) ([]sweep.Row[K], error)) dueList {
	return dueList{name, row, func(most int, now func() time.Time, do func(string) error) error {
		l := sweep.List[K]{Name: name, Due: due, Most: most, Now: now, Log: slog.New(slog.DiscardHandler), Do: func(_ context.Context, k K) error { return do(fmt.Sprint(k)) }}
		_, err := l.Sweep(ctx)
		return err
	}}
}

// dueListCount is how many lists there are.
const dueListCount = 11

func dueLists(s store.Stores) []dueList {
	acme := kv.Account("acme")
	run := func(sk string) func(string) planted {
		return func(id string) planted { return planted{PK: kv.Run("acme", id), SK: sk} }
	}
	return []dueList{
		listOf("DUE", run("RUN"), s.Runs.Due),
		listOf("UNPLACED", run("RUN"), s.Receipts.Unplaced),
		listOf("CONCLUDING", run("CONCLUSION"), s.Runs.LeftConclusions),
		listOf("UNSIGNED", func(id string) planted {
			return planted{PK: kv.Account(ids.Account("acme-"+id)) + "#CHAIN", SK: "LINK#000000001"}
		}, s.Receipts.Unsigned),
		listOf("JOBS", func(id string) planted { return planted{PK: kv.Job("acme", id), SK: "JOB"} }, s.Jobs.DueJobs),
		listOf("HOOKS", func(id string) planted { return planted{PK: acme + "#H#" + id, SK: "D#d"} }, s.Hooks.DueHooks),
		listOf("HOOKS", func(id string) planted {
			return planted{PK: kv.Account(ids.Account("acme-"+id)) + "#OUTBOX", SK: "T#t"}
		}, s.Hooks.DueHooks),
		listOf("ANSWERING", func(id string) planted { return planted{PK: kv.Chat("acme", "c"), SK: "ANSWER#" + id, Until: 1} }, s.Chats.LeftAnswers),
		listOf("GONE", func(id string) planted { return planted{PK: acme, SK: "GONE##" + id, Chat: id} }, s.Gone.WithFiles),
		listOf("ABSENT", func(id string) planted { return planted{PK: acme, SK: "SERVER#" + id, ID: id} }, s.Registry.Absent),
		listOf("WALLET", func(id string) planted { return planted{PK: kv.Account(ids.Account("acme-"+id)) + "#W", SK: "WALLET"} }, s.Wallet.DueWallets),
	}
}

// TestAPoisonedRowHoldsNobody plants as many bad rows first in each list as one sweep takes: rows that cannot be read,
// rows whose work fails, and rows whose work panics. The good row behind them is reached at the next sweep, and the bad
// ones are due again.
func TestAPoisonedRowHoldsNobody(t *testing.T) {
	for _, kind := range []string{"unreadable", "fails", "panics"} {
		for n := range dueListCount {
			rows := table.New(t)
			l := dueLists(store.Over(rows))[n]
			put := func(id string, at time.Time) {
				t.Helper()
				row := l.row(id)
				if strings.HasPrefix(id, "unreadable") && row.Until == nil && row.Chat == nil && row.ID == nil {
					row.PK = "JUNK#" + id
				} else if strings.HasPrefix(id, "unreadable") {
					row.Until, row.Chat, row.ID = []string{"x"}, []string{"x"}, []string{"x"}
				}
				row.DuePK, row.DueSK = kv.DueList(l.name, "acme"), kv.At(at, id)
				if err := rows.Commit(ctx, kv.Put(row)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 3 {
				put(fmt.Sprint(kind, i), now.Add(time.Duration(i)*time.Second))
			}
			put("good", now.Add(time.Minute))
			at, reached, tried := now.Add(time.Hour), false, map[string]int{}
			do := func(key string) error {
				switch {
				case strings.Contains(key, "fails"), strings.Contains(key, "unreadable"):
					tried[key]++
					return errors.New("as the case says")
				case strings.Contains(key, "panics"):
					tried[key]++
					panic("as the case says")
				case strings.Contains(key, "good"):
					reached = true
				}
				return nil
			}
			clock := func() time.Time { return at }
			for pass := range 2 {
				if err := l.sweep(3, clock, do); err == nil && pass == 0 {
					t.Errorf("%s, %s: nothing is told of the bad rows", l.name, kind)
				}
			}
			if !reached {
				t.Errorf("%s, %s: the good row waits behind the bad ones", l.name, kind)
			}
			if kind == "unreadable" {
				continue
			}
			before := total(tried)
			at = at.Add(time.Hour)
			_ = l.sweep(3, clock, do)
			if total(tried) == before {
				t.Errorf("%s, %s: the bad rows are not tried again: %v", l.name, kind, tried)
			}
		}
	}
}

// TestRowsThatNeedNothingHoldNobody plants more rows that need nothing first in each list than a sweep takes. The row
// behind them is reached, and they stand behind it.
func TestRowsThatNeedNothingHoldNobody(t *testing.T) {
	most := 1000
	if testing.Short() {
		most = 100
	}
	for n := range dueListCount {
		rows := table.New(t)
		l := dueLists(store.Over(rows))[n]
		put := func(id string, at time.Time) {
			t.Helper()
			row := l.row(id)
			row.DuePK, row.DueSK = kv.DueList(l.name, "acme"), kv.At(at, id)
			if err := rows.Commit(ctx, kv.Put(row)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range most + most/10 {
			put(fmt.Sprintf("idle%04d", i), now.Add(time.Duration(i)*time.Millisecond))
		}
		put("good", now.Add(time.Minute))
		at, reached := now.Add(time.Hour), false
		do := func(key string) error {
			reached = reached || strings.Contains(key, "good")
			return nil
		}
		if err := l.sweep(most, func() time.Time { return at }, do); err != nil || !reached {
			t.Errorf("%s: the row behind those that need nothing is reached: %v; %v", l.name, reached, err)
		}
		first := ""
		at = at.Add(time.Second)
		put("next", now.Add(2*time.Minute))
		_ = l.sweep(1, func() time.Time { return at }, func(key string) error {
			first = cmp.Or(first, key)
			return nil
		})
		if !strings.Contains(first, "next") {
			t.Errorf("%s: %q is first again", l.name, first)
		}
	}
}

func total(of map[string]int) (n int) {
	for _, v := range of {
		n += v
	}
	return n
}

// TestUnreadableLeasesHoldNobody: a thousand leases that cannot be read stand before one that can.
func TestUnreadableLeasesHoldNobody(t *testing.T) {
	most := 1000
	if testing.Short() {
		most = 100
	}
	rows := table.New(t)
	s := store.Over(rows)
	for n := range most {
		id := fmt.Sprintf("m%04d", n)
		bad := planted{PK: kv.Chat("acme", "bad"), SK: "ANSWER#" + id, Until: []string{"x"}, DuePK: kv.DueList("ANSWERING", "acme"), DueSK: kv.At(now, id)}
		if err := rows.Commit(ctx, kv.Put(bad)); err != nil {
			t.Fatal(err)
		}
	}
	chat := conversation.Chat{ID: "c", CreatedAt: now, UpdatedAt: now}
	if err := s.Chats.CreateChat(ctx, "acme", chat); err != nil {
		t.Fatal(err)
	}
	message := conversation.Message{ID: "m", Seq: "m", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "¿hola?", At: now}
	if err := s.Chats.AddMessages(ctx, conversation.Key{Account: "acme", ChatID: "c"}, "", now, message); err != nil {
		t.Fatal(err)
	}
	if err := s.Chats.TakeAnswer(ctx, conversation.Answering{Key: conversation.Key{Account: "acme", ChatID: "c"}, MessageID: "m", Until: now.Add(time.Second), Locale: "es"}, now); err != nil {
		t.Fatal(err)
	}
	sweeper := &conversation.Sweeper{
		Store: s.Chats, IDs: ids.NewSource(nil), Now: func() time.Time { return now.Add(time.Hour) }, Log: slog.New(slog.DiscardHandler),
		Notice: func(string) conversation.Message {
			return conversation.Message{Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Content: "nobody answered"}
		},
	}
	told := 0
	for range 2 {
		swept, _ := sweeper.Sweep(ctx)
		told += swept.Notified
	}
	if told != 1 {
		t.Errorf("%d chats are told", told)
	}
}
