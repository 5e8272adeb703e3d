package disk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// baseTx writes to the bbolt file and keeps the sum of its contents.
type baseTx struct {
	tx     *bolt.Tx
	digest *digester
	total  contentSum // of all contents in tx
}

func newBaseTx(tx *bolt.Tx) (*baseTx, error) {
	r, err := readRecord(tx)
	return &baseTx{tx, newDigester(), r.total}, err
}

// baseBucket is a bucket of a baseTx.
type baseBucket struct {
	b     *bolt.Bucket
	at    place
	found *bolt.Cursor // finds the value that a write replaces
}

// fullPages is how full a page of the file becomes before it is split. Most new keys follow others of their time, so a page
// that is split in the middle, as bbolt does, would stay half empty.
const fullPages = 0.9

func (t *baseTx) wrap(around *baseBucket, name []byte, b *bolt.Bucket) *baseBucket {
	at := place{}
	if around != nil {
		at = around.at
	}
	b.FillPercent = fullPages
	return &baseBucket{b: b, at: t.digest.within(at, name), found: b.Cursor()}
}

// bucket returns the bucket of that name within another, or at the top; nil when there is none.
func (t *baseTx) bucket(around *baseBucket, name []byte) *baseBucket {
	b := (*bolt.Bucket)(nil)
	if around == nil {
		b = t.tx.Bucket(name)
	} else {
		b = around.b.Bucket(name)
	}
	if b == nil {
		return nil
	}
	return t.wrap(around, name, b)
}

func (t *baseTx) create(around *baseBucket, name []byte) (made *baseBucket, err error) {
	var b *bolt.Bucket
	if around == nil {
		b, err = t.tx.CreateBucket(name)
	} else {
		b, err = around.b.CreateBucket(name)
	}
	if err != nil {
		return nil, err
	}
	made = t.wrap(around, name, b)
	t.total = t.total.plus(t.digest.bucket(made.at, 0))
	return made, nil
}

// drop removes a bucket with its contents, when it is there.
func (t *baseTx) drop(around *baseBucket, name []byte) error {
	b := t.bucket(around, name)
	if b == nil {
		return nil
	}
	gone := t.contents(b)
	t.total = t.total.minus(gone)
	if around == nil {
		return t.tx.DeleteBucket(name)
	}
	return around.b.DeleteBucket(name)
}

// contents returns the sum of a bucket with its contents.
func (t *baseTx) contents(b *baseBucket) contentSum {
	sum := t.digest.bucket(b.at, b.b.Sequence())
	c := b.b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v == nil {
			if inner := t.bucket(b, k); inner != nil {
				sum = sum.plus(t.contents(inner))
				continue
			}
		}
		sum = sum.plus(t.digest.key(b.at, k, v))
	}
	return sum
}

// summandOf returns the current summand of a key and its value; zero when there is no key.
func (t *baseTx) summandOf(b *baseBucket, key []byte) contentSum {
	k, v := b.found.Seek(key)
	if k == nil || !bytes.Equal(k, key) {
		return contentSum{}
	}
	return t.digest.key(b.at, k, v)
}

func (t *baseTx) put(b *baseBucket, key, value []byte) error {
	before := t.summandOf(b, key)
	if err := b.b.Put(key, value); err != nil {
		return err
	}
	t.total = t.total.minus(before).plus(t.digest.key(b.at, key, value))
	return nil
}

func (t *baseTx) delete(b *baseBucket, key []byte) error {
	before := t.summandOf(b, key)
	if err := b.b.Delete(key); err != nil {
		return err
	}
	t.total = t.total.minus(before)
	return nil
}

func (t *baseTx) setSequence(b *baseBucket, n uint64) error {
	before := b.b.Sequence()
	if err := b.b.SetSequence(n); err != nil {
		return err
	}
	t.total = t.total.minus(t.digest.bucket(b.at, before)).plus(t.digest.bucket(b.at, n))
	return nil
}

// apply writes all changes of a layer. Buckets come before the buckets within them.
func (t *baseTx) apply(l *layer) error {
	for _, p := range slices.Sorted(maps.Keys(l.buckets)) {
		if err := t.applyBucket(l, p, l.buckets[p]); err != nil {
			return err
		}
	}
	return nil
}

func (t *baseTx) applyBucket(l *layer, p path, c bucketChange) error {
	names := p.names()
	var around *baseBucket
	for _, name := range names[:len(names)-1] {
		if around = t.bucket(around, name); around == nil {
			return fmt.Errorf("%w: %q", ErrNoBucket, names)
		}
	}
	name := names[len(names)-1]
	if c.change != bucketKept {
		if err := t.drop(around, name); err != nil || c.change == bucketGone {
			return err
		}
		if _, err := t.create(around, name); err != nil {
			return err
		}
	}
	b := t.bucket(around, name)
	if b == nil {
		return fmt.Errorf("%w: %q", ErrNoBucket, names)
	}
	if c.sequenced {
		if err := t.setSequence(b, c.sequence); err != nil {
			return err
		}
	}
	return t.applyItems(l, b, c.id)
}

func (t *baseTx) applyItems(l *layer, b *baseBucket, id uint32) (err error) {
	l.items.Ascend(probe(id, nil), func(it item) bool {
		if it.bucket != id {
			return false
		}
		switch it.kind {
		case itemValue:
			err = t.put(b, it.name(), it.value())
		case itemGone:
			err = t.delete(b, it.name())
		}
		return err == nil
	})
	return err
}

// commitLayers writes layers and a position to a bbolt file, in one transaction with the sum.
func commitLayers(db *bolt.DB, p position, layers ...*layer) error {
	begun, err := db.Begin(true)
	if err != nil {
		return err
	}
	t, err := newBaseTx(begun)
	for _, l := range layers {
		if err == nil && l != nil {
			err = t.apply(l)
		}
	}
	if err == nil {
		err = writeRecord(begun, t.total, p)
	}
	if err != nil {
		return errors.Join(err, begun.Rollback())
	}
	if err := begun.Commit(); err != nil {
		return errors.Join(err, ignoreClosed(begun.Rollback()))
	}
	return nil
}
