package stepfunctions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"localaws/disk"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A machine is the current version of a state machine.
type machine struct {
	record *machineRecord
	text   string
	def    *Definition
}

// registry holds the state machines and their compiled definitions.
type registry struct {
	store   *disk.Store
	account account
	admin   sync.Mutex // serialises changes of machines

	mu     sync.Mutex
	byName map[string]*machine
	defs   map[string]*Definition // by their keys in bucketDefinitions
}

// machineRecord is the stored form of a machine. Dates are nanoseconds since 1970.
type machineRecord struct {
	Name       string          `json:"name"`
	ARN        string          `json:"arn"`
	RoleARN    string          `json:"roleArn"`
	Definition string          `json:"definition"` // key in bucketDefinitions
	Revision   string          `json:"revision,omitempty"`
	Created    int64           `json:"created"`
	Updated    int64           `json:"updated"`
	Logging    json.RawMessage `json:"logging,omitempty"`
	Tracing    json.RawMessage `json:"tracing,omitempty"`
	Tags       []tag           `json:"tags,omitempty"`
}

// restore reads the machines.
func (l *registry) restore(tx *disk.Tx) error {
	return bucket(tx, bucketMachines).ForEach(func(_, v []byte) error {
		m, err := l.decode(tx, v)
		if err == nil {
			l.byName[m.record.Name] = m
		}
		return err
	})
}

func (l *registry) decode(tx *disk.Tx, b []byte) (*machine, error) {
	m := &machine{record: &machineRecord{}}
	err := json.Unmarshal(b, m.record)
	if err == nil {
		m.text, err = definitionText(tx, m.record.Definition)
	}
	if err == nil {
		m.def, err = l.definition(tx, m.record.Definition)
	}
	if err != nil {
		return nil, fmt.Errorf("state machine %s: %w", m.record.Name, err)
	}
	return m, nil
}

// get returns the machine with this ARN.
func (l *registry) get(arn string) (*machine, error) {
	name, err := l.account.machineName(arn)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.byName[name]
	if m == nil {
		return nil, noMachine(arn)
	}
	return m, nil
}

