//go:build !failpoints

package failpoint

import (
	"testing"
	"time"
)

func TestFailpointsCostNothingWithoutTag(t *testing.T) {
	if On {
		t.Fatal("moments are compiled in")
	}
	if n := testing.AllocsPerRun(100, func() {
		Here("here")
		At("owner", t.Name(), "before")
		Verb("owner", "failpoint.(*T)", "after")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	at := time.Unix(1, 0)
	if got := Clock(func() time.Time { return at })(); got != at {
		t.Errorf("the clock says %s", got)
	}
}
