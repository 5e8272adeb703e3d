//go:build unix

package disk

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
	b.ReportAllocs()
	b.ResetTimer()
	used := processorTime()
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
	b.ReportMetric(float64((processorTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// processorTime returns the time of the processors that the process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkLayer fills a layer with keys of 40 bytes and values of 100, and reports its bytes for each.
func BenchmarkLayer(b *testing.B) {
	value := make([]byte, 100)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l := newLayer()
	id := l.use(path("").within(bucket))
	for n := range b.N {
		l.set(newItem(id, itemValue, fmt.Appendf(nil, "%040x", n*2654435761), value))
		if n%8 == 7 {
			l = l.copy() // a commit
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "kept-B/op")
	runtime.KeepAlive(l)
}
