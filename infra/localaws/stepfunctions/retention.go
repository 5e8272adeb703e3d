package stepfunctions

import (
	"encoding/binary"
	"errors"
	"localaws/disk"
	"time"
)

// sweepEvery is the time between two sweeps of closed executions.
const sweepEvery = 24 * time.Hour

// sweepBatch is the number of executions that one write deletes.
const sweepBatch = 100

// sweep deletes executions that closed longer ago than nameRetention, and runs again a day later.
func (e *Engine) sweep() {
	for e.deleteOld() && !e.isStopping() {
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.halted {
		return
	}
	e.sweeper = time.AfterFunc(sweepEvery, func() {
		if e.hold() {
			defer e.release()
			e.sweep()
		}
	})
}

// deleteOld deletes one batch and reports whether there may be more.
func (e *Engine) deleteOld() bool {
	before := nanos(time.Now().Add(-nameRetention))
	var old []*executionRecord
	err := e.journal.store.View(func(tx *disk.Tx) error {
		old = nil
		c := bucket(tx, bucketExecutions).Cursor()
		for k, _ := c.First(); k != nil && len(old) < sweepBatch; k, _ = c.Next() {
			rec, err := readRecord(tx, binary.BigEndian.Uint64(k))
			switch {
			case err != nil:
				return err
			case rec.Start > before: // the rest started later still
				return nil
			case rec.Stop != 0 && rec.Stop < before:
				old = append(old, rec)
			}
		}
		return nil
	})
	if err == nil && len(old) > 0 {
		err = e.journal.store.Update(func(tx *disk.Tx) error {
			var errs []error
			for _, rec := range old {
				errs = append(errs, erase(tx, rec))
			}
			return errors.Join(errs...)
		})
	}
	if err != nil {
		e.log.Error("stepfunctions: old executions not forgotten", "error", err)
		return false
	}
	return len(old) == sweepBatch
}

// erase deletes all data of a closed execution.
func erase(tx *disk.Tx, rec *executionRecord) error {
	key := seqKey(rec.Seq)
	names := bucket(tx, bucketNames)
	name := machineKey(rec.Machine, []byte(rec.Name))
	errs := []error{
		deletePrefix(bucket(tx, bucketJournal), key),
		bucket(tx, bucketIndex).Delete(machineKey(rec.Machine, key)),
		bucket(tx, bucketExecutions).Delete(key),
	}
	if string(names.Get(name)) == string(key) { // not taken again since
		errs = append(errs, names.Delete(name))
	}
	return errors.Join(errs...)
}
