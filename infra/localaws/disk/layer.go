package disk

import (
	"bytes"
	"encoding/binary"
	"maps"
	"strings"

	"github.com/tidwall/btree"
)

// layer holds changes that are not in the bbolt file yet. Readers see them in front of the file.
// Every key and value is stored once, in one allocation.
type layer struct {
	items   *btree.BTreeG[item]
	buckets map[path]bucketChange // never changed: a change makes a new map
	lastID  uint32
	undo    *[]undone // set appends the replaced values to it, when it is not nil
}

// undone is the state of a key before one change.
type undone struct {
	was item
	had bool // false: there was none, and was is the new item
}

// path names a bucket: the names from the top, each with its length before it. So the path of a
// bucket begins with the path of the bucket around it, and with no other.
type path string

func (p path) within(name []byte) path {
	b := binary.AppendUvarint(make([]byte, 0, len(p)+len(name)+2), uint64(len(name)))
	return p + path(append(b, name...))
}

// split returns the path of the bucket around it, empty at the top, and its name there.
func (p path) split() (around path, name []byte) {
	names := p.names()
	name = names[len(names)-1]
	return p[:len(p)-len(path("").within(name))], name
}

// names returns the names from the top.
func (p path) names() (names [][]byte) {
	for b := []byte(p); len(b) > 0; {
		n, head := binary.Uvarint(b)
		names = append(names, b[head:head+int(n)])
		b = b[head+int(n):]
	}
	return names
}

// change is the kind of change of a bucket.
type change byte

const (
	bucketKept change = iota // it is there before the layer, too
	bucketMade               // it has only the keys of this layer
	bucketGone               // it is not there
)

// bucketChange is the change of one bucket in a layer.
type bucketChange struct {
	id        uint32 // of its items
	change    change
	sequenced bool // sequence is newer than in the file
	sequence  uint64
}

// Kinds of items.
const (
	itemValue byte = iota
	itemGone
	itemBucket // the name of a bucket within the bucket
)

// item is a changed key of a bucket.
type item struct {
	data   []byte // the key, then the value
	bucket uint32
	key    uint16 // length of the key
	kind   byte
}

func (it item) name() []byte  { return it.data[:it.key:it.key] }
func (it item) value() []byte { return it.data[it.key:len(it.data):len(it.data)] }

// probe returns an item that finds the one of a key.
func probe(bucket uint32, key []byte) item {
	return item{data: key, bucket: bucket, key: uint16(len(key))}
}

func newItem(bucket uint32, kind byte, key, value []byte) item {
	data := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	return item{data, bucket, uint16(len(key)), kind}
}

func lessItem(a, b item) bool {
	if a.bucket != b.bucket {
		return a.bucket < b.bucket
	}
	return bytes.Compare(a.data[:a.key], b.data[:b.key]) < 0
}

// treeDegree makes nodes of at most 31 items: each commit copies the nodes that it changes.
const treeDegree = 16

func newLayer() *layer {
	return &layer{items: btree.NewBTreeGOptions(lessItem, btree.Options{NoLocks: true, Degree: treeDegree})}
}

// copy returns the layer as it is now; it takes the same short time for any size.
func (l *layer) copy() *layer {
	return &layer{items: l.items.Copy(), buckets: l.buckets, lastID: l.lastID}
}

func (l *layer) isEmpty() bool { return l.items.Len() == 0 && len(l.buckets) == 0 }

func (l *layer) set(it item) {
	was, had := l.items.Set(it)
	if l.undo == nil {
		return
	}
	if !had {
		was = it
	}
	*l.undo = append(*l.undo, undone{was, had})
}

// savepoint is a state of a layer, to which it can return.
type savepoint struct {
	buckets map[path]bucketChange
	lastID  uint32
	undone  int
}

func (l *layer) savepoint() savepoint { return savepoint{l.buckets, l.lastID, len(*l.undo)} }

// revert undoes all changes since a savepoint.
func (l *layer) revert(to savepoint) {
	list := *l.undo
	for i := len(list) - 1; i >= to.undone; i-- {
		if u := list[i]; u.had {
			l.items.Set(u.was)
		} else {
			l.items.Delete(u.was)
		}
	}
	clear(list[to.undone:])
	*l.undo = list[:to.undone]
	l.buckets, l.lastID = to.buckets, to.lastID
}

// find returns the item of a key, false when the layer does not change it.
func (l *layer) find(bucket uint32, key []byte) (item, bool) {
	return l.items.Get(probe(bucket, key))
}

// after returns the first item of a bucket whose key is larger than from, or equal when equal.
func (l *layer) after(bucket uint32, from []byte, equal bool) (found item, ok bool) {
	pivot := probe(bucket, from)
	l.items.Ascend(pivot, func(it item) bool {
		if it.bucket == bucket && !equal && bytes.Equal(it.name(), from) {
			return true
		}
		found, ok = it, it.bucket == bucket
		return false
	})
	return found, ok
}

// before returns the last item of a bucket whose key is smaller than from, or the last of all when
// from is nil.
func (l *layer) before(bucket uint32, from []byte) (found item, ok bool) {
	pivot := probe(bucket, from)
	if from == nil {
		pivot = probe(bucket+1, nil)
	}
	l.items.Descend(pivot, func(it item) bool {
		if it.bucket > bucket || from != nil && it.bucket == bucket && bytes.Equal(it.name(), from) {
			return true
		}
		found, ok = it, it.bucket == bucket
		return false
	})
	return found, ok
}

// setBucket stores the change of one bucket.
func (l *layer) setBucket(p path, c bucketChange) {
	changed := make(map[path]bucketChange, len(l.buckets)+1)
	maps.Copy(changed, l.buckets)
	changed[p] = c
	l.buckets = changed
}

// use returns the id of a bucket that is there, for its items.
func (l *layer) use(p path) uint32 {
	if c, ok := l.buckets[p]; ok {
		return c.id
	}
	l.lastID++
	l.setBucket(p, bucketChange{id: l.lastID})
	return l.lastID
}

// make stores that a bucket is there and has nothing from before the layer.
func (l *layer) make(p path) {
	l.lastID++
	l.setBucket(p, bucketChange{id: l.lastID, change: bucketMade})
	if around, name := p.split(); around != "" {
		l.set(newItem(l.use(around), itemBucket, name, nil))
	}
}

// drop stores that a bucket is gone, with all buckets within it. Its items stay in the tree until
// the layer is in the file: nothing leads to them.
func (l *layer) drop(p path) {
	left := make(map[path]bucketChange, len(l.buckets))
	for at, c := range l.buckets {
		if !strings.HasPrefix(string(at), string(p)) {
			left[at] = c
		}
	}
	left[p] = bucketChange{change: bucketGone}
	l.buckets = left
}

// setSequence stores the sequence of a bucket.
func (l *layer) setSequence(p path, n uint64) {
	l.use(p)
	c := l.buckets[p]
	c.sequence, c.sequenced = n, true
	l.setBucket(p, c)
}
