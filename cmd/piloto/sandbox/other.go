//go:build !linux

package sandbox

import (
	"context"
	"runtime"
)

// Main does nothing on this operating system.
func Main() {}

// Check returns ErrPlatform, because only Linux has a sandbox.
func Check(context.Context) error { return ErrPlatform.With("os", runtime.GOOS) }

// runConfined returns the error of Check.
func runConfined(ctx context.Context, _ Command, _ shell, _ *output) (Result, error) {
	return Result{}, Check(ctx)
}
