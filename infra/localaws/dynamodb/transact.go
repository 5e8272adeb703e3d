package dynamodb

import (
	"errors"
	"fmt"
	"localaws/disk"
)

const (
	maxTransaction     = 100
	maxTransactionSize = 4 << 20
)

var transactActions = []string{actionCheck, actionPut, actionDelete, actionUpdate}

// transactItems reads the list and checks its length.
func transactItems(r request) []request {
	switch n := len(r.list("TransactItems")); {
	case !r.has("TransactItems"):
		r.reportMissing("TransactItems")
	case n == 0:
		r.breach("TransactItems", "[]", "Member must have length greater than or equal to 1")
	case n > maxTransaction:
		r.breach("TransactItems", fmt.Sprintf("[%d actions]", n), "Member must have length less than or equal to 100")
	}
	return r.structs("TransactItems")
}

func (e *Engine) transactWriteItems(r request) (transacted, error) {
	t, err := readTransaction(r)
	if err != nil {
		return transacted{}, err
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	if err := e.tables.bindTransaction(t.writes); err != nil {
		return transacted{}, err
	}
	release, err := e.conflicts.hold(t.writes)
	if err != nil {
		return transacted{}, err
	}
	defer release()
	e.conflicts.wait()
	out := transacted{capacity: t.capacity, used: map[string]*usage{}}
	err = e.store.Update(func(tx *disk.Tx) (err error) {
		clear(out.used)
		out.units, err = e.transactOnce(tx, t, out.used)
		return err
	})
	return out, err
}

// transaction is a request to write several items.
type transaction struct {
	capacity capacity
	writes   []batchWrite
	token    string // of the client, or none
	print    []byte // of the items, when there is a token
}

func readTransaction(r request) (transaction, error) {
	t := transaction{token: r.str("ClientRequestToken")}
	switch {
	case r.has("ClientRequestToken") && t.token == "":
		r.breach("ClientRequestToken", t.token, "Member must have length greater than or equal to 1")
	case len(t.token) > 36:
		r.breach("ClientRequestToken", t.token, "Member must have length less than or equal to 36")
	}
	t.capacity = readCapacity(r)
	r.oneOf("ReturnItemCollectionMetrics", "SIZE", "NONE")
	members := transactItems(r)
	if err := r.err(); err != nil {
		return t, err
	}
	t.writes = make([]batchWrite, len(members))
	for i, member := range members {
		m, err := readTransactWrite(member)
		if err != nil {
			return t, err
		}
		t.writes[i].mutation = m
	}
	if t.token != "" {
		t.print = fingerprint(r.node.get("TransactItems"))
	}
	return t, nil
}

// transactOnce makes the writes of a transaction, unless one with its token made them before. It returns the kind of
// units that it used.
func (e *Engine) transactOnce(tx *disk.Tx, t transaction, used map[string]*usage) (string, error) {
	if t.token != "" {
		again, sizes, err := e.findRepeated(tx, t.token, t.print)
		if err != nil {
			return "", err
		}
		if again {
			readAgain(t.writes, sizes, used)
			return "ReadCapacityUnits", nil
		}
	}
	sizes, err := transact(tx, t.writes, used)
	if err == nil && t.token != "" {
		err = e.remember(tx, t.token, t.print, sizes)
	}
	return "WriteCapacityUnits", err
}

// transacted is the answer to a transaction of writes.
type transacted struct {
	capacity capacity
	used     map[string]*usage
	units    string
}

func (t transacted) json() []byte {
	return append(t.capacity.appendAll([]byte{'{'}, t.used, t.units), '}')
}

// readAgain counts the cost of a transaction that was executed already: it reads its items, with
// their sizes at that time.
func readAgain(writes []batchWrite, sizes []int, used map[string]*usage) {
	for i, w := range writes {
		u := readUsage(nil, sizes[i], true)
		u.table *= 2
		addUsage(used, w.t.Name, u)
	}
}

// readTransactWrite reads one of the four actions.
func readTransactWrite(member request) (mutation, error) {
	action := ""
	for _, name := range transactActions {
		if !member.has(name) {
			continue
		}
		if action != "" {
			return mutation{}, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
		}
		action = name
	}
	if action == "" {
		return mutation{}, invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
	}
	inner, _ := member.object(action)
	return readMutation(action, inner, true)
}

// bindTransaction finds the tables and refuses faults of the whole request: unknown tables, empty
// keys, two actions on one item, too much data sent (stored data does not count). The first action
// that does not fit its table cancels the transaction before any condition is evaluated.
func (c catalogue) bindTransaction(writes []batchWrite) error {
	size := 0
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
		size += w.mutation.payload
	}
	if size > maxTransactionSize {
		const tooLarge = "Transaction payload size cannot exceed 4MB. Payload Size: "
		return invalid(tooLarge+": "+tooLarge+"%d", size)
	}
	var unfit error
	seen := map[string]bool{}
	for i := range writes {
		w := &writes[i]
		key, err := w.mutation.bind(w.t)
		if err != nil {
			if unfit == nil {
				unfit = cancellation(err, i, len(writes))
			}
			continue
		}
		w.key = key
		id := w.mutation.table + "\x00" + string(key)
		if seen[id] {
			return invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[id] = true
	}
	return unfit
}

// cancellation returns the error of a transaction in which one of several actions failed.
func cancellation(err error, at, of int) error {
	reasons := make([]reason, of)
	for i := range reasons {
		reasons[i].code = reasonNone
	}
	if reasons[at], err = reasonOf(err); err != nil {
		return err
	}
	return cancelledError(reasons)
}

// transact attempts every action on the state before all of them, and writes all of them or none.
func transact(tx *disk.Tx, writes []batchWrite, used map[string]*usage) ([]int, error) {
	type pair struct{ old, next item }
	pairs := make([]pair, len(writes))
	reasons := make([]reason, len(writes))
	failed := false
	for i, w := range writes {
		reasons[i].code = reasonNone
		var err error
		if pairs[i].old, pairs[i].next, err = w.mutation.attempt(tx, w.t, w.key); err != nil {
			if reasons[i], err = reasonOf(err); err != nil {
				return nil, err
			}
			failed = true
		}
	}
	if failed {
		return nil, cancelledError(reasons)
	}
	sizes := make([]int, len(writes))
	for i, w := range writes {
		sizes[i] = max(itemSize(pairs[i].old), itemSize(pairs[i].next))
		u := writeUsage(w.t, pairs[i].old, pairs[i].next)
		u.table *= 2 // a transaction prepares and commits
		addUsage(used, w.t.Name, u)
		if w.mutation.action == actionCheck {
			continue
		}
		if err := w.t.write(tx, w.key, pairs[i].old, pairs[i].next); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// reasonOf converts an action's failure into a reason; another error stays an error.
func reasonOf(err error) (reason, error) {
	var f *failure
	if !errors.As(err, &f) {
		return reason{}, err
	}
	r := reason{code: reasonInvalid, message: f.message, item: f.item}
	if f.kind == serviceNamespace+"ConditionalCheckFailedException" {
		r.code = reasonCondition
	}
	return r, nil
}

func (e *Engine) transactGetItems(r request) ([]byte, error) {
	c := readCapacity(r)
	members := transactItems(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	gets := make([]lookup, len(members))
	for i, member := range members {
		inner, given := member.object("Get")
		if !given {
			member.reportMissing("Get")
			return nil, r.err()
		}
		g, err := readLookup(inner, true)
		if err != nil {
			return nil, err
		}
		gets[i] = g
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	keys, err := e.tables.bindGets(gets)
	if err != nil {
		return nil, err
	}
	found := make([]item, len(gets))
	if err := e.store.View(func(tx *disk.Tx) (err error) {
		for i, g := range gets {
			if found[i], err = e.tables[g.table].load(tx, keys[i]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return answerGets(gets, found, c)
}

// bindGets checks the keys against their tables; keys that do not fit cancel the transaction.
func (c catalogue) bindGets(gets []lookup) ([][]byte, error) {
	for _, g := range gets {
		t, err := c.get(g.table)
		if err != nil {
			return nil, err
		}
		if err := t.Key.checkEmpty(g.key); err != nil {
			return nil, err
		}
	}
	keys := make([][]byte, len(gets))
	reasons := make([]reason, len(gets))
	failed := false
	seen := map[string]bool{}
	for i, g := range gets {
		reasons[i].code = reasonNone
		key, err := g.bind(c[g.table])
		if err != nil {
			if reasons[i], err = reasonOf(err); err != nil {
				return nil, err
			}
			failed = true
			continue
		}
		id := g.table + "\x00" + string(key)
		if seen[id] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[id] = true
		keys[i] = key
	}
	if failed {
		return nil, cancelledError(reasons)
	}
	return keys, nil
}

func answerGets(gets []lookup, found []item, c capacity) ([]byte, error) {
	dst := append([]byte(nil), `{"Responses":[`...)
	used := map[string]*usage{}
	size := 0
	for i, it := range found {
		dst = append(comma(dst, i), '{')
		// Unlike in GetItem, an item without projected attributes is left out.
		if shown := gets[i].project(it); len(shown) > 0 {
			dst = append(dst, `"Item":`...)
			dst = appendItem(dst, shown)
		}
		dst = append(dst, '}')
		size += itemSize(it)
		u := readUsage(nil, itemSize(it), true)
		u.table *= 2
		addUsage(used, gets[i].table, u)
	}
	if size > maxTransactionSize {
		return nil, invalid("Transaction request size exceeds the maximum of 4 MB")
	}
	dst = append(dst, ']')
	dst = c.appendAll(dst, used, "ReadCapacityUnits")
	return append(dst, '}'), nil
}
