package step

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestOneAtATimeHasTheTurnAtARun(t *testing.T) {
	var turns turns
	var inside, most int // guarded by the turn alone: -race sees when it does not
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			done, err := turns.take(t.Context(), "r1")
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
	if len(turns.lines) != 0 {
		t.Errorf("%d lines are left", len(turns.lines))
	}
}

func TestAnotherRunIsNotWaitedForAndALateOneGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		first, err := turns.take(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		other, err := turns.take(t.Context(), "r2")
		if err != nil {
			t.Fatal(err)
		}
		other()
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() {
			_, err := turns.take(ctx, "r1")
			gaveUp <- err
		}()
		synctest.Wait() // it waits in line
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who gave up was told %v", err)
		}
		first()
		again, err := turns.take(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		again()
		if len(turns.lines) != 0 {
			t.Errorf("%d lines are left", len(turns.lines))
		}
	})
}
