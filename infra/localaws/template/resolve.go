package template

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Deployment is a template with all names resolved.
type Deployment struct {
	Environment   map[string]map[string]string // function id → variable → value
	LogGroups     map[string]string            // function id → name, where it has one
	Policies      map[string][]any             // function id → documents of its role, as YAML decodes them
	Substitutions map[string]map[string]string // state machine id → name → value
	Rules         []EventRule
	Outputs       map[string]string
	CORS          CORS
}

// EventRule is a rule with an evaluated pattern.
type EventRule struct {
	Function string // logical id
	Event    string
	Pattern  Pattern
}

// Names returns a name for every possible reference of a template, as in a stack on one machine:
// ARNs of functions and state machines, names of tables, attributes as "Table.Arn". The caller may
// replace values.
func (t *Template) Names() map[string]string {
	names := maps.Clone(pseudo)
	delete(names, noValue)
	stack := cmp.Or(t.Stack, pseudo["AWS::StackName"])
	names["AWS::StackName"] = stack
	arn := func(service, resource string) string {
		return strings.Join([]string{"arn", pseudo["AWS::Partition"], service, pseudo["AWS::Region"], pseudo["AWS::AccountId"], resource}, ":")
	}
	for id, kind := range t.resources {
		name := stack + "-" + id
		names[id] = name
		switch kind {
		case typeFunction:
			names[id+".Arn"] = arn("lambda", "function:"+name)
		case typeStateMachine:
			names[id] = arn("states", "stateMachine:"+name)
			names[id+".Arn"], names[id+".Name"] = names[id], name
		case typeTable:
			names[id+".Arn"] = arn("dynamodb", "table/"+name)
		case typeBucket:
			names[id] = strings.ToLower(name) // no other letters are allowed
			names[id+".Arn"] = "arn:" + pseudo["AWS::Partition"] + ":s3:::" + names[id]
		case typeAPI, typeSocketAPI:
			names[id] = strings.ToLower(id)
		case typeSocketStage:
			names[id] = t.Socket.Stage
		default:
			names[id+".Arn"] = arn("local", name)
		}
	}
	return names
}

// Resolve evaluates every environment, substitution, pattern and output. values holds the value of
// !Ref X under "X", that of !GetAtt X.Y under "X.Y", and parameters that differ from their
// defaults. A reference without a value is an error that names its line.
func (t *Template) Resolve(values map[string]string) (*Deployment, error) {
	s := scope{template: t, values: maps.Clone(values)}
	if s.values == nil {
		s.values = map[string]string{}
	}
	if err := s.parameters(); err != nil {
		return nil, err
	}
	d := &Deployment{
		Environment:   map[string]map[string]string{},
		LogGroups:     map[string]string{},
		Policies:      map[string][]any{},
		Substitutions: map[string]map[string]string{},
		Outputs:       map[string]string{},
	}
	for _, g := range t.LogGroups {
		if name, ok := s.text(g.Name); ok {
			s.values[g.ID] = name
		}
	}
	for _, f := range t.Functions {
		if f.LogGroup.node != nil {
			d.LogGroups[f.ID], _ = s.text(f.LogGroup)
		}
		d.Environment[f.ID] = s.texts(f.Environment)
		d.Policies[f.ID] = s.documents(f.Role)
		for _, rule := range f.Rules {
			d.Rules = append(d.Rules, EventRule{f.ID, rule.Event, s.pattern(rule.Pattern)})
		}
	}
	for _, m := range t.StateMachines {
		d.Substitutions[m.ID] = s.texts(m.Substitutions)
	}
	d.CORS = s.cors()
	for _, o := range t.outputs {
		if o.condition.node != nil && !s.holds(t.conditions[o.condition.node.Value], "Outputs."+o.Name) {
			continue
		}
		if text, ok := s.text(o.Value); ok {
			d.Outputs[o.Name] = text
		}
	}
	return d, errors.Join(s.errs...)
}

// scope holds the values of references.
type scope struct {
	template *Template
	values   map[string]string
	errs     []error
}

