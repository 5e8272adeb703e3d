package dynamodb

import (
	"encoding/json"
	"fmt"
	"localaws/disk"
	"slices"
	"time"
)

// table is a table's definition. A *table is never changed: a new one replaces it.
type table struct {
	Name       string
	ID         string // names its buckets; never reused
	Key        schema
	Attributes []attribute
	Indexes    []index `json:",omitempty"`
	Billing    string
	Throughput throughput
	OnDemand   time.Time `json:",omitzero"`  // when it was last set to on demand, zero if it never was
	TTL        string    `json:",omitempty"` // attribute with the expiry, when enabled
	Protected  bool      `json:",omitempty"`
	Class      string    `json:",omitempty"`
	Sealed     bool      `json:",omitempty"` // encryption was requested, and is reported as on
	Tags       []tag     `json:",omitempty"` // in order of key
	Created    time.Time
}

// attribute is one AttributeDefinition.
type attribute struct {
	Name string
	Kind kind
}

// arnOf returns an ARN in the account and region of this engine.
func arnOf(service, resource string) string {
	return "arn:aws:" + service + ":us-east-1:000000000000:" + resource
}

func (t *table) arn() string { return arnOf("dynamodb", "table/"+t.Name) }

type throughput struct{ Read, Write int64 }

// index is a global secondary index.
type index struct {
	Name       string
	Key        schema
	Projection string   // ALL, KEYS_ONLY or INCLUDE
	Include    []string `json:",omitempty"`
	Throughput throughput
}

const (
	billingProvisioned = "PROVISIONED"
	billingOnDemand    = "PAY_PER_REQUEST"
	projectAll         = "ALL"
	projectKeys        = "KEYS_ONLY"
	projectInclude     = "INCLUDE"
)

var bucketTables = []byte("ddb/tables")

func (t *table) bucket() []byte             { return []byte("ddb/t/" + t.ID) }
func (t *table) indexBucket(x index) []byte { return []byte("ddb/i/" + t.ID + "/" + x.Name) }
func (t *table) expiryBucket() []byte       { return []byte("ddb/x/" + t.ID) }

func (t *table) index(name string) *index {
	for i := range t.Indexes {
		if t.Indexes[i].Name == name {
			return &t.Indexes[i]
		}
	}
	return nil
}

// clone returns a copy for the next definition.
func (t *table) clone() *table {
	c := *t
	c.Attributes = slices.Clone(t.Attributes)
	c.Indexes = slices.Clone(t.Indexes)
	c.Tags = slices.Clone(t.Tags)
	return &c
}

func (t *table) kindOf(attribute string) kind {
	for _, a := range t.Attributes {
		if a.Name == attribute {
			return a.Kind
		}
	}
	return 0
}

// save writes the definition.
func (t *table) save(tx *disk.Tx) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketTables).Put([]byte(t.Name), raw)
}

// loadTables reads every definition.
func loadTables(tx *disk.Tx) (map[string]*table, error) {
	tables := map[string]*table{}
	err := tx.Bucket(bucketTables).ForEach(func(name, raw []byte) error {
		t := &table{}
		if err := json.Unmarshal(raw, t); err != nil {
			return fmt.Errorf("definition of table %s: %w", name, err)
		}
		tables[t.Name] = t
		return nil
	})
	return tables, err
}

// view returns the attributes of an item that an index projects.
func (t *table) view(x *index, it item) item {
	if x == nil || x.Projection == projectAll {
		return it
	}
	out := make(item, len(x.Include)+4)
	for _, names := range [][]string{t.Key.names(), x.Key.names(), x.Include} {
		for _, name := range names {
			if v, ok := it[name]; ok {
				out[name] = v
			}
		}
	}
	return out
}

// projects reports whether an index projects an attribute.
func (t *table) projects(x *index, name string) bool {
	return x == nil || x.Projection == projectAll || t.Key.has(name) || x.Key.has(name) || slices.Contains(x.Include, name)
}

// indexes reports whether an item belongs into an index: it has all of its keys.
func (x *index) indexes(it item) bool {
	for _, name := range x.Key.names() {
		if _, ok := it[name]; !ok {
			return false
		}
	}
	return it != nil
}
