// Package toolset has the names and the classes of the tools that a model may call: one table for the turn that offers them,
// the agents whose globs match them, and the check of a text that prints a call.
package toolset

import (
	"cmp"
	"maps"
	"slices"

	"piloto/internal/tools/tool"
	"piloto/internal/workspace/filespec"
)

// Class is the effect of a call of a tool.
type Class = filespec.Class

// The classes of tools.
const (
	ClassRead        = filespec.Read  // it reads, and is answered in the same turn
	ClassWrite       = filespec.Write // it proposes, which a person confirms, or takes a proposal back
	ClassAsk   Class = "ask"          // it asks a person, and waits for them
)

// Names of the tools beside those of filespec.
const (
	Request  = "mcp_request"
	Plan     = "propose_plan"
	Revise   = "revise_plan"
	Search   = "search_tools"
	Look     = "look"
	Result   = "read_result"
	Ask      = "ask_person"
	Withdraw = "withdraw_draft"
	Apply    = tool.ApplyChanges // proposes the changes of files
)

// services has the tools that need no files.
var services = map[string]Class{
	Look: ClassRead, Result: ClassRead, Search: ClassRead,
	Request: ClassWrite, Plan: ClassWrite, Revise: ClassWrite, Withdraw: ClassWrite,
	Ask: ClassAsk,
}

// classes has every tool.
var classes = func() map[string]Class {
	all := maps.Clone(services)
	all[Apply] = ClassWrite
	for _, s := range filespec.All() {
		all[s.Name] = s.Class
	}
	return all
}()

// ClassOf returns the class of a tool; "" when there is none of the name.
func ClassOf(name string) Class { return classes[name] }

// OfServices reports whether there is a tool of the name that needs no files.
func OfServices(name string) bool { return services[name] != "" }

// Names returns the names of all tools: those that read, then those that write, then those that ask.
func Names() []string {
	order := []Class{ClassRead, ClassWrite, ClassAsk}
	return slices.SortedFunc(maps.Keys(classes), func(a, b string) int {
		return cmp.Or(slices.Index(order, classes[a])-slices.Index(order, classes[b]), cmp.Compare(a, b))
	})
}

// ReadOnly returns the tools of an agent that proposes nothing and has no files.
func ReadOnly() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return !OfServices(name) || services[name] == ClassWrite })
}

// Distinct returns the names that a text has only when it means the tool: look is a word, and programs have functions such as
// read_file.
func Distinct() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return name == Look || name != Apply && !OfServices(name) })
}

// Allows reports whether an agent that may use some tools has this one, of files or of a client. An agent that lists
// names of other tools has the reading ones when it may use look, and the writing ones when it may propose.
func Allows(mayUse func(name string) bool, name string, class Class) bool {
	like := Look
	if class == ClassWrite {
		like = Request
	}
	return mayUse(name) || mayUse(like)
}
