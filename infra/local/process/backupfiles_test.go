package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"localaws"
	"localaws/disk"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// filledFolder returns a folder with a file of every kind, which no process holds.
func filledFolder(t testing.TB) (folder string, files map[string]string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "data")
	a := openStandalone(t, folder)
	a.createBucket(t)
	if err := errors.Join(a.putObject(t.Context(), "k", "one"), a.putObject(t.Context(), "k", strings.Repeat("two", 10_000))); err != nil {
		t.Fatal(err)
	}
	return fillFolder(t, folder, a)
}

// plainFolder returns such a folder without objects.
func plainFolder(t testing.TB) (folder string, files map[string]string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "data")
	return fillFolder(t, folder, openStandalone(t, folder))
}

func fillFolder(t testing.TB, folder string, a standalone) (string, map[string]string) {
	t.Helper()
	a.createTable(t)
	_, err := a.secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("s"), SecretString: aws.String("x")})
	if err = errors.Join(err, a.put(t.Context(), "k"), a.close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"token": "a token of ours\n", installedFile: strings.Repeat("0", 64), "demo.jsonl": "", "demo.registered": "http://x"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, filesIn(t, folder)
}

// filesIn returns the files below a folder, by their names in an archive.
func filesIn(t testing.TB, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := os.Stat(path) // the token may be a link
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			if name != objectsFolder || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v", name, info.Mode())
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if info.Mode() != 0o600 {
			t.Errorf("%s: %v", name, info.Mode())
		}
		if name != ignoreFile {
			files[filepath.ToSlash(name)] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestBackupHasAllFilesWithoutProcess(t *testing.T) {
	folder, files := filledFolder(t)
	restored := filesIn(t, backUpAndRestore(t, folder))
	if len(restored) != 8 || len(files) != 8 {
		t.Errorf("%d files of %d", len(restored), len(files))
	}
	for name, text := range files {
		// The copy of the data file lacks the unused pages at its end, and its two roots are equal.
		if restored[name] != text && name != dataFile {
			t.Errorf("%s is not what it was", name)
		}
	}
	if after := filesIn(t, folder); len(after) != len(files) {
		t.Errorf("the folder that was copied has changed: %d files of %d", len(after), len(files))
	}
}

// TestRestoreRefusesDamagedBackup also accepts damage that changes no content.
func TestRestoreRefusesDamagedBackup(t *testing.T) {
	folder, _ := filledFolder(t)
	file := filepath.Join(t.TempDir(), "b")
	if err := backup(t.Context(), folder, file); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good")
	if err := restore(t.Context(), file, good); err != nil {
		t.Fatal(err)
	}
	want := filesIn(t, good)
	r := rand.New(rand.NewPCG(1, 1))
	parent := t.TempDir()
	refused := 0
	try := func(damage string, text []byte) {
		bad, into := filepath.Join(t.TempDir(), "bad"), filepath.Join(parent, "into")
		if err := os.WriteFile(bad, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := restore(t.Context(), bad, into); err != nil {
			refused++
			if left, _ := os.ReadDir(parent); len(left) != 0 || !strings.Contains(said(err), bad) {
				t.Errorf("%s: it left %v and said %v", damage, left, err)
			}
			return
		}
		got := filesIn(t, into)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s: %s was restored as something else", damage, name)
			}
		}
		if err := os.RemoveAll(into); err != nil {
			t.Fatal(err)
		}
	}
	const tries = 150
	for range tries {
		i, bit := r.IntN(len(whole)), byte(1)<<r.IntN(8)
		whole[i] ^= bit
		try(fmt.Sprintf("byte %d", i), whole)
		whole[i] ^= bit
	}
	if refused < tries/2 {
		t.Errorf("%d of %d were refused", refused, tries)
	}
	for range 60 {
		try("cut", whole[:r.IntN(len(whole)-2000)])
	}
	for _, text := range []string{"", "no tar", strings.Repeat("\x00", 4096)} {
		try("something else", []byte(text))
	}
}

func TestBackupReplacesNoFile(t *testing.T) {
	folder, _ := filledFolder(t)
	out := filepath.Join(t.TempDir(), "b")
	for name, x := range map[string]struct {
		do   func() error
		says string
	}{
		"an empty folder": {func() error { return backup(t.Context(), t.TempDir(), out) }, "no data"},
		"a file in it":    {func() error { return backup(t.Context(), folder, filepath.Join(folder, "b")) }, "in the data folder"},
		"a folder with files": {func() error {
			return errors.Join(backup(t.Context(), folder, out), restore(t.Context(), out, folder))
		}, dataFile},
	} {
		if err := x.do(); err == nil || !strings.Contains(said(err), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(out, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := backup(t.Context(), folder, out); err == nil || !strings.Contains(said(err), "there already") {
		t.Error(err)
	}
	if err := publish(filepath.Join(folder, "token"), out); !errors.Is(err, fs.ErrExist) { // a file that was created meanwhile
		t.Error(err)
	}
	if text, _ := os.ReadFile(out); string(text) != "theirs" {
		t.Error("it was replaced")
	}
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

// TestControlSocketIsPrivate checks folders at short and long paths, and a leftover socket of a
// killed process.
func TestControlSocketIsPrivate(t *testing.T) {
	for _, folder := range []string{filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), strings.Repeat("a long name ", 12), "data")} {
		a := openStandalone(t, folder)
		a.createTable(t)
		path := filepath.Join(folder, controlSocket)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Fatal(info, err)
		}
		backUpAndRestore(t, folder)
		if err := a.close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it was left: %v", err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil { // of a process that was killed
			t.Fatal(err)
		}
		again := openStandalone(t, folder)
		backUpAndRestore(t, folder)
		_ = again.close()
		if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) != 1 || filepath.Base(left[0]) != ignoreFile {
			t.Errorf("left: %v", left)
		}
	}
}

