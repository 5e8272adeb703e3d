package disk

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The log is a list of segments: files beside the data file, named after it and numbered. A segment
// is a list of sectors of 512 bytes. Each sector is written in one piece by a disk, and says of
// itself whether it is whole:
//
//	CRC-32C of segment, position and the rest 4 · number 8 · 500 bytes of the record with that number
//
// The first sector of a segment is its header, with the number 0. Each record begins in a sector of
// its own, so that a write never changes a sector of an earlier record:
//
//	length of the changes 4 · sum of the record before 16 · sum of this record 16 · changes
//
// The sum of a record covers the sum of the record before it, so the records are a chain. Sectors
// behind the last record are zero.
const (
	sectorSize  = 512
	sectorHead  = 4 + 8
	sectorRoom  = sectorSize - sectorHead
	recordHead  = 4 + 2*len(chainSum{})
	segmentMark = ".wal-" // between the name of the data file and the number

	walMagic  = "localaws log"
	walFormat = 1
)

// chainSum is the beginning of a SHA-256.
type chainSum [16]byte

// position is a place in the log: behind the record of a number. It is stored in the data file.
type position struct {
	store   [16]byte // identifies the data file and its log
	segment uint64   // the first segment with later records
	number  uint64   // the record before it; 0: none
	sum     chainSum // of that record
	alone   bool     // the data file is whole when there is no such segment
}

// after returns the position behind the next record.
func (p position) after(changes []byte) position {
	h := sha256.New()
	var head [8 + 4]byte
	binary.LittleEndian.PutUint64(head[:], p.number+1)
	binary.LittleEndian.PutUint32(head[8:], uint32(len(changes)))
	h.Write(p.store[:])
	h.Write(p.sum[:])
	h.Write(head[:])
	h.Write(changes)
	p.number++
	copy(p.sum[:], h.Sum(nil))
	return p
}

func newStoreID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// segmentFiles are the segments of the log of a data file.
type segmentFiles struct {
	folder logFolder
	path   string // of the data file
}

func segmentsOf(path string) segmentFiles { return segmentFiles{folder(filepath.Dir(path)), path} }

func (g segmentFiles) name(number uint64) string {
	return fmt.Sprintf("%s%s%08d", filepath.Base(g.path), segmentMark, number)
}

// IsLog reports whether a file name is one of a segment of the log of the data file at path. A
// Snapshot has everything that is in them.
func IsLog(path, name string) bool {
	_, ok := segmentsOf(path).number(name)
	return ok
}

func (g segmentFiles) number(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, filepath.Base(g.path)+segmentMark)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n > 0 && g.name(n) == name
}

