package stepfunctions

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"localaws/disk"
	"log/slog"
	"time"
)

// Buckets inside the engine's top-level bucket. Executions are numbered in the
// order they start; seq is that number, big-endian.
var (
	topBucket = []byte("stepfunctions")

	bucketMachines    = []byte("machines")    // name → machineRecord
	bucketDefinitions = []byte("definitions") // SHA-256 of the text → text
	bucketExecutions  = []byte("executions")  // seq → executionRecord
	bucketNames       = []byte("names")       // machine 0 name → seq
	bucketIndex       = []byte("index")       // machine 0 seq → nothing
	bucketOpen        = []byte("open")        // seq of each running execution
	bucketJournal     = []byte("journal")     // seq 't' thread → thread; seq 'e' first event → events
	bucketOutbox      = []byte("outbox")      // number → status change not yet delivered

	allBuckets = [][]byte{
		bucketMachines, bucketDefinitions, bucketExecutions, bucketNames, bucketIndex, bucketOpen,
		bucketJournal, bucketOutbox,
	}
)

// Kinds of journal keys.
const (
	keyEvents = 'e'
	keyThread = 't'
)

// executionRecord holds the data of an execution other than its history. Start and Stop are
// nanoseconds since 1970; Stop is 0 while it runs.
type executionRecord struct {
	Seq        uint64 `json:"seq"`
	ARN        string `json:"arn"`
	Name       string `json:"name"`
	Machine    string `json:"machine"`
	MachineARN string `json:"machineArn"`
	RoleARN    string `json:"roleArn"`
	Definition string `json:"definition"` // key in bucketDefinitions
	Revision   string `json:"revision,omitempty"`
	Trace      string `json:"trace,omitempty"`
	Input      string `json:"input"`
	Start      int64  `json:"start"`
	Stop       int64  `json:"stop,omitempty"`
	Status     string `json:"status"`
	Output     string `json:"output,omitempty"`
	Error      string `json:"error,omitempty"`
	Cause      string `json:"cause,omitempty"`
}

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func threadKey(seq uint64, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(seqKey(seq), keyThread), id)
}

func eventsKey(seq, first uint64) []byte {
	return binary.BigEndian.AppendUint64(append(seqKey(seq), keyEvents), first)
}

// machineKey returns the machine's name, a zero byte, and the rest.
func machineKey(machine string, rest []byte) []byte {
	return append(append([]byte(machine), 0), rest...)
}

func bucket(tx *disk.Tx, name []byte) *disk.Bucket { return tx.Bucket(topBucket).Bucket(name) }

func createBuckets(tx *disk.Tx) error {
	top, err := tx.CreateBucketIfNotExists(topBucket)
	if err != nil {
		return err
	}
	for _, name := range allBuckets {
		if _, err := top.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

// entry is an encoded transition. Writing it has an effect only through the transaction, so it can
// be written again.
type entry struct {
	seq     uint64
	first   uint64
	events  []byte
	threads map[uint32][]byte
	gone    []uint32
	over    bool
	record  []byte // the execution's record, when it changed
	changes []statusChange
}

// entry encodes the transition.
func (t *transition) entry() (*entry, error) {
	e := &entry{seq: t.x.seq, first: t.first, threads: make(map[uint32][]byte, len(t.dirty)), over: t.end != nil}
	if len(t.events) > 0 {
		e.events = encodeEvents(t.events)
	}
	if !e.over {
		for th := range t.dirty {
			e.threads[th.id] = th.encode()
		}
		for _, th := range t.gone {
			e.gone = append(e.gone, th.id)
		}
		return e, nil
	}
	rec := *t.x.record
	rec.Stop, rec.Status = nanos(t.now), t.end.status
	rec.Output, rec.Error, rec.Cause = string(t.end.output), t.end.err, t.end.cause
	var err error
	e.record, err = json.Marshal(&rec)
	e.changes = t.x.eng.outbox.changes(&rec)
	return e, err
}

// empty reports whether there is nothing to write.
func (e *entry) empty() bool {
	return e.events == nil && len(e.threads) == 0 && len(e.gone) == 0
}

// write puts the entry into the journal.
func (e *entry) write(tx *disk.Tx) error {
	journal := bucket(tx, bucketJournal)
	if e.events != nil {
		if err := journal.Put(eventsKey(e.seq, e.first), e.events); err != nil {
			return err
		}
	}
	for id, b := range e.threads {
		if err := journal.Put(threadKey(e.seq, id), b); err != nil {
			return err
		}
	}
	for _, id := range e.gone {
		if _, kept := e.threads[id]; kept {
			continue
		}
		if err := journal.Delete(threadKey(e.seq, id)); err != nil {
			return err
		}
	}
	if e.over {
		if err := e.writeEnd(tx, journal); err != nil {
			return err
		}
	}
	return putChanges(tx, e.changes)
}

// writeEnd records the outcome and deletes the threads.
func (e *entry) writeEnd(tx *disk.Tx, journal *disk.Bucket) error {
	if err := deletePrefix(journal, append(seqKey(e.seq), keyThread)); err != nil {
		return err
	}
	if err := bucket(tx, bucketExecutions).Put(seqKey(e.seq), e.record); err != nil {
		return err
	}
	return bucket(tx, bucketOpen).Delete(seqKey(e.seq))
}

func deletePrefix(b *disk.Bucket, prefix []byte) error {
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); hasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, append([]byte(nil), k...))
	}
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// hasPrefix is false for the nil key that ends a cursor.
func hasPrefix(k, prefix []byte) bool {
	return k != nil && len(k) >= len(prefix) && string(k[:len(prefix)]) == string(prefix)
}

