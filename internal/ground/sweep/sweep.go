// Package sweep owns the loop that works through a list of due rows: it lists, works, puts off failed rows, recovers from
// panics, counts, and is bounded. No row can keep those behind it from being reached: one that fails, whose key cannot be
// read, whose work panics or hangs, or whose work leaves it where it is, goes behind them in its list.
//
// It knows nothing of the rows themselves. The rooms do the work of a key, and the stores list rows that can be put off
// without being read.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Row is one entry of a list.
type Row[K any] struct {
	Key   K
	Name  string // of the row, for logs and errors
	Tries int    // how often it was put off before
	Err   error  // why its key could not be read; nil: it could
	// PutOff moves the row to a later time in its list, counts that, and reports it. A row that is no longer where it was
	// listed, or whose own time is later, stays. Nil: the row is in no list.
	PutOff func(ctx context.Context, until time.Time) (moved bool, err error)
}

// ErrLater is returned by the work of a row that was not begun. The row keeps its queue key, because it waited for nothing else.
var ErrLater = errors.New("sweep: the row waits for the next sweep")

// List is a list of due rows, and their work.
type List[K any] struct {
	Name string // in logs, such as "runs"
	// Due lists at most limit rows that are due by a time, the oldest first. Rows beside an error are worked on.
	Due func(ctx context.Context, at time.Time, limit int) ([]Row[K], error)
	// Do does the work of a row, and takes it off the list or moves it there. A row that it leaves is put off.
	Do  func(ctx context.Context, key K) error
	Now func() time.Time
	Log *slog.Logger

	Most    int            // rows in one sweep, without those that are unreadable or need nothing; the others stay due
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
	Idle   int // that needed nothing, and were put off because they were still due
}

const (
	usualTime    = 40 * time.Second // the function of the sweep has a minute
	soonTries    = 3                // most causes pass, so the first failures delay nothing but this sweep
	longestDelay = 24 * time.Hour
	maxDoublings = 11 // 2^11 minutes are more than a day
	mostErrors   = 10 // that an error names
	putOffWithin = 5 * time.Second
)

// Sweep works through the list once. The errors of its rows are joined, and so are those of the list itself. It lists more
// for as many rows as could not be read or needed nothing.
func (l List[K]) Sweep(ctx context.Context) (Count, error) {
	s, began, met := l.pass(), l.Now(), map[string]bool{}
	for {
		var rows []Row[K]
		most := l.Most - s.busy
		err := Guard(func() (err error) {
			rows, err = l.Due(ctx, began, most)
			return err
		})
		next := slices.DeleteFunc(slices.Clone(rows), func(r Row[K]) bool { return met[r.Name] })
		for _, r := range next {
			met[r.Name] = true
		}
		s.over(ctx, next)
		if err != nil || len(rows) < most || len(next) == 0 || s.busy >= l.Most || s.isOver(ctx) {
			count, problem := s.end()
			return count, errors.Join(err, problem)
		}
	}
}

// Over works through rows that are listed already.
func (l List[K]) Over(ctx context.Context, rows []Row[K]) (Count, error) {
	s := l.pass()
	s.over(ctx, rows)
	return s.end()
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
	busy     int // rows on which work was done, or failed
	problems []error
}

func (l List[K]) pass() *pass[K] {
	return &pass[K]{List: l, until: l.Now().Add(orElse(l.Within, usualTime))}
}

// over works through rows.
func (s *pass[K]) over(ctx context.Context, rows []Row[K]) {
	var workers errgroup.Group
	workers.SetLimit(max(1, s.AtOnce))
	for _, group := range s.groups(rows) {
		workers.Go(func() error {
			for _, r := range group {
				s.work(ctx, r)
			}
			return nil // s.problems has the errors
		})
	}
	_ = workers.Wait()
}

// isOver reports whether no more rows are begun.
func (s *pass[K]) isOver(ctx context.Context) bool { return ctx.Err() != nil || s.Now().After(s.until) }

// end returns the counts and the joined errors.
func (s *pass[K]) end() (Count, error) {
	if more := s.count.Failed - mostErrors; more > 0 {
		s.problems = append(s.problems, fmt.Errorf("%s: %d more rows failed", s.Name, more))
	}
	return s.count, errors.Join(s.problems...)
}

// work does the work of one row, and puts the row off when that fails, or leaves it where it is. A sweep that ends is no
// failure of the row.
func (s *pass[K]) work(ctx context.Context, r Row[K]) {
	if s.isOver(ctx) {
		return
	}
	err := r.Err
	if err == nil {
		err = s.do(ctx, r.Key)
	}
	if errors.Is(err, ErrLater) {
		return
	}
	next := s.next(r.Tries)
	moved, problem := s.putOff(ctx, r, next)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Err == nil && (err != nil || !moved) {
		s.busy++
	}
	switch failed := errors.Join(err, problem); {
	case failed != nil:
		s.Log.ErrorContext(ctx, "sweep.failed", "list", s.Name, "row", r.Name, "tries", r.Tries+1, "next", next, "error", failed)
		s.count.Failed++
		if len(s.problems) < mostErrors {
			s.problems = append(s.problems, fmt.Errorf("%s: %s: %w", s.Name, r.Name, failed))
		}
	case moved:
		s.Log.WarnContext(ctx, "sweep.idle", "list", s.Name, "row", r.Name, "tries", r.Tries+1, "next", next)
		s.count.Idle++
	default:
		s.count.Done++
	}
}

// putOff moves a row behind the others, if it is still where it was listed.
func (s *pass[K]) putOff(ctx context.Context, r Row[K], until time.Time) (moved bool, err error) {
	if r.PutOff != nil && ctx.Err() == nil {
		err = Guard(func() (err error) {
			ctx, cancel := context.WithTimeout(ctx, putOffWithin)
			defer cancel()
			moved, err = r.PutOff(ctx, until)
			return err
		})
	}
	return moved, err
}

// do calls Do within the time of one row.
func (s *pass[K]) do(ctx context.Context, key K) error {
	ctx, cancel := context.WithTimeout(ctx, orElse(s.Each, orElse(s.Within, usualTime)/3))
	defer cancel()
	return Guard(func() error { return s.Do(ctx, key) })
}

// next returns when a row that failed again is due: at once, in the first sweeps, behind the rows that are due now, and then
// after a back-off that doubles from a minute.
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

// Guard calls do and returns its panic as an error, with the stack.
func Guard(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return do()
}
