package rate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ana  = rate.User("acme", "ana")
)

// meters returns meters of one process alone, of one of many processes with a shared table, and
// of a new process for each call.
func meters(t *testing.T, l rate.Limits) map[string]func() *rate.Meter {
	log := slog.New(slog.DiscardHandler)
	alone := &rate.Meter{Limits: l, Own: rate.NewMemory(), Log: log}
	table := fixture.Table(t)
	shared := &rate.Meter{Limits: l, Own: rate.NewMemory(), Shared: table.Access, Log: log}
	other := fixture.Table(t)
	return map[string]func() *rate.Meter{
		"alone":  func() *rate.Meter { return alone },
		"shared": func() *rate.Meter { return shared },
		"apart": func() *rate.Meter {
			return &rate.Meter{Limits: l, Own: rate.NewMemory(), Shared: other.Access, Log: log}
		},
	}
}

func take(t *testing.T, m *rate.Meter, c rate.Class, who rate.Subject, at time.Time) (rate.Standing, int) {
	t.Helper()
	got, err := m.Take(context.Background(), c, who, at)
	if err == nil {
		return got, 0
	}
	if !errors.Is(err, rate.ErrTooMany) {
		t.Fatal(err)
	}
	wait, _ := strconv.Atoi(fault.Of(err).Args["retry_after"])
	if wait < 1 {
		t.Fatalf("a refusal that does not say when: %v", err)
	}
	return got, wait
}

func TestConcurrentRequestsPassUpToQuota(t *testing.T) {
	for name, meter := range meters(t, rate.Limits{Turns: 50}) {
		t.Run(name, func(t *testing.T) {
			var passed atomic.Int64
			var all sync.WaitGroup
			begin := make(chan struct{})
			for range 200 {
				all.Go(func() {
					<-begin
					if _, wait := take(t, meter(), rate.Turns, ana, noon); wait == 0 {
						passed.Add(1)
					}
				})
			}
			close(begin)
			all.Wait()
			if passed.Load() != 50 {
				t.Errorf("%d of 200 passed a limit of 50", passed.Load())
			}
			if _, wait := take(t, meter(), rate.Turns, rate.User("acme", "bob"), noon); wait != 0 {
				t.Error("another user was refused with her")
			}
		})
	}
}

// TestRefusalHasExactRetryTime: a request passes at that time and not before. Attempts in
// between do not extend the wait.
func TestRefusalHasExactRetryTime(t *testing.T) {
	for name, meter := range meters(t, rate.Limits{Turns: 6}) { // one per 10 s
		t.Run(name, func(t *testing.T) {
			for i := range 6 {
				if got, wait := take(t, meter(), rate.Turns, ana, noon); wait != 0 || got.Left != 5-i || got.Limit != 6 || got.Reset != 10*(i+1) {
					t.Fatalf("%d: %+v, %d", i, got, wait)
				}
			}
			for after := range 10 {
				if _, wait := take(t, meter(), rate.Turns, ana, noon.Add(time.Duration(after)*time.Second)); wait != 10-after {
					t.Errorf("after %d s: wait %d", after, wait)
				}
			}
			if _, wait := take(t, meter(), rate.Turns, ana, noon.Add(10*time.Second)); wait != 0 {
				t.Errorf("when it said so: wait %d more", wait)
			}
			if _, wait := take(t, meter(), rate.Turns, ana, noon.Add(10*time.Second)); wait != 10 {
				t.Error("more came back than one")
			}
		})
	}
}

// TestNoSpanExceedsQuotaAndRefill: in any span, no more requests pass than the quota and its refill in the
// span. A slower client is never refused.
func TestNoSpanExceedsQuotaAndRefill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		m := &rate.Meter{Limits: rate.Limits{Turns: n}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
		var passed []time.Time
		at := noon
		for range 200 {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "pause")))
			if _, err := m.Take(context.Background(), rate.Turns, ana, at); err == nil {
				passed = append(passed, at)
			}
		}
		part := rate.QuotaOf(n).Part
		for i := range passed {
			for j := i; j < len(passed); j++ {
				if span := passed[j].Sub(passed[i]); j-i+1 > n+int(span/part) {
					t.Fatalf("%d passed in %v, of %d in a minute", j-i+1, span, n)
				}
			}
		}
	})
}

