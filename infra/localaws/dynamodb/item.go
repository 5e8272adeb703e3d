package dynamodb

import "localaws/disk"

var returnValues = []string{"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"}

func (e *Engine) putItem(r request) (written, error)    { return e.mutate(actionPut, r) }
func (e *Engine) deleteItem(r request) (written, error) { return e.mutate(actionDelete, r) }
func (e *Engine) updateItem(r request) (written, error) { return e.mutate(actionUpdate, r) }

// written is the answer to a write of one item.
type written struct {
	table     *table
	old, next item
	shown     item // the attributes that ReturnValues requests
	capacity  capacity
}

func (w written) json() []byte {
	dst := append(make([]byte, 0, 256), '{')
	if len(w.shown) > 0 {
		dst = append(dst, `"Attributes":`...)
		dst = appendItem(dst, w.shown)
	}
	dst = w.capacity.appendWrite(dst, w.table, w.old, w.next)
	return append(dst, '}')
}

// mutate implements PutItem, DeleteItem and UpdateItem.
func (e *Engine) mutate(action string, r request) (written, error) {
	w := written{capacity: readCapacity(r)}
	returns := r.oneOf("ReturnValues", returnValues...)
	r.oneOf("ReturnItemCollectionMetrics", "SIZE", "NONE")
	m, err := readMutation(action, r, false)
	if err != nil {
		return w, err
	}
	if action != actionUpdate && returns != "" && returns != "NONE" && returns != "ALL_OLD" {
		return w, invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	if w.table, err = e.tables.get(m.table); err != nil {
		return w, err
	}
	key, err := m.bind(w.table)
	if err != nil {
		return w, err
	}
	if err := e.conflicts.check(m.table, key); err != nil {
		return w, err
	}
	err = e.store.Update(func(tx *disk.Tx) (err error) {
		if w.old, w.next, err = m.attempt(tx, w.table, key); err != nil {
			return err
		}
		if err := w.table.write(tx, key, w.old, w.next); err != nil {
			return err
		}
		return e.reapSome(tx, w.table, key)
	})
	w.shown = m.returnValues(returns, w.old, w.next)
	return w, err
}

// returnValues returns the attributes that ReturnValues requests.
func (m mutation) returnValues(returns string, old, next item) item {
	switch returns {
	case "ALL_OLD":
		return old
	case "ALL_NEW":
		return next
	case "UPDATED_OLD":
		if m.update != nil && old != nil {
			return project(old, m.update.paths())
		}
	case "UPDATED_NEW":
		if m.update != nil && next != nil {
			return project(next, m.update.paths())
		}
	}
	return nil
}

// found is the answer to GetItem.
type found struct {
	lookup
	from *table
	item item // nil: there is none
}

func (f found) json() []byte {
	dst := append(make([]byte, 0, 1024), '{')
	if f.item != nil {
		dst = append(dst, `"Item":`...)
		dst = appendItem(dst, f.project(f.item))
	}
	dst = f.capacity.appendRead(dst, f.from, nil, itemSize(f.item), f.consistent, 1)
	return append(dst, '}')
}

func (e *Engine) getItem(r request) (f found, err error) {
	if f.lookup, err = readLookup(r, false); err != nil {
		return f, err
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	if f.from, err = e.tables.get(f.table); err != nil {
		return f, err
	}
	stored, err := f.bind(f.from)
	if err != nil {
		return f, err
	}
	if err := e.store.View(func(tx *disk.Tx) (err error) {
		f.item, err = f.from.load(tx, stored)
		return err
	}); err != nil {
		return f, err
	}
	if f.from.isExpired(f.item, e.now()) {
		err = e.reap(f.from, [][]byte{stored})
	}
	return f, err
}

// lookup is one GetItem, alone or in a transaction.
type lookup struct {
	table      string
	key        item
	paths      []path
	consistent bool
	capacity   capacity
}

// readLookup reads one get. In a transaction it accepts names without a projection, as the service
// does.
func readLookup(r request, inTransaction bool) (lookup, error) {
	g := lookup{capacity: readCapacity(r), table: r.table()}
	g.consistent, _ = r.boolean("ConsistentRead")
	key, err := r.item("Key")
	if err != nil {
		return g, err
	}
	g.key = key
	if err := r.err(); err != nil {
		return g, err
	}
	if err := r.refuseMixed([]string{"ProjectionExpression"}, "AttributesToGet"); err != nil {
		return g, err
	}
	if inTransaction && !r.has("ProjectionExpression") {
		_, err = readScope(r)
		return g, err
	}
	g.paths, err = readProjection(r)
	return g, err
}

// readProjection reads a ProjectionExpression that is the request's only expression.
func readProjection(r request) ([]path, error) {
	s, err := scopeOf(r)
	if err != nil {
		return nil, err
	}
	if err := s.requireExpressions(r); err != nil {
		return nil, err
	}
	if !r.has("ProjectionExpression") {
		return r.attributesToGet()
	}
	text, err := r.expression("ProjectionExpression")
	if err != nil {
		return nil, err
	}
	paths, err := parseProjection(text, s)
	if err != nil {
		return nil, err
	}
	return paths, s.requireUsed()
}

func (g lookup) bind(t *table) ([]byte, error) {
	if err := t.Key.checkKey(g.key); err != nil {
		return nil, err
	}
	if err := t.checkScalarKeys(g.paths); err != nil {
		return nil, err
	}
	return t.Key.storedKey(g.key), nil
}

func (g lookup) project(it item) item {
	if g.paths == nil {
		return it
	}
	return project(it, g.paths)
}
