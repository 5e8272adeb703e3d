package template

import (
	"fmt"
	"slices"
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
func (r *reader) check(n node) {
	if n.node.Kind == yaml.AliasNode || n.node.Anchor != "" {
		n.fail("CloudFormation knows no anchors and aliases")
		return
	}
	if intrinsic(n.node) {
		r.checkIntrinsic(n)
		return
	}
	switch n.node.Kind {
	case yaml.MappingNode:
		for key, value := range n.members() {
			if key.name() == "Ref" || strings.HasPrefix(key.name(), "Fn::") {
				key.fail("write the short form of the intrinsic function")
				continue
			}
			r.check(value)
		}
	case yaml.SequenceNode:
		r.checkArguments(n, 0)
	}
}

func (r *reader) checkIntrinsic(n node) {
	switch n.node.Tag {
	case tagRef:
		r.checkRef(n, n.node.Value)
	case tagGetAtt:
		r.checkAttribute(n, n.node.Value)
	case tagSub:
		r.checkSub(n)
	case tagCondition:
		r.checkCondition(n, n.node.Value)
	case tagIf:
		if n.hasArguments(3, 3) {
			r.checkCondition(n.at(n.node.Content[0], n.path), n.node.Content[0].Value)
			r.checkArguments(n, 1)
		}
	case tagSplit:
		if n.hasArguments(2, 2) {
			r.checkArguments(n, 1)
		}
	case tagEquals, tagNot, tagAnd, tagOr:
		least, most := arity(n.node.Tag)
		if n.hasArguments(least, most) {
			r.checkArguments(n, 0)
		}
	default:
		n.fail("the intrinsic function %s is not understood", n.node.Tag)
	}
}

// checkArguments checks the items of a sequence from one on.
func (r *reader) checkArguments(n node, from int) {
	for i, item := range n.node.Content[from:] {
		r.check(n.at(item, fmt.Sprintf("%s[%d]", n.path, from+i)))
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

func (n node) hasArguments(least, most int) bool {
	if n.node.Kind == yaml.SequenceNode && len(n.node.Content) >= least && len(n.node.Content) <= most {
		return true
	}
	if least == most {
		n.fail("%s takes a list of %d", n.node.Tag, least)
	} else {
		n.fail("%s takes a list of %d to %d", n.node.Tag, least, most)
	}
	return false
}

func (r *reader) checkSub(n node) {
	if n.node.Kind != yaml.ScalarNode {
		n.fail("only !Sub with a text is understood")
		return
	}
	parts, err := parseSub(n.node.Value)
	if err != nil {
		n.fail("%v", err)
		return
	}
	for _, p := range parts {
		switch {
		case p.ref == "":
		case strings.Contains(p.ref, "."):
			r.checkAttribute(n, p.ref)
		default:
			r.checkRef(n, p.ref)
		}
	}
}

func (r *reader) checkRef(n node, name string) {
	_, isPseudo := pseudo[name]
	_, isResource := r.out.resources[name]
	if n.node.Kind != yaml.ScalarNode || (!isPseudo && !isResource && !r.isParameter(name)) {
		n.fail("%q is neither a parameter nor a resource of this template", name)
	}
}

func (r *reader) checkAttribute(n node, name string) {
	id, attribute, _ := strings.Cut(name, ".")
	kind, ok := r.out.resources[id]
	if n.node.Kind != yaml.ScalarNode || !ok {
		n.fail("%q is not a resource of this template", id)
		return
	}
	if !slices.Contains(attributes[kind], attribute) {
		n.fail("the attribute %q of %s is not understood", attribute, kind)
	}
}

func (r *reader) checkCondition(n node, name string) {
	if _, ok := r.out.conditions[name]; n.node.Kind != yaml.ScalarNode || !ok {
		n.fail("%q is not a condition of this template", name)
	}
}

func (r *reader) isParameter(name string) bool {
	return slices.ContainsFunc(r.out.Parameters, func(p Parameter) bool { return p.Name == name })
}
