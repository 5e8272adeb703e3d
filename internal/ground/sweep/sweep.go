// Package sweep owns the loop that works through a list of what is due: it lists, does, puts off what fails, recovers from
// panics, counts, and is bounded. No row can keep those behind it from being reached: one that fails, whose key cannot be
// read, or whose work panics or hangs, goes behind them in its list.
//
// It knows nothing of what is due. The rooms say what to do with a key, and the stores list rows that can be put off
// without being read.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Row is one entry of a list.
type Row[K any] struct {
	Key   K
	Name  string // of the row, for logs and errors
	Tries int    // how often it was put off before
	Err   error  // why its key could not be read; nil: it could
	// PutOff moves the row to a time in its list, and counts that; a row that somebody moved meanwhile stays. Nil: the row
	// is in no list, or its work moves it.
	PutOff func(ctx context.Context, until time.Time) error
}

// List is a list of what is due, and what is done about it.
type List[K any] struct {
	Name string // in logs, such as "runs"
	// Due lists at most limit rows that are due by a time, the oldest first. Rows beside an error are worked on.
	Due func(ctx context.Context, at time.Time, limit int) ([]Row[K], error)
	Do  func(ctx context.Context, key K) error
	Now func() time.Time
	Log *slog.Logger

	Most    int            // rows in one sweep; the others stay due
	AtOnce  int            // rows, or groups, side by side; 0: one after the other
	Group   func(K) string // rows of one group are worked on one after the other; nil: each is a group
	Each    time.Duration  // how long one row may take; 0: a third of Within
	Within  time.Duration  // no row is begun after that; 0: usualTime
	Longest time.Duration  // the longest delay of a row; 0: a day
}

// Count counts the rows of a sweep.
type Count struct {
	Done   int
	Failed int // and put off
}

const (
	usualTime    = 40 * time.Second // the function of the sweep has a minute
	soonTries    = 3                // most causes pass, so the first failures delay nothing but this sweep
	longestDelay = 24 * time.Hour
	maxDoublings = 11 // 2^11 minutes are more than a day
	mostErrors   = 10 // that an error names
	putOffWithin = 5 * time.Second
)

// Sweep works through the list once. The errors of its rows are joined, and so are those of the list itself.
func (l List[K]) Sweep(ctx context.Context) (Count, error) {
	var rows []Row[K]
	listed := Guard(func() (err error) {
		rows, err = l.Due(ctx, l.Now(), l.Most)
		return err
	})
	count, err := l.Over(ctx, rows)
	return count, errors.Join(listed, err)
}

// Over works through rows that are listed already.
func (l List[K]) Over(ctx context.Context, rows []Row[K]) (Count, error) {
	s := pass[K]{List: l, until: l.Now().Add(orElse(l.Within, usualTime))}
	slots := make(chan struct{}, max(1, l.AtOnce))
	var workers sync.WaitGroup
	for _, group := range l.groups(rows) {
		slots <- struct{}{}
		workers.Go(func() {
			defer func() { <-slots }()
			for _, r := range group {
				s.work(ctx, r)
			}
		})
	}
	workers.Wait()
	if more := s.count.Failed - mostErrors; more > 0 {
		s.problems = append(s.problems, fmt.Errorf("%s: %d more rows failed", l.Name, more))
	}
	return s.count, errors.Join(s.problems...)
}

// groups returns the rows by their group, in the order of the first row of each.
func (l List[K]) groups(rows []Row[K]) [][]Row[K] {
	var list [][]Row[K]
	at := map[string]int{}
	for _, r := range rows {
		if l.Group == nil || r.Err != nil {
			list = append(list, []Row[K]{r})
			continue
		}
		name := l.Group(r.Key)
		if _, known := at[name]; !known {
			at[name] = len(list)
			list = append(list, nil)
		}
		list[at[name]] = append(list[at[name]], r)
	}
	return list
}

// pass is one way through a list.
type pass[K any] struct {
	List[K]
	until time.Time

	mu       sync.Mutex
	count    Count
	problems []error
}

// work does the work of one row, and puts it off when that fails. A sweep that ends is no failure of the row.
func (s *pass[K]) work(ctx context.Context, r Row[K]) {
	if ctx.Err() != nil || s.Now().After(s.until) {
		return
	}
	err := r.Err
	if err == nil {
		err = s.do(ctx, r.Key)
	}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count.Done++
		return
	}
	var moved error
	next := s.next(r.Tries)
	if r.PutOff != nil && ctx.Err() == nil {
		moved = Guard(func() error {
			ctx, cancel := context.WithTimeout(ctx, putOffWithin)
			defer cancel()
			return r.PutOff(ctx, next)
		})
	}
	s.Log.ErrorContext(ctx, "sweep.failed", "list", s.Name, "row", r.Name, "tries", r.Tries+1, "next", next, "error", errors.Join(err, moved))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Failed++
	if len(s.problems) < mostErrors {
		s.problems = append(s.problems, fmt.Errorf("%s: %s: %w", s.Name, r.Name, errors.Join(err, moved)))
	}
}

// do calls Do within the time of one row.
func (s *pass[K]) do(ctx context.Context, key K) error {
	ctx, cancel := context.WithTimeout(ctx, orElse(s.Each, orElse(s.Within, usualTime)/3))
	defer cancel()
	return Guard(func() error { return s.Do(ctx, key) })
}

// next returns when a row that failed again is due: at once, in the first sweeps, behind what is due now, and then after a
// delay that grows from a minute by doubling.
func (s *pass[K]) next(tries int) time.Time {
	at := s.Now()
	more := tries + 1 - soonTries
	if more < 0 {
		return at
	}
	return at.Add(min(time.Minute<<min(more, maxDoublings), orElse(s.Longest, longestDelay)))
}

func orElse(d, usual time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return usual
}

// Guard calls do and returns its panic as an error, with the place of it.
func Guard(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return do()
}
