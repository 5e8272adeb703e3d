package disk

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// verifyBytes returns the error of Open for the contents of a file.
func verifyBytes(file []byte) error {
	return VerifyCopy(bytes.NewReader(file), int64(len(file)))
}

func pages(file []byte) int { return len(file) / os.Getpagesize() }

func pageOf(file []byte, i int) []byte {
	size := os.Getpagesize()
	return file[i*size : (i+1)*size]
}

// trimFile returns a file without the reserved space behind its last page.
func trimFile(t testing.TB, file []byte) []byte {
	t.Helper()
	both, err := readRoots(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return file[:int(both.newest().end)*os.Getpagesize()]
}

// TestNoFlippedBitIsLost flips one bit of every byte of a file, one after the other. Each file is
// refused or has all of its contents. An accepted file is read through the store when the byte is
// in a used page and is not zero, or else one in forty; of the refused files, one in a hundred is
// opened.
func TestNoFlippedBitIsLost(t *testing.T) {
	file, content := smallFile(t)
	file = trimFile(t, file)
	inUse := usedPages(t, file)
	step := 1
	if testing.Short() || raced {
		step = 17
	}
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	refused := make([]int, workers)
	for w := range workers {
		wg.Go(func() {
			mine := slices.Clone(file)
			for i := w * step; i < len(mine); i += workers * step {
				bit := byte(1) << (i / workers % 8)
				mine[i] ^= bit
				err := verifyBytes(mine)
				if err != nil {
					refused[w]++
				}
				if err == nil && (inUse[i/os.Getpagesize()] && file[i] != 0 || i/workers%40 == 0) || i%100 == 0 {
					checkOpen(t, fmt.Sprintf("byte %d", i), mine, content, err != nil)
				}
				mine[i] ^= bit
			}
		})
	}
	wg.Wait()
	all := 0
	for _, n := range refused {
		all += n
	}
	t.Logf("%d of %d files with a flipped bit were refused, the others have everything", all, len(file)/step)
	if all < len(file)/step/8 {
		t.Error("hardly any was refused")
	}
}

// usedPages reports for each page whether the newest state uses it.
func usedPages(t *testing.T, file []byte) []bool {
	t.Helper()
	used := make([]bool, pages(file))
	changed := slices.Clone(file)
	for i := range used {
		was := slices.Clone(pageOf(file, i))
		clear(pageOf(changed, i))
		used[i] = verifyBytes(changed) != nil
		copy(pageOf(changed, i), was)
	}
	return used
}

// checkOpen opens a file and checks that the result agrees with verifyBytes.
func checkOpen(t *testing.T, what string, file []byte, content string, refused bool) {
	path := filepath.Join(scratch(t), "flipped.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = os.Remove(path) }()
	s, err := Open(path)
	if refused {
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: opened with %v", what, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if dump(t, s) != content {
		t.Errorf("%s: it was opened, and what is in it is something else", what)
	}
	_ = s.Close()
}

// TestAcceptedDamagedFileTakesWrites writes to files with a flipped bit that has no effect.
func TestAcceptedDamagedFileTakesWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("fifty files")
	}
	file, content := smallFile(t)
	r := rand.New(rand.NewPCG(1, 1))
	used := usedPages(t, trimFile(t, file))
	accepted := 0
	for range 50 {
		i, bit := r.IntN(len(used)*os.Getpagesize()), byte(1)<<r.IntN(8)
		if !used[i/os.Getpagesize()] {
			continue
		}
		file[i] ^= bit
		if !openDamaged(t, fmt.Sprintf("byte %d", i), file, content) {
			accepted++
		}
		file[i] ^= bit
	}
	if accepted == 0 {
		t.Error("none was accepted")
	}
}

func TestNoCutIsLost(t *testing.T) {
	file, content := smallFile(t)
	size := os.Getpagesize()
	needed := len(trimFile(t, file))
	r := rand.New(rand.NewPCG(2, 2))
	cuts := []int{0, 1, pageHeader, size - 1, needed - 1}
	for at := size; at <= needed; at += size {
		cuts = append(cuts, at)
	}
	for range 60 {
		cuts = append(cuts, r.IntN(needed))
	}
	for _, at := range cuts {
		if refused := openDamaged(t, fmt.Sprintf("cut at %d", at), file[:at], content); refused != (at < needed) {
			t.Errorf("cut at %d of %d: refused is %v", at, needed, refused)
		}
	}
	if openDamaged(t, "more at its end", append(slices.Clone(file), make([]byte, 3*size+7)...), content) {
		t.Error("refused for what lies behind its end")
	}
}

