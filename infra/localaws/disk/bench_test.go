package disk

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// BenchmarkUpdate writes 1 KB per transaction through the store and through
// bbolt alone, on the same disk, at concurrency 1 and 16.
func BenchmarkUpdate(b *testing.B) {
	value := make([]byte, 1024)
	key := func(n int64) []byte { return fmt.Appendf(nil, "key-%04d", n%1000) }
	write := func(n int64) func(*Tx) error {
		return func(tx *Tx) error {
			bk, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return bk.Put(key(n), value)
		}
	}
	raw := func(n int64) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			bk, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return bk.Put(key(n), value)
		}
	}
	for _, c := range []int{1, 16} {
		b.Run(fmt.Sprintf("store/c=%d", c), func(b *testing.B) {
			s, _ := openTemp(b)
			parallel(b, c, func(n int64) error { return s.Update(write(n)) })
		})
		b.Run(fmt.Sprintf("bbolt/c=%d", c), func(b *testing.B) {
			db, err := bolt.Open(filepath.Join(b.TempDir(), "raw.db"), 0o600, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			parallel(b, c, func(n int64) error { return db.Update(raw(n)) })
		})
	}
}

// parallel spreads b.N operations over exactly c goroutines.
func parallel(b *testing.B, c int, op func(n int64) error) {
	var next atomic.Int64
	done := make(chan error, c)
	b.ResetTimer()
	for range c {
		go func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					done <- nil
					return
				}
				if err := op(n); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for range c {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}
