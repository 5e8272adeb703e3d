package usage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piloto/internal/ground/ids"
	"piloto/internal/models/eligibility"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// memoryStore is a store in memory.
type memoryStore struct {
	mu   sync.Mutex
	days map[ids.Account]map[string]map[string]int64 // account, date
	read []string                                    // the dates from which days were read
}

func (s *memoryStore) CountTurn(_ context.Context, account ids.Account, at time.Time, t Turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.days == nil {
		s.days = map[ids.Account]map[string]map[string]int64{}
	}
	if s.days[account] == nil {
		s.days[account] = map[string]map[string]int64{}
	}
	day := s.days[account][DateOf(at)]
	if day == nil {
		day = map[string]int64{}
		s.days[account][DateOf(at)] = day
	}
	add := func(m map[string]int64) {
		for name, n := range m {
			day[name] += n
		}
	}
	add(t.Counters())
	if t.Agent != "" {
		add(t.AgentCounters(t.Agent))
		if _, ok := day[SinceCounter(t.Agent)]; !ok && t.Agent != Other {
			day[SinceCounter(t.Agent)] = at.UnixMilli()
		}
	}
	return nil
}

func (s *memoryStore) Days(_ context.Context, account ids.Account, from string) ([]Day, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = append(s.read, from)
	var days []Day
	for date, counters := range s.days[account] {
		if date >= from {
			days = append(days, Day{date, maps.Clone(counters)})
		}
	}
	return days, nil
}

func TestBoundedMapsUnknownNamesToOther(t *testing.T) {
	for _, c := range []struct{ sent, want Turn }{
		{
			Turn{Contract: Send, Outcome: Blocked, Reason: string(eligibility.NoAPIKey), Latency: time.Second},
			Turn{Contract: Send, Outcome: Blocked, Reason: "no_api_key", Latency: time.Second},
		},
		{Turn{Contract: "x", Outcome: "y", Reason: "z"}, Turn{Contract: Other, Outcome: Other, Reason: Other}},
		{Turn{}, Turn{Contract: Other, Outcome: Other}},
		{
			Turn{Contract: Router, Outcome: Unreachable, Reason: "agent.open", Agent: "reserva", Attempts: 3, AgentFailures: 3},
			Turn{Contract: Router, Outcome: Unreachable, Reason: "agent.open", Agent: "reserva", Attempts: 3, AgentFailures: 3},
		},
		{Turn{Contract: Router, Outcome: Delegate, Agent: strings.Repeat("a", 65)}, Turn{Contract: Router, Outcome: Delegate, Agent: Other}},
		{Turn{Contract: Router, Outcome: Delegate, Agent: "a\nb"}, Turn{Contract: Router, Outcome: Delegate, Agent: Other}},
		{Turn{Contract: Router, Outcome: Delegate, Agent: "a\xff"}, Turn{Contract: Router, Outcome: Delegate, Agent: Other}},
		{
			Turn{Contract: Router, Outcome: Delegate, Attempts: -1, AgentFailures: 1 << 60, Latency: -time.Second},
			Turn{Contract: Router, Outcome: Delegate, AgentFailures: maxNumber},
		},
	} {
		if d := cmp.Diff(c.want, c.sent.Bounded()); d != "" {
			t.Errorf("%+v: %s", c.sent, d)
		}
	}
}

func TestBucketsIncludeTheirUpperBound(t *testing.T) {
	if len(Histogram{}.Counts) != len(bounds)+1 || !slices.IsSorted(bounds) {
		t.Fatalf("%d buckets, bounds %v", len(Histogram{}.Counts), bounds)
	}
	for _, c := range []struct {
		took time.Duration
		want int
	}{
		{0, 0},
		{5 * time.Millisecond, 0},
		{5*time.Millisecond + 1, 1},
		{time.Second, 7},
		{time.Minute, 13},
		{time.Minute + 1, 14},
		{time.Hour, 14},
	} {
		if got := bucketOf(c.took); got != c.want {
			t.Errorf("%v is in %d, want %d", c.took, got, c.want)
		}
	}
}

