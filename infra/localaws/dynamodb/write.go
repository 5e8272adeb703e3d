package dynamodb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"localaws/disk"
)

// load reads an item; nil when there is none.
func (t *table) load(tx *disk.Tx, key []byte) (item, error) {
	b := tx.Bucket(t.bucket())
	if b == nil {
		return nil, fmt.Errorf("table %s has no items bucket", t.Name)
	}
	stored := b.Get(key)
	if stored == nil {
		return nil, nil
	}
	return decodeItem(stored)
}

// write replaces old by next (either may be nil) under the key, and updates the index entries and
// the expiry.
func (t *table) write(tx *disk.Tx, key []byte, old, next item) error {
	b := tx.Bucket(t.bucket())
	if next == nil {
		if old == nil {
			return nil
		}
		if err := b.Delete(key); err != nil {
			return err
		}
	} else if err := b.Put(key, encodeItem(next)); err != nil {
		return err
	}
	for i := range t.Indexes {
		if err := t.writeEntry(tx, &t.Indexes[i], key, old, next); err != nil {
			return err
		}
	}
	if t.TTL == "" {
		return nil
	}
	return t.writeExpiry(tx, key, old, next)
}

// entryKey returns the stored key of an item's entry in an index, nil when it has none. The entry's
// value is the offset of the item's own key in it.
func (x *index) entryKey(key []byte, it item) (entry, offset []byte) {
	if !x.indexes(it) {
		return nil, nil
	}
	entry = x.Key.storedKey(it)
	offset = binary.BigEndian.AppendUint16(nil, uint16(len(entry)))
	return append(entry, key...), offset
}

func (t *table) writeEntry(tx *disk.Tx, x *index, key []byte, old, next item) error {
	was, _ := x.entryKey(key, old)
	is, offset := x.entryKey(key, next)
	if bytes.Equal(was, is) {
		return nil
	}
	b := tx.Bucket(t.indexBucket(*x))
	if was != nil {
		if err := b.Delete(was); err != nil {
			return err
		}
	}
	if is == nil {
		return nil
	}
	return b.Put(is, offset)
}

// mutation is one Put, Update, Delete or ConditionCheck that is not yet checked against a table.
type mutation struct {
	action    string
	table     string
	item      item // of a Put
	key       item // of the others
	condition *condition
	update    *update
	showOld   bool // return the item when the condition fails
	payload   int  // in a transaction, bytes of the item or key and of the received values
}

const (
	actionPut    = "Put"
	actionUpdate = "Update"
	actionDelete = "Delete"
	actionCheck  = "ConditionCheck"
)

// readMutation reads the common part of the actions and of the single operations. In a transaction
// it accepts names and values without any expression, as the service does.
func readMutation(action string, r request, inTransaction bool) (mutation, error) {
	m := mutation{action: action, table: r.table()}
	member := "Key"
	if action == actionPut {
		member = "Item"
	}
	body, err := r.item(member)
	if err != nil {
		return m, err
	}
	m.showOld = r.oneOf("ReturnValuesOnConditionCheckFailure", "ALL_OLD", "NONE") == "ALL_OLD"
	if action == actionCheck && !r.has("ConditionExpression") {
		r.reportMissing("ConditionExpression")
	}
	if action == actionUpdate && inTransaction && !r.has("UpdateExpression") {
		r.reportMissing("UpdateExpression")
	}
	if err := r.err(); err != nil {
		return m, err
	}
	if action == actionPut {
		m.item = body
		if err := checkItem(body, "Item size has exceeded the maximum allowed size"); err != nil {
			return m, err
		}
	} else {
		m.key = body
	}
	if inTransaction {
		m.payload = itemSize(body)
	}
	return m, m.readExpressions(r, inTransaction)
}

