package dynamodb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"localaws/disk"
	"strconv"
)

// maxPage is the number of bytes of items that one page of a Query or Scan reads.
const maxPage = 1 << 20

// segmentRange returns a segment's part of the hashes at the beginning of stored keys.
func segmentRange(segment, total int64) (low, high []byte) {
	bound := func(i int64) []byte {
		return binary.BigEndian.AppendUint32(nil, uint32((i<<32+total-1)/total))
	}
	if segment > 0 {
		low = bound(segment)
	}
	if segment < total-1 {
		high = bound(segment + 1)
	}
	return low, high
}

func (q *reading) startsInside(s schema) bool {
	key := s.storedKey(q.start)
	return bytes.Compare(key, q.low) >= 0 && (q.high == nil || bytes.Compare(key, q.high) < 0)
}

// page is one page of a Query or a Scan.
type page struct {
	reading reading
	from    *table
	by      *index // nil: the table itself

	items   []item // as projected; none of them when they are only counted
	scanned int64
	matched int64
	bytes   int
	last    item     // the last item that was read
	more    bool     // the page ended before the range
	expired [][]byte // items to remove
}

// read reads the range and returns one page.
func (e *Engine) read(t *table, x *index, q reading) (page, error) {
	p := page{reading: q, from: t, by: x}
	if err := e.store.View(func(tx *disk.Tx) error { return e.walk(tx, t, x, q, &p) }); err != nil {
		return p, err
	}
	return p, e.reap(t, p.expired)
}

func (p page) json() []byte {
	dst := append(make([]byte, 0, p.bytes+1024), '{')
	if p.reading.selects != selectCount {
		dst = append(dst, `"Items":`...)
		dst = append(appendItems(dst, p.items), ',')
	}
	dst = append(dst, `"Count":`...)
	dst = strconv.AppendInt(dst, p.matched, 10)
	dst = append(dst, `,"ScannedCount":`...)
	dst = strconv.AppendInt(dst, p.scanned, 10)
	if key := p.lastKey(); key != nil {
		dst = append(dst, `,"LastEvaluatedKey":`...)
		dst = appendItem(dst, key)
	}
	dst = p.reading.capacity.appendRead(dst, p.from, p.by, p.bytes, p.reading.consistent, 1)
	return append(dst, '}')
}

// lastKey returns the key after which the next page begins; nil when this page ended the range.
func (p page) lastKey() item {
	if !p.more {
		return nil
	}
	key := p.from.Key.keyOf(p.last)
	if p.by != nil {
		for name, v := range p.by.Key.keyOf(p.last) {
			key[name] = v
		}
	}
	return key
}

func (e *Engine) walk(tx *disk.Tx, t *table, x *index, q reading, p *page) error {
	items := tx.Bucket(t.bucket())
	source := items
	if x != nil {
		source = tx.Bucket(t.indexBucket(*x))
	}
	if items == nil || source == nil {
		return fmt.Errorf("table %s has no items bucket", t.Name)
	}
	now := e.now()
	c := span{cursor: source.Cursor(), low: q.low, high: q.high, reverse: q.reverse}
	k, v := c.first(q.startKey(t, x))
	for ; k != nil; k, v = c.next() {
		key, stored := k, v
		if x != nil {
			key = k[binary.BigEndian.Uint16(v):]
			stored = items.Get(key)
		}
		it, err := decodeItem(stored)
		if err != nil {
			return err
		}
		if t.isExpired(it, now) {
			p.expired = append(p.expired, bytes.Clone(key))
		}
		if p.take(t, x, q, it) {
			return nil
		}
	}
	return nil
}

// take handles one item and reports whether the page is full.
func (p *page) take(t *table, x *index, q reading, it item) bool {
	shown := t.view(x, it)
	p.scanned++
	p.bytes += itemSize(shown)
	p.last = it
	if q.filter == nil || q.filter.holds(shown) {
		p.matched++
		if q.selects != selectCount {
			if q.paths != nil {
				shown = project(shown, q.paths)
			}
			p.items = append(p.items, shown)
		}
	}
	p.more = q.limit > 0 && p.scanned >= q.limit || p.bytes >= maxPage
	return p.more
}

// startKey returns the stored key of ExclusiveStartKey, nil without one.
func (q reading) startKey(t *table, x *index) []byte {
	if q.start == nil {
		return nil
	}
	key := t.Key.storedKey(q.start)
	if x == nil {
		return key
	}
	return append(x.Key.storedKey(q.start), key...)
}

// span iterates over the stored keys from low up to but not including high, or backward.
type span struct {
	cursor    *disk.Cursor
	low, high []byte
	reverse   bool
}

// first returns the first key of the span, or the first one beyond start.
func (s span) first(start []byte) (k, v []byte) {
	if s.reverse {
		bound := s.high
		if start != nil {
			bound = start
		}
		if bound == nil {
			return s.inside(s.cursor.Last())
		}
		if k, _ = s.cursor.Seek(bound); k == nil {
			return s.inside(s.cursor.Last())
		}
		return s.next()
	}
	if start == nil {
		return s.inside(s.cursor.Seek(s.low))
	}
	k, v = s.cursor.Seek(start)
	if bytes.Equal(k, start) {
		return s.next()
	}
	return s.inside(k, v)
}

func (s span) next() (k, v []byte) {
	if s.reverse {
		return s.inside(s.cursor.Prev())
	}
	return s.inside(s.cursor.Next())
}

func (s span) inside(k, v []byte) ([]byte, []byte) {
	if k == nil || bytes.Compare(k, s.low) < 0 || s.high != nil && bytes.Compare(k, s.high) >= 0 {
		return nil, nil
	}
	return k, v
}
