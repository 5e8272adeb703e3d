package disk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrNoBucket reports that there is no bucket of that name.
var ErrNoBucket = errors.New("no such bucket")

var errBucketExists = errors.New("there is a bucket of that name")

// maxKey is the largest number of bytes of a key.
const maxKey = bolt.MaxKeySize

// Tx is one transaction, valid until its function returns. Only the one of Update can write; the
// one of View cannot. It sees the newest layer in front of the older one, and both in front of the
// bbolt file.
type Tx struct {
	base   *bolt.Tx
	layers [2]*layer        // the newest first; nil where there is none
	ops    *ops             // the writes of the transaction; nil when it is read-only
	found  map[path]*Bucket // of a write transaction, which asks for the same ones again and again
}

func newReadTx(base *bolt.Tx, newest, older *layer) *Tx {
	return &Tx{base: base, layers: [2]*layer{newest, older}}
}

// Bucket returns the top-level bucket of that name, nil when there is none. name must not change
// until the transaction ends.
func (tx *Tx) Bucket(name []byte) *Bucket { return tx.bucket(nil, name) }

// CreateBucket creates a top-level bucket; an existing one of that name is an error.
func (tx *Tx) CreateBucket(name []byte) (*Bucket, error) {
	if tx.Bucket(name) != nil {
		return nil, fmt.Errorf("%w: %s", errBucketExists, name)
	}
	return tx.create(nil, name)
}

// CreateBucketIfNotExists returns the top-level bucket of that name.
func (tx *Tx) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if b := tx.Bucket(name); b != nil {
		return b, nil
	}
	return tx.create(nil, name)
}

// DeleteBucket removes a top-level bucket with its contents: ErrNoBucket when there is none.
func (tx *Tx) DeleteBucket(name []byte) error {
	if tx.ops == nil {
		return bolterrors.ErrTxNotWritable
	}
	b := tx.Bucket(name)
	if b == nil {
		return fmt.Errorf("%w: %s", ErrNoBucket, name)
	}
	tx.layers[0].drop(b.path)
	tx.ops.drop(b.path)
	maps.DeleteFunc(tx.found, func(p path, _ *Bucket) bool { return strings.HasPrefix(string(p), string(b.path)) })
	return nil
}

func (tx *Tx) create(around *Bucket, name []byte) (*Bucket, error) {
	switch {
	case tx.ops == nil:
		return nil, bolterrors.ErrTxNotWritable
	case len(name) == 0:
		return nil, bolterrors.ErrBucketNameRequired
	case len(name) > maxKey:
		return nil, bolterrors.ErrKeyTooLarge
	}
	if around != nil {
		if there, _ := around.look(name); there {
			return nil, bolterrors.ErrIncompatibleValue
		}
		around.id() // make changes the bucket around it
	}
	p := pathOf(around).within(name)
	tx.layers[0].make(p)
	tx.ops.make(p)
	return tx.bucket(around, name), nil
}

func pathOf(b *Bucket) path {
	if b == nil {
		return ""
	}
	return b.path
}

// bucket finds a bucket. The newest layer that made or removed it, or the one around it, hides what
// is older.
func (tx *Tx) bucket(around *Bucket, name []byte) *Bucket {
	p := pathOf(around).within(name)
	if b, ok := tx.found[p]; ok {
		return b
	}
	b := &Bucket{tx: tx, around: around, name: name, path: p}
	there := false
	depth := len(tx.layers) + 1
	if around != nil {
		depth = around.depth
	}
	for i, l := range tx.layers {
		if l == nil || i >= depth {
			continue
		}
		c, changed := l.buckets[p]
		if !changed {
			continue
		}
		if c.change == bucketGone {
			depth = i
			break
		}
		b.ids[i], there = c.id, true
		if c.change == bucketMade {
			depth = i + 1
			break
		}
	}
	b.depth = depth
	if !there && b.inBase() == nil {
		return nil
	}
	if tx.ops != nil {
		if tx.found == nil {
			tx.found = map[path]*Bucket{}
		}
		tx.found[p] = b
	}
	return b
}

// Bucket is an ordered map from keys to values, and to buckets, within a
// transaction.
type Bucket struct {
	tx     *Tx
	around *Bucket
	name   []byte
	path   path
	ids    [2]uint32 // of its items in each layer; 0: the layer has none
	depth  int       // how many of the layers and the file are to be read, from the newest on

	base   *bolt.Bucket
	looked bool         // base is set, or there is none
	finder *bolt.Cursor // finds keys of the file for writes
}

// inBase returns the bucket in the file, nil when there is none that may be read.
func (b *Bucket) inBase() *bolt.Bucket {
	if b.looked {
		return b.base
	}
	b.looked = true
	switch {
	case b.depth <= len(b.tx.layers):
	case b.around == nil:
		b.base = b.tx.base.Bucket(b.name)
	case b.around.inBase() != nil:
		b.base = b.around.inBase().Bucket(b.name)
	}
	return b.base
}

// Bucket returns the bucket of that name within this one, nil when there is none.
func (b *Bucket) Bucket(name []byte) *Bucket { return b.tx.bucket(b, name) }

