package dynamodb

import (
	"errors"
	"localaws/disk"
	"maps"
	"slices"
	"time"
)

func (e *Engine) deleteTable(r request) ([]byte, error) {
	name := r.table()
	if err := r.err(); err != nil {
		return nil, err
	}
	e.ddl.Lock()
	defer e.ddl.Unlock()
	t, ok := e.tables[name]
	if !ok {
		return nil, tableNotFound(name)
	}
	if t.Protected {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	answer, err := e.describe("TableDescription", t, statusDeleting)
	if err != nil {
		return nil, err
	}
	return answer, e.define(name, nil, func(tx *disk.Tx) error {
		if err := tx.DeleteBucket(t.bucket()); err != nil {
			return err
		}
		for _, x := range t.Indexes {
			if err := tx.DeleteBucket(t.indexBucket(x)); err != nil {
				return err
			}
		}
		if err := tx.DeleteBucket(t.expiryBucket()); err != nil && !errors.Is(err, disk.ErrNoBucket) {
			return err
		}
		return tx.Bucket(bucketTables).Delete([]byte(name))
	})
}

func (e *Engine) describeTable(r request) ([]byte, error) {
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
	return e.describe("Table", t, statusActive)
}

func (e *Engine) listTables(r request) ([]byte, error) {
	limit, given := r.integer("Limit", 1, 100)
	if !given {
		limit = 100
	}
	start := r.str("ExclusiveStartTableName")
	if r.has("ExclusiveStartTableName") {
		checkName(r, "ExclusiveStartTableName", start)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	names := slices.Sorted(maps.Keys(e.tables))
	from, found := slices.BinarySearch(names, start)
	if found {
		from++
	}
	names = names[from:]
	more := int64(len(names)) > limit
	if more {
		names = names[:limit]
	}
	dst := append([]byte(nil), `{"TableNames":[`...)
	for i, name := range names {
		dst = appendString(comma(dst, i), name)
	}
	dst = append(dst, ']')
	if more {
		dst = append(dst, `,"LastEvaluatedTableName":`...)
		dst = appendString(dst, names[len(names)-1])
	}
	return append(dst, '}'), nil
}

// alteration holds the changes of an UpdateTable request.
type alteration struct {
	attributes  []attribute
	billing     string
	throughput  throughput
	provisioned bool
	creates     []indexSpec
	deletes     []string
	updates     map[string]throughput
	protect     *bool
	class       string
	seal        *bool
	blank       bool // an update of an index has no action
	twofold     bool // an update of an index has two actions
}

func (e *Engine) updateTable(r request) ([]byte, error) {
	name := r.table()
	a := readAlteration(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := refuseFeatures(r); err != nil {
		return nil, err
	}
	if a.twofold {
		return nil, invalidValue("Only one of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete can be specified")
	}
	if a.blank {
		return nil, invalidValue("One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")
	}
	if !a.provisioned && a.billing == "" && a.changes() == 0 && a.protect == nil && a.class == "" && a.seal == nil && !r.has("StreamSpecification") {
		return nil, invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
	}
	if len(a.creates)+len(a.deletes) > 1 {
		return nil, clientError(serviceNamespace+"LimitExceededException",
			"Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
	}
	e.ddl.Lock()
	defer e.ddl.Unlock()
	t, ok := e.tables[name]
	if !ok {
		return nil, tableNotFound(name)
	}
	next, err := a.definitionAfter(t, e.now().UTC())
	if err != nil {
		return nil, err
	}
	if err := e.define(name, next, func(tx *disk.Tx) error { return a.write(tx, t, next) }); err != nil {
		return nil, err
	}
	var creating []string
	for _, x := range a.creates {
		creating = append(creating, x.Name)
	}
	return e.describe("TableDescription", next, statusUpdating, creating...)
}

func (a alteration) changes() int { return len(a.creates) + len(a.deletes) + len(a.updates) }

func readAlteration(r request) alteration {
	a := alteration{attributes: readAttributes(r, false), updates: map[string]throughput{}}
	a.billing = r.oneOf("BillingMode", billingProvisioned, billingOnDemand)
	a.provisioned = readThroughput(r, &a.throughput)
	if r.has("SSESpecification") {
		sealed := readSeal(r)
		a.seal = &sealed
	}
	a.class = r.oneOf("TableClass", "STANDARD", "STANDARD_INFREQUENT_ACCESS")
	if on, given := r.boolean("DeletionProtectionEnabled"); given {
		a.protect = &on
	}
	for _, u := range r.structs("GlobalSecondaryIndexUpdates") {
		actions := 0
		for _, action := range []string{"Create", "Delete", "Update"} {
			if u.has(action) {
				actions++
			}
		}
		a.blank, a.twofold = a.blank || actions == 0, a.twofold || actions > 1
		if c, given := u.object("Create"); given {
			a.creates = append(a.creates, readIndex(c))
		}
		if d, given := u.object("Delete"); given {
			if !d.has("IndexName") {
				d.reportMissing("IndexName")
			}
			a.deletes = append(a.deletes, d.str("IndexName"))
		}
		if c, given := u.object("Update"); given {
			var units throughput
			if !readThroughput(c, &units) {
				c.reportMissing("ProvisionedThroughput")
			}
			a.updates[c.str("IndexName")] = units
		}
	}
	return a
}

// definitionAfter returns the definition after the alteration.
func (a alteration) definitionAfter(t *table, now time.Time) (*table, error) {
	next := t.clone()
	if next.OnDemand = t.OnDemand; a.billing == billingOnDemand && t.Billing != billingOnDemand {
		next.OnDemand = now
	}
	for _, d := range a.attributes {
		switch k := next.kindOf(d.Name); {
		case k == 0:
			next.Attributes = append(next.Attributes, d)
		case k != d.Kind:
			return nil, a.redefinitionError(t, d)
		}
	}
	if err := a.setBilling(t, next); err != nil {
		return nil, err
	}
	if a.protect != nil {
		next.Protected = *a.protect
	}
	if a.class != "" {
		next.Class = a.class
	}
	if a.seal != nil {
		next.Sealed = *a.seal
	}
	for _, name := range a.deletes {
		if next.index(name) == nil {
			return nil, indexNotFound(name)
		}
		next.Indexes = slices.DeleteFunc(next.Indexes, func(x index) bool { return x.Name == name })
	}
	for _, spec := range a.creates {
		if next.index(spec.Name) != nil {
			return nil, invalid("Attempting to create an index which already exists")
		}
		if err := a.checkDefined(spec); err != nil {
			return nil, err
		}
		if err := next.addIndex(spec); err != nil {
			return nil, err
		}
	}
	next.dropUnused()
	return next, nil
}

// redefinitionError returns the error for another type of an attribute that is a key.
func (a alteration) redefinitionError(t *table, d attribute) error {
	shown := func(k kind) string { return "Schema:[SchemaElement: key{" + d.Name + ":" + k.String() + ":HASH}]" }
	return invalidValue("Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "+
		"Existing schema: %s New schema: %s", shown(t.kindOf(d.Name)), shown(d.Kind))
}

// checkDefined refuses a new index whose keys the request does not define, even where the table has
// their definitions.
func (a alteration) checkDefined(spec indexSpec) error {
	only := table{Attributes: a.attributes}
	_, err := only.schemaOf(spec.keys)
	return err
}

// setBilling sets the billing mode and the throughput of the table and its indexes.
func (a alteration) setBilling(t, next *table) error {
	if a.billing != "" {
		next.Billing = a.billing
	}
	switch {
	case a.provisioned && next.Billing == billingOnDemand:
		return invalidValue("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case a.billing == billingProvisioned && !a.provisioned && t.Billing != billingProvisioned:
		return invalidValue("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
	case a.provisioned && t.Billing == billingProvisioned && a.throughput == t.Throughput:
		return unchangedThroughput(t.Throughput)
	case a.provisioned:
		next.Throughput = a.throughput
	}
	for name, units := range a.updates {
		x := next.index(name)
		switch {
		case x == nil:
			return indexNotFound(name)
		case next.Billing == billingOnDemand:
			return invalidValue("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		case x.Throughput == units:
			return unchangedThroughput(units)
		}
		x.Throughput = units
	}
	if next.Billing == billingOnDemand {
		next.Throughput = throughput{}
	}
	for i := range next.Indexes {
		x := &next.Indexes[i]
		switch {
		case next.Billing == billingOnDemand:
			x.Throughput = throughput{}
		case x.Throughput == throughput{} && !slices.Contains(a.deletes, x.Name):
			return invalidValue("ProvisionedThroughput must be specified for index: %s", x.Name)
		}
	}
	return nil
}

func unchangedThroughput(units throughput) error {
	return invalid("The provisioned throughput for the table will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for the table: %d. Requested ReadCapacityUnits: %d. "+
		"Current WriteCapacityUnits provisioned for the table: %d. Requested WriteCapacityUnits: %d. "+
		"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.", units.Read, units.Read, units.Write, units.Write)
}

func indexNotFound(name string) error {
	return notFound("Requested resource not found: Index: " + name + " not found")
}

// dropUnused removes the definitions of attributes that are no longer keys.
func (t *table) dropUnused() {
	t.Attributes = slices.DeleteFunc(t.Attributes, func(a attribute) bool {
		if t.Key.has(a.Name) {
			return false
		}
		return !slices.ContainsFunc(t.Indexes, func(x index) bool { return x.Key.has(a.Name) })
	})
}

// write stores the next definition, and fills or removes indexes.
func (a alteration) write(tx *disk.Tx, t, next *table) error {
	for _, name := range a.deletes {
		if err := tx.DeleteBucket(t.indexBucket(*t.index(name))); err != nil {
			return err
		}
	}
	for _, spec := range a.creates {
		x := next.index(spec.Name)
		if _, err := tx.CreateBucket(next.indexBucket(*x)); err != nil {
			return err
		}
		if err := next.forEach(tx, func(key []byte, it item) error {
			if !next.fits(x, it) {
				return nil // as on the service, such items stay out of a new index
			}
			return next.writeEntry(tx, x, key, nil, it)
		}); err != nil {
			return err
		}
	}
	return next.save(tx)
}

// fits reports whether the key attributes of an index have valid types and sizes.
func (t *table) fits(x *index, it item) bool {
	only := table{Attributes: t.Attributes, Indexes: []index{*x}}
	return only.checkIndexKeys(it) == nil
}
