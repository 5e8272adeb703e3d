package boot

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestHeapGrowsByABoundedAmount(t *testing.T) {
	for live, want := range map[uint64]int{0: mostPercent, 1 << 20: mostPercent, 7 << 20: 400, 14 << 20: 200, 28 << 20: 100, 1 << 30: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d %% for %d live bytes, want %d", got, live, want)
		}
	}
}

// TestCollectorIsPacedByWhatIsLive fills the heap: from then on it grows less between two collections.
func TestCollectorIsPacedByWhatIsLive(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	PaceGC(ctx)
	if got := percentNow(); got != mostPercent {
		t.Fatalf("it begins with %d %%", got)
	}
	held := make([]byte, 2*headroom)
	for range 1000 { // finalizers run after a collection
		runtime.GC()
		if percentNow() == leastPercent {
			break
		}
	}
	if got := percentNow(); got != leastPercent {
		t.Errorf("%d %% with %d bytes live", got, len(held))
	}
	runtime.KeepAlive(held)
}

// TestFunctionLeavesTheEnvironmentsPace: a GOGC that somebody set stays in force.
func TestFunctionLeavesTheEnvironmentsPace(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	Environment{"GOGC": "77"}.paceGC()
	if got := percentNow(); got != 77 {
		t.Errorf("%d %% with GOGC=77", got)
	}
	Environment{}.paceGC()
	if got := percentNow(); got != mostPercent {
		t.Errorf("%d %% without GOGC, want %d", got, mostPercent)
	}
}

func percentNow() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
