package process

import (
	"errors"
	"io/fs"
	"localaws"
	"localaws/disk"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newBackup returns a backup of a folder with a file of every kind.
func newBackup(t *testing.T) (file string, want map[string]string) {
	t.Helper()
	folder, _ := filledFolder(t)
	file = filepath.Join(t.TempDir(), "b")
	if err := backup(t.Context(), folder, file); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := restore(t.Context(), file, plain); err != nil {
		t.Fatal(err)
	}
	return file, filesIn(t, plain)
}

// compareFolder compares the files of a folder, without the files of a new disk.
func compareFolder(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	_ = os.Remove(filepath.Join(folder, lostFound))
	got := filesIn(t, folder)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s was restored as something else", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files of %d", len(got), len(want))
	}
}

// TestRestoreFillsExistingFolder keeps the folder, because it may be the root of a disk, which has
// a lost+found folder. It replaces no other file.
func TestRestoreFillsExistingFolder(t *testing.T) {
	file, want := newBackup(t)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, lostFound), 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := restore(t.Context(), file, folder); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(folder); err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another folder: %v", err)
	}
	compareFolder(t, folder, want)
	if err := restore(t.Context(), file, folder); err == nil || !strings.Contains(said(err), "not empty") {
		t.Errorf("over what is there: %v", err)
	}
	compareFolder(t, folder, want)
}

