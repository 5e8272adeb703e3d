package disk

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// mapping matches the first line of a mapping.
var mapping = regexp.MustCompile(`^[0-9a-f]+-[0-9a-f]+ `)

// resident returns the bytes of a mapped file that are a part of this process.
func resident(t *testing.T, path string) (bytes int64) {
	t.Helper()
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = maps.Close() }()
	ours := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		if mapping.MatchString(line) {
			ours = strings.HasSuffix(line, path)
		}
		var kb int64
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kb); ours && n == 1 {
			bytes += kb << 10
		}
	}
	return bytes
}

// TestPagesThatWereReadAreLetGo reads the whole file, and writes as much to the log as lets its pages go.
func TestPagesThatWereReadAreLetGo(t *testing.T) {
	folder := scratch(t)
	s, path := openIn(t, folder)
	fill := func(from, n int) {
		for i := from; i < from+n; i += 16 {
			err := s.Update(func(tx *Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("b"))
				for j := i; j < i+16 && err == nil; j++ {
					err = b.Put(fmt.Appendf(nil, "%08d", j), make([]byte, 4<<10))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	const written = 2048
	fill(0, written)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = openIn(t, folder)
	read := func() {
		err := s.View(func(tx *Tx) error {
			for i := range written {
				if len(tx.Bucket([]byte("b")).Get(fmt.Appendf(nil, "%08d", i))) != 4<<10 {
					return fmt.Errorf("%d is gone", i)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read()
	if got := resident(t, path); got < written*4<<10 {
		t.Fatalf("%d bytes are resident after all were read", got)
	}
	fill(written, 2*releaseAfter/(4<<10))
	if s.w.released == 0 {
		t.Error("no page was let go while the log grew")
	}
	s.w.released = -1 // the last writes have read pages again, and the kernel brings as many around them as it likes
	s.w.release(s.db)
	if got := resident(t, path); got > written*4<<10/4 {
		t.Errorf("%d bytes are resident after the pages were let go", got)
	}
	read()
}
