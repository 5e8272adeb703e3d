package process

import (
	"errors"
	"io"
	"io/fs"
	"localaws/disk"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// archived is a backup of a folder with a file of every kind.
func archived(t *testing.T) (file string, want map[string]string) {
	t.Helper()
	folder, _ := filled(t)
	file = filepath.Join(t.TempDir(), "b")
	if err := Backup(t.Context(), folder, file, io.Discard); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := Restore(t.Context(), file, plain, io.Discard); err != nil {
		t.Fatal(err)
	}
	return file, filesIn(t, plain)
}

// asArchived compares what a folder has, but for what a disk of its own comes with.
func asArchived(t *testing.T, folder string, want map[string]string) {
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

// TestAFolderThatIsThereIsFilledAndStays, as a disk of its own must, which is not quite
// empty; and nobody else's files in it are replaced.
func TestAFolderThatIsThereIsFilledAndStays(t *testing.T) {
	file, want := archived(t)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, lostFound), 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), file, folder, io.Discard); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(folder); err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another folder: %v", err)
	}
	asArchived(t, folder, want)
	if err := Restore(t.Context(), file, folder, io.Discard); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("over what is there: %v", err)
	}
	asArchived(t, folder, want)
}

// TestARestoreThatIsCutOffIsDoneAgain, wherever it was: until the data file is there
// nothing starts, and from then on all is.
func TestARestoreThatIsCutOffIsDoneAgain(t *testing.T) {
	file, want := archived(t)
	for cut := range len(want) + 3 {
		folder := t.TempDir()
		cutOff(t, file, folder, cut)
		_, dataErr := os.Stat(filepath.Join(folder, dataFile))
		complete := dataErr == nil
		if complete != (cut == len(want)+2) {
			t.Fatalf("cut %d: the data file: %v", cut, dataErr)
		}
		e, err := openEngines(folder, time.Now, nil, slog.New(slog.DiscardHandler), nil, "")
		if complete {
			if err != nil {
				t.Fatal(err)
			}
			if err := e.close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(folder, restoring)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was left is there still: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "-restore FILE -data "+folder) || !strings.Contains(err.Error(), "nothing was changed") {
			t.Fatalf("cut %d: a start says %v", cut, err)
		}
		if err := Restore(t.Context(), file, folder, io.Discard); err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		asArchived(t, folder, want)
	}
}

// cutOff does a part of what Restore does: 0 begins, 1 has everything in the folder's
// folder, 2 has noted it, and each more puts a file into its place.
func cutOff(t *testing.T, file, folder string, cut int) {
	t.Helper()
	archive, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	parts := filepath.Join(folder, restoring)
	if err := os.Mkdir(parts, 0o700); err != nil {
		t.Fatal(err)
	}
	if cut == 0 {
		return
	}
	m, err := unpack(t.Context(), archive, parts)
	if err == nil && cut >= 2 {
		err = noteFiles(parts, m)
	}
	for i, name := range lastTheData(m) {
		if err == nil && i+2 < cut {
			err = publish(filepath.Join(parts, name), filepath.Join(folder, name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatCameMeanwhileIsNotReplaced: a file of another kind, or with other content,
// where a restore was cut off; and one that is of the same name, during it.
func TestWhatCameMeanwhileIsNotReplaced(t *testing.T) {
	file, want := archived(t)
	for name, text := range map[string]string{"theirs": "x", "token": "another token\n", installedFile: strings.Repeat("1", len(want[installedFile]))} {
		folder := t.TempDir()
		cutOff(t, file, folder, 2)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Restore(t.Context(), file, folder, io.Discard); err == nil || !strings.Contains(err.Error(), "it has "+name) {
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
	if err := Restore(t.Context(), file, folder, io.Discard); !errors.Is(err, disk.ErrClaimed) {
		t.Errorf("two at once: %v", err)
	}
}

// TestABackupWaitsForAProcessThatBeginsOrStops: it has the data file, and does not listen.
func TestABackupWaitsForAProcessThatBeginsOrStops(t *testing.T) {
	folder, _ := filled(t)
	store, err := disk.Open(filepath.Join(folder, dataFile))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b")
	done := make(chan error, 1)
	go func() { done <- Backup(t.Context(), folder, file, io.Discard) }()
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

// TestWhatAKilledBackupLeftGoesWithTheNext, and what another is writing stays.
func TestWhatAKilledBackupLeftGoesWithTheNext(t *testing.T) {
	folder, _ := filled(t)
	places := t.TempDir()
	writing, err := disk.TempFile(places, backupBegun)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writing.Close() }()
	if err := os.WriteFile(filepath.Join(places, backupBegun+"1"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), folder, filepath.Join(places, "b"), io.Discard); err != nil {
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

// TestABackupChangesNothingInTheFolder: it may be on a disk that takes no writes.
func TestABackupChangesNothingInTheFolder(t *testing.T) {
	folder, before := filled(t)
	path := filepath.Join(folder, dataFile)
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path, 0o400), os.Chmod(folder, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(folder, 0o700) }()
	if err := Backup(t.Context(), folder, filepath.Join(t.TempDir(), "b"), io.Discard); err != nil {
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