// numbers returns the numbers of the segments, in order.
func (g segmentFiles) numbers() (numbers []uint64, err error) {
	names, err := g.folder.Names()
	for _, name := range names {
		if n, ok := g.number(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// appendSectors appends the sectors of one record, or of the header.
func appendSectors(to []byte, segment, first, number uint64, text ...[]byte) []byte {
	var sector [sectorSize]byte
	binary.LittleEndian.PutUint64(sector[4:], number)
	at, begun := sectorHead, false
	flush := func() {
		clear(sector[at:])
		binary.LittleEndian.PutUint32(sector[:], sectorSum(sector[:], segment, first))
		to, at, begun = append(to, sector[:]...), sectorHead, false
		first++
	}
	for _, t := range text {
		for len(t) > 0 {
			n := copy(sector[at:], t)
			t, at, begun = t[n:], at+n, true
			if at == sectorSize {
				flush()
			}
		}
	}
	if begun {
		flush()
	}
	return to
}

// sectorSum is the CRC of a sector, which holds it only in its place.
func sectorSum(sector []byte, segment, place uint64) uint32 {
	var where [16]byte
	binary.LittleEndian.PutUint64(where[:], segment)
	binary.LittleEndian.PutUint64(where[8:], place)
	return crc32.Update(crc32.Checksum(where[:], castagnoli), castagnoli, sector[4:])
}

// sectorsOf returns the number of sectors of a record with that many bytes of changes.
func sectorsOf(changes int) int { return (recordHead + changes + sectorRoom - 1) / sectorRoom }

// segmentHeader returns the first sector of a segment that begins at a position.
func segmentHeader(p position) []byte {
	b := append([]byte(walMagic), walFormat)
	b = append(b, p.store[:]...)
	b = binary.LittleEndian.AppendUint64(b, p.segment)
	b = binary.LittleEndian.AppendUint64(b, p.number)
	return appendSectors(nil, p.segment, 0, 0, append(b, p.sum[:]...))
}

// headerNumber returns the number of the record before a segment, from its header.
func headerNumber(header []byte) uint64 {
	return binary.LittleEndian.Uint64(header[sectorHead+len(walMagic)+1+16+8:])
}

// recordSectors returns the sectors of the record behind p, and the position behind it.
func recordSectors(to []byte, p position, first uint64, changes []byte) ([]byte, position) {
	next := p.after(changes)
	var head [recordHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(changes)))
	copy(head[4:], p.sum[:])
	copy(head[4+len(p.sum):], next.sum[:])
	return appendSectors(to, p.segment, first, next.number, head[:], changes), next
}

// sectorState is the result of the check of a sector.
type sectorState byte

const (
	sectorWhole sectorState = iota
	sectorZero              // never written
	sectorDamaged
)

// segmentReader reads one segment, whose bytes are in memory.
type segmentReader struct {
	b      []byte
	number uint64
}

// read reads a whole segment.
func (g segmentFiles) read(number uint64) (*segmentReader, error) {
	file, err := g.folder.Open(g.name(number), true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, (size+sectorSize-1)/sectorSize*sectorSize)
	if n, err := file.ReadAt(b[:size], 0); err != nil && (!errors.Is(err, io.EOF) || int64(n) < size) {
		return nil, err
	}
	return &segmentReader{b, number}, nil
}

func (s *segmentReader) len() int { return len(s.b) / sectorSize }

func (s *segmentReader) sector(i int) []byte { return s.b[i*sectorSize : (i+1)*sectorSize] }

func (s *segmentReader) recordOf(i int) uint64 { return binary.LittleEndian.Uint64(s.sector(i)[4:]) }

var zeroSector [sectorSize]byte

func (s *segmentReader) state(i int) sectorState {
	b := s.sector(i)
	switch {
	case binary.LittleEndian.Uint32(b) == sectorSum(b, s.number, uint64(i)):
		return sectorWhole
	case bytes.Equal(b, zeroSector[:]):
		return sectorZero
	}
	return sectorDamaged
}

// isUnused reports whether nothing was ever written to the segment: its creation was cut short.
func (s *segmentReader) isUnused() bool { return len(bytes.Trim(s.b, "\x00")) == 0 }

// checkHeader checks that the segment continues the log at p.
func (s *segmentReader) checkHeader(p position) error {
	want := segmentHeader(p)
	if s.len() > 0 && bytes.Equal(s.sector(0), want) {
		return nil
	}
	if s.len() > 0 && s.state(0) == sectorWhole && bytes.HasPrefix(s.sector(0)[sectorHead:], []byte(walMagic)) {
		body := s.sector(0)[sectorHead+len(walMagic):]
		if body[0] != walFormat {
			return fmt.Errorf("%w %d, and this version reads format %d", ErrFormat, body[0], walFormat)
		}
		if !bytes.HasPrefix(body[1:], p.store[:]) {
			return fmt.Errorf("%w: segment %d of its log belongs to another data file", ErrDamaged, s.number)
		}
		return fmt.Errorf("%w: segment %d of its log does not continue at commit %d", ErrDamaged, s.number, p.number)
	}
	return fmt.Errorf("%w: segment %d of its log has no header", ErrDamaged, s.number)
}

// record returns the changes of the record that begins in sector i and follows p, the sector behind
// it and its position. ok is false when a sector of it is missing or damaged.
func (s *segmentReader) record(p position, i int) (changes []byte, end int, next position, ok bool, err error) {
	if i >= s.len() || s.state(i) != sectorWhole || s.recordOf(i) != p.number+1 {
		return nil, i, p, false, nil
	}
	head := s.sector(i)[sectorHead:]
	size := int(binary.LittleEndian.Uint32(head))
	end = i + sectorsOf(size)
	if end > s.len() {
		return nil, i, p, false, nil
	}
	text := make([]byte, 0, (end-i)*sectorRoom)
	for j := i; j < end; j++ {
		if s.state(j) != sectorWhole || s.recordOf(j) != p.number+1 {
			return nil, i, p, false, nil
		}
		text = append(text, s.sector(j)[sectorHead:]...)
	}
	changes = text[recordHead : recordHead+size]
	next = p.after(changes)
	if !bytes.Equal(text[4:recordHead], append(p.sum[:], next.sum[:]...)) {
		return nil, i, p, false, fmt.Errorf("%w: commit %d in its log does not follow the one before", ErrDamaged, next.number)
	}
	return changes, end, next, true, nil
}

// checkTail judges the sectors after the last whole record, which ends before sector i. Nothing but zero
// sectors: the log ends there. Some whole sectors of the next record, and zero ones: the writing of
// it was cut short, so it was never acknowledged, and torn is true. A damaged sector may belong to a
// record that was acknowledged: ErrLastCommit. A sector of a later record: ErrDamaged, because a
// record is written only after the one before has reached the disk.
func (s *segmentReader) checkTail(p position, i int) (torn bool, err error) {
	damaged := false
	for ; i < s.len(); i++ {
		switch state := s.state(i); {
		case state == sectorZero:
		case state == sectorDamaged:
			damaged = true
		case s.recordOf(i) == p.number+1:
			torn = true
		default:
			return false, fmt.Errorf("%w: commit %d in its log is damaged or missing, and commit %d is there", ErrDamaged, p.number+1, s.recordOf(i))
		}
	}
	if damaged {
		return false, fmt.Errorf("%w: commit %d in its log is damaged", ErrLastCommit, p.number+1)
	}
	return torn, nil
}
