package stepfunctions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"localaws/disk"
	"maps"
	"slices"
	"strings"
	"time"
)

// A machine is the current version of a state machine.
type machine struct {
	record *machineRecord
	text   string
	def    *Definition
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

func (e *Engine) restoreMachine(tx *disk.Tx, b []byte) (*machine, error) {
	m := &machine{record: &machineRecord{}}
	err := json.Unmarshal(b, m.record)
	if err == nil {
		m.text, err = definitionText(tx, m.record.Definition)
	}
	if err == nil {
		m.def, err = e.definition(tx, m.record.Definition)
	}
	if err != nil {
		return nil, fmt.Errorf("state machine %s: %w", m.record.Name, err)
	}
	return m, nil
}

// machine returns the machine with this ARN.
func (e *Engine) machine(arn string) (*machine, error) {
	name, err := e.machineName(arn)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.machines[name]
	if m == nil {
		return nil, noMachine(arn)
	}
	return m, nil
}

// saveMachine saves the machine and makes it current; the caller holds admin.
func (e *Engine) saveMachine(m *machine) error {
	b, err := json.Marshal(m.record)
	if err != nil {
		return err
	}
	key, err := hex.DecodeString(m.record.Definition)
	if err != nil {
		return err
	}
	err = e.store.Update(func(tx *disk.Tx) error {
		if err := bucket(tx, bucketDefinitions).Put(key, []byte(m.text)); err != nil {
			return err
		}
		return bucket(tx, bucketMachines).Put([]byte(m.record.Name), b)
	})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.machines[m.record.Name] = m
	e.defs[m.record.Definition] = m.def
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

func (e *Engine) createStateMachine(_ context.Context, in *createStateMachineInput) (any, error) {
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
	e.admin.Lock()
	defer e.admin.Unlock()
	arn := e.arn("stateMachine", in.Name)
	now := nanos(time.Now())
	m := &machine{def: def, text: in.Definition, record: &machineRecord{
		Name: in.Name, ARN: arn, RoleARN: in.RoleARN, Definition: key, Created: now, Updated: now,
		Logging: in.Logging, Tracing: in.Tracing, Tags: tags,
	}}
	if old, err := e.machine(arn); err == nil {
		if !sameMachine(old.record, m.record) {
			return nil, refuse("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", arn)
		}
		m = old
	} else if err := e.saveMachine(m); err != nil {
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

func (e *Engine) updateStateMachine(_ context.Context, in *updateStateMachineInput) (any, error) {
	e.admin.Lock()
	defer e.admin.Unlock()
	old, err := e.machine(in.ARN)
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
	if err := e.saveMachine(m); err != nil {
		return nil, err
	}
	return object{{"revisionId", rec.Revision}, {"updateDate", epoch(fromNanos(rec.Updated))}}, nil
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) { return encodeValue(o), nil }

type stateMachineInput struct {
	ARN string `json:"stateMachineArn"`
}

func (e *Engine) describeStateMachine(_ context.Context, in *stateMachineInput) (any, error) {
	m, err := e.machine(in.ARN)
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

func (e *Engine) listStateMachines(_ context.Context, in *pageInput) (any, error) {
	limit, after, err := in.page("machines", 1024)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	all := maps.Clone(e.machines)
	e.mu.Unlock()
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
func (e *Engine) deleteStateMachine(_ context.Context, in *stateMachineInput) (any, error) {
	e.admin.Lock()
	defer e.admin.Unlock()
	m, err := e.machine(in.ARN)
	if err != nil {
		var known *apiError
		if errors.As(err, &known) && known.code == "StateMachineDoesNotExist" {
			return object{}, nil
		}
		return nil, err
	}
	err = e.store.Update(func(tx *disk.Tx) error {
		return bucket(tx, bucketMachines).Delete([]byte(m.record.Name))
	})
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	delete(e.machines, m.record.Name)
	e.mu.Unlock()
	for _, x := range e.openExecutions(m.record.Name) {
		if err := e.signal(x, signal{kind: signalStop, fail: &failure{}}); err != nil && !errors.Is(err, errOver) {
			return nil, err
		}
	}
	return object{}, nil
}

type validateInput struct {
	Definition string `json:"definition"`
	Type       string `json:"type"`
	Severity   string `json:"severity"`
	MaxResults int    `json:"maxResults"`
}

func (e *Engine) validateDefinition(_ context.Context, in *validateInput) (any, error) {
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
