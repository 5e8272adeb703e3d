package dynamodb

import (
	"bytes"
	"encoding/binary"
	"localaws/disk"
	"slices"
	"strconv"
	"time"
)

// reapAtOnce bounds the number of expired items that one write removes.
const reapAtOnce = 25

// tooOld is the greatest age of an expiry time that is taken for one.
const tooOld = 5 * 365 * 24 * time.Hour

// expiry reads the TTL attribute: whole seconds since 1970, as a number.
func (t *table) expiry(it item) (int64, bool) {
	v, ok := it[t.TTL]
	if !ok || t.TTL == "" || v.kind != kindN {
		return 0, false
	}
	seconds, err := strconv.ParseInt(v.s, 10, 64)
	return seconds, err == nil && seconds > 0
}

func (t *table) isExpired(it item, now time.Time) bool {
	seconds, ok := t.expiry(it)
	return ok && seconds < now.Unix() && seconds > now.Add(-tooOld).Unix()
}

// expiryKey orders by time of expiry; nil when the item does not expire.
func (t *table) expiryKey(key []byte, it item) []byte {
	seconds, ok := t.expiry(it)
	if !ok {
		return nil
	}
	return append(binary.BigEndian.AppendUint64(nil, uint64(seconds)), key...)
}

func (t *table) writeExpiry(tx *disk.Tx, key []byte, old, next item) error {
	was, is := t.expiryKey(key, old), t.expiryKey(key, next)
	if bytes.Equal(was, is) {
		return nil
	}
	b := tx.Bucket(t.expiryBucket())
	if was != nil {
		if err := b.Delete(was); err != nil {
			return err
		}
	}
	if is == nil {
		return nil
	}
	return b.Put(is, []byte{})
}

// reapSome removes a few expired items in a transaction that writes to the table anyway; spared are
// the keys that the transaction has just written.
func (e *Engine) reapSome(tx *disk.Tx, t *table, spared ...[]byte) error {
	if t.TTL == "" {
		return nil
	}
	now := e.now()
	from := binary.BigEndian.AppendUint64(nil, uint64(now.Add(-tooOld).Unix()+1))
	to := binary.BigEndian.AppendUint64(nil, uint64(now.Unix()))
	var keys [][]byte
	c := tx.Bucket(t.expiryBucket()).Cursor()
	for k, _ := c.Seek(from); k != nil && bytes.Compare(k, to) < 0 && len(keys) < reapAtOnce; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k[8:]))
	}
	for _, key := range keys {
		if slices.ContainsFunc(spared, func(k []byte) bool { return bytes.Equal(k, key) }) {
			continue
		}
		if err := e.reapOne(tx, t, key); err != nil {
			return err
		}
	}
	return nil
}

// reapOne removes an item if it still exists and is still expired.
func (e *Engine) reapOne(tx *disk.Tx, t *table, key []byte) error {
	it, err := t.load(tx, key)
	if err != nil || !t.isExpired(it, e.now()) {
		return err
	}
	return t.write(tx, key, it, nil)
}

// reap removes expired items that a read found.
func (e *Engine) reap(t *table, keys [][]byte) error {
	if len(keys) == 0 {
		return nil
	}
	return e.store.Update(func(tx *disk.Tx) error {
		for _, key := range keys {
			if err := e.reapOne(tx, t, key); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) updateTimeToLive(r request) ([]byte, error) {
	name := r.table()
	spec, given := r.object("TimeToLiveSpecification")
	if !given {
		r.reportMissing("TimeToLiveSpecification")
	}
	attribute := ""
	if given {
		attribute = spec.keyName("AttributeName")
	}
	enabled, enabledGiven := spec.boolean("Enabled")
	if given && !enabledGiven {
		spec.reportMissing("Enabled")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	e.ddl.Lock()
	defer e.ddl.Unlock()
	t, ok := e.tables[name]
	if !ok {
		return nil, tableNotFound(name)
	}
	switch {
	case enabled && t.TTL == attribute:
		return nil, invalid("TimeToLive is already enabled")
	case enabled && t.TTL != "":
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.TTL)
	case !enabled && t.TTL == "":
		return nil, invalid("TimeToLive is already disabled")
	case !enabled && t.TTL != attribute:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.TTL)
	}
	next := t.clone()
	next.TTL = ""
	if enabled {
		next.TTL = attribute
	}
	if err := e.define(name, next, func(tx *disk.Tx) error {
		if !enabled {
			if err := tx.DeleteBucket(t.expiryBucket()); err != nil {
				return err
			}
			return next.save(tx)
		}
		if _, err := tx.CreateBucket(next.expiryBucket()); err != nil {
			return err
		}
		if err := next.save(tx); err != nil {
			return err
		}
		return next.forEach(tx, func(key []byte, it item) error { return next.writeExpiry(tx, key, nil, it) })
	}); err != nil {
		return nil, err
	}
	dst := append([]byte(nil), `{"TimeToLiveSpecification":{"Enabled":`...)
	dst = strconv.AppendBool(dst, enabled)
	dst = append(dst, `,"AttributeName":`...)
	dst = appendString(dst, attribute)
	return append(dst, "}}"...), nil
}

// forEach visits every item of the table.
func (t *table) forEach(tx *disk.Tx, f func(key []byte, it item) error) error {
	return tx.Bucket(t.bucket()).ForEach(func(key, stored []byte) error {
		it, err := decodeItem(stored)
		if err != nil {
			return err
		}
		return f(key, it)
	})
}

func (e *Engine) describeTimeToLive(r request) ([]byte, error) {
	name := r.table()
	if err := r.err(); err != nil {
		return nil, err
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	t, ok := e.tables[name]
	if !ok {
		return nil, tableNotFound(name)
	}
	if t.TTL == "" {
		return []byte(`{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`), nil
	}
	dst := append([]byte(nil), `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":`...)
	dst = appendString(dst, t.TTL)
	return append(dst, "}}"...), nil
}
