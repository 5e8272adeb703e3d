package replay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/replay"
)

// beginRequest begins one request.
func beginRequest(t *testing.T, d *setup) replay.Ticket {
	t.Helper()
	ticket := replay.Ticket{ID: d.NewID(d.Now()), At: d.Now()}
	if err := d.Begin(ctx, "a", key, ticket, []byte("the request")); err != nil {
		t.Fatal(err)
	}
	return ticket
}

type serveFunc = func(context.Context, []byte, replay.Ticket) ([]byte, error)

func TestBegunRequestIsServedOnce(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	ticket := beginRequest(t, d)
	if c, err := d.Lookup(ctx, "a", key); err != nil || c.Done || string(c.Request) != "the request" {
		t.Errorf("%+v %v", c, err)
	}
	if err := d.Begin(ctx, "a", key, replay.Ticket{ID: d.NewID(d.Now()), At: d.Now()}, []byte("another")); err == nil {
		t.Error("it was begun twice")
	}
	served := 0
	var serve serveFunc
	serve = func(_ context.Context, request []byte, got replay.Ticket) ([]byte, error) {
		if served++; string(request) != "the request" || got != ticket {
			t.Errorf("%s %v, want %v", request, got, ticket)
		}
		if err := d.Serve(ctx, "a", key, serve); !errors.Is(err, replay.ErrBusy) {
			t.Errorf("while it is served: %v", err)
		}
		return []byte("told"), nil
	}
	for range 2 {
		if err := d.Serve(ctx, "a", key, serve); err != nil {
			t.Error(err)
		}
	}
	if c, err := d.Lookup(ctx, "a", key); err != nil || !c.Done || string(c.Answer) != "told" || c.Request != nil || served != 1 {
		t.Errorf("served %d times: %+v %v", served, c, err)
	}
	d.pass(24 * time.Hour)
	if _, err := d.Lookup(ctx, "a", key); !errors.Is(err, replay.ErrUnknown) {
		t.Errorf("a day later: %v", err)
	}
	if _, err := d.Lookup(ctx, "b", key); !errors.Is(err, replay.ErrUnknown) {
		t.Errorf("of another account: %v", err)
	}
	if err := d.Serve(ctx, "b", key, serve); !errors.Is(err, replay.ErrUnknown) {
		t.Errorf("of another account: %v", err)
	}
}

func TestConcurrentServersServeBegunRequestOnce(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	beginRequest(t, d)
	var all sync.WaitGroup
	var mu sync.Mutex
	served, busy := 0, 0
	for range 8 {
		all.Go(func() {
			err := d.Serve(ctx, "a", key, func(context.Context, []byte, replay.Ticket) ([]byte, error) {
				mu.Lock()
				defer mu.Unlock()
				served++
				return []byte("told"), nil
			})
			if err != nil && !errors.Is(err, replay.ErrBusy) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				busy++
			}
		})
	}
	all.Wait()
	if served != 1 {
		t.Errorf("served %d times, %d were told to wait", served, busy)
	}
}

// TestBegunRequestSurvivesItsServer: the request and its ticket are stored for the next
// attempt, when the first died or failed.
func TestBegunRequestSurvivesItsServer(t *testing.T) {
	table := fixture.Table(t)
	d, dead := newSetup(table.Access), newSetup(dyingStore{table.Access})
	ticket := beginRequest(t, d)
	if err := dead.Serve(ctx, "a", key, func(context.Context, []byte, replay.Ticket) ([]byte, error) { return []byte("never told"), nil }); !errors.Is(err, replay.ErrAnswerLost) {
		t.Fatal(err)
	}
	never := func(context.Context, []byte, replay.Ticket) ([]byte, error) {
		t.Error("it was served before its lease was over")
		return nil, nil
	}
	if err := d.Serve(ctx, "a", key, never); !errors.Is(err, replay.ErrBusy) {
		t.Errorf("before the lease was over: %v", err)
	}
	d.pass(15 * time.Second)
	failed := errors.New("failed")
	for _, want := range []error{failed, nil} {
		err := d.Serve(ctx, "a", key, func(_ context.Context, request []byte, got replay.Ticket) ([]byte, error) {
			if string(request) != "the request" || got != ticket {
				t.Errorf("%s %v", request, got)
			}
			return []byte("told"), want
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if c, err := d.Lookup(ctx, "a", key); err != nil || string(c.Answer) != "told" {
		t.Errorf("%+v %v", c, err)
	}
}