// parameters sets and checks the value of every parameter.
func (s *scope) parameters() error {
	var errs []error
	for _, p := range s.template.Parameters {
		value, given := s.values[p.Name]
		if !given && p.Has {
			s.values[p.Name] = p.Default
			continue
		}
		if !given {
			continue // an error only if it is used
		}
		if err := p.Accept(value); err != nil {
			errs = append(errs, fmt.Errorf("parameter %s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Accept returns the reason why a parameter cannot have a value; nil when it can.
func (p Parameter) Accept(value string) error {
	if len(p.Allowed) > 0 && !slices.Contains(p.Allowed, value) {
		return fmt.Errorf("%q is not one of %s", value, strings.Join(p.Allowed, ", "))
	}
	if p.Pattern != "" {
		whole, err := regexp.Compile(`\A(?:` + p.Pattern + `)\z`)
		if err != nil {
			return fmt.Errorf("its AllowedPattern: %w", err)
		}
		if !whole.MatchString(value) {
			return fmt.Errorf("%q does not match %s", value, p.Pattern)
		}
	}
	if !p.Number {
		return nil
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", value)
	}
	if least, err := strconv.ParseFloat(p.Min, 64); err == nil && n < least {
		return fmt.Errorf("%s is less than %s", value, p.Min)
	}
	if most, err := strconv.ParseFloat(p.Max, 64); err == nil && n > most {
		return fmt.Errorf("%s is more than %s", value, p.Max)
	}
	return nil
}

func (s *scope) fail(n *yaml.Node, path, format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("%s:%d: %s: %s", s.template.file(), n.Line, path, fmt.Sprintf(format, args...)))
}

// texts evaluates values that must be texts; values that evaluate to nothing are left out.
func (s *scope) texts(values map[string]Value) map[string]string {
	out := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := s.text(values[name]); ok {
			out[name] = text
		}
	}
	return out
}

func (s *scope) text(v Value) (string, bool) {
	switch got := s.eval(v.node, v.path).(type) {
	case nothing:
		return "", false
	case string:
		return got, true
	case json.Number:
		return got.String(), true
	case bool:
		return strconv.FormatBool(got), true
	default:
		s.fail(v.node, v.path, "must come to a text")
		return "", false
	}
}

// nothing is the value of AWS::NoValue.
type nothing struct{}

// eval returns a string, json.Number, bool, nil, []any, map[string]any or nothing.
func (s *scope) eval(n *yaml.Node, path string) any {
	switch n.Tag {
	case tagRef:
		return s.find(n, path, n.Value)
	case tagGetAtt:
		return s.find(n, path, n.Value)
	case tagSub:
		return s.sub(n, path)
	case tagIf:
		if s.holds(s.template.conditions[n.Content[0].Value], path) {
			return s.eval(n.Content[1], path)
		}
		return s.eval(n.Content[2], path)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			if v := s.eval(item, path); v != (nothing{}) {
				out = append(out, v)
			}
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := s.eval(n.Content[i+1], join(path, n.Content[i].Value)); v != (nothing{}) {
				out[n.Content[i].Value] = v
			}
		}
		return out
	}
	return scalar(n)
}

func scalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!bool":
		return n.Value == "true"
	case "!!int", "!!float":
		return json.Number(n.Value)
	case "!!null":
		return nil
	}
	return n.Value
}

func (s *scope) find(n *yaml.Node, path, name string) any {
	if name == noValue {
		return nothing{}
	}
	value, ok := s.values[name]
	if !ok {
		s.fail(n, path, "%s has no value in this deployment", name)
	}
	return value
}

func (s *scope) sub(n *yaml.Node, path string) any {
	parts, err := parseSub(n.Value)
	if err != nil {
		s.fail(n, path, "%v", err)
		return ""
	}
	var out strings.Builder
	for _, p := range parts {
		out.WriteString(p.text)
		if p.ref != "" {
			if text, ok := s.find(n, path, p.ref).(string); ok {
				out.WriteString(text)
			}
		}
	}
	return out.String()
}

// holds evaluates a condition.
func (s *scope) holds(n *yaml.Node, path string) bool {
	switch n.Tag {
	case tagCondition:
		return s.holds(s.template.conditions[n.Value], path)
	case tagNot:
		return !s.holds(n.Content[0], path)
	case tagAnd:
		return !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !s.holds(c, path) })
	case tagOr:
		return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return s.holds(c, path) })
	case tagEquals:
		return fmt.Sprint(s.eval(n.Content[0], path)) == fmt.Sprint(s.eval(n.Content[1], path))
	}
	s.fail(n, path, "is not a condition")
	return false
}
