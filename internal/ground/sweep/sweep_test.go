package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"piloto/internal/ground/sweep"
)

// shelf is a list in memory: the places of rows by their key.
type shelf struct {
	mu    sync.Mutex
	at    map[string]time.Time
	tries map[string]int
	did   []string
}

func newShelf(keys ...string) *shelf {
	s := &shelf{at: map[string]time.Time{}, tries: map[string]int{}}
	for i, k := range keys {
		s.at[k] = time.Now().Add(time.Duration(i-len(keys)) * time.Second)
	}
	return s
}

func (s *shelf) due(_ context.Context, at time.Time, limit int) ([]sweep.Row[string], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []sweep.Row[string]
	for k, due := range s.at {
		if due.After(at) {
			continue
		}
		r := sweep.Row[string]{Key: k, Name: k, Tries: s.tries[k], PutOff: func(_ context.Context, until time.Time) (bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.at[k].Equal(due) {
				return false, nil
			}
			s.at[k] = until
			s.tries[k]++
			return true, nil
		}}
		if strings.HasPrefix(k, "unreadable") {
			r.Err = errors.New("it is no key")
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b sweep.Row[string]) int { return s.at[a.Key].Compare(s.at[b.Key]) })
	return rows[:min(limit, len(rows))], nil
}

func (s *shelf) do(ctx context.Context, key string) error {
	switch {
	case strings.HasPrefix(key, "fails"):
		return errors.New("as the case says")
	case strings.HasPrefix(key, "idle"):
		return nil
	case strings.HasPrefix(key, "later"):
		return fmt.Errorf("as the case says: %w", sweep.ErrLater)
	case strings.HasPrefix(key, "panics"):
		panic("as the case says")
	case strings.HasPrefix(key, "hangs"):
		<-ctx.Done()
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, key)
	delete(s.at, key)
	return nil
}

func (s *shelf) list(most int) sweep.List[string] {
	return sweep.List[string]{Name: "shelf", Due: s.due, Do: s.do, Now: time.Now, Log: slog.New(slog.DiscardHandler), Most: most}
}

// TestNoRowStarvesThoseBehind plants more bad rows in front than one sweep lists.
func TestNoRowStarvesThoseBehind(t *testing.T) {
	for _, kind := range []string{"unreadable", "fails", "panics", "hangs", "idle"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var keys []string
				for i := range 10 {
					keys = append(keys, fmt.Sprint(kind, i))
				}
				s := newShelf(append(keys, "good", "better")...)
				for range 10 {
					if _, err := s.list(5).Sweep(t.Context()); err == nil && len(s.did) == 0 && kind != "idle" {
						t.Fatal("nothing is told of the bad rows")
					}
					time.Sleep(time.Second)
				}
				if !slices.Equal(s.did, []string{"good", "better"}) {
					t.Errorf("did %v", s.did)
				}
			})
		})
	}
}

// TestOnlyWhatFailsIsPutOff: the delays grow up to a bound, and a sweep that ends puts nothing off.
func TestOnlyWhatFailsIsPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf("fails")
		l := s.list(5)
		var delays []time.Duration
		for range 8 {
			began := time.Now()
			if n, err := l.Sweep(t.Context()); n.Failed != 1 || n.Done != 0 || err == nil {
				t.Fatalf("%+v, %v", n, err)
			}
			delays = append(delays, s.at["fails"].Sub(began))
			time.Sleep(s.at["fails"].Sub(began))
			l.Longest = 5 * time.Minute
		}
		if want := []time.Duration{0, 0, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute, 5 * time.Minute}; !slices.Equal(delays, want) {
			t.Errorf("delays %v, want %v", delays, want)
		}
		ended, cancel := context.WithCancel(t.Context())
		was := s.tries["fails"]
		l.Do = func(context.Context, string) error { cancel(); return ended.Err() }
		if n, err := l.Sweep(ended); err == nil || n.Failed != 1 || s.tries["fails"] != was {
			t.Errorf("%+v, %v: it was put off by the end of a sweep", n, err)
		}
	})
}

// TestRowsWithoutWorkTakeNoPlace: a sweep passes any number of rows that need nothing, or cannot be read, and still does as
// much as it may.
func TestRowsWithoutWorkTakeNoPlace(t *testing.T) {
	for _, kind := range []string{"idle", "unreadable"} {
		synctest.Test(t, func(t *testing.T) {
			var keys []string
			for i := range 1100 {
				keys = append(keys, fmt.Sprint(kind, i))
			}
			s := newShelf(append(keys, "a", "b", "c", "d", "e", "f")...)
			if n, _ := s.list(5).Sweep(t.Context()); n.Done != 5 || n.Idle+n.Failed != 1100 || !slices.Equal(s.did, []string{"a", "b", "c", "d", "e"}) {
				t.Errorf("%s: %+v, did %v", kind, n, s.did)
			}
		})
	}
}

// TestRowThatIsNotBegunKeepsItsPlace: it is first in the next sweep.
func TestRowThatIsNotBegunKeepsItsPlace(t *testing.T) {
	s := newShelf("later", "good")
	was := s.at["later"]
	if n, err := s.list(5).Sweep(t.Context()); n.Done != 1 || n.Idle+n.Failed != 0 || err != nil || !s.at["later"].Equal(was) || s.tries["later"] != 0 {
		t.Errorf("%+v, %v: it is due at %v, no longer at %v", n, err, s.at["later"], was)
	}
}

// TestSweepIsBounded: in its rows, in its time, in its errors and in how much it does at once.
func TestSweepIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		for i := range 60 {
			keys = append(keys, fmt.Sprintf("%02d", i))
		}
		s := newShelf(keys...)
		l := s.list(50)
		now, most := 0, 0
		l.AtOnce, l.Within = 4, 10*time.Second
		l.Group = func(k string) string { return k[:1] }
		l.Do = func(ctx context.Context, k string) error {
			s.mu.Lock()
			now++
			most = max(most, now)
			s.mu.Unlock()
			time.Sleep(2 * time.Second)
			s.mu.Lock()
			now--
			s.mu.Unlock()
			return s.do(ctx, k)
		}
		if n, err := l.Sweep(t.Context()); err != nil || most != 4 || n.Done != 24 {
			t.Errorf("%+v, %d at once, %v", n, most, err)
		}
		for _, first := range []string{"00", "10", "20", "30"} {
			if !slices.Contains(s.did, first) {
				t.Errorf("%s was not reached: %v", first, s.did)
			}
		}
		var bad []string
		for i := range 60 {
			bad = append(bad, fmt.Sprint("fails", i))
		}
		_, err := newShelf(bad...).list(50).Sweep(t.Context())
		if lines := strings.Split(err.Error(), "\n"); len(lines) != 11 || !strings.Contains(lines[10], "40 more") {
			t.Errorf("%d lines: %v", len(lines), err)
		}
	})
}

// TestPanicOfAListIsAnError: also of one that cannot be listed, or put off.
func TestPanicOfAListIsAnError(t *testing.T) {
	l := newShelf().list(1)
	l.Due = func(context.Context, time.Time, int) ([]sweep.Row[string], error) { panic("listing") }
	if _, err := l.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "listing") {
		t.Error(err)
	}
	l = newShelf("fails").list(1)
	n, err := l.Over(t.Context(), []sweep.Row[string]{{Key: "fails", PutOff: func(context.Context, time.Time) (bool, error) { panic("moving") }}, {Key: "fails"}, {Key: "good"}})
	if n.Done != 1 || n.Failed != 2 || !strings.Contains(err.Error(), "moving") {
		t.Errorf("%+v, %v", n, err)
	}
}
