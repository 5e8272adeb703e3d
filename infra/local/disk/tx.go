package disk

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrNoBucket says that there is no bucket of that name.
var ErrNoBucket = errors.New("no such bucket")

// Tx is one transaction, good until the function it was given to returns. One
// given to Update is the only one that writes; one given to View cannot write.
type Tx struct{ tx *bolt.Tx }

// Bucket returns the top-level bucket of that name, nil when there is none.
func (tx *Tx) Bucket(name []byte) *Bucket { return wrap(tx.tx.Bucket(name)) }

// CreateBucket makes a top-level bucket; one of that name is an error.
func (tx *Tx) CreateBucket(name []byte) (*Bucket, error) { return wrapped(tx.tx.CreateBucket(name)) }

// CreateBucketIfNotExists returns the top-level bucket of that name.
func (tx *Tx) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	return wrapped(tx.tx.CreateBucketIfNotExists(name))
}

// DeleteBucket removes a top-level bucket and all in it: ErrNoBucket when there
// is none.
func (tx *Tx) DeleteBucket(name []byte) error {
	err := tx.tx.DeleteBucket(name)
	if errors.Is(err, bolterrors.ErrBucketNotFound) {
		return fmt.Errorf("%w: %s", ErrNoBucket, name)
	}
	return err
}

// Bucket is an ordered map from keys to values, and to buckets, within a
// transaction.
type Bucket struct{ b *bolt.Bucket }

func wrap(b *bolt.Bucket) *Bucket {
	if b == nil {
		return nil
	}
	return &Bucket{b}
}

func wrapped(b *bolt.Bucket, err error) (*Bucket, error) { return wrap(b), err }

// Bucket returns the bucket of that name within this one, nil when there is none.
func (b *Bucket) Bucket(name []byte) *Bucket { return wrap(b.b.Bucket(name)) }

// CreateBucketIfNotExists returns the bucket of that name within this one.
func (b *Bucket) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	return wrapped(b.b.CreateBucketIfNotExists(name))
}

// Get returns the value of a key, nil when there is none. It must not be changed,
// nor read after the transaction.
func (b *Bucket) Get(key []byte) []byte { return b.b.Get(key) }

// Put sets the value of a key. Both must stay as they are until the transaction
// ends.
func (b *Bucket) Put(key, value []byte) error { return b.b.Put(key, value) }

// Delete removes a key; one that is not there is no error.
func (b *Bucket) Delete(key []byte) error { return b.b.Delete(key) }

// NextSequence returns 1, 2, 3 and so on, never the same of one bucket again.
func (b *Bucket) NextSequence() (uint64, error) { return b.b.NextSequence() }

// ForEach hands every key and value to fn in the order of the keys, a bucket with
// a nil value, until fn returns an error. fn must not change the bucket.
func (b *Bucket) ForEach(fn func(key, value []byte) error) error { return b.b.ForEach(fn) }

// Size returns how many keys the bucket has and the bytes that they take.
func (b *Bucket) Size() (keys, bytes int) {
	s := b.b.Stats()
	return s.KeyN, s.LeafInuse
}

// Cursor returns a cursor over the bucket, which stands nowhere. Writing to the
// bucket leaves it where nobody can tell, until it is moved by First, Last or
// Seek.
func (b *Bucket) Cursor() *Cursor { return &Cursor{b.b.Cursor()} }

// Cursor moves over the keys of a bucket in their order. Every move returns a nil
// key when there is nothing there, and a nil value for a bucket.
type Cursor struct{ c *bolt.Cursor }

// First moves to the first key.
func (c *Cursor) First() (key, value []byte) { return c.c.First() }

// Last moves to the last key.
func (c *Cursor) Last() (key, value []byte) { return c.c.Last() }

// Next moves to the key after.
func (c *Cursor) Next() (key, value []byte) { return c.c.Next() }

// Prev moves to the key before.
func (c *Cursor) Prev() (key, value []byte) { return c.c.Prev() }

// Seek moves to a key, or to the first after it when it is not there.
func (c *Cursor) Seek(key []byte) (k, value []byte) { return c.c.Seek(key) }