// CreateBucketIfNotExists returns the bucket of that name within this one.
func (b *Bucket) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if inner := b.Bucket(name); inner != nil {
		return inner, nil
	}
	return b.tx.create(b, name)
}

// changed returns the item of a key in the newest layer that has one.
func (b *Bucket) changed(key []byte) (item, bool) {
	for i, id := range b.ids {
		if id == 0 {
			continue
		}
		if it, ok := b.tx.layers[i].find(id, key); ok {
			return it, true
		}
	}
	return item{}, false
}

// Get returns the value of a key, nil when there is none. The value must not be changed, nor read
// after the transaction.
func (b *Bucket) Get(key []byte) []byte {
	if len(key) > maxKey {
		return nil
	}
	if it, ok := b.changed(key); ok {
		if it.kind != itemValue {
			return nil
		}
		return it.value()
	}
	if base := b.inBase(); base != nil {
		return base.Get(key)
	}
	return nil
}

// look reports whether there is something under a key, and whether it is a bucket.
func (b *Bucket) look(key []byte) (there, isBucket bool) {
	if it, ok := b.changed(key); ok {
		return it.kind != itemGone, it.kind == itemBucket
	}
	base := b.inBase()
	if base == nil {
		return false, false
	}
	if b.finder == nil {
		b.finder = base.Cursor()
	}
	k, v := b.finder.Seek(key)
	there = k != nil && bytes.Equal(k, key)
	return there, there && v == nil
}

// id returns the id of the bucket in the newest layer, for a write.
func (b *Bucket) id() uint32 {
	if b.ids[0] == 0 {
		b.ids[0] = b.tx.layers[0].use(b.path)
	}
	return b.ids[0]
}

// Put sets the value of a key. The transaction keeps copies of both.
func (b *Bucket) Put(key, value []byte) error {
	switch {
	case b.tx.ops == nil:
		return bolterrors.ErrTxNotWritable
	case len(key) == 0:
		return bolterrors.ErrKeyRequired
	case len(key) > maxKey:
		return bolterrors.ErrKeyTooLarge
	case len(value) > bolt.MaxValueSize:
		return bolterrors.ErrValueTooLarge
	}
	if _, isBucket := b.look(key); isBucket {
		return bolterrors.ErrIncompatibleValue
	}
	it := newItem(b.id(), itemValue, key, value)
	b.tx.layers[0].set(it)
	b.tx.ops.put(b.path, it)
	return nil
}

// Delete removes a key; a missing key is no error.
func (b *Bucket) Delete(key []byte) error {
	if b.tx.ops == nil {
		return bolterrors.ErrTxNotWritable
	}
	if len(key) == 0 || len(key) > maxKey {
		return nil
	}
	there, isBucket := b.look(key)
	if isBucket {
		return bolterrors.ErrIncompatibleValue
	}
	if !there {
		return nil
	}
	b.tx.layers[0].set(newItem(b.id(), itemGone, key, nil))
	b.tx.ops.delete(b.path, key)
	return nil
}

// sequence returns the number that NextSequence returned last.
func (b *Bucket) sequence() uint64 {
	for i, l := range b.tx.layers {
		if l == nil || b.ids[i] == 0 {
			continue
		}
		if c := l.buckets[b.path]; c.sequenced {
			return c.sequence
		}
	}
	if base := b.inBase(); base != nil {
		return base.Sequence()
	}
	return 0
}

// NextSequence returns 1, 2, 3 and so on, never the same number again for one bucket.
func (b *Bucket) NextSequence() (uint64, error) {
	if b.tx.ops == nil {
		return 0, bolterrors.ErrTxNotWritable
	}
	next := b.sequence() + 1
	b.id()
	b.tx.layers[0].setSequence(b.path, next)
	b.tx.ops.sequence(b.path, next)
	return next, nil
}

// ForEach passes every key and value to fn in the order of the keys, a bucket with a nil value,
// until fn returns an error. fn must not change the bucket.
func (b *Bucket) ForEach(fn func(key, value []byte) error) error {
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}

// Size returns the number of keys of a bucket without buckets in it, and about their bytes.
func (b *Bucket) Size() (keys, size int) {
	base := b.inBase()
	if base != nil {
		s := base.Stats()
		keys, size = s.KeyN, s.LeafInuse
	}
	for i, id := range b.ids {
		if id == 0 {
			continue
		}
		b.tx.layers[i].items.Ascend(probe(id, nil), func(it item) bool {
			if it.bucket != id {
				return false
			}
			if newest, _ := b.changed(it.name()); len(newest.data) > 0 && &newest.data[0] != &it.data[0] {
				return true // the newer layer has the key, too
			}
			n, bytes := difference(base, it)
			keys, size = keys+n, size+bytes
			return true
		})
	}
	return keys, size
}

// difference returns by how many keys and bytes an item changes the bucket in the file.
func difference(base *bolt.Bucket, it item) (keys, size int) {
	if it.kind != itemGone {
		keys, size = 1, elementSize+len(it.data)
	}
	if base != nil {
		if was := base.Get(it.name()); was != nil {
			keys, size = keys-1, size-elementSize-len(it.name())-len(was)
		}
	}
	return keys, size
}
