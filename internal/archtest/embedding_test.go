package archtest

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// mostEmbedded is the most methods of a struct that another one embeds. One with more is embedded for its behaviour, and is a field
// with a name instead. A record that others extend has few.
const mostEmbedded = 4

// embedded are the exceptions, each with its number. A number may only become smaller. Interfaces are not counted: they have no
// behaviour of their own.
var embedded = map[string]int{
	"internal/chats/turn.actor:Loop":        11,
	"internal/runs/plan.Head:Run":           26,
	"internal/store/announce.Chats:Store":   40,
	"internal/store/announce.Jobs:Store":    12,
	"internal/store/announce.Runs:Store":    33,
	"internal/tools/tool.KeyState:KeyPlace": 5,
}

func TestNoTypeEmbedsAnotherForItsBehaviour(t *testing.T) {
	counts := map[string]int{}
	eachType(t, func(name string, of types.Type) {
		if s, ok := of.Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				if f := s.Field(i); f.Embedded() && ofTheProject(f.Type()) && !types.IsInterface(f.Type()) {
					counts[name+":"+f.Name()] = methodsOf(pointed(f.Type()))
				}
			}
		}
	})
	if len(counts) == 0 {
		t.Error("no embedded structs were found")
	}
	compare(t, "methods", mostEmbedded, counts, embedded)
}

// pointed returns the type that a pointer points to, and any other as it is.
func pointed(t types.Type) types.Type {
	if p, ok := t.(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func ofTheProject(t types.Type) bool {
	n, ok := types.Unalias(pointed(t)).(*types.Named)
	return ok && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), "piloto/")
}

// eachType calls a function with each type that a judged package declares, by its folder and its name.
func eachType(t *testing.T, do func(name string, of types.Type)) {
	t.Helper()
	c := checker{files: map[string][]*ast.File{}, done: map[string]*types.Package{}}
	for _, f := range sources(t, false) {
		c.set = f.set
		c.files[f.dir()] = append(c.files[f.dir()], f.syntax)
	}
	for dir := range c.files {
		if !judged(dir) {
			continue
		}
		scope := c.check(dir).Scope()
		for _, name := range scope.Names() {
			if declared, ok := scope.Lookup(name).(*types.TypeName); ok && !declared.IsAlias() {
				do(dir+"."+name, declared.Type())
			}
		}
	}
}
