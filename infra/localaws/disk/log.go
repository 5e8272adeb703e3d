package disk

import (
	"errors"
	"fmt"
)

const (
	firstRoom = 64 << 10 // bytes of a new segment
	mostRoom  = 1 << 20  // bytes by which a segment grows at most
)

// log writes the newest segment. The space that a record needs is written with zeros before, so that
// a disk that is full refuses it before anything depends on it, and a sync has no metadata to write.
type log struct {
	segments segmentFiles
	file     logFile

	at      position // behind the last record
	next    uint64   // the sector of the next record
	room    int64    // bytes of the segment
	scratch []byte
}

// create makes the segment that begins at p, with room for changes of that size. It returns when
// the segment has reached the disk.
func (g segmentFiles) create(p position, changes int) (l *log, err error) {
	file, err := g.folder.Create(g.name(p.segment))
	if err != nil {
		return nil, err
	}
	l = &log{segments: g, file: file, at: p, next: 1}
	if err = l.reserve(changes); err == nil {
		_, err = file.WriteAt(segmentHeader(p), 0)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = g.folder.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, l.discard())
	}
	return l, nil
}

// discard removes a segment that nothing was written to.
func (l *log) discard() error {
	return errors.Join(l.file.Close(), l.segments.folder.Remove(l.segments.name(l.at.segment)))
}

// reserve makes room for a record with changes of that size.
func (l *log) reserve(changes int) error {
	need := int64(l.next+uint64(sectorsOf(changes))) * sectorSize
	if need <= l.room {
		return nil
	}
	grown := max(need, l.room+min(max(l.room, firstRoom), mostRoom))
	if err := l.grow(grown); err == nil || grown == need {
		return err
	}
	return l.grow(need)
}

func (l *log) grow(to int64) error {
	if err := writeZeros(l.file, l.room, to); err != nil {
		return err
	}
	l.room = to
	return nil
}

var zeros [64 << 10]byte

func writeZeros(file logFile, from, to int64) error {
	for from < to {
		n, err := file.WriteAt(zeros[:min(int64(len(zeros)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// take gives the next sectors to a record with changes of that size, and returns the first.
func (l *log) take(changes int) (first uint64) {
	first = l.next
	l.next += uint64(sectorsOf(changes))
	return first
}

// append writes a record into its sectors, and returns when it has reached the disk.
func (l *log) append(first uint64, changes []byte) error {
	sectors, next := recordSectors(l.scratch[:0], l.at, first, changes)
	if cap(sectors) <= mostRoom {
		l.scratch = sectors
	}
	if _, err := l.file.WriteAt(sectors, int64(first)*sectorSize); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.at = next
	return nil
}

// used returns the bytes of the records.
func (l *log) used() int64 { return int64(l.next) * sectorSize }

// replayed holds the commits of the log that are not in the data file.
type replayed struct {
	changes *layer
	at      position // behind the last record
	bytes   int64    // of the records
	last    *segmentReader
	end     int  // the sector behind the last record, in the last segment
	torn    bool // a record behind it was cut short
	old     []uint64
}

// replay reads the commits behind p. It changes nothing.
func (g segmentFiles) replay(p position) (r *replayed, err error) {
	numbers, err := g.numbers()
	if err != nil {
		return nil, err
	}
	r = &replayed{changes: newLayer(), at: p}
	for len(numbers) > 0 && numbers[0] < p.segment {
		r.old, numbers = append(r.old, numbers[0]), numbers[1:]
	}
	if len(numbers) == 0 && !p.alone {
		return nil, fmt.Errorf("%w: its log is missing: there is no %s", ErrDamaged, g.name(p.segment))
	}
	for i, n := range numbers {
		if n != p.segment+uint64(i) {
			return nil, fmt.Errorf("%w: a part of its log is missing: there is no %s, and %s is there", ErrDamaged,
				g.name(p.segment+uint64(i)), g.name(n))
		}
		s, err := g.read(n)
		if err != nil {
			return nil, err
		}
		isLast := i == len(numbers)-1
		if isLast && s.isUnused() && (i > 0 || p.alone) {
			r.old = append(r.old, n) // made, and not used before the process ended
			break
		}
		if err := r.segment(s, n, isLast); err != nil {
			return r, err
		}
	}
	return r, nil
}

// NewestCommit returns the number of the newest commit in the log of the data file at path, 0 when it has no
// log. Another process may write it meanwhile, so it is for counting only.
func NewestCommit(path string) (newest uint64, err error) {
	segments := segmentsOf(path)
	numbers, err := segments.numbers()
	if err != nil || len(numbers) == 0 {
		return 0, err
	}
	s, err := segments.read(numbers[len(numbers)-1])
	if err != nil {
		return 0, err
	}
	for i := range s.len() {
		switch {
		case s.state(i) != sectorWhole:
		case i == 0:
			newest = headerNumber(s.sector(0))
		default:
			newest = max(newest, s.recordOf(i))
		}
	}
	return newest, nil
}

// segment reads the records of one segment.
func (r *replayed) segment(s *segmentReader, number uint64, isLast bool) error {
	r.at.segment, r.at.alone = number, false
	if err := s.checkHeader(r.at); err != nil {
		return err
	}
	r.last, r.end = s, 1
	for {
		changes, end, next, ok, err := s.record(r.at, r.end)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := r.changes.apply(changes); err != nil {
			return fmt.Errorf("%w (commit %d)", err, next.number)
		}
		r.at, r.end = next, end
	}
	r.bytes += int64(r.end) * sectorSize
	torn, err := s.checkTail(r.at, r.end)
	if (torn || errors.Is(err, ErrLastCommit)) && !isLast { // the next segment was made after the last record had reached the disk
		return fmt.Errorf("%w: commit %d in segment %d of its log is damaged, and there is a later segment", ErrDamaged, r.at.number+1, number)
	}
	r.torn = torn
	return err
}

// reopen continues the log where it ended. It clears the rest of a torn record.
func (r *replayed) reopen(g segmentFiles) (*log, error) {
	if r.last == nil {
		return nil, nil
	}
	file, err := g.folder.Open(g.name(r.last.number), false)
	if err != nil {
		return nil, err
	}
	l := &log{segments: g, file: file, at: r.at, next: uint64(r.end), room: int64(r.last.len()) * sectorSize}
	if r.torn {
		if err := l.clear(); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return l, nil
}

// clear writes zeros behind the last record.
func (l *log) clear() error {
	if err := writeZeros(l.file, int64(l.next)*sectorSize, l.room); err != nil {
		return err
	}
	return l.file.Sync()
}
