package disk

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// Cursor moves over the keys of a bucket in their order. Every move returns a nil key at the end,
// and a nil value for a bucket.
//
// It finds the next key in every layer by the present one, and keeps a position only in the
// file, which no transaction changes. So writes to the bucket do not disturb it.
type Cursor struct {
	b    *Bucket
	at   []byte // the present key; nil when there is none
	base *bolt.Cursor

	// The position of base: the first key after at, or the last one before it.
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
		first, ok := c.nearest(forward, func(l *layer, bucket uint32) (item, bool) { return l.after(bucket, from, equal) })
		c.baseAhead(from, equal)
		if key, value, there := c.choose(forward, first, ok); there {
			return key, value
		}
		from, equal = first.name(), false
	}
}

// back moves to the last key that is smaller than from, or to the last of all when from is nil.
func (c *Cursor) back(from []byte) (key, value []byte) {
	for {
		last, ok := c.nearest(backward, func(l *layer, bucket uint32) (item, bool) { return l.before(bucket, from) })
		c.baseBack(from)
		if key, value, there := c.choose(backward, last, ok); there {
			return key, value
		}
		from = last.name()
	}
}

// nearest returns, of what find finds in each layer, the item that comes first on the way. Of two with one key, it is
// that of the newer layer.
func (c *Cursor) nearest(way direction, find func(l *layer, bucket uint32) (item, bool)) (best item, ok bool) {
	for i, id := range c.b.ids {
		if id == 0 {
			continue
		}
		if it, found := find(c.b.tx.layers[i], id); found && (!ok || way.before(it.name(), best.name())) {
			best, ok = it, true
		}
	}
	return best, ok
}

// choose moves to the key of base, or to that of the layers, whichever comes first on the way. It reports false when
// that is a key of the layers which is gone.
func (c *Cursor) choose(way direction, best item, ok bool) (key, value []byte, there bool) {
	switch {
	case c.key != nil && (!ok || way.before(c.key, best.name())):
		c.at = c.key
		return c.key, c.value, true
	case !ok:
		c.at = nil
		return nil, nil, true
	case best.kind == itemGone:
		return nil, nil, false
	}
	key, value = c.stop(best)
	return key, value, true
}

// before reports whether a key comes before another on the way.
func (d direction) before(a, b []byte) bool {
	if d == forward {
		return bytes.Compare(a, b) < 0
	}
	return bytes.Compare(a, b) > 0
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
