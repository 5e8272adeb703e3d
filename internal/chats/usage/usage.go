package usage

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store keeps the counters of an account's days.
type Store interface {
	// CountTurn adds a turn's counters to the account's row of the UTC day of at,
	// by one write. An agent keeps its name while the day has fewer than
	// MostAgents names, and is counted as Other from then on.
	CountTurn(ctx context.Context, account string, at time.Time, t Turn) error
	// Days returns the account's days from a date on, in order; "" is all of them.
	Days(ctx context.Context, account, from string) ([]Day, error)
}

// Recorder counts turns. Emit, when there is one, is told of each beside the
// store: it must return at once.
type Recorder struct {
	Store Store
	Emit  func(context.Context, Turn)
	Now   func() time.Time
	Log   *slog.Logger
}

// patience is how long counting may take.
const patience = time.Second

// Turn counts one turn of an account. It returns within a second whatever the
// store does, and a turn that cannot be counted is only logged: it has happened.
// That the client left does not keep it from being counted.
func (r Recorder) Turn(ctx context.Context, account string, t Turn) {
	t = t.Bounded()
	if r.Emit != nil {
		r.Emit(ctx, t)
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
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

// Reader adds up what was counted. Days that can no longer change are read once
// and kept: the cost of a look does not grow with an account's age while a process
// lives. It is safe for use by several at once.
type Reader struct {
	Store Store
	Now   func() time.Time

	mu      sync.Mutex
	settled map[string]settled
}

// settled is what an account's days say that no clock of ours still writes to: all
// up to and with the day before yesterday.
type settled struct {
	through string
	totals  Totals
}

// mostSettled bounds how many accounts' past is kept.
const mostSettled = 256

// Totals returns what an account's turns say, of all time and of the last two UTC
// days.
func (r *Reader) Totals(ctx context.Context, account string) (Totals, error) {
	at := r.Now().UTC()
	yesterday, before := DateOf(at.AddDate(0, 0, -1)), DateOf(at.AddDate(0, 0, -2))
	r.mu.Lock()
	past, ok := r.settled[account]
	r.mu.Unlock()
	if !ok || past.through > before { // a clock went back: what was kept may hold days that still change
		past = settled{totals: newTotals()}
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
	past = settled{before, past.totals.clone()}
	var live []Day
	for _, d := range days {
		if d.Date <= before {
			past.totals.add(d, false)
		} else {
			live = append(live, d)
		}
	}
	r.keep(account, past)
	all := past.totals.clone()
	for _, d := range live {
		all.add(d, d.Date >= yesterday)
	}
	return all, nil
}

func (r *Reader) keep(account string, past settled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.settled[account]; !ok && len(r.settled) >= mostSettled {
		r.settled = nil
	}
	if r.settled == nil {
		r.settled = map[string]settled{}
	}
	r.settled[account] = past
}
