package template

import (
	"slices"
	"strings"
)

// role holds the permissions of a function: policies of its own, and attached ones.
type role struct {
	documents []Value
	attached  []string // logical ids of managed policies
	line      int
}

func (r *reader) role(id string, n node) {
	read := role{line: n.node.Line}
	n.object(handlers{
		"AssumeRolePolicyDocument": acceptUnused("functions and state machines are called by this process alone"),
		"Policies": func(n node) {
			for _, item := range n.items() {
				item.object(handlers{
					"PolicyName":     acceptUnused("for people"),
					"PolicyDocument": func(n node) { read.documents = append(read.documents, n.Value) },
				})
			}
		},
		"ManagedPolicyArns": func(n node) {
			for _, item := range n.items() {
				read.attached = append(read.attached, r.refTo(item, typePolicy))
			}
		},
	})
	r.out.roles[id] = read
}

func (r *reader) policy(id string, n node) {
	n.object(handlers{
		"Description":    acceptUnused("for people"),
		"PolicyDocument": func(n node) { r.out.policies[id] = n.Value },
	})
	n.require("PolicyDocument")
}

// roleOf returns the role of a function.
func (r *reader) roleOf(n node) string {
	id, attribute, _ := strings.Cut(n.name(), ".")
	if n.node.Tag != tagGetAtt || attribute != "Arn" || r.out.resources[id] != typeRole {
		n.fail("must be the !GetAtt Arn of a role of this template")
	}
	return id
}

// documents returns the evaluated policies of a role.
func (s *scope) documents(id string) []any {
	of := s.template.roles[id]
	values := slices.Clone(of.documents)
	for _, policy := range of.attached {
		values = append(values, s.template.policies[policy])
	}
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = s.eval(v.node, v.path)
	}
	return list
}
