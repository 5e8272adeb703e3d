package process

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"localaws"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestBackupHasContentsOfObjects while they are written, replaced and expire: every version in a copy can be read, and
// what was acknowledged before is in it.
func TestBackupHasContentsOfObjects(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	var hours atomic.Int64
	clock := func() time.Time {
		return time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC).Add(time.Duration(hours.Load()) * time.Hour)
	}
	e, err := openEngines(folder, localaws.Options{Log: slog.New(slog.DiscardHandler), Now: clock}, "")
	if err != nil {
		t.Fatal(err)
	}
	a := standaloneOf(t, e)
	a.createBucket(t)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var written [3]atomic.Int64
	for w := range written {
		writers.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				if err := a.putObject(t.Context(), fmt.Sprint(w), fmt.Sprintf("%d %s", n, strings.Repeat("x", 20_000))); err != nil {
					t.Error(err)
					return
				}
				written[w].Store(int64(n))
				if w == 0 {
					hours.Add(9) // so that versions expire
				}
			}
		})
	}
	defer writers.Wait()
	defer stop()
	for range 5 {
		var before [3]int64
		for w := range written {
			for start := written[w].Load(); written[w].Load() < start+4 && !t.Failed(); {
				time.Sleep(time.Millisecond)
			}
			before[w] = written[w].Load()
		}
		b := openStandalone(t, backUpAndRestore(t, folder))
		current := b.contents(t)
		for w, n := range before {
			var has int64
			if _, err := fmt.Sscan(current[fmt.Sprint(w)], &has); err != nil || has < n {
				t.Errorf("%d has %d, and %d was acknowledged before: %v", w, has, n, err)
			}
		}
		if err := errors.Join(b.putObject(t.Context(), "new", "x"), b.close()); err != nil {
			t.Error(err)
		}
	}
}

// TestBackupRefusesDamagedContent: it would be found only when somebody needs it.
func TestBackupRefusesDamagedContent(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("ONE"), 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 2) },
		"longer":  func(path string) error { return os.WriteFile(path, []byte("one more"), 0o600) },
		"gone":    os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			folder, files := filledFolder(t)
			for name, text := range files {
				if text == "one" {
					if err := damage(filepath.Join(folder, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			file := filepath.Join(t.TempDir(), "b")
			err := backup(t.Context(), folder, file)
			if _, there := os.Lstat(file); name == "longer" { // what was stored is there
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !errors.Is(there, fs.ErrNotExist) {
				t.Errorf("%v, and the file: %v", err, there)
			}
		})
	}
}

// TestRestoreRefusesBackupWithoutContents, or with another one under the name.
func TestRestoreRefusesBackupWithoutContents(t *testing.T) {
	folder, files := filledFolder(t)
	data, err := os.ReadFile(filepath.Join(folder, dataFile))
	if err != nil {
		t.Fatal(err)
	}
	whole := []entry{{tar.Header{Name: dataFile, Typeflag: tar.TypeReg}, string(data)}}
	var changed, lacking []entry
	for name, text := range files {
		if !isObject(name) {
			continue
		}
		member := entry{tar.Header{Name: name, Typeflag: tar.TypeReg}, text}
		whole = append(whole, member)
		if text != "one" {
			lacking = append(lacking, member)
		}
		member.text = strings.ToUpper(text)
		changed = append(changed, member)
	}
	restore := func(into string, members []entry) error {
		return restore(t.Context(), craftArchive(t, members), into)
	}
	into := filepath.Join(t.TempDir(), "new")
	there := t.TempDir()
	for name, members := range map[string][]entry{"none": whole[:1], "one of two": append(whole[:1:1], lacking...), "others": append(whole[:1:1], changed...)} {
		for _, place := range []string{into, there} {
			if err := restore(place, members); err == nil || !strings.Contains(said(err), "lacks objects/") {
				t.Errorf("%s: %v", name, err)
			}
			if left, _ := os.ReadDir(place); len(left) != 0 {
				t.Errorf("%s: it left %v", name, left)
			}
		}
	}
	if err := errors.Join(restore(into, whole), restore(there, whole)); err != nil {
		t.Error(err)
	}
}
