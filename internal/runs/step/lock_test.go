package step

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

func TestLockAdmitsOneWriterOfRun(t *testing.T) {
	var turns runLocks
	var inside, most int // guarded by the lock alone: -race detects a missing one
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			_, done, err := turns.lock(t.Context(), "r1", &change{})
			if err != nil {
				t.Error(err)
				return
			}
			inside++
			most = max(most, inside)
			inside--
			done()
		})
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d were inside at once", most)
	}
	if len(turns.locks) != 0 {
		t.Errorf("%d lines are left", len(turns.locks))
	}
}

func TestLockIgnoresOtherRunsAndHonoursCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns runLocks
		_, first, err := turns.lock(t.Context(), "r1", &change{})
		if err != nil {
			t.Fatal(err)
		}
		_, other, err := turns.lock(t.Context(), "r2", &change{})
		if err != nil {
			t.Fatal(err)
		}
		other()
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() {
			_, _, err := turns.lock(ctx, "r1", &change{})
			gaveUp <- err
		}()
		synctest.Wait() // it waits for the lock
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who gave up was told %v", err)
		}
		first()
		changes, again, err := turns.lock(t.Context(), "r1", &change{})
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) != 1 {
			t.Errorf("%d changes to write, and the one who gave up left none", len(changes))
		}
		again()
		if len(turns.locks) != 0 {
			t.Errorf("%d lines are left", len(turns.locks))
		}
	})
}

// TestLockHolderWritesForThoseWhoWait: they find their change written. One that cannot be written with the others,
// or whose decision fails, is an error of nobody else.
func TestLockHolderWritesForThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns runLocks
		_, first, err := turns.lock(t.Context(), "r1", &change{})
		if err != nil {
			t.Fatal(err)
		}
		var taken []int
		var all sync.WaitGroup
		for range sideBySide + 2 {
			all.Go(func() {
				own := &change{}
				changes, done, err := turns.lock(t.Context(), "r1", own)
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				if len(changes) > 0 {
					taken = append(taken, len(changes)) // under the lock
				}
				for _, c := range changes {
					c.end(nil, nil)
				}
				if !own.over {
					t.Error("a change was not written")
				}
			})
		}
		synctest.Wait() // they wait for the lock
		first()
		all.Wait()
		if !slices.Equal(taken, []int{sideBySide, 2}) {
			t.Errorf("%v changes were written at once", taken)
		}
	})
}

// TestPanicOfOneChangeIsItsOwnError: the holder of the lock decides for others, and must not lose its own result.
func TestPanicOfOneChangeIsItsOwnError(t *testing.T) {
	c := &change{decide: func(plan.Run) ([]run.Move, error) { panic("broken") }}
	if moves, err := c.moves(plan.Run{}); err == nil || len(moves) != 0 {
		t.Errorf("%v, %v", moves, err)
	}
}

// TestWhoWasTakenAlongHearsWhatCameOfIt: a writer whose context ends while another writes its change learns the outcome.
func TestWhoWasTakenAlongHearsWhatCameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns runLocks
		_, first, err := turns.lock(t.Context(), "r1", &change{})
		if err != nil {
			t.Fatal(err)
		}
		holds := make(chan []*change)
		proceed := make(chan bool)
		go func() {
			changes, done, err := turns.lock(t.Context(), "r1", &change{})
			if err != nil {
				t.Error(err)
			}
			holds <- changes
			<-proceed
			for _, c := range changes {
				c.end(&plan.Run{ID: "r1"}, nil)
			}
			done()
		}()
		synctest.Wait() // it is the first who waits
		ctx, cancel := context.WithCancel(t.Context())
		own := &change{}
		heard := make(chan error)
		go func() {
			_, done, err := turns.lock(ctx, "r1", own)
			if err == nil {
				done()
			}
			heard <- err
		}()
		synctest.Wait()
		first()
		if changes := <-holds; len(changes) != 2 {
			t.Fatalf("%d changes were taken", len(changes))
		}
		cancel()
		synctest.Wait() // its context is over, and its change is being written
		select {
		case err := <-heard:
			t.Errorf("it left with %v while its change was written", err)
		default:
		}
		close(proceed)
		if err := <-heard; err != nil || own.after == nil {
			t.Errorf("it heard %v, %+v", err, own)
		}
	})
}
