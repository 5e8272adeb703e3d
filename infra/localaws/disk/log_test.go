package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// copyOf copies a data file with its log, as they are after a process was killed, and returns the path
// of the copy.
func copyOf(t testing.TB, path string) string {
	t.Helper()
	to := scratch(t)
	names, err := folder(filepath.Dir(path)).Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name != filepath.Base(path) && !IsLog(path, name) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(to, filepath.Base(path))
}

// segments returns the names of the segments of a data file.
func segments(t testing.TB, path string) (names []string) {
	t.Helper()
	numbers, err := segmentsOf(path).numbers()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		names = append(names, filepath.Join(filepath.Dir(path), segmentsOf(path).name(n)))
	}
	return names
}

// smallBounds makes checkpoints after a few commits, within the commit.
func smallBounds(s *Store) {
	s.bounds = bounds{checkpoint: 32 << 10, most: 128 << 10, record: 64 << 10}
	s.hooks.inline = true
}

// TestKilledStoreOpensWithEverythingAcknowledged opens a copy of the files after each of many random
// commits.
func TestKilledStoreOpensWithEverythingAcknowledged(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		s, path := openIn(t, scratch(t))
		if seed > 0 {
			smallBounds(s)
		}
		r := rand.New(rand.NewPCG(seed, 7))
		for i := range 120 {
			_ = s.Update(writeRandomly(r, 50))
			if i%6 != 0 {
				continue
			}
			want := dump(t, s)
			killed := copyOf(t, path)
			if err := Verify(killed); err != nil {
				t.Fatal(err)
			}
			again, err := Open(killed)
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(t, again); got != want {
				t.Fatalf("seed %d, commit %d: it has\n%.300s\nand not\n%.300s", seed, i, got, want)
			}
			if err := again.Update(put("later", "x")); err != nil {
				t.Fatal(err)
			}
			want = dump(t, again)
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			if left := segments(t, killed); len(left) > 0 {
				t.Fatalf("Close left %v", left)
			}
			if again, err = Open(killed); err != nil || dump(t, again) != want {
				t.Fatalf("after Close: %v", err)
			}
			_ = again.Close()
		}
	}
}

// TestMergedStateIsThatOfTheFile compares what the layers and the file show together with what the file
// alone shows, in both directions and from every key.
func TestMergedStateIsThatOfTheFile(t *testing.T) {
	for seed := range uint64(3) {
		s, path := openIn(t, scratch(t))
		r := rand.New(rand.NewPCG(seed, 8))
		for i := range 60 {
			_ = s.Update(writeRandomly(r, 40))
			if i%20 == 10 { // two layers in front of the file
				if _, err := s.freeze(); err != nil {
					t.Fatal(err)
				}
				s.w.done = nil // no checkpoint
			}
			if i%20 == 19 {
				merged, walked := dump(t, s), walkAll(t, s)
				toFile(t, s)
				if dump(t, s) != merged {
					t.Fatalf("seed %d: the file has\n%s\nthe layers had\n%s", seed, dump(t, s), merged)
				}
				if over := walkAll(t, s); over != walked {
					i := 0
					for over[i] == walked[i] {
						i++
					}
					t.Fatalf("seed %d: cursors move otherwise over the file: %.200s, and not %.200s", seed, over[max(0, i-100):], walked[max(0, i-100):])
				}
				verifyOpen(t, path)
			}
		}
	}
}