func TestQuantilesAreInterpolated(t *testing.T) {
	var h Histogram
	if _, ok := h.Quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
	h.Counts[7], h.Counts[8] = 50, 50 // 0.5 to 1 s, and 1 to 2.5 s
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{
		{0, 500 * time.Millisecond},
		{0.25, 750 * time.Millisecond},
		{0.5, time.Second},
		{0.75, 1750 * time.Millisecond},
		{1, 2500 * time.Millisecond},
		{7, 2500 * time.Millisecond},
	} {
		if got, _ := h.Quantile(c.q); got != c.want {
			t.Errorf("%v: %v, want %v", c.q, got, c.want)
		}
	}
	h = Histogram{}
	h.Counts[14] = 1
	if got, _ := h.Quantile(0.5); got != time.Minute {
		t.Errorf("above every bound: %v", got)
	}
}

// TestQuantileIsInBucketOfExactQuantile compares with the turns themselves: the estimate is in the
// bucket of the exact quantile.
func TestQuantileIsInBucketOfExactQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Int64Range(0, int64(2*time.Minute)), 1, 200).Draw(t, "took")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		var h Histogram
		for _, d := range took {
			h.Counts[bucketOf(time.Duration(d))]++
		}
		slices.Sort(took)
		rank := q * float64(len(took))
		i := int(rank)
		if float64(i) == rank {
			i--
		}
		got, _ := h.Quantile(q)
		if want := min(bucketOf(time.Duration(took[i])), len(bounds)-1); bucketOf(got) != want && bucketOf(got+1) != want {
			t.Fatalf("%v lies in bucket %d, the turn %v in %d", got, bucketOf(got), time.Duration(took[i]), want)
		}
	})
}

func TestTotalsAddUpTurns(t *testing.T) {
	s := &memoryStore{}
	now := noon
	rec := Recorder{Store: s, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	now = noon.AddDate(0, 0, -2)
	rec.Turn(t.Context(), "a", Turn{Contract: Router, Outcome: Respond, Latency: 20 * time.Millisecond})
	now = noon.AddDate(0, 0, -1)
	rec.Turn(t.Context(), "a", Turn{Contract: Router, Outcome: Delegate, Agent: "reserva", Attempts: 2, AgentFailures: 1, Latency: 2 * time.Second})
	now = noon
	rec.Turn(t.Context(), "a", Turn{Contract: Send, Outcome: Blocked, Reason: "no_api_key", Latency: time.Millisecond})
	rec.Turn(t.Context(), "a", Turn{Contract: Router, Outcome: Unreachable, Reason: "agent.open", Agent: "a/b", Latency: 20 * time.Millisecond})
	rec.Turn(t.Context(), "b", Turn{Contract: Send, Outcome: Message})
	got, err := (&Reader{Store: s, Now: rec.Now}).Totals(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	in := func(sum time.Duration, buckets ...int) Histogram {
		h := Histogram{Sum: sum}
		for _, b := range buckets {
			h.Counts[b]++
		}
		return h
	}
	want := Totals{
		Turns:   map[Kind]int64{{Router, Respond}: 1, {Router, Delegate}: 1, {Send, Blocked}: 1, {Router, Unreachable}: 1},
		Reasons: map[Cause]int64{{Send, Blocked, "no_api_key"}: 1, {Router, Unreachable, "agent.open"}: 1},
		Agents:  map[string]AgentTotals{"reserva": {1, 2, 1}, "a/b": {1, 0, 0}},
		Latency: map[string]Histogram{Router: in(2040*time.Millisecond, 2, 8, 2), Send: in(time.Millisecond, 0)},
		Recent:  map[string]Histogram{Router: in(2020*time.Millisecond, 8, 2), Send: in(time.Millisecond, 0)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// numbers returns every number of a total, each by its own name.
func numbers(t Totals) map[string]int64 {
	out := map[string]int64{}
	for k, n := range t.Turns {
		out[fmt.Sprint("turns ", k)] = n
	}
	for k, n := range t.Reasons {
		out[fmt.Sprint("reasons ", k)] = n
	}
	for k, a := range t.Agents {
		out["calls "+k], out["attempts "+k], out["failures "+k] = a.Turns, a.Attempts, a.Failures
	}
	for k, h := range t.Latency {
		for i, n := range h.Counts {
			out[fmt.Sprint("took ", k, i)] = n
		}
		out["sum "+k] = int64(h.Sum)
	}
	return out
}

// TestTotalsOnlyGrow counts turns while the clock advances by up to days, and sometimes reads
// the totals: with a reader that has a cache, and with a new one. The clock also goes back a
// little, or there are more agents than names. With both at once, the named agents may change.
func TestTotalsOnlyGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &memoryStore{}
		now := noon
		agents, back := 90, time.Duration(0)
		if rapid.Bool().Draw(t, "clock goes back") {
			agents, back = MostAgents-1, 10*time.Minute
		}
		clock := func() time.Time { return now }
		old := &Reader{Store: s, Now: clock}
		seen := map[string]int64{}
		for range rapid.IntRange(1, 40).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(int64(-back), int64(40*time.Hour)).Draw(t, "passes")))
			for range rapid.IntRange(0, 12).Draw(t, "turns") {
				now = now.Add(time.Millisecond)
				_ = s.CountTurn(context.Background(), "a", now, Turn{
					Contract: rapid.SampledFrom(Contracts()).Draw(t, "contract"), Outcome: rapid.SampledFrom(Outcomes()).Draw(t, "outcome"),
					Agent: fmt.Sprintf("agent-%d", rapid.IntRange(0, agents).Draw(t, "agent")), Attempts: 2, AgentFailures: 1,
					Latency: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "took")),
				}.Bounded())
			}
			got, err := old.Totals(context.Background(), "a")
			if err != nil {
				t.Fatal(err)
			}
			fresh, _ := (&Reader{Store: s, Now: clock}).Totals(context.Background(), "a")
			if d := cmp.Diff(fresh, got); d != "" {
				t.Fatalf("what was kept is another: %s", d)
			}
			if n := len(got.Agents); n > MostAgents+1 {
				t.Fatalf("%d agents", n)
			}
			next := numbers(got)
			for name, n := range seen {
				if next[name] < n {
					t.Fatalf("%s went from %d to %d", name, n, next[name])
				}
			}
			seen = next
		}
	})
}