// encodeEvents encodes the events of one transition.
func encodeEvents(events [][]byte) []byte {
	size := binary.MaxVarintLen64
	for _, ev := range events {
		size += binary.MaxVarintLen64 + len(ev)
	}
	b := binary.AppendUvarint(make([]byte, 0, size), uint64(len(events)))
	for _, ev := range events {
		b = binary.AppendUvarint(b, uint64(len(ev)))
		b = append(b, ev...)
	}
	return b
}

// decodeEvents is the inverse of encodeEvents; the results point into b.
func decodeEvents(b []byte) ([][]byte, error) {
	s := &scanner{b: b}
	n := s.uint()
	var out [][]byte
	for ; n > 0 && !s.bad; n-- {
		size := s.uint()
		if size > uint64(len(s.b)) {
			return nil, errCodec
		}
		out = append(out, s.b[:size])
		s.b = s.b[size:]
	}
	if s.bad {
		return nil, errCodec
	}
	return out, nil
}

func readRecord(tx *disk.Tx, seq uint64) (*executionRecord, error) {
	b := bucket(tx, bucketExecutions).Get(seqKey(seq))
	if b == nil {
		return nil, nil
	}
	rec := &executionRecord{}
	if err := json.Unmarshal(b, rec); err != nil {
		return nil, fmt.Errorf("%w: execution %d: %w", errCodec, seq, err)
	}
	return rec, nil
}

// A journal writes and reads the store of an engine.
type journal struct {
	store     *disk.Store
	log       *slog.Logger
	ctx       context.Context // ends when the engine stops
	committed func()          // for tests: runs after every journal write
	async     bool            // writes without a reply do not wait for the disk
}

// write makes a write without a reply before a later write.
func (j *journal) write(fn func(*disk.Tx) error) error {
	if j.async {
		return j.store.UpdateAsync(fn)
	}
	return j.store.Update(fn)
}

// read reads all transitions so far, for an answer. On a disk that takes no writes it reads the durable ones.
func (j *journal) read(fn func(*disk.Tx) error) error {
	if err := j.settle(); err != nil && !errors.Is(err, disk.ErrUnwritable) {
		return err
	}
	return j.store.View(fn)
}

// settle returns when all transitions so far are on disk.
func (j *journal) settle() error {
	if !j.async {
		return nil
	}
	return j.store.Flush()
}

// retry writes with a write of the store. After a failure of the store it retries with growing delays,
// until the engine stops or the store is closed. refused is called with every failure.
func (j *journal) retry(write func(func(*disk.Tx) error) error, fn func(*disk.Tx) error, refused func(error)) error {
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, 5*time.Second) {
		err := write(fn)
		if err == nil {
			j.committed()
			return nil
		}
		if errors.Is(err, disk.ErrClosed) || j.ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, disk.ErrUnwritable) { // the store logs these itself
			j.log.Error("stepfunctions: journal write failed, trying again", "error", err, "in", delay)
		}
		refused(err)
		wait := time.NewTimer(delay)
		select {
		case <-wait.C:
		case <-j.ctx.Done():
			wait.Stop()
			return err
		}
	}
}

// load reads an open execution from the journal.
func (e *Engine) load(tx *disk.Tx, seq uint64) (*execution, error) {
	rec, err := readRecord(tx, seq)
	if err != nil || rec == nil {
		return nil, fmt.Errorf("execution %d: %w", seq, damageError(err))
	}
	def, err := e.machines.definition(tx, rec.Definition)
	if err != nil {
		return nil, err
	}
	x := newExecution(e, rec, def)
	c := bucket(tx, bucketJournal).Cursor()
	prefix := seqKey(seq)
	for k, v := c.Seek(prefix); hasPrefix(k, prefix); k, v = c.Next() {
		if k[8] == keyEvents {
			s := &scanner{b: v}
			x.lastEvent = binary.BigEndian.Uint64(k[9:]) + s.uint() - 1
			continue
		}
		th, err := decodeThread(v)
		if err != nil {
			return nil, fmt.Errorf("execution %d: %w", seq, err)
		}
		th.x, x.threads[th.id] = x, th
		x.lastThread = max(x.lastThread, th.id)
	}
	return x, x.link()
}

func damageError(err error) error {
	if err == nil {
		return errCodec
	}
	return err
}

// link joins threads to their parents and scopes.
func (x *execution) link() error {
	for id := uint32(rootThread); id <= x.lastThread; id++ { // parents come before children
		th := x.threads[id]
		if th == nil {
			continue
		}
		if id == rootThread {
			th.scope = x.def.root
		} else {
			up := x.threads[th.parent]
			if up == nil || up.scope == nil || up.scope.states[up.state] == nil {
				return fmt.Errorf("execution %d, thread %d: %w", x.seq, id, errCodec)
			}
			th.up = up
			switch st := up.scope.states[up.state]; st.kind {
			case typeMap:
				th.scope = st.mapping.processor
			case typeParallel:
				th.scope = st.branches[th.index]
			}
			up.children = append(up.children, th)
			up.begun++
			if th.phase == phaseDone {
				up.done++
			}
		}
		if th.scope == nil || th.scope.states[th.state] == nil {
			return fmt.Errorf("execution %d, thread %d: %w", x.seq, id, errCodec)
		}
	}
	return nil
}
