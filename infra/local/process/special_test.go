//go:build unix

package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBackupSkipsSpecialFiles: a pipe, a socket or a device in the data folder, or a link to one,
// is not read and does not block.
func TestBackupSkipsSpecialFiles(t *testing.T) {
	folder, files := filledFolder(t)
	elsewhere := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Skip("no FIFOs here")
	}
	for name, to := range map[string]string{
		"folder": elsewhere, "nowhere": filepath.Join(elsewhere, "none"), "zero": "/dev/zero", "piped": "pipe",
	} {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "b")
	if err := backup(t.Context(), folder, file); err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "new")
	if err := restore(t.Context(), file, into); err != nil {
		t.Fatal(err)
	}
	if got := filesIn(t, into); len(got) != len(files) {
		t.Errorf("%d files of %d", len(got), len(files))
	}
}
