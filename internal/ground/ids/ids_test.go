package ids

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestIDsOfOneSourceIncrease(t *testing.T) {
	s := NewSource(nil)
	var ids []string
	for i := range 5000 {
		moment := at
		if i%3 == 0 {
			moment = at.Add(-time.Hour) // the clock went backwards
		}
		ids = append(ids, s.New(moment))
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Error("ids repeat or go back")
	}
}

func TestIDsAreUniqueUnderConcurrency(t *testing.T) {
	s := NewSource(nil)
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 500 {
				id := s.New(at)
				mu.Lock()
				if seen[id] || !Valid(id) {
					t.Errorf("%s", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// exhausted is an entropy source that begins at the largest id of a millisecond.
type exhausted struct{ read int }

func (e *exhausted) Read(p []byte) (int, error) {
	n, err := rand.Read(p)
	for i := range p {
		if e.read < 10 {
			p[i] = 0xff
		}
		e.read++
	}
	return n, err
}

func TestExhaustedMillisecondUsesNext(t *testing.T) {
	s := NewSource(&exhausted{})
	first, second := s.New(at), s.New(at)
	if second <= first || !Valid(second) {
		t.Errorf("%s then %s", first, second)
	}
}

func TestDerivedIDsAreStableAndDistinct(t *testing.T) {
	if again := Derive("a", "b"); Derive("a", "b") != again || !Valid(again) {
		t.Error("not stable, or no id")
	}
	if Derive("a", "bc") == Derive("ab", "c") || Derive("a") == Derive("a", "") {
		t.Error("two names share an id")
	}
}

func TestValid(t *testing.T) {
	for id, want := range map[string]bool{
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": true, "01arz3ndektsv4rrffq69g5fav": false, "": false, "01ARZ3NDEKTSV4RRFFQ69G5FA": false,
		"81ARZ3NDEKTSV4RRFFQ69G5FAV": false, "01ARZ3NDEKTSV4RRFFQ69G5FAU": false, "01ARZ3NDEKTSV4RRFFQ69G5FAI": false, "session-001": false,
	} {
		if Valid(id) != want {
			t.Errorf("Valid(%q) = %v", id, !want)
		}
	}
}

func TestValidTraceRefusesUnsafeIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"abc-1": true, NewTrace(): true, "Root=1-67891233-abcdef012345678912345678;Sampled=1": true, "": false,
		"a b": false, "a\nb": false, "a\"b": false, "é": false, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
	} {
		if ValidTrace(id) != want {
			t.Errorf("ValidTrace(%q) = %v", id, !want)
		}
	}
}
