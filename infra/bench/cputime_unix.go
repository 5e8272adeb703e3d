//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process had; 0 where it is not known.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
