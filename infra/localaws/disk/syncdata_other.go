//go:build !linux

package disk

import "os"

// SyncData is File.Sync.
func SyncData(f *os.File) error { return f.Sync() }
