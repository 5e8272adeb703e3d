package dynamodb

import (
	"slices"
	"strings"
)

// The operations of tools other than those on tables and items: tags, limits, and the state of
// other features of the service.

// tag is one label of a table.
type tag struct{ Key, Value string }

const maxTags = 50

func readTags(r request) []tag {
	var out []tag
	for _, t := range r.structs("Tags") {
		if !t.has("Key") {
			t.reportMissing("Key")
		}
		if !t.has("Value") {
			t.reportMissing("Value")
		}
		out = withTag(out, tag{t.str("Key"), t.str("Value")})
	}
	return out
}

func compareTag(t tag, key string) int { return strings.Compare(t.Key, key) }

func withTag(tags []tag, t tag) []tag {
	i, found := slices.BinarySearchFunc(tags, t.Key, compareTag)
	if found {
		tags[i] = t
		return tags
	}
	return slices.Insert(tags, i, t)
}

// resource reads the ARN of a table.
func (r request) resource() string {
	arn := r.str("ResourceArn")
	if !r.has("ResourceArn") {
		r.reportMissing("ResourceArn")
	}
	return arn
}

// withARN returns the table of an ARN.
func (c catalogue) withARN(arn string) (*table, error) {
	name, ok := strings.CutPrefix(arn, arnOf("dynamodb", "table/"))
	if !ok {
		_, name, ok = strings.Cut(arn, ":table/") // of another account or region: only the name counts
	}
	if !ok || !strings.HasPrefix(arn, "arn:aws:dynamodb:") {
		return nil, invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", arn)
	}
	t, ok := c[name]
	if !ok {
		return nil, notFound("Requested resource not found: ResourcArn: " + arn + " not found")
	}
	return t, nil
}

func (e *Engine) tagResource(r request) ([]byte, error) {
	arn := r.resource()
	if !r.has("Tags") {
		r.reportMissing("Tags")
	}
	tags := readTags(r)
	if err := r.err(); err == nil && len(tags) == 0 {
		return nil, invalid("Atleast one Tag needs to be provided as Input.")
	}
	return e.retag(r, arn, func(next *table) error {
		for _, t := range tags {
			next.Tags = withTag(next.Tags, t)
		}
		if len(next.Tags) > maxTags {
			return invalidValue("Too many tags: %d, the most are %d", len(next.Tags), maxTags)
		}
		return nil
	})
}

func (e *Engine) untagResource(r request) ([]byte, error) {
	arn := r.resource()
	if !r.has("TagKeys") {
		r.reportMissing("TagKeys")
	}
	keys := r.strs("TagKeys")
	return e.retag(r, arn, func(next *table) error {
		next.Tags = slices.DeleteFunc(next.Tags, func(t tag) bool { return slices.Contains(keys, t.Key) })
		return nil
	})
}

func (e *Engine) retag(r request, arn string, change func(next *table) error) ([]byte, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	e.ddl.Lock()
	defer e.ddl.Unlock()
	t, err := e.tables.withARN(arn)
	if err != nil {
		return nil, err
	}
	next := t.clone()
	if err := change(next); err != nil {
		return nil, err
	}
	return nil, e.define(t.Name, next, next.save) // these two respond without a body
}

func (e *Engine) listTagsOfResource(r request) ([]byte, error) {
	arn := r.resource()
	if err := r.err(); err != nil {
		return nil, err
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	t, err := e.tables.withARN(arn)
	if err != nil {
		return nil, err
	}
	dst := append([]byte(nil), `{"Tags":[`...)
	for i, tag := range t.Tags {
		dst = append(comma(dst, i), `{"Key":`...)
		dst = appendString(dst, tag.Key)
		dst = append(dst, `,"Value":`...)
		dst = append(appendString(dst, tag.Value), '}')
	}
	return append(dst, "]}"...), nil
}

// readSeal reports whether a SSESpecification asks for a key of KMS. Nothing is encrypted here, but
// tools expect to read the setting back.
func readSeal(r request) bool {
	s, _ := r.object("SSESpecification")
	on, _ := s.boolean("Enabled")
	return on
}

// describeLimits returns the default quotas of an account; none is enforced.
func (e *Engine) describeLimits(request) ([]byte, error) {
	return []byte(`{"AccountMaxReadCapacityUnits":80000,"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":40000,"TableMaxWriteCapacityUnits":40000}`), nil
}

func (e *Engine) describeEndpoints(request) ([]byte, error) {
	return []byte(`{"Endpoints":[{"Address":"dynamodb.us-east-1.amazonaws.com","CachePeriodInMinutes":1440}]}`), nil
}

// describeContinuousBackups returns the settings of a table without recovery.
func (e *Engine) describeContinuousBackups(r request) ([]byte, error) {
	name := r.table()
	if err := r.err(); err != nil {
		return nil, err
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	if e.tables[name] == nil {
		return nil, clientError(serviceNamespace+"TableNotFoundException", "Table not found: "+name)
	}
	return []byte(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`), nil
}