func TestClientWithinRateIsNeverRefused(t *testing.T) {
	for _, n := range []int{1, 7, 30, 59, 1000, 59_999, 60_000_000, math.MaxInt32} {
		m := &rate.Meter{Limits: rate.Limits{Turns: n}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
		for i := range 1000 {
			if _, wait := take(t, m, rate.Turns, ana, noon.Add(time.Duration(i)*(time.Minute/time.Duration(n)+1))); wait != 0 {
				t.Fatalf("%d in a minute: number %d was refused", n, i)
			}
		}
	}
}

// TestWrongClockRefusesOnlyBriefly: a quota that is full again in an hour was written
// by a clock that was an hour ahead.
func TestWrongClockRefusesOnlyBriefly(t *testing.T) {
	for name, meter := range meters(t, rate.Limits{Turns: 2}) {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				take(t, meter(), rate.Turns, ana, noon.Add(time.Hour))
			}
			for range 2 {
				if _, wait := take(t, meter(), rate.Turns, ana, noon); wait != 0 {
					t.Fatalf("wait %d", wait)
				}
			}
			if _, wait := take(t, meter(), rate.Turns, ana, noon); wait != 30 {
				t.Errorf("then the clock counts as ever: wait %d", wait)
			}
		})
	}
}

func TestClassesAndSubjectsHaveSeparateQuotas(t *testing.T) {
	m := meters(t, rate.Limits{Turns: 1, Writes: 1, Requests: 1, BadTokens: 1})["alone"]()
	seen := map[string]bool{}
	for _, c := range []rate.Class{rate.Turns, rate.Writes, rate.Decisions, rate.Requests, rate.BadTokens} {
		for _, who := range []rate.Subject{
			ana, rate.User("acme", "bob"), rate.User("other", "ana"), rate.Webhook("acme", "ana"), rate.User("acmeu", "ser ana"),
			rate.Address("192.0.2.1:80"), rate.Address("192.0.2.2:80"), rate.Address("[2001:db8::1]:80"), rate.Address("[2001:db8:0:1::1]:80"),
		} {
			if _, wait := take(t, m, c, who, noon); wait != 0 {
				t.Errorf("%s of %v was taken by another", c, who)
			}
			if _, wait := take(t, m, c, who, noon); wait == 0 {
				t.Errorf("%s of %v is not counted", c, who)
			}
			seen[fmt.Sprint(c, who)] = true
		}
	}
}

func TestAddressFormsShareOneSubject(t *testing.T) {
	for _, same := range [][]string{
		{"192.0.2.1", "192.0.2.1:1", "192.0.2.1:65535", "::ffff:192.0.2.1", "[::ffff:192.0.2.1]:9"},
		{"2001:db8::1", "[2001:db8::1]:1", "[2001:db8::ffff:1]:2", "2001:DB8:0:0:1::", "[2001:db8::1%eth0]:1", "2001:0db8::"},
		{"", "x", "localhost:80", "1.2.3.4.5", "192.0.2.1, 192.0.2.2"},
	} {
		for _, text := range same {
			if rate.Address(text) != rate.Address(same[0]) {
				t.Errorf("%q is another than %q", text, same[0])
			}
		}
	}
	if rate.Address("192.0.2.1") == rate.Address("192.0.2.2") || rate.Address("2001:db8::") == rate.Address("2001:db8:0:1::") {
		t.Error("two addresses are one")
	}
}

// TestBadTokensOfManyAddressesAreBounded: a million addresses do not fill the memory of a
// process. With a few bad tokens each, they write nothing to the table.
func TestBadTokensOfManyAddressesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of addresses")
	}
	store := &countingStore{}
	own := rate.NewMemory()
	m := &rate.Meter{Limits: rate.Limits{BadTokens: 20}, Own: own, Shared: store, Log: slog.New(slog.DiscardHandler)}
	for i := range 1_000_000 {
		at := noon.Add(time.Duration(i) * time.Microsecond)
		if err := m.Bad(context.Background(), rate.Address(fmt.Sprintf("%d.%d.%d.1", i>>16&255, i>>8&255, i&255)), at); err != nil {
			t.Fatal(err)
		}
	}
	if kept := own.CountQuotas(); kept > 1<<16 || store.calls != 0 {
		t.Errorf("%d kept, %d written", kept, store.calls)
	}
	for i := range 200 {
		err := m.Bad(context.Background(), rate.Address("192.0.2.9"), noon)
		if (err == nil) != (i < 20) {
			t.Fatalf("bad token %d: %v", i, err)
		}
	}
	if store.calls != 15 {
		t.Errorf("200 bad tokens of one address are %d writes", store.calls)
	}
}

