package usage

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/internal/ground/ids"
)

// Store stores the counters of an account's days.
type Store interface {
	// CountTurn adds a turn's counters to the account's UTC day of at, by one write.
	// An agent is counted as Other when the day has MostAgents others already; near
	// that number it may be counted under both names.
	CountTurn(ctx context.Context, account ids.Account, at time.Time, t Turn) error
	// Days returns the account's days from a date on, in order; all days for "".
	Days(ctx context.Context, account ids.Account, from string) ([]Day, error)
}

// Recorder counts turns. It also calls Emit for each turn, when Emit is set. Emit must return at
// once.
type Recorder struct {
	Store Store
	Emit  func(context.Context, Turn)
	Now   func() time.Time
	Log   *slog.Logger
}

// countTimeout bounds the time for counting a turn.
const countTimeout = time.Second

// Turn counts one turn of an account. It returns within a second, also when the store does not
// answer. A turn that cannot be counted is only logged. A turn is also counted when its client
// disconnected.
func (r Recorder) Turn(ctx context.Context, account ids.Account, t Turn) {
	t = t.Bounded()
	if r.Emit != nil {
		r.Emit(ctx, t)
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Store.CountTurn(within, account, r.Now(), t) }()
	select {
	case err := <-done:
		if err == nil {
			return
		}
		r.Log.WarnContext(ctx, "tally.lost", "contract", t.Contract, "outcome", t.Outcome, "error", err)
	case <-within.Done():
		r.Log.WarnContext(ctx, "tally.lost", "contract", t.Contract, "outcome", t.Outcome, "error", within.Err())
	}
}

// Reader adds up the counters. It caches the sum of the days that can no longer change, so that
// the cost of a read does not grow with the age of an account. It is safe for concurrent use.
type Reader struct {
	Store Store
	Now   func() time.Time

	mu    sync.Mutex
	cache map[ids.Account]pastTotals
}

// pastTotals holds the totals of all days up to the day before yesterday. No clock of ours still
// writes to those.
type pastTotals struct {
	through string
	totals  Totals
}

// maxCached bounds the number of accounts in the cache.
const maxCached = 256

// Totals returns an account's totals, of all time and of the last two UTC days.
func (r *Reader) Totals(ctx context.Context, account ids.Account) (Totals, error) {
	at := r.Now().UTC()
	yesterday, before := DateOf(at.AddDate(0, 0, -1)), DateOf(at.AddDate(0, 0, -2))
	r.mu.Lock()
	past, ok := r.cache[account]
	r.mu.Unlock()
	if !ok || past.through > before { // the clock went back: the cached days may still change
		past = pastTotals{totals: newTotals()}
	}
	from := ""
	if past.through != "" {
		from = past.through + "~" // after every key of that day
	}
	days, err := r.Store.Days(ctx, account, from)
	if err != nil {
		return Totals{}, err
	}
	slices.SortFunc(days, func(a, b Day) int { return strings.Compare(a.Date, b.Date) })
	past = pastTotals{before, past.totals.clone()}
	var live []Day
	for _, d := range days {
		if d.Date <= before {
			past.totals.add(d, false)
		} else {
			live = append(live, d)
		}
	}
	r.cachePast(account, past)
	all := past.totals.clone()
	for _, d := range live {
		all.add(d, d.Date >= yesterday)
	}
	return all, nil
}

func (r *Reader) cachePast(account ids.Account, past pastTotals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.cache[account]; !ok && len(r.cache) >= maxCached {
		r.cache = nil
	}
	if r.cache == nil {
		r.cache = map[ids.Account]pastTotals{}
	}
	r.cache[account] = past
}
