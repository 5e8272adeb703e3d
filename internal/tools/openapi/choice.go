package openapi

import "strings"

// choice has the alternatives of a discriminator: the value of one property chooses the one schema that applies. instead is
// the keyword whose alternatives it replaces; "" for no choice. A schema that others extend, and that lists no alternatives,
// chooses among those that extend it, and accepts other values.
type choice struct {
	instead  string
	property string
	branches []branch
	others   []*node // alternatives without the property: null
	open     bool
}

// branch is a schema with the values that choose it.
type branch struct {
	values []string
	schema *node
}

// choices reads the discriminator of a schema. There is no choice when an alternative has no name.
func (c *converter) choices(n *node) choice {
	d := n.get("discriminator")
	property := d.get("propertyName").str()
	if c.document.version == swagger2 {
		property = d.str()
	}
	if property == "" {
		return choice{}
	}
	mapping := d.get("mapping")
	for _, name := range []string{"oneOf", "anyOf"} {
		if list := n.get(name).elements(); len(list) > 0 {
			return c.alternatives(name, property, mapping, list)
		}
	}
	if c.part {
		return choice{}
	}
	out, values := choice{property: property, open: true}, c.read(mapping)
	for _, ref := range c.childrenOf(n, mapping) {
		out.branches = append(out.branches, values.branch(c, ref, refTo(ref)))
	}
	if len(out.branches) > 0 {
		out.instead = "anyOf"
	}
	return out
}

func (c *converter) alternatives(keyword, property string, mapping *node, list []node) choice {
	out, values := choice{instead: keyword, property: property}, c.read(mapping)
	for i := range list {
		one := &list[i]
		ref := one.get("$ref").str()
		switch {
		case ref != "":
			out.branches = append(out.branches, values.branch(c, ref, one))
		case one.get("type").str() == "null":
			out.others = append(out.others, one)
		default:
			return choice{}
		}
	}
	return out
}

// alternatives returns the schemas of a keyword, or the children that replace them.
func (ch choice) alternatives(n *node, keyword string) (list []*node) {
	if ch.open && keyword == ch.instead {
		for _, b := range ch.branches {
			list = append(list, b.schema)
		}
		return list
	}
	nodes := n.get(keyword).elements()
	for i := range nodes {
		list = append(list, &nodes[i])
	}
	return list
}

// byValue are the values of a mapping, by the schemas that they choose.
type byValue map[*node][]string

func (c *converter) read(mapping *node) byValue {
	values := byValue{}
	mapping.each(func(value string, to *node) {
		if target := c.document.at(c.fullRef(to.str())); target != nil {
			values[target] = append(values[target], value)
		}
	})
	return values
}

// branch returns the alternative of a reference. The values of the mapping choose it, else the name of its schema does.
func (v byValue) branch(c *converter, ref string, schema *node) branch {
	values := v[c.document.at(ref)]
	if len(values) == 0 {
		values = []string{fromToken.Replace(ref[strings.LastIndexByte(ref, '/')+1:])}
	}
	return branch{values, schema}
}

// fullRef returns the reference that a mapping names: as one, or by the name of a schema.
func (c *converter) fullRef(to string) string {
	if strings.Contains(to, "#") {
		return to
	}
	return c.document.schemasAt() + toToken.Replace(to)
}

// schemasAt returns the pointer of the schemas of a document.
func (d *document) schemasAt() string {
	if d.version == swagger2 {
		return "#/definitions/"
	}
	return "#/components/schemas/"
}

// childrenOf returns references to the schemas that extend one by allOf, and to those that its mapping names.
func (c *converter) childrenOf(n, mapping *node) (refs []string) {
	if c.document.children == nil {
		c.document.readChildren()
	}
	seen := map[*node]bool{n: true}
	add := func(ref string) {
		if target := c.document.at(ref); target != nil && !seen[target] {
			seen[target] = true
			refs = append(refs, ref)
		}
	}
	mapping.each(func(_ string, to *node) { add(c.fullRef(to.str())) })
	for _, ref := range c.document.children[n] {
		add(ref)
	}
	return refs
}

// readChildren lists, by each schema, those that extend it.
func (d *document) readChildren() {
	d.children = map[*node][]string{}
	schemas := d.root.get("components").get("schemas")
	if d.version == swagger2 {
		schemas = d.root.get("definitions")
	}
	schemas.each(func(name string, n *node) {
		parts := n.get("allOf").elements()
		for i := range parts {
			if parent := d.at(parts[i].get("$ref").str()); parent.get("discriminator") != nil {
				d.children[parent] = append(d.children[parent], d.schemasAt()+toToken.Replace(name))
			}
		}
	})
}

func refTo(ref string) *node { return (*node)(nil).with("$ref", textNode(ref)) }

// writeChoice writes the alternatives of a discriminator. The value of its property decides which one applies, so that
// alternatives may overlap, and only the problems of the chosen one are reported.
func (c *converter) writeChoice(ch choice, below bool, depth int, w *members) {
	w.name(ch.instead)
	property := quote(ch.property)
	c.write("[{")
	if !ch.open {
		var all []string
		for _, b := range ch.branches {
			all = append(all, b.values...)
		}
		c.write(`"type":"object","required":[` + property + `],"properties":{` + property + `:{"enum":` + quoteAll(all) + `}},`)
	}
	c.write(`"allOf":[`)
	for i, b := range ch.branches {
		if i > 0 {
			c.write(",")
		}
		c.write(`{"if":{"required":[` + property + `],"properties":{` + property + `:{"enum":` + quoteAll(b.values) + `}}},"then":`)
		c.convert(b.schema, below, depth+1)
		c.write("}")
	}
	c.write("]}")
	for _, one := range ch.others {
		c.write(",")
		c.convert(one, below, depth+1)
	}
	c.write("]")
}

// quoteAll writes texts as a list, each once.
func quoteAll(texts []string) string {
	var parts []string
	have := map[string]bool{}
	for _, s := range texts {
		if !have[s] {
			have[s] = true
			parts = append(parts, quote(s))
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}
