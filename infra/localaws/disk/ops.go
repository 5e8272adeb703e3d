package disk

import (
	"encoding/binary"
	"fmt"
)

// The changes in a record of the log, one after the other. A change of a key concerns the bucket
// that the last opBucket or opMake before it names. Texts have their length before them.
const (
	opBucket   byte = iota + 1 // path
	opPut                      // key, value
	opDelete                   // key
	opMake                     // path: a new bucket
	opDrop                     // path: a bucket is gone, with its contents
	opSequence                 // number
)

// ops is an encoded list of changes.
type ops struct {
	b    []byte
	at   path // the bucket that the next change of a key concerns
	some bool // at is set
}

func (o *ops) text(kind byte, texts ...[]byte) {
	o.b = append(o.b, kind)
	for _, t := range texts {
		o.b = append(binary.AppendUvarint(o.b, uint64(len(t))), t...)
	}
}

func (o *ops) enter(p path) {
	if !o.some || o.at != p {
		o.text(opBucket, []byte(p))
		o.at, o.some = p, true
	}
}

func (o *ops) put(p path, it item) {
	o.enter(p)
	o.text(opPut, it.name(), it.value())
}

func (o *ops) delete(p path, key []byte) {
	o.enter(p)
	o.text(opDelete, key)
}

func (o *ops) make(p path) {
	o.text(opMake, []byte(p))
	o.at, o.some = p, true
}

func (o *ops) drop(p path) { o.text(opDrop, []byte(p)) }

func (o *ops) sequence(p path, n uint64) {
	o.enter(p)
	o.b = binary.AppendUvarint(append(o.b, opSequence), n)
}

// opReader reads an encoded list. It trusts no length in it.
type opReader struct{ b []byte }

var errOps = fmt.Errorf("%w: a record of its log cannot be read", ErrDamaged)

func (r *opReader) number() (uint64, error) {
	n, head := binary.Uvarint(r.b)
	if head <= 0 {
		return 0, errOps
	}
	r.b = r.b[head:]
	return n, nil
}

func (r *opReader) text() ([]byte, error) {
	n, err := r.number()
	if err != nil || n > uint64(len(r.b)) {
		return nil, errOps
	}
	t := r.b[:n:n]
	r.b = r.b[n:]
	return t, nil
}

func (r *opReader) path() (path, error) {
	t, err := r.text()
	if err != nil {
		return "", err
	}
	for names := (&opReader{t}); len(names.b) > 0; {
		if _, err := names.text(); err != nil {
			return "", err
		}
	}
	return path(t), nil
}

// apply makes the changes of an encoded list.
func (l *layer) apply(list []byte) error {
	r, at := &opReader{list}, path("")
	for len(r.b) > 0 {
		kind := r.b[0]
		r.b = r.b[1:]
		if err := l.applyOne(r, kind, &at); err != nil {
			return err
		}
	}
	return nil
}

func (l *layer) applyOne(r *opReader, kind byte, at *path) (err error) {
	switch kind {
	case opBucket, opMake, opDrop:
		var p path
		if p, err = r.path(); err != nil {
			return err
		}
		return l.applyBucket(kind, p, at)
	case opPut, opDelete:
		return l.applyKey(r, kind, *at)
	case opSequence:
		n, err := r.number()
		if err == nil && *at == "" {
			err = errOps
		}
		if err == nil {
			l.setSequence(*at, n)
		}
		return err
	}
	return errOps
}

func (l *layer) applyBucket(kind byte, p path, at *path) error {
	if p == "" {
		return errOps
	}
	switch kind {
	case opBucket:
		l.use(p)
		*at = p
	case opMake:
		l.make(p)
		*at = p
	case opDrop:
		l.drop(p)
	}
	return nil
}

func (l *layer) applyKey(r *opReader, kind byte, at path) error {
	key, err := r.text()
	if err == nil && (at == "" || len(key) == 0 || len(key) > maxKey) {
		err = errOps
	}
	if err != nil {
		return err
	}
	if kind == opDelete {
		l.set(newItem(l.use(at), itemGone, key, nil))
		return nil
	}
	value, err := r.text()
	if err == nil {
		l.set(newItem(l.use(at), itemValue, key, value))
	}
	return err
}
