package stepfunctions

import (
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

// tagged returns the machine with this ARN. Only machines have tags here.
func (l *registry) tagged(arn string) (*machine, error) {
	if arn == "" {
		return nil, requiredError("resourceArn")
	}
	if _, err := splitARN(arn, "stateMachine"); err != nil {
		return nil, err
	}
	m, err := l.get(arn)
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

func (l *registry) listTags(in *tagsInput) (any, error) {
	m, err := l.tagged(in.ARN)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, t := range m.record.Tags {
		list = append(list, object{{"key", t.Key}, {"value", t.Value}})
	}
	return object{{"tags", list}}, nil
}

func (l *registry) tagResource(in *tagsInput) (any, error) {
	return l.retag(in.ARN, func(tags []tag) ([]tag, error) { return merge(tags, in.Tags) })
}

func (l *registry) untagResource(in *tagsInput) (any, error) {
	return l.retag(in.ARN, func(tags []tag) ([]tag, error) {
		return slices.DeleteFunc(slices.Clone(tags), func(t tag) bool { return slices.Contains(in.Keys, t.Key) }), nil
	})
}

func (l *registry) retag(arn string, change func([]tag) ([]tag, error)) (any, error) {
	l.admin.Lock()
	defer l.admin.Unlock()
	old, err := l.tagged(arn)
	if err != nil {
		return nil, err
	}
	rec := *old.record
	if rec.Tags, err = change(rec.Tags); err != nil {
		return nil, err
	}
	return object{}, l.save(&machine{record: &rec, text: old.text, def: old.def})
}

type syncInput struct {
	ARN string `json:"stateMachineArn"`
}

// startSync returns an error, because Standard workflows do not support it.
func (l *registry) startSync(in *syncInput) (any, error) {
	if _, err := l.get(in.ARN); err != nil {
		return nil, err
	}
	return nil, refuse("StateMachineTypeNotSupported", "This operation is not supported by this type of state machine")
}

// redrive returns an error, because executions run only once here. DescribeExecution reports that
// too.
func (e *Engine) redrive(in *executionInput) (any, error) {
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
func (l *registry) listVersions(in *versionsInput) (any, error) {
	return l.emptyList(in.ARN, "stateMachineVersions")
}

func (l *registry) listAliases(in *versionsInput) (any, error) {
	return l.emptyList(in.ARN, "stateMachineAliases")
}

func (l *registry) emptyList(arn, field string) (any, error) {
	if _, err := l.get(arn); err != nil {
		return nil, err
	}
	return object{{field, []any{}}}, nil
}