// walkAll moves cursors over all top-level buckets in many ways.
func walkAll(t *testing.T, s *Store) string {
	t.Helper()
	var out strings.Builder
	note := func(k, v []byte) { fmt.Fprintf(&out, "%q:%d:%v ", k, len(v), v == nil) }
	if err := s.View(func(tx *Tx) error {
		for _, name := range topBuckets(tx) {
			b := tx.Bucket([]byte(name))
			fmt.Fprintf(&out, "\n%s\n", name)
			if b.Bucket([]byte("within")) == nil {
				keys, _ := b.Size()
				fmt.Fprintf(&out, "%d keys\n", keys)
			}
			c := b.Cursor()
			for k, v := c.Last(); k != nil; k, v = c.Prev() {
				note(k, v)
				from := b.Cursor()
				note(from.Seek(append(slices.Clone(k), 0)))
				note(from.Prev())
				note(from.Next())
				note(from.Seek(k[:len(k)-1]))
				note(from.Prev())
			}
			note(c.Next())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestNoFlippedBitOfTheLogIsLost flips bits of a log: each is refused, or everything is there.
func TestNoFlippedBitOfTheLogIsLost(t *testing.T) {
	s, path := openIn(t, scratch(t))
	for i := range 12 {
		if err := s.Update(put(fmt.Sprintf("key %d", i), strings.Repeat("v", 100*i))); err != nil {
			t.Fatal(err)
		}
	}
	content := dump(t, s)
	killed := copyOf(t, path)
	name := segments(t, killed)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	used := int(s.w.log.next) * sectorSize
	step := 7
	if testing.Short() || raced {
		step = 61
	}
	last := 0
	for at := 0; at < used+2*sectorSize; at += step {
		broken := slices.Clone(whole)
		broken[at] ^= 1 << (at % 8)
		if err := os.WriteFile(name, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenReadOnly(killed)
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if errors.Is(err, ErrLastCommit) {
			last++
		}
	}
	if last == 0 || last > used/step/2 {
		t.Errorf("%d of %d faults were of the last commit", last, used/step)
	}
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := OpenReadOnly(killed)
	if err != nil || dump(t, again) != content {
		t.Fatalf("the whole log: %v", err)
	}
	_ = again.Close()
}

// TestDamagedLastRecordIsDroppedOnlyWhenAccepted.
func TestDamagedLastRecordIsDroppedOnlyWhenAccepted(t *testing.T) {
	s, path := openIn(t, scratch(t))
	for i := range 3 {
		if err := s.Update(put("n", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	killed := copyOf(t, path)
	if err := AcceptOlder(killed); err == nil {
		t.Fatal("a whole log was cut")
	}
	name := segments(t, killed)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	whole[int(s.w.log.next)*sectorSize-1] ^= 1
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(killed); !errors.Is(err, ErrLastCommit) || !strings.Contains(err.Error(), killed) {
		t.Fatalf("opened with %v", err)
	}
	if after, _ := os.ReadFile(name); !slices.Equal(after, whole) {
		t.Error("it was changed")
	}
	if err := AcceptOlder(killed); err != nil {
		t.Fatal(err)
	}
	again, err := Open(killed)
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, again, "n"); got != "1" {
		t.Errorf("it goes on from %s", got)
	}
	if err := errors.Join(again.Update(put("n", "9")), again.Close(), Verify(killed)); err != nil {
		t.Error(err)
	}
}

// TestLogThatDoesNotFitIsRefused: a segment, or the file, is missing, of another store, or older.
func TestLogThatDoesNotFitIsRefused(t *testing.T) {
	s, path := openIn(t, scratch(t))
	other, otherPath := openIn(t, scratch(t))
	for i := range 5 {
		if err := errors.Join(s.Update(put(fmt.Sprint(i), "x")), other.Update(put("o", "x"))); err != nil {
			t.Fatal(err)
		}
	}
	early := copyOf(t, path)
	if _, err := s.freeze(); err != nil {
		t.Fatal(err)
	}
	s.w.done = nil // no checkpoint: both segments are needed
	if err := s.Update(put("5", "x")); err != nil {
		t.Fatal(err)
	}
	late := copyOf(t, path)
	toFile(t, s)
	alone := copyOf(t, path)
	move := func(from, to string) {
		t.Helper()
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, change := range map[string]func(path string){
		"its log is missing": func(p string) {
			for _, name := range segments(t, p) {
				_ = os.Remove(name)
			}
		},
		"a part of its log is missing": func(p string) { _ = os.Remove(segments(t, p)[0]) },
		"it is missing, and its log":   func(p string) { _ = os.Remove(p) },
		"belongs to another data file": func(p string) { move(segments(t, otherPath)[0], segments(t, p)[0]) },
		"has no header":                func(p string) { _ = os.Truncate(segments(t, p)[0], 0) },
		"does not continue at commit":  func(p string) { move(segments(t, early)[0], segments(t, p)[0]); cutLast(t, p) },
		"and there is a later segment": func(p string) { flip(t, segments(t, p)[0]) },
	} {
		p := copyOf(t, late)
		change(p)
		before := folderText(t, p)
		if _, err := Open(p); !errors.Is(err, ErrDamaged) || errors.Is(err, ErrLastCommit) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if folderText(t, p) != before {
			t.Errorf("%s: the files were changed", what)
		}
	}
	p := copyOf(t, late)
	move(alone, p) // a newer file: all of the log is in it
	again, err := Open(p)
	if err != nil || get(t, again, "5") != "x" {
		t.Fatalf("the log is older than the file: %v", err)
	}
	if left := segments(t, p); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	_ = again.Close()
}

// cutLast removes the last record of the first segment.
func cutLast(t *testing.T, path string) {
	t.Helper()
	name := segments(t, path)[0]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for i := sectorSize; i < len(b); i += sectorSize {
		if !slices.Equal(b[i:i+sectorSize], zeroSector[:]) {
			last = i
		}
	}
	clear(b[last : last+sectorSize])
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// flip changes a bit of the last record.
func flip(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) - 1; i > 0; i-- {
		if b[i] != 0 {
			b[i] ^= 1
			break
		}
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func folderText(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	names, err := folder(filepath.Dir(path)).Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %x\n", name, sha256.Sum256(b))
	}
	return out.String()
}

// TestAsyncWriteIsOnDiskWithTheNextCommit, and readers see it only then.
func TestAsyncWriteIsOnDiskWithTheNextCommit(t *testing.T) {
	s, path := openIn(t, scratch(t))
	if err := s.Update(put("first", "1")); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateAsync(put("async", "1")); err != nil {
		t.Fatal(err)
	}
	s.w.mu.Lock()
	s.w.flusher.Stop() // it is not on disk before the test asks
	s.w.mu.Unlock()
	if get(t, s, "async") != "" {
		t.Error("it is read before it is on disk")
	}
	if err := s.UpdateAsync(func(tx *Tx) error {
		if tx.Bucket(bucket).Get([]byte("async")) == nil {
			return errors.New("a later writer does not see it")
		}
		return errors.Join(put("half", "1")(tx), errors.New("refused"))
	}); err == nil || err.Error() != "refused" {
		t.Error(err)
	}
	killed, err := Open(copyOf(t, path))
	if err != nil || get(t, killed, "async") != "" || get(t, killed, "first") != "1" {
		t.Errorf("a killed process: %v", err)
	}
	_ = killed.Close()
	before := s.Commits()
	if err := s.Update(put("last", "1")); err != nil {
		t.Fatal(err)
	}
	if n := s.Commits() - before; n != 1 {
		t.Errorf("it took %d commits", n)
	}
	if get(t, s, "async") != "1" || get(t, s, "half") != "" {
		t.Error("it is not there with the next commit, or half of another is")
	}
	killed, err = Open(copyOf(t, path))
	if err != nil || get(t, killed, "async") != "1" || get(t, killed, "last") != "1" {
		t.Errorf("a killed process: %v", err)
	}
	_ = killed.Close()
}

// TestFlushAndTimeAndCloseWriteAsyncWrites.
func TestFlushAndTimeAndCloseWriteAsyncWrites(t *testing.T) {
	s, path := openIn(t, scratch(t))
	for i, wait := range []func() error{
		s.Flush,
		func() error {
			for get(t, s, "1") == "" { // flushAfter
				time.Sleep(time.Millisecond)
			}
			return nil
		},
		s.Close,
	} {
		key := fmt.Sprint(i)
		if err := s.UpdateAsync(put(key, "x")); err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		again, err := OpenReadOnly(copyOf(t, path))
		if err != nil || get(t, again, key) != "x" {
			t.Fatalf("%d is not on disk: %v", i, err)
		}
		_ = again.Close()
	}
}

// TestCheckpointsRunBesideWriters: writers and readers go on, the log stays below its bound, and old
// segments go.
func TestCheckpointsRunBesideWriters(t *testing.T) {
	s, path := openIn(t, scratch(t))
	s.bounds = bounds{checkpoint: 64 << 10, most: 256 << 10, record: 64 << 10}
	value := strings.Repeat("v", 2000)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 150 {
				key := fmt.Sprintf("%d-%d", w, i)
				write := s.Update
				if i%3 == 2 {
					write = s.UpdateAsync
				}
				if err := write(put(key, value)); err != nil {
					t.Error(err)
				}
				if i%3 != 2 && get(t, s, key) != value {
					t.Errorf("%s is not read", key)
				}
			}
		})
	}
	writers.Wait()
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, err := NewestCommit(path); err != nil || n != s.Commits() {
		t.Errorf("from outside the newest commit is %d, and it is %d: %v", n, s.Commits(), err)
	}
	if n := len(segments(t, path)); n > 3 {
		t.Errorf("there are %d segments", n)
	}
	s.w.mu.Lock()
	freezes, size := s.w.freezes, s.w.size()
	s.w.mu.Unlock()
	if freezes < 5 || size > s.bounds.most+64<<10 {
		t.Errorf("%d checkpoints, and the log has %d bytes", freezes, size)
	}
	want := dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil || dump(t, again) != want {
		t.Fatalf("something is missing: %v", err)
	}
	_ = again.Close()
}

// TestWriteTooLargeForTheLogIsInTheFile, together with what was ordered before.
func TestWriteTooLargeForTheLogIsInTheFile(t *testing.T) {
	s, path := openIn(t, scratch(t))
	smallBounds(s)
	if err := errors.Join(s.Update(put("a", "1")), s.UpdateAsync(put("b", "1"))); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(put("large", strings.Repeat("v", 100<<10))); err != nil {
		t.Fatal(err)
	}
	if left := segments(t, path); len(left) != 0 {
		t.Errorf("the log was not ended: %v", left)
	}
	if err := s.Update(put("c", "1")); err != nil {
		t.Fatal(err)
	}
	want := dump(t, s)
	killed, err := Open(copyOf(t, path))
	if err != nil || dump(t, killed) != want || get(t, killed, "b") != "1" || get(t, killed, "c") != "1" {
		t.Errorf("something is missing: %v", err)
	}
	_ = killed.Close()
}

// TestFileOfAnotherFormatIsRefused: an older one, whose record has no position in a log, and a newer one. Nothing is changed.
func TestFileOfAnotherFormatIsRefused(t *testing.T) {
	for format, size := range map[uint32]int{0: recordSize - 4, 1: logAt, recordFormat + 1: recordSize - 4, 1 << 20: recordSize + 20} {
		path := filepath.Join(scratch(t), "data.db")
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Update(put("a", "1")), s.Close()); err != nil {
			t.Fatal(err)
		}
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bolt.Tx) error {
			b := append(bytes.Clone(tx.Bucket(recordBucket).Get(recordKey)), make([]byte, 40)...)[:size]
			binary.LittleEndian.PutUint32(b, format)
			return tx.Bucket(recordBucket).Put(recordKey, seal(b))
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if s, err := Open(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("format %d is opened: %v, %v", format, s, err)
			}
			if err := Verify(path); !errors.Is(err, ErrFormat) {
				t.Errorf("format %d is verified: %v", format, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the file of format %d was changed: %v", format, err)
		}
	}
}
