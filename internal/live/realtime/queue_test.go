package realtime_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"piloto/internal/live/realtime"
)

// TestQueueNeverWaitsAndSendsTogether: what comes while others are sent is sent after them, with one read of the
// connections. Flush waits for all of it.
func TestQueueNeverWaitsAndSendsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, o := &reads{memoryConnections: newMemoryConnections(open("a"))}, newFakePoster("a")
		store.slow = time.Second
		q := &realtime.Queue{Hub: hub(store, o, now)}
		q.Flush(ctx) // nothing was told yet
		began := time.Now()
		q.Notify(ctx, "acme", messageEvent("m1"))
		synctest.Wait()
		q.Notify(ctx, "acme", messageEvent("m2"), messageEvent("m3"))
		q.Notify(ctx, "acme", messageEvent("m4"))
		if time.Since(began) != 0 || len(o.box(t, "a")) != 0 {
			t.Errorf("a caller waited for %v", time.Since(began))
		}
		q.Flush(ctx)
		var got []int64
		for _, f := range o.box(t, "a") {
			got = append(got, *f.Seq)
		}
		if !slices.Equal(got, []int64{1, 2, 3, 4}) || store.n != 2 {
			t.Errorf("told %v, with %d reads", got, store.n)
		}
		q.Notify(ctx, "acme", messageEvent("m5"))
		brief, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		q.Flush(brief)
		if brief.Err() == nil || len(o.box(t, "a")) != 0 {
			t.Error("flush did not end with its context")
		}
		q.Flush(ctx)
		if len(o.box(t, "a")) != 1 {
			t.Error("the last event was lost")
		}
	})
}

// TestQueueIsEmptyWhileNobodyIsConnected: the hub would not send.
func TestQueueIsEmptyWhileNobodyIsConnected(t *testing.T) {
	store := &reads{memoryConnections: newMemoryConnections(open("a"))}
	h := hub(store, newFakePoster("a"), now)
	h.Idle = func() bool { return true }
	q := &realtime.Queue{Hub: h}
	q.Notify(ctx, "acme", messageEvent("m1"))
	q.Flush(ctx)
	if store.n != 0 || q.Watched(ctx, "acme") {
		t.Errorf("%d reads", store.n)
	}
	var none *realtime.Queue
	none.Flush(ctx)
}
