package stepfunctions

import (
	"context"
	"encoding/binary"
	"errors"
	"time"
)

// A thread is one place of control in an execution: the machine itself, a branch of a Parallel
// state or an item of a Map state. The journal holds everything of a thread that is needed to
// continue.
type thread struct {
	id     uint32 // the machine's own thread is rootThread
	parent uint32 // 0 for the root
	index  int    // of the branch or item in its parent

	state     string
	phase     phase
	input     *document // of the current state, before InputPath
	entered   time.Time
	enteredID uint64 // event of entering the state
	prev      uint64 // the last event of this thread

	retries    []int // how often each retrier of the state was used
	retryCount int

	payload  []byte        // of the scheduled task
	function string        // its ARN
	manner   Manner        // how it is called
	token    string        // of a task that waits for one
	beat     time.Duration // the task's heartbeat interval; 0 means none

	wake      time.Time // end of a wait, or time of the next retry
	timeout   time.Time // when the task times out; zero means never
	heartbeat time.Time // when its heartbeat is overdue

	item   []byte // $$.Map.Item.Value; nil outside of Map items
	output []byte // of a finished thread

	count int // children of a Map or Parallel state
	limit int // how many of them run at once

	// These are not in the journal. begun and done are counted from the children's own entries, so
	// that a finished item does not rewrite its parent's entry.
	x        *execution
	begun    int // how many children were started
	done     int // how many of them succeeded
	up       *thread
	scope    *scope
	children []*thread
	gen      uint64 // changes when the thread moves on; late signals carry an old one
	timer    *time.Timer
	cancel   context.CancelFunc // of the task under way
}

const rootThread = 1

// phase names the event that a thread waits for.
type phase byte

const (
	phaseReady     phase = iota // to enter its state
	phaseTask                   // for the result of the task
	phaseSubmitted              // for the task's token, after the task was handed over
	phaseWait                   // for wake, in a Wait state
	phaseRetry                  // for wake, to try its state again
	phaseChildren               // for its children
	phaseDone                   // for its siblings
)

// deadline returns the next time at which a timer must run.
func (th *thread) deadline() time.Time {
	switch th.phase {
	case phaseWait, phaseRetry:
		return th.wake
	case phaseTask, phaseSubmitted:
		if th.timeout.IsZero() || (!th.heartbeat.IsZero() && th.heartbeat.Before(th.timeout)) {
			return th.heartbeat
		}
		return th.timeout
	}
	return time.Time{}
}

// halt stops the call and the timers of the thread.
func (th *thread) halt() {
	th.gen++
	if th.timer != nil {
		th.timer.Stop()
		th.timer = nil
	}
	if th.cancel != nil {
		th.cancel()
		th.cancel = nil
	}
}

// threadVersion is the first byte of an encoded thread. Version 1 had no manner.
const threadVersion = 2

// encode writes the thread's journal entry.
func (th *thread) encode() []byte {
	b := make([]byte, 0, 128+len(th.payload)+len(th.output)+len(th.item))
	b = append(b, threadVersion, byte(th.phase))
	for _, n := range []uint64{
		uint64(th.id), uint64(th.parent), uint64(th.index), th.enteredID, th.prev, uint64(th.retryCount),
		uint64(th.count), uint64(th.limit), uint64(th.beat),
	} {
		b = binary.AppendUvarint(b, n)
	}
	for _, t := range []time.Time{th.entered, th.wake, th.timeout, th.heartbeat} {
		b = binary.AppendVarint(b, nanos(t))
	}
	b = binary.AppendUvarint(b, uint64(len(th.retries)))
	for _, n := range th.retries {
		b = binary.AppendUvarint(b, uint64(n))
	}
	var input []byte
	if th.input != nil {
		input = th.input.Text()
	}
	for _, field := range [][]byte{
		[]byte(th.state), []byte(th.function), []byte(th.token), input, th.payload, th.item, th.output,
		[]byte(th.manner.Type), []byte(th.manner.LogType), []byte(th.manner.ClientContext),
	} {
		b = appendBytes(b, field)
	}
	return b
}

// appendBytes writes a length, which tells nil from empty, and the bytes.
func appendBytes(b, field []byte) []byte {
	if field == nil {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(field))+1)
	return append(b, field...)
}

// nanos is the time as nanoseconds since 1970; 0 stands for no time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

var errCodec = errors.New("journal entry is damaged")

// scanner reads the format of encode; after the first error it returns zeros.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) uint() uint64 {
	n, size := binary.Uvarint(s.b)
	if size <= 0 {
		s.bad, s.b = true, nil
		return 0
	}
	s.b = s.b[size:]
	return n
}

func (s *scanner) time() time.Time {
	n, size := binary.Varint(s.b)
	if size <= 0 {
		s.bad, s.b = true, nil
		return time.Time{}
	}
	s.b = s.b[size:]
	return fromNanos(n)
}

// bytes returns a copy: the input is only valid during a transaction.
func (s *scanner) bytes() []byte {
	n := s.uint()
	if n == 0 {
		return nil
	}
	n--
	if n > uint64(len(s.b)) {
		s.bad, s.b = true, nil
		return nil
	}
	out := append([]byte{}, s.b[:n]...)
	s.b = s.b[n:]
	return out
}

func decodeThread(b []byte) (*thread, error) {
	if len(b) < 2 || b[0] == 0 || b[0] > threadVersion {
		return nil, errCodec
	}
	th := &thread{phase: phase(b[1])}
	s := &scanner{b: b[2:]}
	th.id, th.parent, th.index = uint32(s.uint()), uint32(s.uint()), int(s.uint())
	th.enteredID, th.prev, th.retryCount = s.uint(), s.uint(), int(s.uint())
	th.count, th.limit, th.beat = int(s.uint()), int(s.uint()), time.Duration(s.uint())
	th.entered, th.wake, th.timeout, th.heartbeat = s.time(), s.time(), s.time(), s.time()
	for n := s.uint(); n > 0 && !s.bad; n-- {
		th.retries = append(th.retries, int(s.uint()))
	}
	th.state, th.function, th.token = string(s.bytes()), string(s.bytes()), string(s.bytes())
	if input := s.bytes(); input != nil {
		th.input = textDocument(input)
	}
	th.payload, th.item, th.output = s.bytes(), s.bytes(), s.bytes()
	if b[0] > 1 {
		th.manner = Manner{string(s.bytes()), string(s.bytes()), string(s.bytes())}
	}
	if s.bad || len(s.b) != 0 {
		return nil, errCodec
	}
	return th, nil
}
