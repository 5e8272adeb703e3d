package template

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// role holds the permissions of a function: policies of its own, and attached ones.
type role struct {
	documents []Value
	attached  []string // logical ids of managed policies
	line      int
}

func (r *reader) role(id string, n *yaml.Node, path string) {
	read := role{line: n.Line}
	r.object(n, path, handlers{
		"AssumeRolePolicyDocument": acceptUnused("functions and state machines are called by this process alone"),
		"Policies": func(n *yaml.Node, at string) {
			for _, item := range r.items(n, at) {
				r.object(item, at, handlers{
					"PolicyName":     acceptUnused("for people"),
					"PolicyDocument": func(n *yaml.Node, at string) { read.documents = append(read.documents, Value{n, at}) },
				})
			}
		},
		"ManagedPolicyArns": func(n *yaml.Node, at string) {
			for _, item := range r.items(n, at) {
				read.attached = append(read.attached, r.refTo(item, at, typePolicy))
			}
		},
	})
	r.out.roles[id] = read
}

func (r *reader) policy(id string, n *yaml.Node, path string) {
	r.object(n, path, handlers{
		"Description":    acceptUnused("for people"),
		"PolicyDocument": func(n *yaml.Node, at string) { r.out.policies[id] = Value{n, at} },
	})
	r.require(n, path, "PolicyDocument")
}

// roleOf returns the role of a function.
func (r *reader) roleOf(n *yaml.Node, path string) string {
	id, attribute, _ := strings.Cut(n.Value, ".")
	if n.Tag != tagGetAtt || attribute != "Arn" || r.out.resources[id] != typeRole {
		r.fail(n, path, "must be the !GetAtt Arn of a role of this template")
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
