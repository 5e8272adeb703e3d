package template

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value is a property in its form in the template, with its intrinsics.
type Value struct {
	node *yaml.Node
	path string
}

// The supported intrinsic functions, in their short forms.
const (
	tagRef       = "!Ref"
	tagSub       = "!Sub"
	tagGetAtt    = "!GetAtt"
	tagIf        = "!If"
	tagSplit     = "!Split"
	tagEquals    = "!Equals"
	tagNot       = "!Not"
	tagAnd       = "!And"
	tagOr        = "!Or"
	tagCondition = "!Condition"
)

// noValue is the pseudo parameter that removes its property.
const noValue = "AWS::NoValue"

// pseudo maps the pseudo parameters to their values in one process.
var pseudo = map[string]string{
	"AWS::AccountId": "123456789012",
	"AWS::Partition": "aws",
	"AWS::Region":    "us-east-1",
	"AWS::StackName": "local", // until Template.Stack is set
	"AWS::URLSuffix": "amazonaws.com",
	noValue:          "",
}

// attributes lists the attributes for !GetAtt of each type of resource.
var attributes = map[string][]string{
	typeTable:        {"Arn"},
	typeFunction:     {"Arn"},
	typeStateMachine: {"Arn", "Name"},
	typeRole:         {"Arn"},
	typeLogGroup:     {"Arn"},
	typeAlarm:        {"Arn"},
	typeQueue:        {"Arn", "QueueName"},
	typeKey:          {"Arn"},
	typeBucket:       {"Arn", "RegionalDomainName"},
	typeDistribution: {"DomainName"},
	typeOriginAccess: {"Id"},
}

// intrinsic reports whether a node is a call of an intrinsic function.
func intrinsic(n *yaml.Node) bool {
	return strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!")
}

// part is a piece of a !Sub: text, or a reference.
type part struct {
	text string
	ref  string
}

// parseSub splits the text of a !Sub: "${Name}" and "${Name.Attribute}" are references and
// "${!text}" is the text "${text}".
func parseSub(text string) ([]part, error) {
	var parts []part
	for text != "" {
		before, rest, found := strings.Cut(text, "${")
		if before != "" {
			parts = append(parts, part{text: before})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case !closed:
			return nil, fmt.Errorf("${ is not closed")
		case strings.HasPrefix(name, "!"):
			parts = append(parts, part{text: "${" + name[1:] + "}"})
		case name == "" || strings.ContainsAny(name, " ${"):
			return nil, fmt.Errorf("${%s} names nothing", name)
		default:
			parts = append(parts, part{ref: name})
		}
		text = after
	}
	return parts, nil
}

// check walks everything below n: anything that CloudFormation would refuse or that is not
// supported here is a problem.
func (r *reader) check(n *yaml.Node, path string) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.fail(n, path, "CloudFormation knows no anchors and aliases")
		return
	}
	if intrinsic(n) {
		r.checkIntrinsic(n, path)
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for key, value := range r.members(n, path) {
			if key.Value == "Ref" || strings.HasPrefix(key.Value, "Fn::") {
				r.fail(key, join(path, key.Value), "write the short form of the intrinsic function")
				continue
			}
			r.check(value, join(path, key.Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			r.check(item, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

func (r *reader) checkIntrinsic(n *yaml.Node, path string) {
	switch n.Tag {
	case tagRef:
		r.checkRef(n, path, n.Value)
	case tagGetAtt:
		r.checkAttribute(n, path, n.Value)
	case tagSub:
		r.checkSub(n, path)
	case tagCondition:
		r.checkCondition(n, path, n.Value)
	case tagIf:
		if r.arguments(n, path, 3, 3) {
			r.checkCondition(n.Content[0], path, n.Content[0].Value)
			r.check(n.Content[1], path+"[1]")
			r.check(n.Content[2], path+"[2]")
		}
	case tagSplit:
		if r.arguments(n, path, 2, 2) {
			r.check(n.Content[1], path+"[1]")
		}
	case tagEquals, tagNot, tagAnd, tagOr:
		least, most := arity(n.Tag)
		if r.arguments(n, path, least, most) {
			for i, item := range n.Content {
				r.check(item, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	default:
		r.fail(n, path, "the intrinsic function %s is not understood", n.Tag)
	}
}

// arity returns the least and the greatest number of arguments of a condition function.
func arity(tag string) (least, most int) {
	switch tag {
	case tagNot:
		return 1, 1
	case tagEquals:
		return 2, 2
	}
	return 2, 10
}

func (r *reader) arguments(n *yaml.Node, path string, least, most int) bool {
	if n.Kind == yaml.SequenceNode && len(n.Content) >= least && len(n.Content) <= most {
		return true
	}
	if least == most {
		r.fail(n, path, "%s takes a list of %d", n.Tag, least)
	} else {
		r.fail(n, path, "%s takes a list of %d to %d", n.Tag, least, most)
	}
	return false
}

func (r *reader) checkSub(n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode {
		r.fail(n, path, "only !Sub with a text is understood")
		return
	}
	parts, err := parseSub(n.Value)
	if err != nil {
		r.fail(n, path, "%v", err)
		return
	}
	for _, p := range parts {
		switch {
		case p.ref == "":
		case strings.Contains(p.ref, "."):
			r.checkAttribute(n, path, p.ref)
		default:
			r.checkRef(n, path, p.ref)
		}
	}
}

func (r *reader) checkRef(n *yaml.Node, path, name string) {
	_, isPseudo := pseudo[name]
	_, isResource := r.out.resources[name]
	if n.Kind != yaml.ScalarNode || (!isPseudo && !isResource && !r.isParameter(name)) {
		r.fail(n, path, "%q is neither a parameter nor a resource of this template", name)
	}
}

func (r *reader) checkAttribute(n *yaml.Node, path, name string) {
	id, attribute, _ := strings.Cut(name, ".")
	kind, ok := r.out.resources[id]
	if n.Kind != yaml.ScalarNode || !ok {
		r.fail(n, path, "%q is not a resource of this template", id)
		return
	}
	for _, known := range attributes[kind] {
		if known == attribute {
			return
		}
	}
	r.fail(n, path, "the attribute %q of %s is not understood", attribute, kind)
}

func (r *reader) checkCondition(n *yaml.Node, path, name string) {
	if _, ok := r.out.conditions[name]; n.Kind != yaml.ScalarNode || !ok {
		r.fail(n, path, "%q is not a condition of this template", name)
	}
}

func (r *reader) isParameter(name string) bool {
	for _, p := range r.out.Parameters {
		if p.Name == name {
			return true
		}
	}
	return false
}
