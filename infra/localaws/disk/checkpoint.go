package disk

import (
	"errors"
	"fmt"
	"localaws/moment"
	"runtime/debug"
	"time"
)

// retryCheckpoint is the pause after a checkpoint that the disk refused.
const retryCheckpoint = time.Second

// size returns the bytes of the log that are not in the file; the caller holds mu.
func (w *writer) size() int64 {
	if w.log == nil {
		return w.logged
	}
	return w.logged + w.log.used()
}

// awaitRoom returns when the log may grow. While it is at its bound, writers wait for the checkpoint,
// or get the error that keeps it from ending.
func (s *Store) awaitRoom() error {
	for !s.isClosed() { // Close writes the work under way
		s.w.mu.Lock()
		full, running := s.w.size() >= s.bounds.most, s.w.done != nil
		s.w.mu.Unlock()
		if !full {
			return nil
		}
		if !running {
			s.freezeWhenLarge()
		}
		if err := s.awaitCheckpoint(); err != nil {
			return err
		}
	}
	return nil
}

// awaitCheckpoint returns when no checkpoint runs, or with the error that keeps it from ending. The
// caller leads.
func (s *Store) awaitCheckpoint() error {
	for {
		s.w.mu.Lock()
		done := s.w.done
		s.w.mu.Unlock()
		if err := s.Unwritable(); err != nil && !s.isClosed() {
			return err
		}
		if done == nil {
			return s.brokenErr()
		}
		select {
		case <-done:
		case <-s.failed:
			return s.brokenErr()
		case <-time.After(retryCheckpoint): // asks again whether the disk refuses it
		}
	}
}

// beginLog makes the first segment, with room for the unsynced writes; the caller holds w.mu and leads.
// The file names the segment before anything is in it, so a log that gets lost is noticed.
func (s *Store) beginLog() error {
	p := s.w.at
	p.alone = false
	l, err := s.segments.create(p, len(s.w.ops.b))
	if err != nil {
		return s.refuse(err)
	}
	if err := s.writeBase(p); err != nil {
		if errors.Is(err, ErrUnwritable) { // else the file may name the segment
			err = errors.Join(err, l.discard())
		}
		return err
	}
	s.w.log, s.w.at, s.w.logged = l, p, 0
	return nil
}

// writeBase commits layers and a position to the file.
func (s *Store) writeBase(p position, layers ...*layer) (err error) {
	defer func() {
		if found := recover(); found != nil { // bbolt's write lock then stays taken
			err = damageError(s.path, found)
			s.fail(err)
			s.stuck.Store(true)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := s.brokenErr(); err != nil {
		return err
	}
	both, err := rootsOf(s.path)
	if err != nil {
		return err
	}
	if s.hooks.beforeCommit != nil {
		s.hooks.beforeCommit()
	}
	if err := commitLayers(s.db, p, layers...); err != nil {
		return s.commitError(both.newest(), err)
	}
	if s.hooks.afterCommit != nil {
		s.hooks.afterCommit()
	}
	return nil
}

// freezeWhenLarge begins a checkpoint when the log has grown enough and none runs; the caller leads.
func (s *Store) freezeWhenLarge() {
	s.w.mu.Lock()
	due := s.w.log != nil && s.w.frozen == nil && s.w.size() >= s.bounds.checkpoint
	s.w.mu.Unlock()
	if !due || s.brokenErr() != nil {
		return
	}
	p, err := s.freeze()
	if err != nil {
		_ = s.refuse(err) // the log grows meanwhile
		return
	}
	frozen := s.w.frozen
	if s.hooks.inline {
		s.checkpoint(p, frozen)
		return
	}
	go s.checkpoint(p, frozen)
}

// freeze puts the synced writes aside for a checkpoint, and continues with an empty layer and a new
// segment. It returns the position between both. The caller leads.
func (s *Store) freeze() (p position, err error) {
	w := &s.w
	p = w.log.at
	p.segment++
	next, err := s.segments.create(p, 0)
	if err != nil {
		return p, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	later := newLayer() // writes that were ordered since the last sync
	err = next.reserve(len(w.ops.b))
	if err == nil {
		err = later.apply(w.ops.b)
	}
	if err != nil {
		return p, errors.Join(err, next.discard())
	}
	w.logged = w.size()
	_ = w.log.file.Close()
	w.log, w.at = next, p
	w.frozen, w.synced, w.work = w.synced, newLayer(), later
	w.work.undo = &w.undone
	w.freezes++
	w.done = make(chan struct{})
	w.publish(s)
	return p, nil
}

// checkpoint writes the frozen layer to the file, and removes the segments that are in it. It tries
// again while the disk refuses it, until the store is closed.
func (s *Store) checkpoint(p position, frozen *layer) {
	err := s.writeCheckpoint(p, frozen)
	for errors.Is(err, ErrUnwritable) && !s.isClosed() {
		time.Sleep(retryCheckpoint)
		err = s.writeCheckpoint(p, frozen)
	}
	if err == nil {
		s.segments.removeOlder(p)
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if err == nil { // else the layer stays, and Close tries once more
		s.w.frozen, s.w.logged = nil, 0
		s.w.publish(s)
	}
	close(s.w.done)
	s.w.done = nil
}

// writeCheckpoint commits twice, so that both root pages of the file lead to all of the layer: one of
// them that gets damaged later loses nothing.
func (s *Store) writeCheckpoint(p position, layers ...*layer) error {
	moment.Here("disk.checkpoint.before")
	if err := s.writeBase(p, layers...); err != nil {
		return err
	}
	moment.Here("disk.checkpoint.after")
	return s.writeBase(p)
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// removeOlder removes the segments before a position.
func (g segmentFiles) removeOlder(p position) {
	numbers, err := g.numbers()
	if err != nil {
		return // the next Open removes them
	}
	var old []uint64
	for _, n := range numbers {
		if n < p.segment {
			old = append(old, n)
		}
	}
	g.remove(old)
}

func (g segmentFiles) remove(numbers []uint64) {
	for _, n := range numbers {
		moment.Here("disk.segment.remove.before")
		_ = g.folder.Remove(g.name(n)) // the next Open removes the rest
		moment.Here("disk.segment.remove.after")
	}
}

// endLog writes everything to the file, which is alone then. The caller leads. It is also the way of a
// group that is too large for the log.
func (s *Store) endLog() error {
	if err := s.awaitCheckpoint(); err != nil {
		return err
	}
	w := &s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.log == nil && len(w.ops.b) == 0 {
		return nil
	}
	p := w.at
	if len(w.ops.b) > 0 {
		p = p.after(w.ops.b)
	}
	p.segment++
	p.alone = true
	if err := s.writeCheckpoint(p, w.frozen, w.work); err != nil {
		return fmt.Errorf("write to the file: %w", err)
	}
	if w.log != nil {
		_ = w.log.file.Close()
	}
	w.log, w.at, w.logged, w.ops, w.undone = nil, p, 0, ops{}, nil
	w.frozen, w.work, w.synced = nil, newLayer(), newLayer()
	w.work.undo = &w.undone
	w.freezes++
	w.publish(s)
	s.segments.removeOlder(p)
	return nil
}

// finish ends the log for Close. No other call can join after it.
func (s *Store) finish() {
	c := &call{last: true, wake: make(chan struct{}, 1)}
	s.w.mu.Lock()
	s.w.ended = true
	used := s.w.log != nil
	s.w.mu.Unlock()
	s.mu.Lock()
	if !used && !s.leading || s.broken != nil {
		s.mu.Unlock()
		return
	}
	s.join(c)
}
