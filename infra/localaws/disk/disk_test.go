package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var bucket = []byte("b")

func put(key, value string) func(*Tx) error {
	return func(tx *Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(value))
	}
}

func get(t *testing.T, s *Store, key string) string {
	t.Helper()
	var out string
	if err := s.View(func(tx *Tx) error {
		if b := tx.Bucket(bucket); b != nil {
			out = string(b.Get([]byte(key)))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func openTemp(t testing.TB) (*Store, string) {
	t.Helper()
	return openIn(t, t.TempDir())
}

// scratch returns a folder in memory where the system has one, for tests of the contents of files
// that do not depend on the disk.
func scratch(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "disk")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func openIn(t testing.TB, folder string) (*Store, string) {
	t.Helper()
	path := filepath.Join(folder, "data.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, path
}

// toFile writes everything to the file, which then has no log.
func toFile(t testing.TB, s *Store) {
	t.Helper()
	c := &call{last: true, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.join(c)
	if c.err != nil {
		t.Fatal(c.err)
	}
}

// commitTogether holds the store in one commit while the functions queue up behind it, so that they
// form exactly one group, in order.
func commitTogether(t *testing.T, s *Store, fns ...func(*Tx) error) []func() (error, any) {
	t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	var first sync.Once
	go func() {
		_ = s.Update(func(*Tx) error {
			first.Do(func() { close(entered); <-release })
			return nil
		})
	}()
	<-entered
	results := make([]func() (error, any), len(fns))
	for i, fn := range fns {
		done := make(chan struct{})
		var err error
		var panicked any
		go func() {
			defer close(done)
			defer func() { panicked = recover() }()
			err = s.Update(fn)
		}()
		for { // wait until it is queued, so that the order is that of fns
			s.mu.Lock()
			n := len(s.queue)
			s.mu.Unlock()
			if n == i+1 {
				break
			}
		}
		results[i] = func() (error, any) { <-done; return err, panicked }
	}
	close(release)
	return results
}

func TestGroupSharesOneCommit(t *testing.T) {
	s, _ := openTemp(t)
	var fns []func(*Tx) error
	for i := range 50 {
		fns = append(fns, put(string(rune('A'+i)), "x"))
	}
	before := s.Commits()
	for _, wait := range commitTogether(t, s, fns...) {
		if err, p := wait(); err != nil || p != nil {
			t.Fatal(err, p)
		}
	}
	if n := s.Commits() - before; n != 1 { // the holder writes nothing
		t.Fatalf("50 writers took %d commits, want 1", n)
	}
}

func TestUpdateErrorDoesNotAffectOthers(t *testing.T) {
	s, _ := openTemp(t)
	boom := errors.New("boom")
	runs := 0
	results := commitTogether(
		t, s,
		func(tx *Tx) error { runs++; return put("first", "1")(tx) },
		func(tx *Tx) error { return errors.Join(put("half", "1")(tx), boom) },
		func(tx *Tx) error {
			if v := tx.Bucket(bucket).Get([]byte("half")); v != nil {
				return errors.New("saw the failed writer's half")
			}
			return put("last", "1")(tx)
		},
	)
	for i, want := range []error{nil, boom, nil} {
		if err, p := results[i](); !errors.Is(err, want) || p != nil {
			t.Errorf("writer %d: %v %v, want %v", i, err, p, want)
		}
	}
	if get(t, s, "first") != "1" || get(t, s, "last") != "1" || get(t, s, "half") != "" {
		t.Error("the others' writes were not kept, or the failed one's were")
	}
	if runs != 1 {
		t.Errorf("the first writer ran %d times, want 1", runs)
	}
}

func TestErrorIsReturnedItself(t *testing.T) {
	s, _ := openTemp(t)
	refused := errors.New("refused")
	runs := 0
	results := commitTogether(
		t, s,
		func(tx *Tx) error { runs++; return put("a", "1")(tx) },
		func(*Tx) error { return refused },
	)
	if err, _ := results[0](); err != nil {
		t.Fatal(err)
	}
	if err, _ := results[1](); err != refused { //nolint:errorlint // the very error, unwrapped
		t.Fatalf("got %#v, want the error itself", err)
	}
	if runs != 1 {
		t.Errorf("ran %d times, want 1", runs)
	}
}

func TestGroupOfErrorsDoesNotCommit(t *testing.T) {
	s, _ := openTemp(t)
	before := s.Commits()
	_ = s.Update(func(*Tx) error { return errors.New("no") })
	if s.Commits() != before {
		t.Error("a refused write was committed")
	}
}

func TestUpdatePanicsInItsCallerOnly(t *testing.T) {
	s, _ := openTemp(t)
	results := commitTogether(
		t, s, put("a", "1"),
		func(tx *Tx) error { _ = put("half", "1")(tx); panic("mine") },
		put("b", "1"),
	)
	for i, want := range []any{nil, "mine", nil} {
		if err, p := results[i](); err != nil || p != want {
			t.Errorf("writer %d: %v, panic %v, want panic %v", i, err, p, want)
		}
	}
	if get(t, s, "a")+get(t, s, "b") != "11" || get(t, s, "half") != "" {
		t.Error("the others' writes were not kept, or the panicking one's were")
	}
}

func TestWritersAreSerialised(t *testing.T) {
	s, path := openTemp(t)
	const writers, each = 64, 20
	before := s.Commits()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if err := s.Update(func(tx *Tx) error {
					b, err := tx.CreateBucketIfNotExists(bucket)
					if err != nil {
						return err
					}
					n := uint64(0)
					if v := b.Get([]byte("n")); v != nil {
						n = binary.BigEndian.Uint64(v)
					}
					return b.Put([]byte("n"), binary.BigEndian.AppendUint64(nil, n+1))
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := s.Commits() - before; n >= writers*each {
		t.Errorf("%d writes took %d commits: none was shared", writers*each, n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if n := binary.BigEndian.Uint64([]byte(get(t, again, "n"))); n != writers*each {
		t.Errorf("counter is %d, want %d", n, writers*each)
	}
}

func TestOpenNamesHolderOfFile(t *testing.T) {
	_, path := openTemp(t)
	_, err := Open(path)
	if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "is open in process ") {
		t.Fatalf("got %v, want ErrHeld with the process", err)
	}
}

func TestOpenCreatesPrivateFile(t *testing.T) {
	_, path := openTemp(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	s, _ := openTemp(t)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(put("a", "1")); !errors.Is(err, ErrClosed) {
		t.Errorf("Update: %v", err)
	}
	if err := s.View(func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("View: %v", err)
	}
}

func TestOpenRefusesDamagedFiles(t *testing.T) {
	s, path := openTemp(t)
	if err := s.Update(put("a", strings.Repeat("x", 100_000))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"cut in the middle":  whole[:64<<10],
		"cut to one page":    whole[:4096],
		"not a database":     []byte(strings.Repeat("not a database\n", 2000)),
		"both roots changed": append(make([]byte, 8192), whole[8192:]...),
	} {
		t.Run(name, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "bad.db")
			if err := os.WriteFile(bad, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(bad); !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v, want ErrDamaged", err)
			}
		})
	}
}

func TestDamagedPageIsErrorAndNoPanic(t *testing.T) {
	s, path := openTemp(t)
	for i := range 400 {
		if err := s.Update(put(fmt.Sprintf("key %d", i), strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	toFile(t, s)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for at := 2 * page; at+page <= len(whole); at += page { // one of these pages is in the tree
		if bytes.Contains(whole[at:at+page], []byte("key ")) {
			if _, err := file.WriteAt(bytes.Repeat([]byte{0xff}, page), int64(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := func(tx *Tx) error {
		return tx.Bucket(bucket).ForEach(func(_, _ []byte) error { return nil })
	}
	if err := s.View(all); !errors.Is(err, ErrDamaged) {
		t.Errorf("View: %v", err)
	}
	if err := s.Update(all); !errors.Is(err, ErrDamaged) {
		t.Errorf("Update: %v", err)
	}
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("a panic of the caller's own became %v", p)
			}
		}()
		_ = s.View(func(*Tx) error { panic("mine") })
	}()
}

func TestBackupIsConsistentDuringWrites(t *testing.T) {
	s, path := openTemp(t)
	if err := s.Update(put("kept", "1")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := s.Update(put("moving", "x")); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	copied := filepath.Join(filepath.Dir(path), "copy.db")
	for range 5 {
		if err := s.Backup(copied); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	restored, err := Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = restored.Close() }()
	if get(t, restored, "kept") != "1" {
		t.Error("the copy lacks a committed write")
	}
}
