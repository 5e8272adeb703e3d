package process

import (
	"context"
	"localaws"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Between two collections of garbage the heap grows within these bounds (ADR 35).
const (
	headroom     = 32 << 20 // bytes
	leastPercent = 100      // of what is live
)

// paceGC lets the heap grow by headroom between two collections until ctx ends: by at most localaws.GCPercent of what is
// live, and by at least as much as is live.
func paceGC(ctx context.Context) {
	debug.SetGCPercent(localaws.GCPercent)
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

// gcPercent returns the growth between two collections, in percent of the bytes that are live.
func gcPercent(live uint64) int {
	return int(min(max(100*headroom/max(1, live), leastPercent), localaws.GCPercent))
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