func TestPastDaysAreReadOnce(t *testing.T) {
	s, now := &memoryStore{}, noon
	r := &Reader{Store: s, Now: func() time.Time { return now }}
	for range 2 {
		if _, err := r.Totals(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	now = noon.AddDate(0, 0, -5) // the clock went back
	_, _ = r.Totals(t.Context(), "a")
	if want := []string{"", "2026-03-08~", ""}; !slices.Equal(s.read, want) {
		t.Errorf("read from %q, want %q", s.read, want)
	}
}

// brokenStore is a store whose writes fail.
type brokenStore struct{ Store }

func (brokenStore) CountTurn(ctx context.Context, _ ids.Account, _ time.Time, _ Turn) error {
	return errors.Join(errors.New("no table"), ctx.Err())
}

func TestRecorderReturnsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		began, stop := time.Now(), make(chan struct{})
		Recorder{Store: blockedStore(stop), Now: time.Now, Log: log}.Turn(t.Context(), "a", Turn{})
		close(stop)
		if took := time.Since(began); took != time.Second || !strings.Contains(out.String(), "tally.lost") {
			t.Errorf("took %v: %s", took, &out)
		}
	})
}

// blockedStore is a store that answers once a channel is closed.
type blockedStore chan struct{}

func (u blockedStore) CountTurn(context.Context, ids.Account, time.Time, Turn) error { <-u; return nil }

func (blockedStore) Days(context.Context, ids.Account, string) ([]Day, error) { return nil, nil }

func TestTurnIsCountedAfterClientDisconnects(t *testing.T) {
	s := &memoryStore{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	emitted := 0
	rec := Recorder{
		Store: s, Now: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler),
		Emit: func(_ context.Context, got Turn) {
			if got.Outcome == Other {
				emitted++
			}
		},
	}
	rec.Turn(ctx, "a", Turn{Contract: Send, Outcome: "strange"})
	if s.days["a"]["2026-03-10"]["turns/send/other"] != 1 || emitted != 1 {
		t.Errorf("%v, told %d times", s.days, emitted)
	}
}

func TestStoreFailureIsLogged(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Recorder{Store: brokenStore{}, Now: func() time.Time { return noon }, Log: slog.New(slog.NewTextHandler(&out, nil))}.Turn(ctx, "a", Turn{Contract: Send, Outcome: Message})
	if !strings.Contains(out.String(), "no table") || strings.Contains(out.String(), "canceled") {
		t.Errorf("%s", &out)
	}
}
