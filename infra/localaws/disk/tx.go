package disk

import (
	"bytes"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// ErrNoBucket reports that there is no bucket of that name.
var ErrNoBucket = errors.New("no such bucket")

// Tx is one transaction, valid until its function returns. Only the one of Update can write; the
// one of View cannot.
type Tx struct {
	tx     *bolt.Tx
	digest *digester  // nil in a read transaction
	total  contentSum // sum of all contents in tx
}

// newWriteTx returns a transaction that updates the sum with its writes.
func newWriteTx(tx *bolt.Tx) (*Tx, error) {
	r, err := readRecord(tx)
	return &Tx{tx, newDigester(), r.total}, err
}

// Bucket returns the top-level bucket of that name, nil when there is none.
func (tx *Tx) Bucket(name []byte) *Bucket { return tx.wrap(place{}, name, tx.tx.Bucket(name)) }

// CreateBucket creates a top-level bucket; an existing one of that name is an error.
func (tx *Tx) CreateBucket(name []byte) (*Bucket, error) {
	b, err := tx.tx.CreateBucket(name)
	return tx.addBucket(place{}, name, b, err)
}

// CreateBucketIfNotExists returns the top-level bucket of that name.
func (tx *Tx) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if b := tx.Bucket(name); b != nil {
		return b, nil
	}
	return tx.CreateBucket(name)
}

// DeleteBucket removes a top-level bucket with its contents, which it reads: ErrNoBucket when there
// is none.
func (tx *Tx) DeleteBucket(name []byte) error {
	b := tx.Bucket(name)
	if b == nil {
		return fmt.Errorf("%w: %s", ErrNoBucket, name)
	}
	gone := tx.contents(b)
	if err := tx.tx.DeleteBucket(name); err != nil {
		return err
	}
	tx.total = tx.total.minus(gone)
	return nil
}

// contents returns the sum of a bucket with its contents.
func (tx *Tx) contents(b *Bucket) contentSum {
	sum := tx.digest.bucket(b.at, b.b.Sequence())
	c := b.b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v == nil {
			if inner := b.Bucket(k); inner != nil {
				sum = sum.plus(tx.contents(inner))
				continue
			}
		}
		sum = sum.plus(tx.digest.key(b.at, k, v))
	}
	return sum
}

func (tx *Tx) wrap(parent place, name []byte, b *bolt.Bucket) *Bucket {
	if b == nil {
		return nil
	}
	wrapped := &Bucket{b: b, tx: tx}
	if tx.digest != nil {
		wrapped.at = tx.digest.within(parent, name)
	}
	return wrapped
}

func (tx *Tx) addBucket(parent place, name []byte, b *bolt.Bucket, err error) (*Bucket, error) {
	if err != nil {
		return nil, err
	}
	wrapped := tx.wrap(parent, name, b)
	tx.total = tx.total.plus(tx.digest.bucket(wrapped.at, 0))
	return wrapped, nil
}

// Bucket is an ordered map from keys to values, and to buckets, within a
// transaction.
type Bucket struct {
	b     *bolt.Bucket
	tx    *Tx
	at    place
	found *bolt.Cursor // finds the value that a write replaces
}

// Bucket returns the bucket of that name within this one, nil when there is none.
func (b *Bucket) Bucket(name []byte) *Bucket { return b.tx.wrap(b.at, name, b.b.Bucket(name)) }

// CreateBucketIfNotExists returns the bucket of that name within this one.
func (b *Bucket) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if inner := b.Bucket(name); inner != nil {
		return inner, nil
	}
	inner, err := b.b.CreateBucket(name)
	return b.tx.addBucket(b.at, name, inner, err)
}

// Get returns the value of a key, nil when there is none. The value must not be changed, nor read
// after the transaction.
func (b *Bucket) Get(key []byte) []byte { return b.b.Get(key) }

// summandOf returns the current summand of a key and its value; zero when there is no key.
func (b *Bucket) summandOf(key []byte) contentSum {
	if b.tx.digest == nil {
		return contentSum{}
	}
	if b.found == nil {
		b.found = b.b.Cursor()
	}
	k, v := b.found.Seek(key)
	if k == nil || !bytes.Equal(k, key) {
		return contentSum{}
	}
	return b.tx.digest.key(b.at, k, v)
}

// Put sets the value of a key. The caller must not change either until the transaction ends.
func (b *Bucket) Put(key, value []byte) error {
	before := b.summandOf(key)
	if err := b.b.Put(key, value); err != nil {
		return err
	}
	b.tx.total = b.tx.total.minus(before).plus(b.tx.digest.key(b.at, key, value))
	return nil
}

// Delete removes a key; a missing key is no error.
func (b *Bucket) Delete(key []byte) error {
	before := b.summandOf(key)
	if err := b.b.Delete(key); err != nil {
		return err
	}
	b.tx.total = b.tx.total.minus(before)
	return nil
}

// NextSequence returns 1, 2, 3 and so on, never the same number again for one bucket.
func (b *Bucket) NextSequence() (uint64, error) {
	before := b.b.Sequence()
	next, err := b.b.NextSequence()
	if err != nil {
		return 0, err
	}
	d := b.tx.digest
	b.tx.total = b.tx.total.minus(d.bucket(b.at, before)).plus(d.bucket(b.at, next))
	return next, nil
}

// ForEach passes every key and value to fn in the order of the keys, a bucket with a nil value,
// until fn returns an error. fn must not change the bucket.
func (b *Bucket) ForEach(fn func(key, value []byte) error) error { return b.b.ForEach(fn) }

// Size returns the number of keys of the bucket and their bytes.
func (b *Bucket) Size() (keys, bytes int) {
	s := b.b.Stats()
	return s.KeyN, s.LeafInuse
}

// Cursor returns a cursor over the bucket without a position. A write to the bucket makes its
// position undefined until First, Last or Seek.
func (b *Bucket) Cursor() *Cursor { return &Cursor{b.b.Cursor()} }

// Cursor moves over the keys of a bucket in their order. Every move returns a nil key at the end,
// and a nil value for a bucket.
type Cursor struct{ c *bolt.Cursor }

// First moves to the first key.
func (c *Cursor) First() (key, value []byte) { return c.c.First() }

// Last moves to the last key.
func (c *Cursor) Last() (key, value []byte) { return c.c.Last() }

// Next moves to the next key.
func (c *Cursor) Next() (key, value []byte) { return c.c.Next() }

// Prev moves to the previous key.
func (c *Cursor) Prev() (key, value []byte) { return c.c.Prev() }

// Seek moves to a key, or to the first key after it.
func (c *Cursor) Seek(key []byte) (k, value []byte) { return c.c.Seek(key) }
