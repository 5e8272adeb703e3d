package openapi

import (
	"fmt"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

// Limits of the schemas that are stored.
const (
	describedSize = 8 << 10   // a schema up to this size keeps its descriptions
	schemaSize    = 256 << 10 // all schemas of one operation, with their definitions; a larger one is replaced by {}
	schemaCount   = 5000      // subschemas of one schema
	bundleSize    = 64 << 20  // all different schemas of a document
	bundleSteps   = 200_000   // references followed for them
	maxPrograms   = 500_000   // steps of all their patterns together
	maxVaried     = 200_000   // subschemas of definitions that are converted once more for one reference
)

// bundle makes schemas self-contained. Each definition is converted once.
type bundle struct {
	names    map[string]string // reference and variant → name in $defs, "" for a reference to nothing
	taken    map[string]int    // names in $defs → the last number that was appended to them
	nodes    map[string]*node
	variants map[string]variant // by their names
	defs     map[string]*converted
	ready    map[string]string // schema without $defs → the same schema with $defs
	patterns map[string]bool
	programs tool.Patterns
	cycles   cycles
	left     int
	steps    int
	varied   int
}

func newBundle() *bundle {
	return &bundle{
		names: map[string]string{}, taken: map[string]int{}, nodes: map[string]*node{}, variants: map[string]variant{}, defs: map[string]*converted{},
		ready: map[string]string{}, patterns: map[string]bool{}, programs: tool.Patterns{Left: maxPrograms}, left: bundleSize, steps: bundleSteps,
		cycles: cycles{order: map[string]int{}, low: map[string]int{}, in: map[string]bool{}},
	}
}

// name returns the name in $defs for a variant of the target of a reference. It returns false, with a warning, when the target
// is outside the document or missing.
func (b *bundle) name(d *document, ref, where string, v variant) (string, bool) {
	target := d.at(ref)
	if v = v.of(d, target); !v.plain() && b.varied > maxVaried {
		d.warn("%s: its parts are too many to be read together", where)
		v = variant{}
	}
	key := v.key(ref)
	if name, ok := b.names[key]; ok {
		return name, name != ""
	}
	if !isSchema(target) {
		d.warn("%s: the reference %s cannot be followed, any value is accepted there", where, clip(ref, 200))
		b.names[key] = ""
		return "", false
	}
	base := ref[strings.LastIndexByte(ref, '/')+1:]
	if base == "" || len(base) > 100 || strings.ContainsAny(base, "%~") {
		base = "schema"
	}
	name := base
	for b.taken[name] > 0 {
		b.taken[base]++
		name = fmt.Sprintf("%s_%d", base, b.taken[base])
	}
	b.taken[name] = 1
	b.names[key] = name
	b.nodes[name], b.variants[name] = target, v
	return name, true
}

// definition converts a definition, or returns the earlier result.
func (b *bundle) definition(d *document, name string) *converted {
	if c := b.defs[name]; c != nil {
		return c
	}
	v := b.variants[name]
	c := b.convert(d, b.nodes[name], name, v)
	if !v.plain() {
		b.varied += c.schemas
	}
	b.defs[name] = c
	return c
}

func (b *bundle) convert(d *document, n *node, where string, v variant) *converted {
	c := converter{document: d, bundle: b, where: where, known: v.known, part: v.part}
	c.convert(n, false, 0)
	c.out.full, c.out.lean = c.full.String(), c.lean.String()
	return &c.out
}

// schema returns a schema with its definitions in its own $defs. It returns {} with a warning when the schema has
// more than most bytes, or when the schemas of the document are too large together.
func (b *bundle) schema(d *document, n *node, where string, most int) string {
	root := b.convert(d, n, where, variant{})
	done, ok := b.ready[root.full]
	if !ok {
		done = b.cache(d, root, where)
	}
	if len(done) > most {
		d.warn("%s: its schema is too large and is not checked", where)
		return "{}"
	}
	return done
}

func (b *bundle) cache(d *document, root *converted, where string) string {
	done := b.assemble(d, root, where)
	if b.left -= len(done); b.left < 0 || b.steps < 0 {
		d.warn("the schemas of this document are too large together: from %s on, any value is accepted", where)
		done = "{}"
	}
	b.ready[root.full] = done
	return done
}

func (b *bundle) assemble(d *document, root *converted, where string) string {
	full, lean, schemas := len(root.full), len(root.lean), root.schemas
	names := slices.Clone(root.deps)
	seen := map[string]bool{}
	for at := 0; at < len(names); at++ {
		name := names[at]
		if seen[name] {
			continue
		}
		seen[name] = true
		c := b.definition(d, name)
		if b.cycles.has(name, func(name string) []string { return b.definition(d, name).inPlace }) {
			d.warn("%s refers to itself for the same value: any value is accepted there", name)
			c = &converted{full: "{}", lean: "{}", schemas: 1}
			b.defs[name] = c
		}
		full += len(c.full) + len(name) + 4
		lean += len(c.lean) + len(name) + 4
		schemas += c.schemas
		names = append(names, c.deps...)
		if b.steps--; lean > schemaSize || schemas > schemaCount || b.steps < 0 {
			d.warn("%s: its schema is too large and is not checked", where)
			return "{}"
		}
	}
	return joinDefinitions(b, root, seen, full <= describedSize)
}

func joinDefinitions(b *bundle, root *converted, names map[string]bool, full bool) string {
	form := func(c *converted) string {
		if full {
			return c.full
		}
		return c.lean
	}
	schema := form(root)
	if len(names) == 0 {
		return schema
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	var s strings.Builder
	s.WriteString(strings.TrimSuffix(schema, "}"))
	if schema != "{}" {
		s.WriteByte(',')
	}
	s.WriteString(`"$defs":{`)
	for i, name := range sorted {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(quote(name) + ":" + form(b.defs[name]))
	}
	s.WriteString("}}")
	return s.String()
}
