package boot

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Between two collections of garbage the heap grows within these bounds (ADR 35).
const (
	headroom     = 32 << 20 // bytes
	mostPercent  = 400      // of what is live
	leastPercent = 100
)

// PaceGC sets how much the heap grows between two collections, until ctx ends: headroom, at least leastPercent and at most
// mostPercent of the live bytes. The first collection comes at 16 MB, after the first answer of a function. Go's default
// is 4 MB.
func PaceGC(ctx context.Context) {
	debug.SetGCPercent(mostPercent)
	afterGC(func() bool {
		if ctx.Err() != nil {
			return false
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
		return true
	})
}

// paceGC does the same for a function. A GOGC in its environment is left in force.
func (e Environment) paceGC() {
	if e["GOGC"] == "" {
		PaceGC(context.Background())
	}
}

// gcPercent returns the growth between two collections, in percent of the bytes that are live.
func gcPercent(live uint64) int {
	return int(min(max(100*headroom/max(1, live), leastPercent), mostPercent))
}

// afterGC calls f after each collection, as long as it returns true.
func afterGC(f func() bool) {
	type mark struct{ _ *byte } // an object that nothing holds
	runtime.SetFinalizer(&mark{}, func(*mark) {
		if f() {
			afterGC(f)
		}
	})
}