func (m *mutation) readExpressions(r request, inTransaction bool) error {
	expressions := []string{"ConditionExpression"}
	if m.action == actionUpdate {
		expressions = []string{"UpdateExpression", "ConditionExpression"}
	}
	read := scopeOf
	if inTransaction {
		read = readScope
	}
	s, err := read(r)
	if err != nil {
		return err
	}
	if inTransaction {
		m.payload += itemSize(s.values)
	} else {
		if err := r.refuseMixed(expressions, "AttributeUpdates", "Expected", "ConditionalOperator"); err != nil {
			return err
		}
		if err := s.requireExpressions(r, expressions...); err != nil {
			return err
		}
	}
	if m.action == actionUpdate && r.has("UpdateExpression") {
		text, err := r.expression("UpdateExpression")
		if err != nil {
			return err
		}
		if m.update, err = parseUpdate(text, s); err != nil {
			return err
		}
	}
	if r.has("ConditionExpression") {
		if m.condition, err = readCondition(r, "ConditionExpression", s); err != nil {
			return err
		}
	}
	if r.has("UpdateExpression") || r.has("ConditionExpression") {
		return s.requireUsed()
	}
	if inTransaction {
		return nil
	}
	if m.action == actionUpdate {
		if m.update, err = r.attributeUpdates(); err != nil {
			return err
		}
	}
	m.condition, err = r.readExpected()
	return err
}

// checkEmptyKeys refuses empty key values, the only fault of keys that a transaction reports for
// the whole request.
func (m mutation) checkEmptyKeys(t *table) error {
	if m.action == actionPut {
		if err := t.Key.checkEmpty(m.item); err != nil {
			return err
		}
		return t.checkEmptyIndexKeys(m.item)
	}
	if err := t.Key.checkEmpty(m.key); err != nil || m.update == nil || len(t.Indexes) == 0 {
		return err
	}
	return t.checkSetEmpty(m.update.constants())
}

// bind checks the mutation against the table and returns its stored key.
func (m mutation) bind(t *table) ([]byte, error) {
	if m.action == actionPut {
		if err := t.Key.checkStored(m.item); err != nil {
			return nil, err
		}
		if err := t.checkIndexKeys(m.item); err != nil {
			return nil, err
		}
	} else if err := t.Key.checkKey(m.key); err != nil {
		return nil, err
	}
	if m.update != nil {
		for _, a := range m.update.actions {
			if t.Key.has(a.path[0].name) {
				return nil, invalidValue("Cannot update attribute %s. This attribute is part of the key", a.path[0].name)
			}
		}
		if err := t.checkScalarKeys(m.update.nested); err != nil {
			return nil, err
		}
		if err := t.checkConstants(m.update); err != nil {
			return nil, err
		}
	}
	if m.condition != nil {
		if err := t.checkScalarKeys(m.condition.nested); err != nil {
			return nil, err
		}
	}
	if m.action == actionPut {
		return t.Key.storedKey(m.item), nil
	}
	return t.Key.storedKey(m.key), nil
}

// attempt checks the condition and computes the item after the mutation. It writes nothing.
func (m mutation) attempt(tx *disk.Tx, t *table, key []byte) (old, next item, err error) {
	if old, err = t.load(tx, key); err != nil {
		return nil, nil, err
	}
	if m.condition != nil && !m.condition.holds(old) {
		if m.showOld {
			return old, nil, conditionError(old)
		}
		return old, nil, conditionError(nil)
	}
	switch m.action {
	case actionPut:
		return old, m.item, nil
	case actionDelete:
		return old, nil, nil
	case actionCheck:
		return old, old, nil
	}
	next, err = m.itemAfter(t, old)
	return old, next, err
}

func (m mutation) itemAfter(t *table, old item) (item, error) {
	start := old
	if old == nil {
		if m.update != nil && m.update.onlyRemoves() {
			return nil, m.checkRemoves()
		}
		start = m.key
	}
	if m.update == nil {
		return start, nil
	}
	next, err := m.update.apply(start)
	if err != nil && m.update.legacy {
		err = legacyError(err)
	}
	if err != nil {
		return nil, err
	}
	if err := t.checkUpdatedKeys(next); err != nil {
		return nil, err
	}
	return next, checkItem(next, "Item size to update has exceeded the maximum allowed size")
}

// checkRemoves returns the error of a removal on a missing item, which it does not create.
func (m mutation) checkRemoves() error {
	_, err := m.update.apply(m.key)
	return err
}
