package step

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestLockAdmitsOneWriterOfRun(t *testing.T) {
	var turns runLocks
	var inside, most int // guarded by the lock alone: -race detects a missing one
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			done, err := turns.lock(t.Context(), "r1")
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
		first, err := turns.lock(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		other, err := turns.lock(t.Context(), "r2")
		if err != nil {
			t.Fatal(err)
		}
		other()
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() {
			_, err := turns.lock(ctx, "r1")
			gaveUp <- err
		}()
		synctest.Wait() // it waits for the lock
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who gave up was told %v", err)
		}
		first()
		again, err := turns.lock(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		again()
		if len(turns.locks) != 0 {
			t.Errorf("%d lines are left", len(turns.locks))
		}
	})
}
