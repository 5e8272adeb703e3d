package openapi

import (
	"slices"
	"strconv"
	"strings"
)

// maxFamily limits the schemas and names that are read for the families of combined schemas, in one document.
const maxFamily = 500_000

// spend counts the nodes read for families, and reports whether more may be read. Beyond the limit a schema is read by the
// letter.
func (d *document) spend(n int) bool {
	if d.visited += n; d.visited > maxFamily {
		d.warn("its combined schemas are too large together: from here on each of their parts stands for itself")
		return false
	}
	return true
}

// inPlace calls f for a schema and for each schema that applies to the same value: the target of its reference, its parts
// and its alternatives. Each is visited once.
func (d *document) inPlace(n *node, f func(*node)) {
	seen := map[*node]bool{}
	d.visit(n, seen, f)
}

func (d *document) visit(n *node, seen map[*node]bool, f func(*node)) {
	if n == nil || n.kind != object || seen[n] || !d.spend(1+n.get("properties").size()) {
		return
	}
	seen[n] = true
	if r := n.get("$ref").str(); r != "" {
		d.visit(d.at(r), seen, f)
		if d.version != openapi31 {
			return
		}
	}
	f(n)
	for _, name := range combining {
		nodes := n.get(name).elements()
		for i := range nodes {
			d.visit(&nodes[i], seen, f)
		}
	}
	for _, name := range []string{"then", "else"} {
		d.visit(n.get(name), seen, f)
	}
}

var combining = []string{"allOf", "anyOf", "oneOf"}

// family has the properties that the schemas for one value name together.
type family struct {
	names  []string // of properties
	closed bool     // one of them restricts all other properties
}

// familyOf reads the family of a schema, once.
func (d *document) familyOf(n *node) family {
	if f, ok := d.families[n]; ok {
		return f
	}
	var f family
	names := map[string]bool{}
	d.inPlace(n, func(n *node) {
		n.get("properties").each(func(name string, _ *node) {
			if !names[name] {
				names[name] = true
				f.names = append(f.names, name)
			}
		})
		f.closed = f.closed || closes(n)
	})
	d.families[n] = f
	return f
}

// closes reports whether a schema restricts the properties that it does not name.
func closes(n *node) bool {
	other := n.get("additionalProperties")
	return other.isFalse() || other != nil && other.kind == object && other.size() > 0
}

// beside holds, for the parts of a schema, the properties that the other parts name. By the letter of JSON Schema a closed
// part of an allOf refuses properties that the parts beside it require. Documents mean one object of all parts, and every
// generator of code reads them so: a part is closed to the properties that no part names.
type beside struct {
	own, ref []string            // for the schema's own properties, and for its $ref
	parts    map[string][]string // for the alternatives of anyOf and oneOf
	all      [][]string          // for each part of allOf
}

// besideOf compares the parts of a schema. chosen are its children.
func (c *converter) besideOf(n *node, chosen choice) beside {
	ref := n.get("$ref").str()
	if ref != "" && c.document.version != openapi31 || ref == "" && !combines(n) && len(chosen.branches) == 0 {
		return beside{own: c.known, ref: c.known}
	}
	k := kin{document: c.document, count: map[string]int{}, inherited: c.known}
	own := family{closed: closes(n)}
	n.get("properties").each(func(name string, _ *node) { own.names = append(own.names, name) })
	if chosen.property != "" && !slices.Contains(own.names, chosen.property) {
		own.names = append(own.names, chosen.property)
	}
	k.add(own)
	var target family
	if ref != "" {
		target = c.document.familyOf(c.document.at(ref))
		k.add(target)
	}
	groups := map[string]family{}
	for _, name := range []string{"anyOf", "oneOf"} {
		var group family
		for _, one := range chosen.alternatives(n, name) {
			group = group.and(c.document.familyOf(one))
		}
		groups[name] = group
		k.add(group)
	}
	all := n.get("allOf").elements()
	for i := range all {
		k.add(c.document.familyOf(&all[i]))
	}
	if !k.closed {
		return beside{}
	}
	out := beside{own: k.except(own), ref: k.except(target), parts: map[string][]string{}}
	for name, group := range groups {
		out.parts[name] = k.except(group)
	}
	for i := range all {
		out.all = append(out.all, k.except(c.document.familyOf(&all[i])))
	}
	return out
}

// and returns both families, each name once.
func (f family) and(other family) family {
	f.closed = f.closed || other.closed
	have := map[string]bool{}
	for _, name := range f.names {
		have[name] = true
	}
	f.names = slices.Clone(f.names)
	for _, name := range other.names {
		if !have[name] {
			f.names = append(f.names, name)
		}
	}
	return f
}

// kin counts which families of a schema name a property.
type kin struct {
	document  *document
	count     map[string]int
	inherited []string
	closed    bool
}

func (k *kin) add(f family) {
	k.closed = k.closed || f.closed
	for _, name := range f.names {
		k.count[name]++
	}
}

// except returns, sorted, the properties that other families than one name.
func (k *kin) except(f family) []string {
	if !f.closed || !k.document.spend(len(k.count)+len(k.inherited)) {
		return nil
	}
	for _, name := range f.names {
		k.count[name]--
	}
	names := slices.Clone(k.inherited)
	for name, n := range k.count {
		if n > 0 {
			names = append(names, name)
		}
	}
	for _, name := range f.names {
		k.count[name]++
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// withNames returns properties with those that they do not have yet, which take any value.
func withNames(properties *node, names []string) *node {
	k := &kids{}
	properties.each(func(name string, value *node) { k.add(name, *value) })
	for _, name := range names {
		if properties.get(name) == nil {
			k.add(name, booleanNode(true))
		}
	}
	return &node{kind: object, kids: k}
}

// variant is the way in which a definition is converted for one reference to it.
type variant struct {
	known []string // see converter
	part  bool
}

// of returns the variant without the settings that make no difference for its target.
func (v variant) of(d *document, target *node) variant {
	if len(v.known) > 0 && !d.familyOf(target).closed {
		v.known = nil
	}
	v.part = v.part && (target.get("discriminator") != nil || target.get("$ref") != nil)
	return v
}

func (v variant) plain() bool { return len(v.known) == 0 && !v.part }

func (v variant) key(ref string) string {
	if v.plain() {
		return ref
	}
	return strings.Join(append([]string{ref, strconv.FormatBool(v.part)}, v.known...), "\x00")
}
