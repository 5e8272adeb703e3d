package runs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/store/chats"
	"piloto/internal/store/jobs"
	"piloto/internal/store/kv"
)

// runsOf is the list of an account's runs, by the time at which they were proposed. A run stands in it with its first
// event, which nothing writes again: with its own row, each step would also write the index.
func runsOf(account ids.Account) string { return kv.Account(account) + "#RUNS" }

// listReads is the number of rows that are read at once for a page.
const listReads = 8

// Runs implements plan.Lister.
func (s *Store) Runs(ctx context.Context, account ids.Account, f plan.Filter, cursor string, limit int) ([]plan.Head, string, error) {
	span := kv.Listed(runsOf(account))
	span.Newest = true
	if !f.From.IsZero() {
		span.From = beginsAt(f.From)
	}
	if !f.To.IsZero() {
		span.To = beginsAt(f.To) // no id is empty, so that none of that moment is in it
	}
	if span.From >= span.To {
		return nil, "", nil
	}
	scope := strings.Join([]string{span.Of(), f.ChatID, statusText(f.Statuses), span.From, span.To}, "\x00")
	return kv.Pick(ctx, s.table, scope, span, cursor, limit, func(part []kv.Place) ([]*plan.Head, error) {
		return readPlaces(part, func(p kv.Place) (*plan.Head, error) {
			if f.ChatID != "" && p.ChatID != f.ChatID {
				return nil, nil
			}
			h, err := s.lists.headAt(ctx, account, p)
			if h != nil && len(f.Statuses) > 0 && !slices.Contains(f.Statuses, h.Status) {
				h = nil
			}
			return h, err
		})
	})
}

// beginsAt returns the key before those of a moment. A moment that the keys cannot have is the first or the last one.
func beginsAt(at time.Time) string {
	return kv.At(time.UnixMilli(min(max(at.UnixMilli(), 0), 9_999_999_999_999)), "")
}

func statusText(list []plan.Status) string {
	var text []string
	for _, st := range list {
		text = append(text, string(st))
	}
	slices.Sort(text)
	return strings.Join(text, ",")
}

// Waiting implements plan.Lister. An index may lag behind the table, so only keys come from it: the rows of a page are read
// from the table.
func (s *Store) Waiting(ctx context.Context, account ids.Account, chatID string, at time.Time, cursor string, limit int) ([]plan.ListedWait, string, error) {
	span := kv.Listed(kv.Waiting(account))
	return kv.Pick(ctx, s.table, span.Of()+"\x00"+chatID, span, cursor, limit, func(part []kv.Place) ([]*plan.ListedWait, error) {
		return readPlaces(part, func(p kv.Place) (*plan.ListedWait, error) {
			if chatID != "" && p.ChatID != chatID {
				return nil, nil
			}
			if _, id, ok := kv.JobOf(p.PK); ok {
				return s.lists.jobWait(ctx, account, id, at)
			}
			return s.lists.runWait(ctx, account, p, at)
		})
	})
}

// lists reads the rows of lists.
type lists struct{ table *kv.Table }

// runWait reads the wait of a list entry of a run; nil when it waits no longer.
func (l lists) runWait(ctx context.Context, account ids.Account, p kv.Place, at time.Time) (*plan.ListedWait, error) {
	h, err := l.headAt(ctx, account, p)
	if h == nil || err != nil {
		return nil, err
	}
	for _, w := range h.Open {
		if w.Open(at) && keyOf(w) == p.SK {
			return &plan.ListedWait{Wait: w, Run: *h}, nil
		}
	}
	return nil, nil
}

// jobWait reads the wait of a job; nil when it waits no longer, cannot be read, or when its chat was deleted.
func (l lists) jobWait(ctx context.Context, account ids.Account, id string, at time.Time) (*plan.ListedWait, error) {
	w, err := jobs.WaitOf(ctx, l.table, account, id)
	if l.table.LeavesOut(ctx, kv.Key{PK: kv.Job(account, id), SK: "WAIT"}, err) {
		return nil, nil
	}
	if w == nil || err != nil || !w.Open(at) {
		return nil, err
	}
	chat, err := l.table.Row(ctx, chats.Key(account, w.Job.ChatID))
	if chat == nil || err != nil {
		return nil, err
	}
	return w, nil
}

// keyOf returns the key of the row that stands in the list for a wait.
func keyOf(w plan.Wait) string {
	if w.Kind == plan.WaitDraft {
		return runSK
	}
	return waitKey + w.Slot().String()
}

// readPlaces reads the subjects of list entries concurrently.
func readPlaces[T any](places []kv.Place, read func(kv.Place) (*T, error)) ([]*T, error) {
	found := make([]*T, len(places))
	var reads errgroup.Group
	reads.SetLimit(listReads)
	for i, p := range places {
		reads.Go(func() (err error) {
			found[i], err = read(p)
			return err
		})
	}
	return found, reads.Wait()
}

// headAt reads the run of a list entry; nil when it is gone or cannot be read.
func (l lists) headAt(ctx context.Context, account ids.Account, p kv.Place) (*plan.Head, error) {
	_, id, ok := kv.RunOf(p.PK)
	if !ok {
		return nil, nil
	}
	h, err := l.head(ctx, account, id)
	if errors.Is(err, plan.ErrRunNotFound) || l.table.LeavesOut(ctx, p.Key, err) {
		return nil, nil
	}
	return &h, err
}

// head reads the head of a run, as the last write left it.
func (l lists) head(ctx context.Context, account ids.Account, id string) (plan.Head, error) {
	items, err := l.table.Read(ctx, kv.Rows(kv.Run(account, id), runSK, planKey, waitKey), 0)
	if err != nil {
		return plan.Head{}, err
	}
	if len(items) == 0 || kv.Text(items[0], "SK") != runSK {
		return plan.Head{}, plan.ErrRunNotFound
	}
	var row runRow
	if err := kv.DecodeOfFormat(items[0], &row); err != nil {
		return plan.Head{}, err
	}
	h := plan.Head{EndedAt: kv.Time(row.EndedAt), Done: row.Done, Micros: row.Micros}
	if h.Run, err = row.run(); err != nil {
		return h, err
	}
	for _, it := range items[1:] {
		if kv.Text(it, "SK") == planKey {
			var rev plan.Revision
			rev, err = revisionOf(it)
			h.Plan, h.Taken = rev.Plan, rev.Taken
		} else if kv.Text(it, "GSI1PK") != "" {
			var w waitRow
			if err = kv.Decode(it, &w); err == nil {
				h.Open = append(h.Open, w.wait())
			} else if l.table.LeavesOut(ctx, kv.KeyOf(it), err) {
				err = nil
			}
		}
		if err != nil {
			return h, err
		}
	}
	return l.withDraft(ctx, h)
}

// withDraft adds that a draft waits. It waits while its chat does: one of a deleted chat cannot be confirmed.
func (l lists) withDraft(ctx context.Context, h plan.Head) (plan.Head, error) {
	if h.Status != plan.Draft {
		return h, nil
	}
	chat, err := l.table.Row(ctx, chats.Key(h.Account, h.ChatID))
	if err == nil && kv.Text(chat, "pending_run_id") == h.ID {
		h.Open = h.Waits()
	}
	return h, err
}
