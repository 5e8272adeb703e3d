// Package schema validates values against JSON Schema, draft 2020-12, and reports every problem with the JSON
// Pointer of its place. A schema is self-contained: its references stay inside of it, and identifiers ($id, $schema)
// have no effect. A format that is not listed here, and a pattern that RE2 cannot compile, are not checked. The work on
// one call is counted, because nested alternatives can double it at every level.
package schema

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"piloto/internal/ground/order"
	"piloto/internal/tools/tool"
)

// Compiler implements tool.Compiler. It keeps the schemas that were used last, because the same operations are
// called again and again.
type Compiler struct{}

// Compile implements tool.Compiler. An empty text is the schema that accepts every value.
func (Compiler) Compile(raw json.RawMessage) (tool.Schema, bool) {
	root := kept.get(raw)
	return root, root != nil
}

// mostKept limits the text of the schemas that one process keeps, in bytes. A compiled schema takes about ten times
// its text.
const mostKept = 1 << 20

var kept = keeper{schemas: map[string]*node{}}

// keeper holds compiled schemas by their text, nil for an unusable one. It forgets all of them when they are too
// many.
type keeper struct {
	mu      sync.Mutex
	schemas map[string]*node
	size    int
}

func (k *keeper) get(raw json.RawMessage) *node {
	k.mu.Lock()
	root, ok := k.schemas[string(raw)]
	k.mu.Unlock()
	if ok {
		return root
	}
	root = parse(raw)
	if len(raw) > mostKept {
		return root
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size += len(raw); k.size > mostKept {
		clear(k.schemas)
		k.size = len(raw)
	}
	k.schemas[string(raw)] = root
	return root
}

// parse compiles the text of a schema, and returns nil when it is none.
func parse(raw json.RawMessage) *node {
	if len(bytes.TrimSpace(raw)) == 0 {
		return anything
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return nil
	}
	return compile(tree)
}

// Problems implements tool.Schema.
func (n *node) Problems(v any, at string, refs map[string]bool, left *int) []tool.Problem {
	r := run{base: at, refs: refs, left: left}
	problems := r.apply(n, v, nil).problems
	if r.spent {
		return []tool.Problem{{Loc: at, Type: "complex", Why: tool.Because("problem.complex")}}
	}
	return inOrder(problems)
}

// inOrder returns each problem once, in the order of their places.
func inOrder(problems []tool.Problem) []tool.Problem {
	var list []tool.Problem
	seen := make(map[string]bool, len(problems))
	for _, p := range problems {
		if key := p.Loc + " " + p.Type + " " + p.Why.Error(); !seen[key] {
			seen[key] = true
			list = append(list, p)
		}
	}
	order.By(list, func(a, b tool.Problem) int { return strings.Compare(a.Loc, b.Loc) })
	return list
}
