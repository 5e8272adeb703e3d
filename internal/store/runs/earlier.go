package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// earlierRow says how far the runs of earlier versions of the program were added to the lists.
type earlierRow struct {
	PK    string `dynamodbav:"PK"`
	SK    string `dynamodbav:"SK"`
	After string `dynamodbav:"after_pk,omitempty"` // the partition of the first event after which the present reading goes on
	Again int64  `dynamodbav:"again_at,omitempty"` // when the table is read a second time
	Done  bool   `dynamodbav:"complete,omitempty"`
}

const earlierPK, earlierSK = "LISTED", "RUNS"

// ListEarlier adds to the lists the runs that an earlier version of the program wrote, whose first event has no place
// in a list. It ends after about most runs, and the next call goes on. When again is not 0 the table is read a second
// time that much later, because instances of the earlier version may have written meanwhile. It returns how many runs
// it added. A run that cannot be added is left out, and is part of the error.
func (s *Store) ListEarlier(ctx context.Context, at time.Time, again time.Duration, most int) (int, error) {
	if done, err := s.Complete(ctx); done || err != nil {
		return 0, err
	}
	var row earlierRow
	err := s.table.Get(ctx, earlierPK, earlierSK, &row, errNew)
	if err != nil && !errors.Is(err, errNew) || at.Before(kv.Time(row.Again)) {
		return 0, err
	}
	var after kv.Item
	if row.After != "" {
		after = kv.Key(row.After, eventKey(1))
	}
	added, problems := 0, []error(nil)
	lists := sweep.List[string]{Name: "earlier runs", Do: s.addToLists, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	err = s.table.Keys(ctx, after, "SK = :first AND attribute_not_exists(GSI1PK)", "PK, SK, GSI1PK", kv.Item{":first": kv.S(eventKey(1))},
		func(keys []kv.Item, next kv.Item) (bool, error) {
			runs := make([]sweep.Row[string], len(keys))
			for i, k := range keys {
				runs[i] = sweep.Row[string]{Key: kv.Text(k, "PK"), Name: kv.Text(k, "PK")}
			}
			_, err := lists.Over(ctx, runs)
			problems, added = append(problems, err), added+len(keys)
			row = row.after(next, at, again)
			return added < most, s.table.Do(ctx, kv.Put(row, "", nil))
		})
	return added, errors.Join(append(problems, err)...)
}

var errNew = errors.New("store: no run of an earlier version was looked for")

// after returns the row when the table was read up to a key; nil: to its end.
func (row earlierRow) after(next kv.Item, at time.Time, again time.Duration) earlierRow {
	row.PK, row.SK, row.After = earlierPK, earlierSK, kv.Text(next, "PK")
	if len(next) > 0 {
		return row
	}
	row.Done = again == 0 || row.Again != 0
	row.Again = kv.Millis(at.Add(again))
	return row
}

// addToLists adds one run to the lists, as it is when nothing else writes it.
func (s *Store) addToLists(ctx context.Context, pk string) error {
	account, id, _ := kv.RunOf(pk)
	err := retry.Do(ctx, func() error {
		r, err := s.Bare(ctx, account, id)
		if err != nil {
			return err
		}
		return s.table.Commit(ctx, places(r)...)
	})
	if err == nil || errors.Is(err, plan.ErrRunNotFound) {
		return nil
	}
	return fmt.Errorf("store: run %s of account %s is in no list: %w", id, account, err)
}

// places returns the writes that give a run its places in the lists, if it is as it was read.
func places(r plan.Run) []kv.Write {
	pk := kv.Run(r.Account, r.ID)
	set, values := "SET event_seq = :seen, done = :done", kv.Item{":seen": kv.N(int64(r.EventSeq)), ":done": kv.N(int64(r.DoneSteps()))}
	condition := "event_seq = :seen AND attribute_not_exists(handouts)"
	if r.Handouts > 0 {
		condition, values[":handouts"] = "event_seq = :seen AND handouts = :handouts", kv.N(int64(r.Handouts))
	}
	var writes []kv.Write
	for _, w := range r.Waits() {
		if w.Kind == plan.WaitDraft {
			set += ", GSI1PK = :waits, GSI1SK = :by"
			values[":waits"], values[":by"] = kv.S(kv.Waiting(r.Account)), kv.S(kv.At(w.Due, r.ID))
		} else {
			writes = append(writes, putWait(r, w))
		}
	}
	return append(writes,
		kv.Update(pk, "RUN", set, condition, values, fault.ErrMoved),
		kv.Update(pk, eventKey(1), "SET GSI1PK = :runs, GSI1SK = :at, chat_id = :chat", "attribute_exists(PK)", kv.Item{
			":runs": kv.S(runsOf(r.Account)), ":at": kv.S(kv.At(r.CreatedAt, r.ID)), ":chat": kv.S(r.ChatID),
		}, plan.ErrRunNotFound))
}

// Complete implements plan.Lister. It remembers that the lists are complete.
func (s *Store) Complete(ctx context.Context) (bool, error) {
	if s.complete.Load() {
		return true, nil
	}
	row, err := s.table.Row(ctx, earlierPK, earlierSK)
	var state earlierRow
	if err == nil && row != nil {
		err = kv.Decode(row, &state)
	}
	if state.Done {
		s.complete.Store(true)
	}
	return state.Done, err
}
