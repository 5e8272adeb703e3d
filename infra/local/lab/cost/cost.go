// Package cost measures, in tests, what it costs to read what a stranger wrote.
package cost

import (
	"strings"
	"testing"
	"time"
)

// Least returns the shortest of a few measurements of f, because other work only makes it
// longer.
func Least(f func()) time.Duration {
	best := time.Hour
	for range 3 {
		began := time.Now()
		f()
		best = min(best, time.Since(began))
		if best > 2*time.Second {
			break
		}
	}
	return best
}

const (
	most  = 40 // times what an ordinary text of that size takes
	tries = 4  // at a text that takes more: what disturbs passes, and what costs stays
)

// Alike fails when read takes more than forty times as long for a hostile text as for an
// ordinary text of the same size. Both have the largest size that is accepted. A quadratic
// reader takes hundreds of times as long. The ratio is taken within one run.
func Alike[T any](t testing.TB, name string, read func(T), ordinary T, hostile map[string]T) {
	t.Helper()
	normal := Least(func() { read(ordinary) })
	for shape, text := range hostile {
		took := time.Hour
		for range tries {
			if took = min(took, Least(func() { read(text) })); took <= most*normal {
				break
			}
			normal = max(normal, Least(func() { read(ordinary) }))
		}
		if took > most*normal {
			t.Errorf("%s of %s: %v, and of an ordinary text of that size %v", name, shape, took, normal)
		}
	}
}

// Repeated returns hostile texts of n bytes: each repeats one of the units.
func Repeated(n int, units ...string) map[string]string {
	all := map[string]string{}
	for _, u := range units {
		all[u] = strings.Repeat(u, n/len(u))
	}
	return all
}
