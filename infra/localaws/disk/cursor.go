package disk

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// Cursor moves over the keys of a bucket in their order. Every move returns a nil key at the end,
// and a nil value for a bucket.
//
// It looks for the next key in every layer by the present one, and keeps a position only in the
// file, which no transaction changes. So writes to the bucket do not disturb it.
type Cursor struct {
	b    *Bucket
	at   []byte // the present key; nil when there is none
	base *bolt.Cursor

	// What base is at: the first key after at, or the last one before it.
	key, value []byte
	way        direction
}

type direction byte

const (
	nowhere direction = iota
	forward
	backward
)

// Cursor returns a cursor over the bucket without a position.
func (b *Bucket) Cursor() *Cursor {
	c := &Cursor{b: b}
	if base := b.inBase(); base != nil {
		c.base = base.Cursor()
	}
	return c
}

// First moves to the first key.
func (c *Cursor) First() (key, value []byte) { return c.Seek([]byte{}) }

// Seek moves to a key, or to the first key after it.
func (c *Cursor) Seek(key []byte) (k, value []byte) {
	c.way = nowhere
	if len(key) > maxKey { // no key is as long
		return c.ahead(key[:maxKey], false)
	}
	return c.ahead(key, true)
}

// Next moves to the next key.
func (c *Cursor) Next() (key, value []byte) {
	if c.at == nil {
		return nil, nil
	}
	return c.ahead(c.at, false)
}

// Last moves to the last key.
func (c *Cursor) Last() (key, value []byte) {
	c.way = nowhere
	return c.back(nil)
}

// Prev moves to the key before.
func (c *Cursor) Prev() (key, value []byte) {
	if c.at == nil {
		return nil, nil
	}
	return c.back(c.at)
}

// ahead moves to the first key that is larger than from, or equal when equal.
func (c *Cursor) ahead(from []byte, equal bool) (key, value []byte) {
	for {
		best, ok := item{}, false
		for i, id := range c.b.ids {
			if id == 0 {
				continue
			}
			if it, found := c.b.tx.layers[i].after(id, from, equal); found && (!ok || bytes.Compare(it.name(), best.name()) < 0) {
				best, ok = it, true
			}
		}
		c.baseAhead(from, equal)
		if c.key != nil && (!ok || bytes.Compare(c.key, best.name()) < 0) {
			c.at = c.key
			return c.key, c.value
		}
		if !ok {
			c.at = nil
			return nil, nil
		}
		if best.kind != itemGone {
			return c.stop(best)
		}
		from, equal = best.name(), false
	}
}

// back moves to the last key that is smaller than from, or to the last of all when from is nil.
func (c *Cursor) back(from []byte) (key, value []byte) {
	for {
		best, ok := item{}, false
		for i, id := range c.b.ids {
			if id == 0 {
				continue
			}
			if it, found := c.b.tx.layers[i].before(id, from); found && (!ok || bytes.Compare(it.name(), best.name()) > 0) {
				best, ok = it, true
			}
		}
		c.baseBack(from)
		if c.key != nil && (!ok || bytes.Compare(c.key, best.name()) > 0) {
			c.at = c.key
			return c.key, c.value
		}
		if !ok {
			c.at = nil
			return nil, nil
		}
		if best.kind != itemGone {
			return c.stop(best)
		}
		from = best.name()
	}
}

func (c *Cursor) stop(it item) (key, value []byte) {
	c.at = it.name()
	if it.kind == itemBucket {
		return c.at, nil
	}
	return c.at, it.value()
}

// baseAhead moves base to the first key after from. While the cursor moves on in one direction, base
// is there already, or one key before.
func (c *Cursor) baseAhead(from []byte, equal bool) {
	if c.base == nil {
		return
	}
	if c.way != forward {
		c.way = forward
		c.key, c.value = c.base.Seek(from)
	}
	for c.key != nil {
		order := bytes.Compare(c.key, from)
		if order > 0 || equal && order == 0 {
			return
		}
		c.key, c.value = c.base.Next()
	}
}

// baseBack moves base to the last key before from.
func (c *Cursor) baseBack(from []byte) {
	if c.base == nil {
		return
	}
	if c.way != backward {
		c.way = backward
		if from == nil {
			c.key, c.value = c.base.Last()
			return
		}
		if k, _ := c.base.Seek(from); k == nil {
			c.key, c.value = c.base.Last()
		} else {
			c.key, c.value = c.base.Prev()
		}
	}
	for c.key != nil && from != nil && bytes.Compare(c.key, from) >= 0 {
		c.key, c.value = c.base.Prev()
	}
}
