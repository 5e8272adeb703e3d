package stepfunctions

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"localaws/disk"
	"localaws/moment"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An Event is a status change of an execution in the shape of EventBridge's
// "Step Functions Execution Status Change".
type Event struct {
	Version    string      `json:"version"`
	ID         string      `json:"id"`
	DetailType string      `json:"detail-type"`
	Source     string      `json:"source"`
	Account    string      `json:"account"`
	Time       string      `json:"time"` // RFC 3339, seconds
	Region     string      `json:"region"`
	Resources  []string    `json:"resources"`
	Detail     EventDetail `json:"detail"`
}

// EventDetail holds the details of a status change. Dates are milliseconds since 1970.
type EventDetail struct {
	ExecutionARN    string  `json:"executionArn"`
	StateMachineARN string  `json:"stateMachineArn"`
	Name            string  `json:"name"`
	Status          string  `json:"status"`
	StartDate       int64   `json:"startDate"`
	StopDate        *int64  `json:"stopDate"`
	Input           string  `json:"input"`
	InputDetails    Present `json:"inputDetails"`
	Output          *string `json:"output"`
	OutputDetails   Present `json:"outputDetails"`
	Error           *string `json:"error"`
	Cause           *string `json:"cause"`
}

// Present reports that a payload is in the event and not only referred to.
type Present struct {
	Included bool `json:"included"`
}

// An outbox delivers status changes. A change is written in the same transaction as its transition,
// and deleted some time after its delivery. So no change is lost, and some are delivered twice.
type outbox struct {
	eng    *Engine
	handle func(context.Context, Event) error
	last   atomic.Uint64

	mu      sync.Mutex
	queue   []statusChange
	active  map[string]bool // executions of which a change is being delivered
	begun   bool
	done    []uint64 // delivered, still stored
	cleaner *time.Timer
}

type statusChange struct {
	number uint64
	event  Event
	tries  int
}

const (
	// deliverers is the largest number of concurrent deliveries.
	deliverers = 8
	// cleanAfter is the longest time that a delivered change stays stored.
	cleanAfter = time.Second
)

// changes returns the status change of a record; none without a handler.
func (o *outbox) changes(rec *executionRecord) []statusChange {
	if o.handle == nil {
		return nil
	}
	d := EventDetail{
		ExecutionARN: rec.ARN, StateMachineARN: rec.MachineARN, Name: rec.Name, Status: rec.Status,
		StartDate: rec.Start / int64(time.Millisecond), Input: rec.Input, InputDetails: Present{true},
	}
	at := rec.Start
	if rec.Stop != 0 {
		at = rec.Stop
		stop := rec.Stop / int64(time.Millisecond)
		d.StopDate = &stop
	}
	if rec.Status == statusSucceeded {
		d.Output, d.OutputDetails = &rec.Output, Present{true}
	}
	if rec.Error != "" {
		d.Error = &rec.Error
	}
	if rec.Cause != "" {
		d.Cause = &rec.Cause
	}
	return []statusChange{{number: o.last.Add(1), event: Event{
		Version: "0", ID: newUUID(), DetailType: "Step Functions Execution Status Change", Source: "aws.states",
		Account: o.eng.account.id, Time: fromNanos(at).UTC().Format(time.RFC3339), Region: o.eng.account.region,
		Resources: []string{rec.ARN}, Detail: d,
	}}}
}

// putChanges stores changes in the transaction of their transition.
func putChanges(tx *disk.Tx, changes []statusChange) error {
	for _, c := range changes {
		b, err := json.Marshal(c.event)
		if err != nil {
			return err
		}
		if err := bucket(tx, bucketOutbox).Put(seqKey(c.number), b); err != nil {
			return err
		}
	}
	return nil
}

// restore reads the changes that were not delivered.
func (o *outbox) restore(tx *disk.Tx) error {
	return bucket(tx, bucketOutbox).ForEach(func(k, v []byte) error {
		c := statusChange{number: binary.BigEndian.Uint64(k)}
		if err := json.Unmarshal(v, &c.event); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		o.last.Store(c.number)
		if o.handle != nil {
			o.queue = append(o.queue, c)
		}
		return nil
	})
}

// start begins delivering; changes wait until then.
func (o *outbox) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun = true
	o.next()
}

// deliver queues changes that are stored.
func (o *outbox) deliver(changes []statusChange) {
	if len(changes) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, changes...)
	o.next()
}

// next starts deliveries while there is room, those of one execution one after
// the other; the caller holds mu.
func (o *outbox) next() {
	for i := 0; i < len(o.queue) && o.begun && len(o.active) < deliverers; {
		c := o.queue[i]
		if o.active[c.event.Detail.ExecutionARN] {
			i++
			continue
		}
		if !o.eng.hold() {
			return
		}
		o.queue = slices.Delete(o.queue, i, i+1)
		o.active[c.event.Detail.ExecutionARN] = true
		go o.notify(c)
	}
}

func (o *outbox) notify(c statusChange) {
	defer o.eng.release()
	err := o.call(c.event)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.active, c.event.Detail.ExecutionARN)
	if err == nil {
		o.done = append(o.done, c.number)
		if o.cleaner == nil {
			o.cleaner = time.AfterFunc(cleanAfter, o.clean)
		}
	} else if !o.eng.isStopping() {
		o.eng.log.Warn("stepfunctions: status change not delivered", "execution", c.event.Detail.ExecutionARN, "error", err)
		delay := min(time.Second<<min(c.tries, 6), time.Minute)
		c.tries++
		time.AfterFunc(delay, func() { o.deliver([]statusChange{c}) })
	}
	o.next()
}

func (o *outbox) call(ev Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	moment.Here("states.StatusChange.before")
	err = o.handle(o.eng.ctx, ev)
	moment.Here("states.StatusChange.after")
	return err
}

// clean deletes the delivered changes.
func (o *outbox) clean() {
	if !o.eng.hold() {
		return
	}
	defer o.eng.release()
	if err := o.erase(); err != nil {
		o.eng.log.Warn("stepfunctions: outbox not cleaned", "error", err)
	}
}

func (o *outbox) erase() error {
	o.mu.Lock()
	done := o.done
	o.done, o.cleaner = nil, nil
	o.mu.Unlock()
	if len(done) == 0 {
		return nil
	}
	err := o.eng.journal.write(func(tx *disk.Tx) error {
		for _, n := range done {
			if err := bucket(tx, bucketOutbox).Delete(seqKey(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // retried with the next ones
		o.mu.Lock()
		o.done = append(o.done, done...)
		o.mu.Unlock()
	}
	return err
}

// close deletes the delivered changes; no delivery may be under way.
func (o *outbox) close() error {
	o.mu.Lock()
	if o.cleaner != nil {
		o.cleaner.Stop()
	}
	o.mu.Unlock()
	return o.erase()
}