// TestRestoreRepeatsAfterInterruption at every point: no process starts until the data file is
// there, and then everything is there.
func TestRestoreRepeatsAfterInterruption(t *testing.T) {
	file, want := newBackup(t)
	for cut := range len(want) + 3 {
		folder := t.TempDir()
		restorePartly(t, file, folder, cut)
		_, dataErr := os.Stat(filepath.Join(folder, dataFile))
		complete := dataErr == nil
		if complete != (cut == len(want)+2) {
			t.Fatalf("cut %d: the data file: %v", cut, dataErr)
		}
		e, err := openEngines(folder, localaws.Options{Log: slog.New(slog.DiscardHandler)}, "")
		if complete {
			if err != nil {
				t.Fatal(err)
			}
			if err := e.close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(folder, restoringFolder)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was left is there still: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(said(err), "restore FILE --data "+folder) || !strings.Contains(said(err), "nothing was changed") {
			t.Fatalf("cut %d: a start says %v", cut, err)
		}
		if err := restore(t.Context(), file, folder); err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		compareFolder(t, folder, want)
	}
}

// restorePartly does a part of Restore: 0 begins, 1 has extracted everything into the inner folder,
// 2 has written the list, and each further number publishes one file.
func restorePartly(t *testing.T, file, folder string, cut int) {
	t.Helper()
	archive, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	parts := filepath.Join(folder, restoringFolder)
	if err := os.Mkdir(parts, 0o700); err != nil {
		t.Fatal(err)
	}
	if cut == 0 {
		return
	}
	m, err := unpack(t.Context(), archive, parts)
	if err == nil && cut >= 2 {
		err = writeFileList(parts, m)
	}
	for i, name := range publishOrder(m) {
		if err == nil && i+2 < cut {
			if err = makeObjects(folder, name); err != nil {
				break
			}
			err = publish(filepath.Join(parts, name), filepath.Join(folder, name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRestoreKeepsFilesThatCameMeanwhile: a file of another kind or with other content after an
// interrupted restore, and a file of the same name during a restore.
func TestRestoreKeepsFilesThatCameMeanwhile(t *testing.T) {
	file, want := newBackup(t)
	for name, text := range map[string]string{"theirs": "x", "token": "another token\n", installedFile: strings.Repeat("1", len(want[installedFile]))} {
		folder := t.TempDir()
		restorePartly(t, file, folder, 2)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := restore(t.Context(), file, folder); err == nil || !strings.Contains(said(err), "it has "+name) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != text {
			t.Errorf("%s is %q: %v", name, got, err)
		}
	}
	folder := t.TempDir()
	other, err := os.Open(folder)
	if err != nil || disk.Claim(other) != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if err := restore(t.Context(), file, folder); !errors.Is(err, disk.ErrClaimed) {
		t.Errorf("two at once: %v", err)
	}
}

// TestBackupWaitsForStartingOrStoppingProcess: such a process holds the data file and does not
// listen.
func TestBackupWaitsForStartingOrStoppingProcess(t *testing.T) {
	folder, _ := filledFolder(t)
	store, err := disk.Open(filepath.Join(folder, dataFile))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b")
	done := make(chan error, 1)
	go func() { done <- backup(t.Context(), folder, file) }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestBackupRemovesLeftoversOfKilledBackup, and keeps the file that another backup is writing.
func TestBackupRemovesLeftoversOfKilledBackup(t *testing.T) {
	folder, _ := filledFolder(t)
	places := t.TempDir()
	writing, err := disk.TempFile(places, unfinishedBackup)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writing.Close() }()
	if err := os.WriteFile(filepath.Join(places, unfinishedBackup+"1"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := backup(t.Context(), folder, filepath.Join(places, "b")); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, _ := os.ReadDir(places)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{filepath.Base(writing.Name()), "b"}) {
		t.Errorf("there are %q", names)
	}
}

// TestBackupChangesNothing, because the folder may be on a read-only disk.
func TestBackupChangesNothing(t *testing.T) {
	folder, before := filledFolder(t)
	path := filepath.Join(folder, dataFile)
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path, 0o400), os.Chmod(folder, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(folder, 0o700) }()
	if err := backup(t.Context(), folder, filepath.Join(t.TempDir(), "b")); err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(path); err != nil || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("the data file was written: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if after := filesIn(t, folder); len(after) != len(before) {
		t.Errorf("%d files of %d", len(after), len(before))
	}
}

// TestBackupOfKilledProcessHasWhatIsInTheLog, and changes nothing: the folder may be on a read-only
// disk. The restored folder has no log, and holds every item.
func TestBackupOfKilledProcessHasWhatIsInTheLog(t *testing.T) {
	running := filepath.Join(t.TempDir(), "data")
	a := openStandalone(t, running)
	a.createTable(t)
	for _, key := range []string{"one", "two", "three"} {
		if err := a.put(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(t.TempDir(), "killed")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	logs := 0
	for name, text := range dataFiles(t, running) {
		if disk.IsLog(dataFile, name) {
			logs++
		} else if name != dataFile {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	if logs == 0 {
		t.Fatal("there was no log")
	}
	before := filesIn(t, folder)
	file := filepath.Join(t.TempDir(), "b")
	if err := errors.Join(os.Chmod(folder, 0o500), backup(t.Context(), folder, file), os.Chmod(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	if after := filesIn(t, folder); !maps.Equal(after, before) {
		t.Errorf("it was changed: %d files of %d", len(after), len(before))
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if err := restore(t.Context(), file, restored); err != nil {
		t.Fatal(err)
	}
	for name := range filesIn(t, restored) {
		if disk.IsLog(dataFile, name) {
			t.Errorf("%s was restored", name)
		}
	}
	b := openStandalone(t, restored)
	for _, key := range []string{"one", "two", "three"} {
		if !b.keys(t)[key] {
			t.Errorf("%s is missing", key)
		}
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}

// TestDataFileWithoutItsLogIsRefusedWithAdvice, and so is a log without its data file.
func TestDataFileWithoutItsLogIsRefusedWithAdvice(t *testing.T) {
	running := filepath.Join(t.TempDir(), "data")
	a := openStandalone(t, running)
	a.createTable(t)
	files := dataFiles(t, running)
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	for _, isKept := range []func(name string) bool{
		func(name string) bool { return name == dataFile },
		func(name string) bool { return disk.IsLog(dataFile, name) },
	} {
		folder := t.TempDir()
		if err := os.Chmod(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if !isKept(name) {
				continue
			}
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := filesIn(t, folder)
		_, err := openStore(folder, slog.New(slog.DiscardHandler))
		if !errors.Is(err, disk.ErrDamaged) || !strings.Contains(said(err), "restore FILE") || !strings.Contains(said(err), "log") {
			t.Errorf("it says %v", err)
		}
		if after := filesIn(t, folder); !maps.Equal(after, before) {
			t.Error("it was changed")
		}
	}
}

// dataFiles returns the data file of a running process, and its log.
func dataFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Name() != dataFile && !disk.IsLog(dataFile, e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}
