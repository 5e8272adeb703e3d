package dynamodb

import (
	"errors"
	"localaws/disk"
)

// markUnwritten marks a failure that came before any write, for disk.Update.
func markUnwritten(err error) error {
	var f *failure
	if errors.As(err, &f) {
		return disk.Unwritten(err)
	}
	return err
}

var returnValues = []string{"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"}

func (e *Engine) putItem(r request) ([]byte, error)    { return e.mutate(actionPut, r) }
func (e *Engine) deleteItem(r request) ([]byte, error) { return e.mutate(actionDelete, r) }
func (e *Engine) updateItem(r request) ([]byte, error) { return e.mutate(actionUpdate, r) }

// mutate implements PutItem, DeleteItem and UpdateItem.
func (e *Engine) mutate(action string, r request) ([]byte, error) {
	capacity := readCapacity(r)
	returns := r.oneOf("ReturnValues", returnValues...)
	r.oneOf("ReturnItemCollectionMetrics", "SIZE", "NONE")
	m, err := readMutation(action, r, false)
	if err != nil {
		return nil, err
	}
	if action != actionUpdate && returns != "" && returns != "NONE" && returns != "ALL_OLD" {
		return nil, invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	t, err := e.table(m.table)
	if err != nil {
		return nil, err
	}
	key, err := m.bind(t)
	if err != nil {
		return nil, err
	}
	if err := e.conflicts.check(m.table, key); err != nil {
		return nil, err
	}
	var old, next item
	err = e.store.Update(func(tx *disk.Tx) (err error) {
		if old, next, err = m.attempt(tx, t, key); err != nil {
			return markUnwritten(err)
		}
		if err := t.write(tx, key, old, next); err != nil {
			return err
		}
		return e.reapSome(tx, t, key)
	})
	if err != nil {
		return nil, err
	}
	dst := append(make([]byte, 0, 256), '{')
	if shown := m.returnValues(returns, old, next); len(shown) > 0 {
		dst = append(dst, `"Attributes":`...)
		dst = appendItem(dst, shown)
	}
	dst = capacity.appendWrite(dst, t, old, next)
	return append(dst, '}'), nil
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

func (e *Engine) getItem(r request) ([]byte, error) {
	g, err := readLookup(r, false)
	if err != nil {
		return nil, err
	}
	capacity := g.capacity
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	t, err := e.table(g.table)
	if err != nil {
		return nil, err
	}
	stored, err := g.bind(t)
	if err != nil {
		return nil, err
	}
	var found item
	if err := e.store.View(func(tx *disk.Tx) (err error) {
		found, err = t.load(tx, stored)
		return err
	}); err != nil {
		return nil, err
	}
	dst := append(make([]byte, 0, 1024), '{')
	if found != nil {
		dst = append(dst, `"Item":`...)
		dst = appendItem(dst, g.project(found))
	}
	dst = capacity.appendRead(dst, t, nil, itemSize(found), g.consistent, 1)
	if t.isExpired(found, e.now()) {
		if err := e.reap(t, [][]byte{stored}); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
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
