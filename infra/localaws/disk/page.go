package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
)

// The pages of a bbolt file, format 2, as they are on disk: in the machine's byte order. The
// contents are not trusted: every number is checked before it is used.
const (
	pageHeader  = 16 // id 8, flags 2, count 2, overflow 4
	elementSize = 16 // of a branch: position 4, key size 4, page 8; of a leaf: flags, position, key size, value size
	bucketHead  = 16 // root page 8, sequence 8

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	bucketElement = 0x01

	rootMagic   = 0xED0CDAED
	rootVersion = 2
	rootSummed  = 56 // bytes covered by its checksum
	rootBytes   = rootSummed + 8

	minPage, maxPage = 1 << 10, 1 << 24
)

var order = binary.NativeEndian

// root is one of the first two pages: a state of the whole file.
type root struct {
	pageSize int
	top      uint64 // the root page of the top bucket
	free     uint64 // the page of the free list
	end      uint64 // the first page that was never used
	tx       uint64 // the transaction that wrote it
}

// decodeRoot reads a root page; false when it is not valid.
func decodeRoot(page []byte) (root, bool) {
	if len(page) < pageHeader+rootBytes {
		return root{}, false
	}
	b := page[pageHeader:]
	sum := fnv.New64a()
	sum.Write(b[:rootSummed])
	size := int(order.Uint32(b[8:]))
	if order.Uint32(b) != rootMagic || order.Uint32(b[4:]) != rootVersion || order.Uint64(b[rootSummed:]) != sum.Sum64() ||
		size < minPage || size > maxPage || size&(size-1) != 0 {
		return root{}, false
	}
	return root{pageSize: size, top: order.Uint64(b[16:]), free: order.Uint64(b[32:]), end: order.Uint64(b[40:]), tx: order.Uint64(b[48:])}, true
}

// roots holds both root pages; whole reports which of them are valid.
type roots struct {
	at    [2]root
	whole [2]bool
}

// newest returns the root of the current state.
func (r roots) newest() root {
	if !r.whole[0] || r.whole[1] && r.at[1].tx > r.at[0].tx {
		return r.at[1]
	}
	return r.at[0]
}

// check returns ErrLastCommit unless both roots are valid and one transaction apart: then there was
// no newer one.
func (r roots) check() error {
	switch {
	case !r.whole[0] && !r.whole[1]:
		return fmt.Errorf("%w: neither of its first two pages is whole", ErrDamaged)
	case !r.whole[0] || !r.whole[1]:
		return fmt.Errorf("%w: one of its first two pages is damaged, and the other is of commit %d", ErrLastCommit, r.newest().tx)
	case r.at[0].pageSize != r.at[1].pageSize:
		return fmt.Errorf("%w: its first two pages are of two files", ErrDamaged)
	case r.at[0].tx+1 != r.at[1].tx && r.at[1].tx+1 != r.at[0].tx:
		return fmt.Errorf("%w: its first two pages are of commits %d and %d", ErrLastCommit, r.at[0].tx, r.at[1].tx)
	}
	return nil
}

// readRoots reads both roots; the second one begins with the second page, of any size.
func readRoots(file io.ReaderAt) (r roots, err error) {
	read := func(at int64) (root, bool) {
		page := make([]byte, pageHeader+rootBytes)
		if _, readErr := file.ReadAt(page, at); readErr != nil {
			if !errors.Is(readErr, io.EOF) {
				err = readErr
			}
			return root{}, false
		}
		return decodeRoot(page)
	}
	if r.at[0], r.whole[0] = read(0); r.whole[0] {
		r.at[1], r.whole[1] = read(int64(r.at[0].pageSize))
		return r, err
	}
	for size := int64(minPage); size <= maxPage && !r.whole[1] && err == nil; size <<= 1 {
		r.at[1], r.whole[1] = read(size)
		r.whole[1] = r.whole[1] && r.at[1].pageSize == int(size)
	}
	return r, err
}

// page is a page of the tree with its overflow pages.
type page struct {
	id    uint64
	flags uint16
	count int
	body  []byte // after the header
}

func decodePage(id uint64, b []byte) (page, error) {
	p := page{id, order.Uint16(b[8:]), int(order.Uint16(b[10:])), b[pageHeader:]}
	if found := order.Uint64(b); found != id {
		return p, p.damage("it says that it is page %d", found)
	}
	if (p.flags == leafPage || p.flags == branchPage) && p.count*elementSize > len(p.body) {
		return p, p.damage("%d elements do not fit into it", p.count)
	}
	return p, nil
}

func (p page) damage(format string, args ...any) error {
	return fmt.Errorf("%w: page %d: %s", ErrDamaged, p.id, fmt.Sprintf(format, args...))
}

// span returns size bytes from position, which counts from the element.
func (p page) span(element int, position, size uint64) ([]byte, error) {
	from := uint64(element*elementSize) + position
	if from > uint64(len(p.body)) || size > uint64(len(p.body))-from {
		return nil, p.damage("element %d lies beyond its end", element)
	}
	return p.body[from : from+size : from+size], nil
}

// branch returns an element of a branch page.
func (p page) branch(i int) (key []byte, child uint64, err error) {
	e := p.body[i*elementSize:]
	key, err = p.span(i, uint64(order.Uint32(e)), uint64(order.Uint32(e[4:])))
	return key, order.Uint64(e[8:]), err
}

// leaf returns an element of a leaf page; bucket reports that value is the head of a bucket.
func (p page) leaf(i int) (key, value []byte, bucket bool, err error) {
	e := p.body[i*elementSize:]
	flags, position, size := order.Uint32(e), uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:]))
	if flags > bucketElement {
		return nil, nil, false, p.damage("element %d is neither a value nor a bucket", i)
	}
	if key, err = p.span(i, position, size); err == nil {
		value, err = p.span(i, position+size, uint64(order.Uint32(e[12:])))
	}
	return key, value, flags == bucketElement, err
}

// freeIDs returns the ids in a page of the free list.
func (p page) freeIDs() ([]byte, error) {
	count, ids := uint64(p.count), p.body
	if p.flags != freelistPage {
		return nil, p.damage("it is not the list of free pages")
	}
	if count == math.MaxUint16 { // then the first id is the count
		count, ids = order.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return nil, p.damage("%d free pages do not fit into it", count)
	}
	return ids[:count*8], nil
}
