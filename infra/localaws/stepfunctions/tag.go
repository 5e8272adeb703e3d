package stepfunctions

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of tags.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

// tag is a label of a state machine.
type tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type tagsInput struct {
	ARN  string   `json:"resourceArn"`
	Tags []tag    `json:"tags"`
	Keys []string `json:"tagKeys"`
}

// taggedMachine returns the machine with this ARN. Only machines have tags here.
func (e *Engine) taggedMachine(arn string) (*machine, error) {
	if arn == "" {
		return nil, requiredError("resourceArn")
	}
	if _, err := splitARN(arn, "stateMachine"); err != nil {
		return nil, err
	}
	m, err := e.machine(arn)
	if err != nil {
		return nil, refuse("ResourceNotFound", "Resource not found: '%s'", arn)
	}
	return m, nil
}

// checkTags refuses tags that AWS refuses.
func checkTags(tags []tag) error {
	for _, t := range tags {
		switch n := utf8.RuneCountInString(t.Key); {
		case n == 0 || n > maxTagKey:
			return invalid(t.Key, "tags", "Member must have length between 1 and 128")
		case utf8.RuneCountInString(t.Value) > maxTagValue:
			return invalid(t.Value, "tags", "Member must have length less than or equal to 256")
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return refuse("ValidationException", "Tag keys must not begin with 'aws:'")
		}
	}
	return nil
}

// merge returns tags with others added; the last one of a key wins.
func merge(tags, others []tag) ([]tag, error) {
	out := slices.Clone(tags)
	for _, t := range others {
		if i := slices.IndexFunc(out, func(o tag) bool { return o.Key == t.Key }); i >= 0 {
			out[i] = t
			continue
		}
		out = append(out, t)
	}
	if len(out) > maxTags {
		return nil, refuse("TooManyTags", "A resource has at most %d tags", maxTags)
	}
	return out, checkTags(others)
}

func (e *Engine) listTags(_ context.Context, in *tagsInput) (any, error) {
	m, err := e.taggedMachine(in.ARN)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, t := range m.record.Tags {
		list = append(list, object{{"key", t.Key}, {"value", t.Value}})
	}
	return object{{"tags", list}}, nil
}

func (e *Engine) tagResource(_ context.Context, in *tagsInput) (any, error) {
	return e.retag(in.ARN, func(tags []tag) ([]tag, error) { return merge(tags, in.Tags) })
}

func (e *Engine) untagResource(_ context.Context, in *tagsInput) (any, error) {
	return e.retag(in.ARN, func(tags []tag) ([]tag, error) {
		return slices.DeleteFunc(slices.Clone(tags), func(t tag) bool { return slices.Contains(in.Keys, t.Key) }), nil
	})
}

func (e *Engine) retag(arn string, change func([]tag) ([]tag, error)) (any, error) {
	e.admin.Lock()
	defer e.admin.Unlock()
	old, err := e.taggedMachine(arn)
	if err != nil {
		return nil, err
	}
	rec := *old.record
	if rec.Tags, err = change(rec.Tags); err != nil {
		return nil, err
	}
	return object{}, e.saveMachine(&machine{record: &rec, text: old.text, def: old.def})
}

type syncInput struct {
	ARN string `json:"stateMachineArn"`
}

// startSync returns an error, because Standard workflows do not support it.
func (e *Engine) startSync(_ context.Context, in *syncInput) (any, error) {
	if _, err := e.machine(in.ARN); err != nil {
		return nil, err
	}
	return nil, refuse("StateMachineTypeNotSupported", "This operation is not supported by this type of state machine")
}

// redrive returns an error, because executions run only once here. DescribeExecution reports that
// too.
func (e *Engine) redrive(_ context.Context, in *executionInput) (any, error) {
	rec, err := e.record(in.ARN)
	if err != nil {
		return nil, err
	}
	return nil, refuse("ExecutionNotRedrivable", "Execution is %s and cannot be redriven", rec.Status)
}

type versionsInput struct {
	ARN string `json:"stateMachineArn"`
	pageInput
}

// listVersions and listAliases return empty lists, because versions and aliases cannot be created.
func (e *Engine) listVersions(_ context.Context, in *versionsInput) (any, error) {
	return e.emptyList(in.ARN, "stateMachineVersions")
}

func (e *Engine) listAliases(_ context.Context, in *versionsInput) (any, error) {
	return e.emptyList(in.ARN, "stateMachineAliases")
}

func (e *Engine) emptyList(arn, field string) (any, error) {
	if _, err := e.machine(arn); err != nil {
		return nil, err
	}
	return object{{field, []any{}}}, nil
}
