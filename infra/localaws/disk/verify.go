package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxDepth bounds the levels of the tree, including nested buckets; a file of any size has fewer.
const maxDepth = 100

// verifier reads every page of one state of a file once, and trusts none.
type verifier struct {
	file io.ReaderAt
	root root
	used []atomic.Uint64 // one bit for each page
	more chan struct{}   // one place for each goroutine but the first

	record atomic.Pointer[[]byte] // record of the sum, once it was found
}

// verify checks that a state of a file is unchanged: every page of it is used once, in its place
// and whole, and the sum of the contents equals the record of the same commit. ahead is the number
// of commits by which that record may be newer.
func verify(file io.ReaderAt, size int64, state root, ahead uint64) (r record, err error) {
	if state.end < 4 || state.end > uint64(size)/uint64(state.pageSize) {
		return r, fmt.Errorf("%w: it is cut short: it has %d bytes of at least %d", ErrDamaged, size, state.end*uint64(state.pageSize))
	}
	v := &verifier{file: file, root: state, used: make([]atomic.Uint64, state.end/64+1), more: make(chan struct{}, runtime.GOMAXPROCS(0)-1)}
	found, err := v.bucket(newDigester(), place{}, state.top, 0)
	if err == nil {
		err = v.freeList()
	}
	if err == nil {
		err = v.checkAllUsed()
	}
	if err != nil {
		return r, err
	}
	stored := v.record.Load()
	if stored == nil {
		return r, errNoRecord
	}
	r, err = decodeRecord(*stored)
	switch {
	case err != nil:
		return r, err
	case r.tx < state.tx || r.tx > state.tx+ahead:
		return r, fmt.Errorf("%w: its content is of commit %d, and not of %d", ErrDamaged, r.tx, state.tx)
	case r.total != found:
		return r, fmt.Errorf("%w: what is in it does not sum up to what was written (%d records of %d)", ErrDamaged, found.count, r.total.count)
	}
	return r, nil
}

// claim marks pages as used.
func (v *verifier) claim(id, carried uint64) error {
	if id < 2 || id >= v.root.end || carried >= v.root.end-id {
		return fmt.Errorf("%w: it refers to page %d, which it does not have", ErrDamaged, id)
	}
	for i := id; i <= id+carried; i++ {
		if bit := uint64(1) << (i % 64); v.used[i/64].Or(bit)&bit != 0 {
			return fmt.Errorf("%w: page %d is used twice", ErrDamaged, i)
		}
	}
	return nil
}

// page reads a page and its overflow pages.
func (v *verifier) page(id uint64) (page, error) {
	if id < 2 || id >= v.root.end {
		return page{}, fmt.Errorf("%w: it refers to page %d, which it does not have", ErrDamaged, id)
	}
	size := uint64(v.root.pageSize)
	b := make([]byte, size)
	if err := v.read(b, id*size); err != nil {
		return page{}, err
	}
	carried := uint64(order.Uint32(b[12:]))
	if err := v.claim(id, carried); err != nil {
		return page{}, err
	}
	if carried > 0 {
		b = append(b, make([]byte, carried*size)...)
		if err := v.read(b[size:], (id+1)*size); err != nil {
			return page{}, err
		}
	}
	return decodePage(id, b)
}

func (v *verifier) read(b []byte, at uint64) error {
	_, err := v.file.ReadAt(b, int64(at))
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends at byte %d", ErrDamaged, at)
	}
	return err
}

// extent is the sum of the tree below a page, with its first and last keys, nil when it has none.
type extent struct {
	first, last []byte
	sum         contentSum
}

// bucket returns the sum of a bucket with pages of its own.
func (v *verifier) bucket(d *digester, at place, top uint64, depth int) (contentSum, error) {
	x, err := v.tree(d, at, top, depth)
	return x.sum, err
}

func (v *verifier) tree(d *digester, at place, id uint64, depth int) (extent, error) {
	if depth > maxDepth {
		return extent{}, fmt.Errorf("%w: page %d is deeper than any tree", ErrDamaged, id)
	}
	p, err := v.page(id)
	switch {
	case err != nil:
		return extent{}, err
	case p.flags == leafPage:
		return v.leaves(d, at, p, depth)
	case p.flags == branchPage && p.count > 0:
		return v.branches(d, at, p, depth)
	}
	return extent{}, p.damage("it is no page of a tree")
}