// save saves the machine and makes it current; the caller holds admin.
func (l *registry) save(m *machine) error {
	b, err := json.Marshal(m.record)
	if err != nil {
		return err
	}
	key, err := hex.DecodeString(m.record.Definition)
	if err != nil {
		return err
	}
	err = l.store.Update(func(tx *disk.Tx) error {
		if err := bucket(tx, bucketDefinitions).Put(key, []byte(m.text)); err != nil {
			return err
		}
		return bucket(tx, bucketMachines).Put([]byte(m.record.Name), b)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byName[m.record.Name] = m
	l.defs[m.record.Definition] = m.def
	return nil
}

// compile checks the definition of an API call.
func compile(text string) (*Definition, string, error) {
	def, err := Parse([]byte(text))
	var findings *DefinitionError
	if errors.As(err, &findings) {
		return nil, "", refuse("InvalidDefinition", "Invalid State Machine Definition: '%s'", findings)
	}
	sum := sha256.Sum256([]byte(text))
	return def, hex.EncodeToString(sum[:]), err
}

type createStateMachineInput struct {
	Name       string          `json:"name"`
	Definition string          `json:"definition"`
	RoleARN    string          `json:"roleArn"`
	Type       string          `json:"type"`
	Logging    json.RawMessage `json:"loggingConfiguration"`
	Tracing    json.RawMessage `json:"tracingConfiguration"`
	Tags       []tag           `json:"tags"`
	Publish    bool            `json:"publish"`
	Encryption *struct {
		Type string `json:"type"`
	} `json:"encryptionConfiguration"`
}

func (in *createStateMachineInput) check() error {
	if err := checkName(in.Name); err != nil {
		return err
	}
	switch {
	case in.RoleARN == "":
		return requiredError("roleArn")
	case in.Type != "" && in.Type != "STANDARD" && in.Type != "EXPRESS":
		return invalid(in.Type, "type", "Member must satisfy enum value set: [STANDARD, EXPRESS]")
	case in.Type == "EXPRESS":
		return refuse("StateMachineTypeNotSupported", "State Machine Type is not supported: '%s'", in.Type)
	case in.Publish:
		return refuse("ValidationException", "Versions are not supported by this deployment")
	case in.Encryption != nil && in.Encryption.Type != "AWS_OWNED_KEY":
		return refuse("InvalidEncryptionConfiguration", "Customer managed keys are not supported by this deployment")
	case !strings.HasPrefix(in.RoleARN, "arn:"):
		return refuse("InvalidArn", "Invalid Arn: 'Invalid ARN prefix: %s'", in.RoleARN)
	}
	return nil
}

func (l *registry) create(in *createStateMachineInput) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	def, key, err := compile(in.Definition)
	if err != nil {
		return nil, err
	}
	tags, err := merge(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	l.admin.Lock()
	defer l.admin.Unlock()
	arn := l.account.arn("stateMachine", in.Name)
	now := nanos(time.Now())
	m := &machine{def: def, text: in.Definition, record: &machineRecord{
		Name: in.Name, ARN: arn, RoleARN: in.RoleARN, Definition: key, Created: now, Updated: now,
		Logging: in.Logging, Tracing: in.Tracing, Tags: tags,
	}}
	if old, err := l.get(arn); err == nil {
		if !sameMachine(old.record, m.record) {
			return nil, refuse("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", arn)
		}
		m = old
	} else if err := l.save(m); err != nil {
		return nil, err
	}
	return object{{"creationDate", epoch(fromNanos(m.record.Created))}, {"stateMachineArn", arn}}, nil
}

// sameMachine reports whether two machines are equal for CreateStateMachine: AWS compares name,
// definition, type and the two configurations, and not the role.
func sameMachine(a, b *machineRecord) bool {
	return a.Definition == b.Definition && bytes.Equal(a.Logging, b.Logging) && bytes.Equal(a.Tracing, b.Tracing)
}

type updateStateMachineInput struct {
	ARN        string          `json:"stateMachineArn"`
	Definition *string         `json:"definition"`
	RoleARN    *string         `json:"roleArn"`
	Logging    json.RawMessage `json:"loggingConfiguration"`
	Tracing    json.RawMessage `json:"tracingConfiguration"`
	Publish    bool            `json:"publish"`
}

func (l *registry) update(in *updateStateMachineInput) (any, error) {
	l.admin.Lock()
	defer l.admin.Unlock()
	old, err := l.get(in.ARN)
	switch {
	case err != nil:
		return nil, err
	case in.Publish:
		return nil, refuse("ValidationException", "Versions are not supported by this deployment")
	case in.Definition == nil && in.RoleARN == nil && in.Logging == nil && in.Tracing == nil:
		return nil, refuse("MissingRequiredParameter", "Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration must be specified")
	}
	rec := *old.record
	m := &machine{record: &rec, text: old.text, def: old.def}
	if in.Definition != nil {
		if m.def, rec.Definition, err = compile(*in.Definition); err != nil {
			return nil, err
		}
		m.text = *in.Definition
	}
	if in.RoleARN != nil {
		if !strings.HasPrefix(*in.RoleARN, "arn:") {
			return nil, refuse("InvalidArn", "Invalid Arn: 'Invalid ARN prefix: %s'", *in.RoleARN)
		}
		rec.RoleARN = *in.RoleARN
	}
	if in.Logging != nil {
		rec.Logging = in.Logging
	}
	if in.Tracing != nil {
		rec.Tracing = in.Tracing
	}
	if rec.Revision == "" || rec.RoleARN != old.record.RoleARN || !sameMachine(&rec, old.record) {
		rec.Revision = newUUID()
	}
	rec.Updated = nanos(time.Now())
	if err := l.save(m); err != nil {
		return nil, err
	}
	return object{{"revisionId", rec.Revision}, {"updateDate", epoch(fromNanos(rec.Updated))}}, nil
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) { return encodeValue(o), nil }

type stateMachineInput struct {
	ARN string `json:"stateMachineArn"`
}

func (l *registry) describe(in *stateMachineInput) (any, error) {
	m, err := l.get(in.ARN)
	if err != nil {
		return nil, err
	}
	out := object{
		{"stateMachineArn", m.record.ARN},
		{"name", m.record.Name},
		{"status", "ACTIVE"},
		{"definition", m.text},
		{"roleArn", m.record.RoleARN},
		{"type", "STANDARD"},
		{"creationDate", epoch(fromNanos(m.record.Created))},
	}
	out = append(out, m.record.settings()...)
	if m.record.Revision != "" {
		out = append(out, member{"revisionId", m.record.Revision})
	}
	return out, nil
}

// settings returns the two configurations, or their defaults.
func (r *machineRecord) settings() object {
	stored := func(raw json.RawMessage, preset object) any {
		if len(raw) == 0 {
			return preset
		}
		v, err := parseValue(raw)
		if err != nil {
			return preset
		}
		return v
	}
	return object{
		{"loggingConfiguration", stored(r.Logging, object{{"level", "OFF"}, {"includeExecutionData", false}})},
		{"tracingConfiguration", stored(r.Tracing, object{{"enabled", false}})},
	}
}

func (l *registry) list(in *pageInput) (any, error) {
	limit, after, err := in.page("machines", 1024)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	all := maps.Clone(l.byName)
	l.mu.Unlock()
	list := []any{}
	out := object{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name <= after {
			continue
		}
		if len(list) == limit {
			out = append(out, member{"nextToken", pageToken("machines", after)})
			break
		}
		m := all[name].record
		list = append(list, object{
			{"stateMachineArn", m.ARN},
			{"name", m.Name},
			{"type", "STANDARD"},
			{"creationDate", epoch(fromNanos(m.Created))},
		})
		after = name
	}
	return append(out, member{"stateMachines", list}), nil
}

// deleteStateMachine deletes the machine and stops its executions. Deleting a machine that does not
// exist succeeds, as on AWS.
func (e *Engine) deleteStateMachine(in *stateMachineInput) (any, error) {
	e.machines.admin.Lock()
	defer e.machines.admin.Unlock()
	m, err := e.machines.get(in.ARN)
	if err != nil {
		var known *apiError
		if errors.As(err, &known) && known.code == "StateMachineDoesNotExist" {
			return object{}, nil
		}
		return nil, err
	}
	if err := e.machines.remove(m.record.Name); err != nil {
		return nil, err
	}
	for _, x := range e.openExecutions(m.record.Name) {
		if err := e.signal(x, signal{kind: signalStop, fail: &failure{}}); err != nil && !errors.Is(err, errOver) {
			return nil, err
		}
	}
	return object{}, nil
}

// remove deletes a machine; the caller holds admin.
func (l *registry) remove(name string) error {
	err := l.store.Update(func(tx *disk.Tx) error { return bucket(tx, bucketMachines).Delete([]byte(name)) })
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byName, name)
	return nil
}

type validateInput struct {
	Definition string `json:"definition"`
	Type       string `json:"type"`
	Severity   string `json:"severity"`
	MaxResults int    `json:"maxResults"`
}

func validateDefinition(in *validateInput) (any, error) {
	limit := in.MaxResults
	switch {
	case limit < 0 || limit > 100:
		return nil, invalid(fmt.Sprint(limit), "maxResults", "Member must have value less than or equal to 100")
	case in.Type == "EXPRESS":
		return nil, refuse("ValidationException", "Express state machines are not supported by this deployment")
	case limit == 0:
		limit = 100
	}
	_, err := Parse([]byte(in.Definition))
	var findings *DefinitionError
	errors.As(err, &findings)
	diagnostics := []any{}
	result, truncated := "OK", false
	if findings != nil {
		result = "FAIL"
		for i, d := range findings.Diagnostics {
			if i == limit {
				truncated = true
				break
			}
			entry := object{{"severity", d.Severity}, {"code", d.Code}, {"message", d.Message}}
			if d.Location != "" {
				entry = append(entry, member{"location", d.Location})
			}
			diagnostics = append(diagnostics, entry)
		}
	}
	return object{{"result", result}, {"diagnostics", diagnostics}, {"truncated", truncated}}, nil
}

// definition returns the compiled definition stored under a key.
func (l *registry) definition(tx *disk.Tx, key string) (*Definition, error) {
	l.mu.Lock()
	def := l.defs[key]
	l.mu.Unlock()
	if def != nil {
		return def, nil
	}
	text, err := definitionText(tx, key)
	if err != nil {
		return nil, err
	}
	if def, err = Parse([]byte(text)); err != nil {
		return nil, fmt.Errorf("definition %s: %w", key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.defs[key] = def
	return def, nil
}

func definitionText(tx *disk.Tx, key string) (string, error) {
	raw, err := hex.DecodeString(key)
	if err != nil {
		return "", fmt.Errorf("definition %s: %w", key, errCodec)
	}
	text := bucket(tx, bucketDefinitions).Get(raw)
	if text == nil {
		return "", fmt.Errorf("definition %s: %w", key, errCodec)
	}
	return string(text), nil
}
