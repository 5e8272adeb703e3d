package dynamodb

import (
	"fmt"
	"localaws/disk"
	"slices"
	"strconv"
	"strings"
)

const (
	maxIndexes  = 20
	maxIncluded = 20  // attributes that one index includes
	maxExtra    = 100 // attributes that all of a table's indexes include
	maxKeyName  = 255 // bytes of the name of a key attribute
)

// keyName reads the name of an attribute that is a key, or TTL.
func (r request) keyName(name string) string {
	s := r.str(name)
	switch {
	case !r.has(name):
		r.reportMissing(name)
	case s == "":
		r.breach(name, s, "Member must have length greater than or equal to 1")
	case len(s) > maxKeyName:
		r.breach(name, s, fmt.Sprintf("Member must have length less than or equal to %d", maxKeyName))
	}
	return s
}

func (e *Engine) createTable(r request) ([]byte, error) {
	t := &table{Name: r.table(), Created: e.now().UTC()}
	if t.Name != "" && len(t.Name) < 3 {
		r.breach("TableName", t.Name, "Member must have length greater than or equal to 3")
	}
	t.Attributes = readAttributes(r, true)
	keys := readKeySchema(r)
	t.Billing = r.oneOf("BillingMode", billingProvisioned, billingOnDemand)
	if t.Billing == "" {
		t.Billing = billingProvisioned
	}
	if t.Billing == billingOnDemand {
		t.OnDemand = t.Created
	}
	provisioned := readThroughput(r, &t.Throughput)
	t.Protected, _ = r.boolean("DeletionProtectionEnabled")
	t.Class = r.oneOf("TableClass", "STANDARD", "STANDARD_INFREQUENT_ACCESS")
	t.Sealed = readSeal(r)
	t.Tags = readTags(r)
	indexes := readIndexes(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := refuseFeatures(r); err != nil {
		return nil, err
	}
	if err := checkBilling(t.Billing, provisioned); err != nil {
		return nil, err
	}
	if len(keys) > len(t.Attributes) {
		return nil, invalid("Invalid KeySchema: Some index key attribute have no definition")
	}
	var err error
	if t.Key, err = t.schemaOf(keys); err != nil {
		return nil, err
	}
	if r.has("GlobalSecondaryIndexes") && len(indexes) == 0 {
		return nil, invalidValue("List of GlobalSecondaryIndexes is empty")
	}
	for _, spec := range indexes {
		if err := t.addIndex(spec); err != nil {
			return nil, err
		}
	}
	if err := t.checkAttributesUsed(); err != nil {
		return nil, err
	}
	e.ddl.Lock()
	defer e.ddl.Unlock()
	if e.tables[t.Name] != nil {
		return nil, inUse("Table already exists: " + t.Name)
	}
	if err := e.define(t.Name, t, func(tx *disk.Tx) error { return t.create(tx) }); err != nil {
		return nil, err
	}
	return e.describe("TableDescription", t, statusCreating)
}

// create makes the table's buckets under a new id.
func (t *table) create(tx *disk.Tx) error {
	id, err := tx.Bucket(bucketTables).NextSequence()
	if err != nil {
		return err
	}
	t.ID = strconv.FormatUint(id, 10)
	if _, err := tx.CreateBucket(t.bucket()); err != nil {
		return err
	}
	for _, x := range t.Indexes {
		if _, err := tx.CreateBucket(t.indexBucket(x)); err != nil {
			return err
		}
	}
	return t.save(tx)
}

// refuseFeatures refuses features that this engine does not have.
func refuseFeatures(r request) error {
	if r.has("LocalSecondaryIndexes") {
		return invalid("This engine does not support LocalSecondaryIndexes: use a global secondary index")
	}
	if s, given := r.object("StreamSpecification"); given {
		if on, _ := s.boolean("StreamEnabled"); on {
			return invalid("This engine does not support streams (StreamSpecification)")
		}
	}
	for _, name := range []string{"ReplicaUpdates", "GlobalTableWitnessUpdates", "GlobalTableSourceArn", "MultiRegionConsistency", "ResourcePolicy"} {
		if r.has(name) {
			return invalid("This engine does not support %s", name)
		}
	}
	return nil
}

func readAttributes(r request, required bool) []attribute {
	if required && !r.has("AttributeDefinitions") {
		r.reportMissing("AttributeDefinitions")
	}
	var out []attribute
	for _, a := range r.structs("AttributeDefinitions") {
		name, kindName := a.keyName("AttributeName"), a.oneOf("AttributeType", "B", "N", "S")
		if !a.has("AttributeType") {
			a.reportMissing("AttributeType")
		}
		k, _ := kindOf(kindName)
		out = append(out, attribute{name, k})
	}
	return out
}

// keyElement is one KeySchemaElement.
type keyElement struct{ name, role string }

func readKeySchema(r request) []keyElement {
	var out []keyElement
	switch n := len(r.list("KeySchema")); {
	case !r.has("KeySchema"):
		r.reportMissing("KeySchema")
	case n == 0:
		r.breach("KeySchema", "[]", "Member must have length greater than or equal to 1")
	case n > 2:
		r.breach("KeySchema", fmt.Sprintf("[%d elements]", n), "Member must have length less than or equal to 2")
	}
	for _, k := range r.structs("KeySchema") {
		name := k.keyName("AttributeName")
		if !k.has("KeyType") {
			k.reportMissing("KeyType")
		}
		out = append(out, keyElement{name, k.oneOf("KeyType", "HASH", "RANGE")})
	}
	return out
}

func readThroughput(r request, into *throughput) (given bool) {
	p, given := r.object("ProvisionedThroughput")
	if !given {
		return false
	}
	const most = 1000000000000
	read, hasRead := p.integer("ReadCapacityUnits", 1, most)
	write, hasWrite := p.integer("WriteCapacityUnits", 1, most)
	if !hasRead {
		p.reportMissing("ReadCapacityUnits")
	}
	if !hasWrite {
		p.reportMissing("WriteCapacityUnits")
	}
	*into = throughput{read, write}
	return true
}

func checkBilling(billing string, provisioned bool) error {
	if billing == billingOnDemand && provisioned {
		return invalidValue("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	}
	if billing == billingProvisioned && !provisioned {
		return invalidValue("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	return nil
}

// indexSpec is an index in a request.
type indexSpec struct {
	index
	keys        []keyElement
	provisioned bool
	includes    bool
}

func readIndexes(r request) []indexSpec {
	var out []indexSpec
	for _, x := range r.structs("GlobalSecondaryIndexes") {
		out = append(out, readIndex(x))
	}
	return out
}

func readIndex(r request) indexSpec {
	spec := indexSpec{keys: readKeySchema(r)}
	spec.Name = r.str("IndexName")
	if !r.has("IndexName") {
		r.reportMissing("IndexName")
	} else {
		checkName(r, "IndexName", spec.Name)
	}
	p, given := r.object("Projection")
	if !given {
		r.reportMissing("Projection")
	}
	spec.Projection = p.oneOf("ProjectionType", projectAll, projectInclude, projectKeys)
	spec.Include = p.strs("NonKeyAttributes")
	spec.includes = p.has("NonKeyAttributes")
	switch n := len(spec.Include); {
	case spec.includes && n == 0:
		p.breach("NonKeyAttributes", "[]", "Member must have length greater than or equal to 1")
	case n > maxIncluded:
		p.breach("NonKeyAttributes", "["+strings.Join(spec.Include, ", ")+"]", fmt.Sprintf("Member must have length less than or equal to %d", maxIncluded))
	}
	spec.provisioned = readThroughput(r, &spec.Throughput)
	return spec
}

// schemaOf checks a key schema against the definitions of attributes.
func (t *table) schemaOf(keys []keyElement) (schema, error) {
	var names, defined []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	for _, a := range t.Attributes {
		defined = append(defined, a.Name)
	}
	for _, name := range names {
		if !slices.Contains(defined, name) {
			return schema{}, invalidValue("Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]",
				strings.Join(names, ", "), strings.Join(defined, ", "))
		}
	}
	if keys[0].role != "HASH" {
		return schema{}, invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	}
	s := schema{Hash: keys[0].name, HashKind: t.kindOf(keys[0].name)}
	if len(keys) == 1 {
		return s, nil
	}
	if keys[1].name == s.Hash {
		return schema{}, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	if keys[1].role != "RANGE" {
		return schema{}, invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	s.Sort, s.SortKind = keys[1].name, t.kindOf(keys[1].name)
	return s, nil
}

// addIndex checks the specification of an index and adds it to the definition.
func (t *table) addIndex(spec indexSpec) error {
	key, err := t.schemaOf(spec.keys)
	if err != nil {
		return err
	}
	spec.Key = key
	switch {
	case spec.Projection == "":
		return invalidValue("Unknown ProjectionType: null")
	case spec.includes && spec.Projection != projectInclude:
		return invalidValue("ProjectionType is %s, but NonKeyAttributes is specified", spec.Projection)
	case !spec.includes && spec.Projection == projectInclude:
		return invalidValue("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case t.index(spec.Name) != nil:
		return invalidValue("Duplicate index name: %s", spec.Name)
	case len(t.Indexes) == maxIndexes:
		return invalidValue("GlobalSecondaryIndex count exceeds the per-table limit of 20")
	case t.Billing == billingOnDemand && spec.provisioned:
		return invalidValue("ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", spec.Name)
	case t.Billing == billingProvisioned && !spec.provisioned:
		return invalidValue("ProvisionedThroughput must be specified for index: %s", spec.Name)
	}
	included := len(spec.Include)
	for _, x := range t.Indexes {
		included += len(x.Include)
	}
	if included > maxExtra {
		return invalidValue("NonKeyAttributes count exceeds the per-table limit of %d", maxExtra)
	}
	t.Indexes = append(t.Indexes, spec.index)
	return nil
}

// checkAttributesUsed refuses definitions of attributes that belong to no key, and two definitions
// of one attribute.
func (t *table) checkAttributesUsed() error {
	used := map[string]bool{}
	for _, name := range t.Key.names() {
		used[name] = true
	}
	for _, x := range t.Indexes {
		for _, name := range x.Key.names() {
			used[name] = true
		}
	}
	seen := map[string]bool{}
	for _, a := range t.Attributes {
		if seen[a.Name] {
			return invalidValue("Cannot redefine attribute: %s", a.Name)
		}
		seen[a.Name] = true
	}
	if len(used) == len(seen) {
		return nil
	}
	if len(t.Indexes) == 0 {
		return invalidValue("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	var defined, keys []string
	for _, a := range t.Attributes {
		defined = append(defined, a.Name)
	}
	for name := range used {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return invalidValue("Some AttributeDefinitions are not used. AttributeDefinitions: [%s], keys used: [%s]",
		strings.Join(defined, ", "), strings.Join(keys, ", "))
}