// branches returns the sum of the trees below a branch page. Their keys must continue where the
// previous ones end, and each must begin with the key that the branch has.
func (v *verifier) branches(d *digester, at place, p page, depth int) (all extent, err error) {
	below := make([]extent, p.count)
	failed := make([]error, p.count)
	var wg sync.WaitGroup
	for i := 0; i < p.count && err == nil; i++ {
		var child uint64
		if _, child, err = p.branch(i); err != nil {
			break
		}
		select {
		case v.more <- struct{}{}:
			wg.Go(func() {
				defer func() { <-v.more }()
				below[i], failed[i] = v.tree(newDigester(), at, child, depth+1)
			})
		default:
			below[i], err = v.tree(d, at, child, depth+1)
		}
	}
	wg.Wait()
	if err = first(append(failed, err)); err != nil {
		return extent{}, err
	}
	for i, x := range below {
		key, _, _ := p.branch(i)
		if x.first == nil || !bytes.Equal(key, x.first) || i > 0 && bytes.Compare(all.last, x.first) >= 0 {
			return extent{}, p.damage("what is below its element %d is not in its place", i)
		}
		all.last, all.sum = x.last, all.sum.plus(x.sum)
	}
	all.first = below[0].first
	return all, nil
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// leaves returns the sum of a leaf page and the buckets in it.
func (v *verifier) leaves(d *digester, at place, p page, depth int) (all extent, err error) {
	for i := range p.count {
		key, value, bucket, err := p.leaf(i)
		if err != nil {
			return extent{}, err
		}
		if len(key) == 0 || i > 0 && bytes.Compare(all.last, key) >= 0 {
			return extent{}, p.damage("its element %d is not in its place", i)
		}
		if i == 0 {
			all.first = key
		}
		all.last = key
		sum := contentSum{}
		switch {
		case !bucket:
			sum = d.key(at, key, value)
		case at == (place{}) && bytes.Equal(key, recordBucket):
			err = v.keepRecord(p, value)
		default:
			sum, err = v.nestedBucket(d, d.within(at, key), p, value, depth)
		}
		if err != nil {
			return extent{}, err
		}
		all.sum = all.sum.plus(sum)
	}
	return all, nil
}

// nestedBucket returns the sum of a bucket with this head, which is the value of its name.
func (v *verifier) nestedBucket(d *digester, at place, p page, head []byte, depth int) (contentSum, error) {
	if len(head) < bucketHead {
		return contentSum{}, p.damage("a bucket in it is cut short")
	}
	self := d.bucket(at, order.Uint64(head[8:]))
	var inside contentSum
	var err error
	if top := order.Uint64(head); top != 0 {
		inside, err = v.bucket(d, at, top, depth+1)
	} else {
		var inner page
		if inner, err = inline(p, head); err == nil {
			var x extent
			x, err = v.leaves(d, at, inner, depth+1)
			inside = x.sum
		}
	}
	return self.plus(inside), err
}

// inline returns the page of a small bucket, which is in its value.
func inline(p page, head []byte) (page, error) {
	if len(head) < bucketHead+pageHeader {
		return page{}, p.damage("a bucket in it is cut short")
	}
	inner, err := decodePage(0, head[bucketHead:])
	if err == nil && inner.flags != leafPage {
		err = p.damage("a bucket in it is none")
	}
	for i := 0; err == nil && i < inner.count; i++ {
		var bucket bool
		if _, _, bucket, err = inner.leaf(i); err == nil && bucket {
			err = p.damage("a bucket in it holds a bucket")
		}
	}
	inner.id = p.id
	return inner, err
}

// keepRecord stores the record of the sum, which is in its bucket's value.
func (v *verifier) keepRecord(p page, head []byte) error {
	inner, err := inline(p, head)
	if err != nil {
		return err
	}
	if inner.count != 1 || order.Uint64(head) != 0 {
		return p.damage("its sum cannot be read")
	}
	key, value, _, err := inner.leaf(0)
	if err == nil && bytes.Equal(key, recordKey) && !v.record.CompareAndSwap(nil, &value) {
		err = p.damage("it has a second sum")
	}
	return err
}

// freeList claims the free pages, and those of the list itself.
func (v *verifier) freeList() error {
	p, err := v.page(v.root.free)
	if err != nil {
		return err
	}
	ids, err := p.freeIDs()
	if err != nil {
		return err
	}
	for ; len(ids) > 0; ids = ids[8:] {
		if err := v.claim(order.Uint64(ids), 0); err != nil {
			return err
		}
	}
	return nil
}

// checkAllUsed refuses unused pages, because the reference to them was lost.
func (v *verifier) checkAllUsed() error {
	for i := uint64(2); i < v.root.end; i++ {
		if v.used[i/64].Load()&(1<<(i%64)) == 0 {
			return fmt.Errorf("%w: page %d is neither used nor free", ErrDamaged, i)
		}
	}
	return nil
}
