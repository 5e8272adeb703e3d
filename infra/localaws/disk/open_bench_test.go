package disk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// BenchmarkOpen opens files of 1 KB values under random keys, which Open reads whole: 100 MB, or
// DISK_BENCH_MB. The file is in the page cache.
func BenchmarkOpen(b *testing.B) {
	megabytes := 100
	if n, err := strconv.Atoi(os.Getenv("DISK_BENCH_MB")); err == nil {
		megabytes = n
	}
	path := filepath.Join(b.TempDir(), "large.db")
	s, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	value := make([]byte, 1024)
	for n := 0; n < megabytes*1000; n += 5000 {
		if err := s.Update(func(tx *Tx) error {
			bk, err := tx.CreateBucketIfNotExists(bucket)
			for i := 0; i < 5000 && err == nil; i++ {
				value[0] = byte(i)
				err = bk.Put(fmt.Appendf(nil, "%016x", r.Uint64()), append([]byte(nil), value...))
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		s, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}