// countingStore is a store with room for every request.
type countingStore struct{ calls int }

func (c *countingStore) Charge(_ context.Context, _ string, at time.Time, q rate.Quota, _ time.Time) (time.Time, bool, error) {
	c.calls++
	return at.Add(q.Part), true, nil
}

// TestRefusedRequestIsNotWritten: a request under the limit costs one write, and one over it
// costs none.
func TestRefusedRequestIsNotWritten(t *testing.T) {
	table := fixture.Table(t)
	store := &recordingStore{Store: table.Access}
	m := &rate.Meter{Limits: rate.Limits{Turns: 30, Requests: 30}, Own: rate.NewMemory(), Shared: store, Log: slog.New(slog.DiscardHandler)}
	for range 1000 {
		take(t, m, rate.Turns, ana, noon)
		take(t, m, rate.Requests, ana, noon)
		take(t, m, rate.Decisions, ana, noon)
	}
	if store.calls != 30 {
		t.Errorf("%d writes for 30 turns", store.calls)
	}
}

type recordingStore struct {
	rate.Store
	calls int
}

func (w *recordingStore) Charge(ctx context.Context, key string, at time.Time, q rate.Quota, known time.Time) (time.Time, bool, error) {
	w.calls++
	return w.Store.Charge(ctx, key, at, q, known)
}

type failingStore struct{}

func (failingStore) Charge(context.Context, string, time.Time, rate.Quota, time.Time) (time.Time, bool, error) {
	return time.Time{}, false, errors.New("no answer")
}

func TestMeterCountsAloneWhileStoreFails(t *testing.T) {
	m := &rate.Meter{Limits: rate.Limits{Turns: 3}, Own: rate.NewMemory(), Shared: failingStore{}, Log: slog.New(slog.DiscardHandler)}
	for i := range 5 {
		if _, wait := take(t, m, rate.Turns, ana, noon); (wait == 0) != (i < 3) {
			t.Errorf("%d: wait %d", i, wait)
		}
	}
	if got := m.Refused("acme")[rate.Turns]; got != 2 {
		t.Errorf("%d refused", got)
	}
}

func TestMeterWithoutLimitRefusesNothing(t *testing.T) {
	var none *rate.Meter
	for _, m := range []*rate.Meter{none, {Own: rate.NewMemory()}, {Own: rate.NewMemory(), Limits: rate.Limits{Turns: -1}}} {
		for range 1000 {
			if got, wait := take(t, m, rate.Turns, ana, noon); wait != 0 || got != (rate.Standing{}) {
				t.Fatal("refused")
			}
			if m.Bad(context.Background(), ana, noon) != nil {
				t.Fatal("refused")
			}
		}
	}
}

// TestManyPartsAreTakenTogether: all or none, and more than a quota has count as all of it.
func TestManyPartsAreTakenTogether(t *testing.T) {
	m := &rate.Meter{Limits: rate.Limits{FileMB: 2}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
	who, at := rate.User("a", "u"), time.Unix(1_000_000, 0)
	take := func(kb int, want bool) {
		t.Helper()
		if _, err := m.TakeMany(t.Context(), rate.FileBytes, who, kb, at); (err == nil) != want {
			t.Errorf("%d KB: %v", kb, err)
		}
	}
	take(1000, true)
	take(1100, false)
	take(1048, true)
	take(1, false)
	var f *fault.Error
	if _, err := m.TakeMany(t.Context(), rate.FileBytes, who, 1024, at); !errors.As(err, &f) || f.Args["retry_after"] != "30" || f.Args["limit"] != "2" {
		t.Errorf("%+v", f)
	}
	at = at.Add(30 * time.Second)
	take(1024, true)
	at = at.Add(time.Minute)
	take(1<<20, true)
	take(1, false)
}
