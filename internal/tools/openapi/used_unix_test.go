//go:build unix

package openapi

import (
	"syscall"
	"testing"
	"time"
)

// usedTime returns the processor time that this process had.
func usedTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
