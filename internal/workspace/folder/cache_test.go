package folder

import (
	"testing"
	"time"
)

// TestVersionIsKnownOnlyAfterTheTick: a file that was read in the tick of its last change may change again without a
// new time.
func TestVersionIsKnownOnlyAfterTheTick(t *testing.T) {
	changed := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	id := identity{device: 1, number: 2, size: 3, written: changed.Add(-time.Hour).UnixNano(), changed: changed.UnixNano()}
	for after, want := range map[time.Duration]bool{-time.Hour: false, 0: false, tick: false, tick + 1: true, time.Hour: true} {
		var v versions
		v.add("a", known{id: id, version: "1", at: changed.Add(after)})
		if got, ok := v.of("a", id); ok != want || ok && got != "1" {
			t.Errorf("read %v after the change: %q, %v", after, got, ok)
		}
		other := id
		other.size++
		if _, ok := v.of("a", other); ok {
			t.Errorf("the version of another content is known")
		}
	}
}

func TestVersionsOfOtherFilesAreDropped(t *testing.T) {
	var v versions
	v.keep(map[string]bool{"a": true})
	for _, name := range []string{"a", "b"} {
		v.add(name, known{at: time.Unix(1e9, 0), version: "1"})
	}
	v.keep(map[string]bool{"a": true})
	if _, ok := v.of("b", identity{}); ok {
		t.Error("b is known")
	}
	if _, ok := v.of("a", identity{}); !ok {
		t.Error("a is not known")
	}
}
