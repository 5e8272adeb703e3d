//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// TestTempFileRemovesOnlyUnclaimedLeftovers: a claimed file with such a name stays, and so does any
// file of another name or kind.
func TestTempFileRemovesOnlyUnclaimedLeftovers(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a[1]*") // must not be read as a pattern
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := TempFile(folder, ".b.new-")
	if err != nil {
		t.Fatal(err)
	}
	stay := []string{filepath.Base(held.Name()), "b", ".b.new-", ".b.new-1x", ".b.new-old", ".bb.new-1", ".b.new-77"}
	for _, name := range append(stay[1:len(stay)-1], ".b.new-1", ".b.new-123456") {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, ".b.new-77"), 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := TempFile(folder, ".b.new-")
	if err != nil {
		t.Fatal(err)
	}
	stay = append(stay, filepath.Base(again.Name()))
	if got := listNames(t, folder); !slices.Equal(got, sortedNames(stay)) {
		t.Errorf("there are %q, want %q", got, sortedNames(stay))
	}
	if info, err := again.Stat(); err != nil || info.Mode() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if other, err := os.Open(held.Name()); err != nil || !errors.Is(Claim(other), ErrClaimed) {
		t.Errorf("it can be claimed twice: %v", err)
	}
	_ = held.Close() // as at the end of its process
	if _, err := TempFolder(folder, ".c.new-"); err != nil {
		t.Fatal(err)
	}
	if _, err := TempFolder(folder, ".b.new-"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(held.Name()); err != nil {
		t.Error("a file was removed for a folder")
	}
	if _, err := os.Stat(filepath.Join(folder, ".b.new-77")); err == nil {
		t.Error("a folder that is nobody's is there still")
	}
}

// TestTempFileKeepsFilesOfConcurrentCallers creates files concurrently.
func TestTempFileKeepsFilesOfConcurrentCallers(t *testing.T) {
	folder := t.TempDir()
	var makers sync.WaitGroup
	for range 16 {
		makers.Go(func() {
			for range 30 {
				f, err := TempFile(folder, ".b.new-")
				if err != nil {
					t.Error(err)
					return
				}
				if !hasName(f) {
					t.Errorf("%s was removed while it was in use", f.Name())
				}
				_ = os.Remove(f.Name())
				_ = f.Close()
			}
		})
	}
	makers.Wait()
	if left := listNames(t, folder); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func listNames(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return sortedNames(names)
}

func sortedNames(names []string) []string { return slices.Sorted(slices.Values(names)) }
