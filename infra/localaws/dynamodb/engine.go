package dynamodb

import (
	"fmt"
	"localaws/disk"
	"sync"
	"time"
)

// Engine is an embedded DynamoDB over one store. It is safe for concurrent use.
type Engine struct {
	store *disk.Store
	now   func() time.Time

	// ddl is held by every item operation, and exclusively by changes of definitions, so that an
	// item is never written by an old definition after a new one took effect.
	ddl       sync.RWMutex
	tables    catalogue
	conflicts *conflicts // nil: writes wait for each other
}

// Option changes how an Engine is opened.
type Option func(*Engine)

// WithClock sets the clock for TTL, client request tokens and creation dates. The default is
// time.Now.
func WithClock(now func() time.Time) Option {
	return func(e *Engine) { e.now = now }
}

// Open reads the table definitions in the store, and creates missing buckets. The caller closes the
// store, which may have other users in other buckets.
func Open(store *disk.Store, options ...Option) (*Engine, error) {
	e := &Engine{store: store, now: time.Now}
	for _, o := range options {
		o(e)
	}
	err := store.Update(func(tx *disk.Tx) error {
		for _, name := range [][]byte{bucketTables, bucketTokens, bucketTokenTimes} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		var err error
		e.tables, err = loadTables(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open embedded DynamoDB: %w", err)
	}
	return e, nil
}

// OpenReadOnly opens the tables of a data file that is open for reading. Writes fail.
func OpenReadOnly(store *disk.Store) (*Engine, error) {
	e := &Engine{store: store, now: time.Now}
	err := store.View(func(tx *disk.Tx) (err error) {
		if tx.Bucket(bucketTables) != nil { // nothing was written to it otherwise
			e.tables, err = loadTables(tx)
		}
		return err
	})
	return e, err
}

// catalogue holds the definitions of tables by their names. An Engine's is used with ddl held.
type catalogue map[string]*table

func (c catalogue) get(name string) (*table, error) {
	t, ok := c[name]
	if !ok {
		return nil, notFound("Requested resource not found")
	}
	return t, nil
}

// define replaces a definition after the change is on disk; e.ddl must be held exclusively. A nil
// next removes the table.
func (e *Engine) define(name string, next *table, write func(tx *disk.Tx) error) error {
	if err := e.store.Update(write); err != nil {
		return err
	}
	if next == nil {
		delete(e.tables, name)
		return nil
	}
	e.tables[name] = next
	return nil
}