// TestBackupRemovesInterruptedFile stops the process while it sends the archive.
func TestBackupRemovesInterruptedFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	a := openStandalone(t, folder)
	a.createTable(t)
	if err := a.store.Update(func(tx *disk.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("large"))
		return errors.Join(err, b.Put([]byte("k"), make([]byte, 8<<20)))
	}); err != nil {
		t.Fatal(err)
	}
	places := t.TempDir()
	for _, after := range []int{0, 1, 1000, 40_000, 1 << 20} {
		ctx, cancel := context.WithCancel(t.Context())
		err := requestBackup(ctx, folder, &limitedWriter{left: after, cut: cancel})
		if err == nil {
			t.Errorf("cut after %d bytes, and nobody noticed", after)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := backup(ctx, folder, filepath.Join(places, "b")); err == nil {
		t.Error("it went on")
	}
	if left, _ := os.ReadDir(places); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := a.put(t.Context(), "after"); err != nil {
		t.Error(err)
	}
	if err := requestBackup(t.Context(), folder, &stopOnWrite{stop: func() { _ = a.control.close() }}); err == nil {
		t.Error("the process stopped while it sent, and nobody noticed")
	}
}

// stopOnWrite is a writer that stops the sender at the first write.
type stopOnWrite struct {
	once sync.Once
	stop func()
}

func (s *stopOnWrite) Write(b []byte) (int, error) {
	s.once.Do(s.stop)
	return len(b), nil
}

type limitedWriter struct {
	left int
	cut  func()
}

func (c *limitedWriter) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		c.cut()
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestDataFileErrorGivesAdvice(t *testing.T) {
	folder, _ := filledFolder(t)
	path := filepath.Join(folder, dataFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	restore := "mv " + folder + " " + folder + ".damaged && piloto restore FILE --data " + folder
	start := func() error {
		_, err := openEngines(folder, localaws.Options{Log: slog.New(slog.DiscardHandler)}, "")
		return err
	}
	for name, x := range map[string]struct {
		damage func(b []byte)
		older  bool
	}{
		"a page": {func(b []byte) { copy(b[3*os.Getpagesize():], bytes.Repeat([]byte("x"), 9*os.Getpagesize())) }, false},
		"a root": {func(b []byte) { b[40] ^= 1 }, true},
	} {
		bad := bytes.Clone(whole)
		x.damage(bad)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		err := start()
		if err == nil {
			t.Fatalf("%s: it started", name)
		}
		for _, says := range []string{path, "nothing was changed", restore} {
			if !strings.Contains(said(err), says) {
				t.Errorf("%s: it does not say %q: %v", name, says, err)
			}
		}
		if strings.Contains(said(err), "accept-older --data "+folder) != x.older {
			t.Errorf("%s: %v", name, err)
		}
		if err := acceptOlder(folder); (err == nil) != x.older {
			t.Errorf("%s: accepted: %v", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil || !strings.Contains(said(err), "is missing") || !strings.Contains(said(err), restore) {
		t.Errorf("a data file that is gone: %v", err)
	}
}
