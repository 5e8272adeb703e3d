package disk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// writeRandomly returns a function for Update that makes a few random changes: values of all sizes,
// nested buckets, sequences, and removals.
func writeRandomly(r *rand.Rand, keys int) func(*Tx) error {
	seed := r.Uint64()
	return func(tx *Tx) error {
		r := rand.New(rand.NewPCG(seed, 0)) // again in each run
		name := fmt.Appendf(nil, "bucket %d", r.IntN(4))
		if r.IntN(200) == 0 {
			if err := tx.DeleteBucket(name); err != nil && !errors.Is(err, ErrNoBucket) {
				return err
			}
		}
		b, err := tx.CreateBucketIfNotExists(name)
		if err != nil {
			return err
		}
		if r.IntN(3) == 0 {
			if b, err = b.CreateBucketIfNotExists([]byte("within")); err != nil {
				return err
			}
		}
		for range 1 + r.IntN(40) {
			key := fmt.Appendf(nil, "%0*d", 1+r.IntN(60), r.IntN(keys))
			switch r.IntN(8) {
			case 0, 1, 2:
				err = b.Delete(key)
			case 3:
				_, err = b.NextSequence()
			case 4:
				err = b.Put(key, make([]byte, r.IntN(20_000)))
			case 5:
				err = b.Put(key, nil)
			default:
				err = b.Put(key, make([]byte, r.IntN(200)))
			}
			if err != nil {
				return err
			}
		}
		if r.IntN(10) == 0 {
			return errors.New("nothing of this stays")
		}
		return nil
	}
}

func TestWrittenFileVerifies(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		s, path := openIn(t, scratch(t))
		keys := []int{20, 2000, 50_000}[seed%3]
		for i := range 300 {
			_ = s.Update(writeRandomly(r, keys))
			if i%10 == 0 || i > 290 {
				toFile(t, s)
				state, err := rootsOf(s.path)
				if err == nil {
					err = state.check()
				}
				if err != nil {
					t.Fatal(err)
				}
				verifyOpen(t, path)
			}
		}
		sweepKeys(t, s, r) // shrinks the trees again
		toFile(t, s)
		verifyOpen(t, path)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_ = again.Close()
	}
}

// verifyOpen verifies a file that is open and that nothing writes to.
func verifyOpen(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	both, err := readRoots(file)
	if err == nil {
		_, err = verify(file, info.Size(), both.newest(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sweepKeys(t *testing.T, s *Store, r *rand.Rand) {
	t.Helper()
	for range 20 {
		if err := s.Update(func(tx *Tx) error {
			for i := range 4 {
				b := tx.Bucket(fmt.Appendf(nil, "bucket %d", i))
				if b == nil {
					continue
				}
				var gone [][]byte
				c := b.Cursor()
				for k, v := c.First(); k != nil; k, v = c.Next() {
					if v != nil && r.IntN(3) == 0 {
						gone = append(gone, k)
					}
				}
				for _, k := range gone {
					if err := b.Delete(append([]byte(nil), k...)); err != nil {
						return err
					}
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// smallFile writes a file with a branch page, a long value, buckets of both kinds and free pages,
// and returns it with its contents.
func smallFile(t testing.TB) (file []byte, content string) {
	t.Helper()
	path := filepath.Join(scratch(t), "small.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for i := range 4 {
			if err := s.Update(func(tx *Tx) error {
				for j := range 10 {
					if err := put(fmt.Sprintf("key %02d", 10*i+j), strings.Repeat("v", 100+round+20*i+2*j))(tx); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Update(func(tx *Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("others"))
		if err != nil {
			return err
		}
		inner, err := b.CreateBucketIfNotExists([]byte("within"))
		if err == nil {
			_, err = inner.NextSequence()
		}
		return errors.Join(err, inner.Put([]byte("k"), []byte("v")), b.Put([]byte("long"), []byte(strings.Repeat("l", 9000))))
	}); err != nil {
		t.Fatal(err)
	}
	content = dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return file, content
}

// dump returns all contents of a store.
func dump(t testing.TB, s *Store) string {
	t.Helper()
	var text strings.Builder
	var walk func(b *Bucket) error
	walk = func(b *Bucket) error {
		fmt.Fprintf(&text, "{%d ", b.sequence())
		err := b.ForEach(func(k, v []byte) error {
			if inner := b.Bucket(k); v == nil && inner != nil {
				fmt.Fprintf(&text, "%q", k)
				return walk(inner)
			}
			if got := b.Get(k); string(got) != string(v) {
				return fmt.Errorf("%q is %q when it is looked for", k, got)
			}
			if len(v) > 300 {
				fmt.Fprintf(&text, "%q:%d:%x ", k, len(v), sha256.Sum256(v))
				return nil
			}
			fmt.Fprintf(&text, "%q:%q ", k, v)
			return nil
		})
		text.WriteByte('}')
		return err
	}
	if err := s.View(func(tx *Tx) error {
		for _, name := range topBuckets(tx) {
			fmt.Fprintf(&text, "%q", name)
			if err := walk(tx.Bucket([]byte(name))); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// topBuckets returns the names of the top-level buckets.
func topBuckets(tx *Tx) (names []string) {
	_ = tx.base.ForEach(func(name []byte, _ *bolt.Bucket) error {
		names = append(names, string(name))
		return nil
	})
	for _, l := range tx.layers {
		if l == nil {
			continue
		}
		for p := range l.buckets {
			if around, name := p.split(); around == "" {
				names = append(names, string(name))
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return name == string(recordBucket) || tx.Bucket([]byte(name)) == nil
	})
}

// openDamaged opens a file that the test changed: it must be refused and stay unchanged, or have
// all contents and take writes that are stored.
func openDamaged(t *testing.T, what string, file []byte, content string) (refused bool) {
	t.Helper()
	path := filepath.Join(scratch(t), "mangled.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
		if after, readErr := os.ReadFile(path); readErr != nil || string(after) != string(file) {
			t.Errorf("%s: the file that was refused was changed: %v", what, readErr)
		}
		return true
	}
	if dump(t, s) != content {
		t.Errorf("%s: it was opened, and what is in it is something else", what)
	}
	// A flipped bit that was accepted must not make a write fail.
	for part := range 2 {
		if err := s.Update(func(tx *Tx) error {
			for i := part; i < 40; i += 2 {
				key := fmt.Appendf(nil, "key %02d", i)
				if err := errors.Join(put(string(key), "new")(tx), tx.Bucket(bucket).Put(append(key, 'x'), make([]byte, 500)), tx.Bucket(bucket).Delete(key)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errors.Join(s.Close(), Verify(path)); err != nil {
		t.Errorf("%s: after writing: %v", what, err)
	}
	return false
}