// TestNoPageIsLost zeroes pages, swaps them, and restores their older contents, as a disk does that
// loses a write.
func TestNoPageIsLost(t *testing.T) {
	file, content := smallFile(t)
	file = trimFile(t, file)
	n, refused, tried := pages(file), 0, 0
	try := func(what string, change func(file []byte)) {
		changed := slices.Clone(file)
		change(changed)
		if bytes.Equal(changed, file) {
			return
		}
		err := verifyBytes(changed)
		tried++
		if err != nil {
			refused++
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", what, err)
			}
			if tried%20 != 0 {
				return
			}
		}
		openDamaged(t, what, changed, content)
	}
	noise := rand.NewChaCha8([32]byte{1})
	for i := range n {
		try(fmt.Sprintf("page %d zeroed", i), func(f []byte) { clear(pageOf(f, i)) })
		try(fmt.Sprintf("page %d noise", i), func(f []byte) { _, _ = noise.Read(pageOf(f, i)) })
		try(fmt.Sprintf("page %d ones", i), func(f []byte) { copy(pageOf(f, i), bytes.Repeat([]byte{0xff}, os.Getpagesize())) })
		for j := range n {
			try(fmt.Sprintf("page %d over %d", i, j), func(f []byte) { copy(pageOf(f, j), pageOf(f, i)) })
			if i < j {
				try(fmt.Sprintf("pages %d and %d swapped", i, j), func(f []byte) {
					was := slices.Clone(pageOf(f, i))
					copy(pageOf(f, i), pageOf(f, j))
					copy(pageOf(f, j), was)
				})
			}
		}
	}
	t.Logf("%d of %d files were refused, the others have everything", refused, tried)
}

// TestLostPageWriteIsFound: the disk reported that it had written a page, and has the older one. It
// may be any page but a root: a file without its last root is the normal result of a process that
// was killed before it wrote the root.
func TestLostPageWriteIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("every page of 25 states")
	}
	s, path := openIn(t, scratch(t))
	var history [][]byte
	r := rand.New(rand.NewPCG(3, 3))
	for range 25 {
		for range 1 + r.IntN(3) {
			if err := s.Update(put(fmt.Sprintf("key %02d", r.IntN(60)), strings.Repeat("v", r.IntN(900)))); err != nil {
				t.Fatal(err)
			}
		}
		toFile(t, s)
		state, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, trimFile(t, state))
	}
	content := dump(t, s)
	last := history[len(history)-1]
	for n, before := range history[:len(history)-1] {
		for i := 2; i < min(pages(before), pages(last)); i++ {
			mixed := slices.Clone(last)
			copy(pageOf(mixed, i), pageOf(before, i))
			if bytes.Equal(mixed, last) {
				continue
			}
			if verifyBytes(mixed) == nil {
				checkOpen(t, fmt.Sprintf("page %d of state %d", i, n), mixed, content, false)
			}
		}
	}
}

// TestDamagedRootDoesNotRevertCommit: bbolt alone would return to the previous checkpoint without an
// error. Both roots have everything, so nothing is lost when the other one is accepted.
func TestDamagedRootDoesNotRevertCommit(t *testing.T) {
	for extra := range 2 { // the newest root is in either page
		s, path := openIn(t, scratch(t))
		for i := range 4 + extra {
			if err := s.Update(put("n", fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			if i < extra {
				toFile(t, s)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := AcceptOlder(path); err == nil {
			t.Error("a whole file was made older")
		}
		both, err := readRoots(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range both.at {
			broken := slices.Clone(file)
			pageOf(broken, i)[pageHeader+20] ^= 4
			path := filepath.Join(scratch(t), "root.db")
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			if !errors.Is(err, ErrLastCommit) || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Fatalf("opened with %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, broken) {
				t.Error("it was changed")
			}
			if err := AcceptOlder(path); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := get(t, s, "n"), fmt.Sprint(3+extra); got != want {
				t.Errorf("root %d: it goes on from %s, want %s", r.tx, got, want)
			}
			_ = s.Close()
		}
	}
}

func TestOpenRefusesFileWithoutSumOrOfOtherFormat(t *testing.T) {
	for name, change := range map[string]func(tx *bolt.Tx) error{
		"has no sum": func(tx *bolt.Tx) error { return tx.DeleteBucket(recordBucket) },
		"format 3":   func(tx *bolt.Tx) error { return tx.Bucket(recordBucket).Put(recordKey, sealedRecord(3)) },
		"be read":    func(tx *bolt.Tx) error { return tx.Bucket(recordBucket).Put(recordKey, []byte("else")) },
		"of commit":  func(*bolt.Tx) error { return nil }, // written without the store
		"sum up": func(tx *bolt.Tx) error {
			return writeRecord(tx, summand(make([]byte, 32)), position{})
		},
	} {
		path := filepath.Join(scratch(t), "old.db")
		if err := createFile(segmentsOf(path)); err != nil {
			t.Fatal(err)
		}
		db, err := open(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(change), db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func sealedRecord(format byte) []byte {
	b := record{}.encode()
	b[0] = format
	return seal(b[:recordSize-4])
}

// FuzzVerify checks that any file gets a result, without a panic.
func FuzzVerify(f *testing.F) {
	file, _ := smallFile(f)
	file = trimFile(f, file)
	f.Add(0, uint64(0), 0, uint64(0))
	f.Add(3*os.Getpagesize()+8, uint64(1), 2*os.Getpagesize()+12, uint64(1<<31))
	f.Add(os.Getpagesize()*5+16, ^uint64(0), os.Getpagesize()*6+20, uint64(1<<20))
	f.Fuzz(func(t *testing.T, i int, x uint64, j int, y uint64) {
		mangled := slices.Clone(file)
		for _, c := range []struct {
			at int
			n  uint64
		}{{i, x}, {j, y}} {
			if at := c.at; at >= 0 && at+8 <= len(mangled) {
				order.PutUint64(mangled[at:], c.n)
			}
		}
		if err := verifyBytes(mangled); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Error(err)
		}
	})
}
