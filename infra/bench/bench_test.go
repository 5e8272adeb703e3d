package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFloorCountsOnlySequentialWrites(t *testing.T) {
	sys, err := newSystem(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sys.close() }()
	f, err := startFloor(sys, filepath.Join(t.TempDir(), "floor.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.close() }()
	sys.agent.call = recorded{
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}},
		body:   []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":"x","session_id":"s","context":{}}}}`),
	}
	for _, s := range slices.Concat(scenarios, timedOnly, jobScenarios) {
		if err := sys.model.script(s, "m1"); err != nil {
			t.Fatal(err)
		}
		sys.model.asked[s.kind] = []byte(promptFor(s.kind))
		for _, extra := range []int{0, 3} {
			before := f.log.syncs
			if err := newFloor(f, s, extra).operate(); err != nil {
				t.Fatal(err)
			}
			got, want := f.log.syncs-before, leastWrites(s)+extra
			if !s.wide && got != want || s.wide && (got < want || got > 2*s.steps+2+extra) {
				t.Errorf("%s and %d more wrote %d times, want %d", s.name, extra, got, want)
			}
		}
	}
}

func TestWaitingWritersShareFdatasync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, err := openJournal(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = j.close() }()
		const writers = 16
		j.leading = true // another writer is writing
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				if err := j.write(); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all of them wait
		j.lead()
		all.Wait()
		if j.syncs != 1 || j.leading {
			t.Errorf("%d writes took %d fdatasyncs; leading: %v", writers, j.syncs, j.leading)
		}
		if err := j.write(); err != nil || j.syncs != 2 {
			t.Errorf("a lone writer: %d fdatasyncs, %v", j.syncs, err)
		}
		info, err := j.file.Stat()
		if err != nil || info.Size() != (writers+1)*recordSize {
			t.Errorf("%d bytes were written, %v", info.Size(), err)
		}
	})
}

func TestQuantileReturnsSmallestSufficientValue(t *testing.T) {
	var took []time.Duration
	for i := range 20 {
		took = append(took, time.Duration(20-i))
	}
	for q, want := range map[float64]time.Duration{0.5: 10, 0.95: 19, 1: 20, 0: 1, 0.51: 11} {
		if got := quantile(took, q); got != want {
			t.Errorf("quantile %g is %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("nothing measured is not 0")
	}
}

// TestEveryKindOfScenarioIsMeasured measures as briefly as possible: every run must end done, with each call sent
// once.
func TestEveryKindOfScenarioIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	o := options{
		json: true, only: regexp.MustCompile("turn|run of 1|side|look|job of 1 round"), dir: t.TempDir(), template: filepath.Join("..", "..", "template.yaml"),
		latency: time.Millisecond, slice: time.Millisecond, rounds: 1, counted: 1,
	}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	kinds, loads := 0, 0
	for _, s := range slices.Concat(scenarios, timedOnly, jobScenarios) {
		if !o.only.MatchString(s.name) {
			continue
		}
		if l := r.Latency[kinds]; l.Name != s.name || l.P50 <= 0 || l.FloorP50 <= 0 || l.Ratio <= 0 || l.Commits < float64(leastWrites(s)) {
			t.Errorf("%+v", l)
		}
		kinds++
		loads += len(s.loads)
	}
	if len(r.Latency) != kinds || len(r.Load) != loads {
		t.Fatalf("%d latencies and %d throughputs, want %d and %d", len(r.Latency), len(r.Load), kinds, loads)
	}
	for _, l := range r.Load {
		if l.Operations < l.Clients || l.Rate <= 0 || l.FloorRate <= 0 || l.ApartRate <= 0 || l.CPU <= 0 {
			t.Errorf("%+v", l)
		}
	}
	if len(r.Looks) != len(lookScenarios) {
		t.Fatalf("%d kinds of looks, want %d", len(r.Looks), len(lookScenarios))
	}
	for _, l := range r.Looks {
		if l.Operations < 3 || l.Turn <= 0 || l.Refused <= 0 || l.Get <= 0 || l.Ratio == 0 {
			t.Errorf("%+v", l)
		}
	}
	if err := r.table(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestVerdictNeedsComparison(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{latency{Aim: 4, Ratio: 4}.verdict(), "≤ 4×: met"},
		{latency{Aim: 4, Ratio: 4.01}.verdict(), "≤ 4×: MISSED"},
		{latency{Aim: 4}.verdict(), ""},
		{latency{Ratio: 9}.verdict(), ""},
		{throughput{Aim: 0.25, Ratio: 0.25}.verdict(), "≥ 0.25×: met"},
		{throughput{Aim: 0.25, Ratio: 0.2}.verdict(), "≥ 0.25×: MISSED"},
		{throughput{Aim: 0.25}.verdict(), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
