package boot

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Between two collections of garbage the heap grows within these bounds (ADR 35).
const (
	headroom     = 28 << 20 // bytes
	mostPercent  = 400      // of the scanned bytes
	leastPercent = 100
)

// PaceGC sets how much the heap grows between two collections, until ctx ends: headroom, at least leastPercent and at
// most mostPercent of the scanned bytes. The first collection comes at 16 MB, after the first answer of a function. Go's
// default is 4 MB.
func PaceGC(ctx context.Context) {
	debug.SetGCPercent(mostPercent)
	afterGC(func() bool {
		if ctx.Err() != nil {
			return false
		}
		debug.SetGCPercent(gcPercent(scanned()))
		return true
	})
}

// paceGC does the same for a function. A GOGC in its environment is left in force.
func (e Environment) paceGC() {
	if e["GOGC"] == "" {
		PaceGC(context.Background())
	}
}

// scanned returns the bytes of which Go takes the percentage: the live bytes of the heap, of stacks and of globals.
func scanned() (bytes uint64) {
	parts := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(parts)
	for _, part := range parts {
		bytes += part.Value.Uint64()
	}
	return bytes
}

// gcPercent returns the growth between two collections, in percent of the bytes that are scanned.
func gcPercent(scanned uint64) int {
	return int(min(max(100*headroom/max(1, scanned), leastPercent), mostPercent))
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
