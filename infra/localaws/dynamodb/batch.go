package dynamodb

import (
	"errors"
	"fmt"
	"localaws/disk"
	"slices"
)

const (
	maxBatchGet    = 100
	maxBatchWrite  = 25
	maxBatchAnswer = 16 << 20
	duplicateKeys  = "Provided list of item keys contains duplicates"
)

// requestItems reads the map by table that both batch operations take.
func requestItems(r request, operation string) ([]field, error) {
	n := r.node.get("RequestItems")
	switch {
	case n == nil:
		r.reportMissing("RequestItems")
		return nil, r.err()
	case n.kind != jsonObject:
		return nil, unreadable("Unexpected field type")
	case len(n.fields) == 0:
		if operation == "BatchGetItem" { // as of 2026; BatchWriteItem still has the older text
			return nil, invalid("1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1")
		}
		return nil, invalid("The requestItems parameter is required for %s", operation)
	}
	for _, f := range n.fields {
		if !validName(f.name) || len(f.name) > 255 {
			return nil, invalid("1 validation error detected: Value '%s' at 'requestItems' failed to satisfy constraint: "+
				"Map keys must satisfy constraint: [Member must have length less than or equal to 255, "+
				"Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: %s]", f.name, namePattern)
		}
	}
	return n.fields, r.err()
}

// batchKeys is one table's part of a BatchGetItem.
type batchKeys struct {
	table      string
	keys       []item
	source     *node // as received, for the unprocessed keys
	paths      []path
	consistent bool
	stored     [][]byte

	found []item // as projected
	done  int    // keys that were read
	used  usage
}

// batchFound is the answer to BatchGetItem.
type batchFound struct {
	parts    []batchKeys
	capacity capacity
}

