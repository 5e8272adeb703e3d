package dynamodb

import (
	"sync"
	"time"
)

// WithConflicts makes a transaction take time, during which it holds its items, as in the service: another
// transaction, and a single write, on one of them is refused (TransactionConflict). Without the option writes wait
// for each other, and none is refused. Writes of a batch are never refused.
func WithConflicts(takes time.Duration) Option {
	return func(e *Engine) {
		if takes > 0 {
			e.conflicts = &conflicts{takes: takes, held: map[string]bool{}}
		}
	}
}

// conflicts is the items that transactions hold.
type conflicts struct {
	takes time.Duration

	mu   sync.Mutex
	held map[string]bool // by table and key
}

func heldID(table string, key []byte) string { return table + "\x00" + string(key) }

// hold holds the items of a transaction until release is called. It fails when another transaction holds one of them.
func (c *conflicts) hold(writes []batchWrite) (release func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reasons := make([]reason, len(writes))
	failed := false
	for i, w := range writes {
		reasons[i].code = reasonNone
		if c.held[heldID(w.mutation.table, w.key)] {
			reasons[i], failed = reason{code: reasonConflict, message: conflictMessage}, true
		}
	}
	if failed {
		return nil, cancelledError(reasons)
	}
	for _, w := range writes {
		c.held[heldID(w.mutation.table, w.key)] = true
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, w := range writes {
			delete(c.held, heldID(w.mutation.table, w.key))
		}
	}, nil
}

// wait waits as long as a transaction takes.
func (c *conflicts) wait() {
	if c != nil {
		time.Sleep(c.takes)
	}
}

// check fails when a transaction holds the item of a single write.
func (c *conflicts) check(table string, key []byte) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[heldID(table, key)] {
		return clientError(serviceNamespace+"TransactionConflictException", conflictMessage)
	}
	return nil
}

const conflictMessage = "Transaction is ongoing for the item"