func (e *Engine) batchGetItem(r request) (batchFound, error) {
	a := batchFound{capacity: readCapacity(r)}
	fields, err := requestItems(r, "BatchGetItem")
	if err != nil {
		return a, err
	}
	a.parts = make([]batchKeys, len(fields))
	total := 0
	for i := range fields {
		if a.parts[i], err = readBatchKeys(r, &fields[i]); err != nil {
			return a, err
		}
		if total += len(a.parts[i].keys); total > maxBatchGet {
			return a, invalid("Too many items requested for the BatchGetItem call")
		}
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	for i := range a.parts {
		if err := a.parts[i].bind(e.tables); err != nil {
			return a, err
		}
	}
	return a, e.store.View(func(tx *disk.Tx) error { return e.tables.readBatch(tx, a.parts) })
}

func readBatchKeys(r request, f *field) (batchKeys, error) {
	b := batchKeys{table: f.name, source: &f.value}
	if f.value.kind != jsonObject {
		return b, unreadable("Unexpected value type in payload")
	}
	inner := request{node: &f.value, parent: "requestItems." + f.name + ".member", faults: r.faults}
	b.consistent, _ = inner.boolean("ConsistentRead")
	list := inner.list("Keys")
	switch {
	case !inner.has("Keys"):
		inner.reportMissing("Keys")
	case len(list) == 0:
		inner.breach("Keys", "[]", "Member must have length greater than or equal to 1")
	case len(list) > maxBatchGet:
		inner.breach("Keys", "[...]", "Member must have length less than or equal to 100")
	}
	if err := r.err(); err != nil {
		return b, err
	}
	if err := inner.refuseMixed([]string{"ProjectionExpression"}, "AttributesToGet"); err != nil {
		return b, err
	}
	var err error
	if b.paths, err = readProjection(inner); err != nil {
		return b, err
	}
	for i := range list {
		key, err := itemOf(&list[i])
		if err != nil {
			return b, err
		}
		// Keys are compared as received, before any table is looked up.
		if slices.ContainsFunc(b.keys, func(k item) bool { return sameItem(k, key) }) {
			return b, invalid(duplicateKeys)
		}
		b.keys = append(b.keys, key)
	}
	return b, nil
}

func sameItem(a, b item) bool {
	return value{kind: kindM, m: a}.equal(value{kind: kindM, m: b})
}

func (b *batchKeys) bind(c catalogue) error {
	t, err := c.get(b.table)
	if err != nil {
		return err
	}
	if err := t.checkScalarKeys(b.paths); err != nil {
		return err
	}
	for _, key := range b.keys {
		if err := t.Key.checkKey(key); err != nil {
			return err
		}
		b.stored = append(b.stored, t.Key.storedKey(key))
	}
	return nil
}

// readBatch reads the items until the answer is full; the other keys are returned as unprocessed.
func (c catalogue) readBatch(tx *disk.Tx, parts []batchKeys) error {
	size := 0
	for i := range parts {
		b := &parts[i]
		for ; b.done < len(b.keys); b.done++ {
			it, err := c[b.table].load(tx, b.stored[b.done])
			if err != nil {
				return err
			}
			bytes := itemSize(it)
			if size+bytes > maxBatchAnswer {
				return nil
			}
			b.used.table += readUsage(nil, bytes, b.consistent).table
			size += bytes
			if it != nil {
				b.found = append(b.found, lookup{paths: b.paths}.project(it))
			}
		}
	}
	return nil
}

func (a batchFound) json() []byte {
	dst := append([]byte(nil), `{"Responses":{`...)
	var unprocessed, used []byte
	for i, b := range a.parts {
		dst = appendString(comma(dst, i), b.table)
		dst = appendItems(append(dst, ':'), b.found)
		if b.done < len(b.keys) {
			unprocessed = b.appendRest(comma(unprocessed, len(unprocessed)), b.done)
		}
		used = a.capacity.appendUsage(comma(used, i), b.table, b.used, "")
	}
	dst = append(dst, `},"UnprocessedKeys":{`...)
	dst = append(append(dst, unprocessed...), '}')
	if a.capacity != "" {
		dst = append(dst, `,"ConsumedCapacity":[`...)
		dst = append(append(dst, used...), ']')
	}
	return append(dst, '}')
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// appendRest writes the keys from index from on, with the other members of the request.
func (b batchKeys) appendRest(dst []byte, from int) []byte {
	dst = appendString(dst, b.table)
	dst = append(dst, `:{"Keys":`...)
	dst = appendItems(dst, b.keys[from:])
	for _, name := range []string{"ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames"} {
		if n := b.source.get(name); n != nil {
			dst = append(append(append(dst, `,"`...), name...), `":`...)
			dst = appendNode(dst, n)
		}
	}
	return append(dst, '}')
}

// batchWrite is one PutRequest or DeleteRequest, with its table.
type batchWrite struct {
	mutation mutation
	t        *table
	key      []byte
}

// batchWritten is the answer to BatchWriteItem, which leaves no item unprocessed.
type batchWritten struct {
	capacity capacity
	used     map[string]*usage
}

func (a batchWritten) json() []byte {
	dst := append([]byte(nil), `{"UnprocessedItems":{}`...)
	return append(a.capacity.appendAll(dst, a.used, ""), '}')
}

func (e *Engine) batchWriteItem(r request) (batchWritten, error) {
	a := batchWritten{capacity: readCapacity(r), used: map[string]*usage{}}
	r.oneOf("ReturnItemCollectionMetrics", "SIZE", "NONE")
	fields, err := requestItems(r, "BatchWriteItem")
	if err != nil {
		return a, err
	}
	var writes []batchWrite
	for i := range fields {
		more, err := readBatchWrites(&fields[i])
		if err != nil {
			return a, err
		}
		if writes = append(writes, more...); len(writes) > maxBatchWrite {
			return a, invalid("Too many items requested for the BatchWriteItem call")
		}
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	if err := e.tables.bindBatch(writes); err != nil {
		return a, err
	}
	return a, e.store.Update(func(tx *disk.Tx) error {
		clear(a.used)
		for _, w := range writes {
			old, err := w.t.load(tx, w.key)
			if err != nil {
				return err
			}
			if err := w.t.write(tx, w.key, old, w.mutation.item); err != nil {
				return err
			}
			addUsage(a.used, w.t.Name, writeUsage(w.t, old, w.mutation.item))
		}
		return nil
	})
}

func readBatchWrites(f *field) ([]batchWrite, error) {
	switch {
	case f.value.kind != jsonArray:
		return nil, unreadable("Unexpected field type")
	case len(f.value.list) == 0 || len(f.value.list) > maxBatchWrite:
		shown := fmt.Sprintf("{%s=[%d write requests]}", f.name, len(f.value.list))
		if len(f.value.list) == 0 {
			shown = fmt.Sprintf("{%s=[]}", f.name)
		}
		return nil, invalid("1 validation error detected: Value '%s' at 'requestItems' failed to satisfy constraint: "+
			"Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]", shown)
	}
	var out []batchWrite
	for i := range f.value.list {
		n := &f.value.list[i]
		put, del := n.get("PutRequest"), n.get("DeleteRequest")
		m := mutation{table: f.name}
		var err error
		switch {
		case n.kind != jsonObject:
			return nil, unreadable("Unexpected value type in payload")
		case (put == nil) == (del == nil):
			return nil, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
		case put != nil:
			m.action = actionPut
			inner := request{node: put, parent: "requestItems." + f.name + ".member.putRequest", faults: &faults{}}
			if m.item, err = inner.item("Item"); err == nil {
				err = inner.err()
			}
			if err == nil {
				err = checkItem(m.item, "Item size has exceeded the maximum allowed size")
			}
		default:
			m.action = actionDelete
			inner := request{node: del, parent: "requestItems." + f.name + ".member.deleteRequest", faults: &faults{}}
			if m.key, err = inner.item("Key"); err == nil {
				err = inner.err()
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, batchWrite{mutation: m})
	}
	return out, nil
}

// bindBatch checks every request against its table before any is executed.
func (c catalogue) bindBatch(writes []batchWrite) error {
	seen := map[string]bool{}
	for i := range writes {
		w := &writes[i]
		t, err := c.get(w.mutation.table)
		if err != nil {
			return err
		}
		w.t = t
		if err := w.mutation.checkEmptyKeys(t); err != nil {
			return err
		}
		if w.mutation.action == actionPut {
			var f *failure
			// A batch has this one message for every fault in the key of an item.
			if err := t.Key.checkKey(t.Key.keyOf(w.mutation.item)); errors.As(err, &f) {
				return err
			}
		}
		if w.key, err = w.mutation.bind(t); err != nil {
			return err
		}
		id := w.mutation.table + "\x00" + string(w.key)
		if seen[id] {
			return invalid(duplicateKeys)
		}
		seen[id] = true
	}
	return nil
}

func addUsage(all map[string]*usage, name string, u usage) {
	sum := all[name]
	if sum == nil {
		sum = &usage{}
		all[name] = sum
	}
	sum.table += u.table
	for index, units := range u.indexes {
		sum.addIndex(index, units)
	}
}

// appendAll writes the ConsumedCapacity of several tables.
func (c capacity) appendAll(dst []byte, all map[string]*usage, split string) []byte {
	if c == "" {
		return dst
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, `"ConsumedCapacity":[`...)
	i := 0
	for name, u := range all {
		dst = c.appendUsage(comma(dst, i), name, *u, split)
		i++
	}
	return append(dst, ']')
}
