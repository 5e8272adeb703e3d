package openapi

import (
	"net/url"
	"strconv"
	"strings"
)

// maxReference limits the length of a reference, in bytes: a few references can be used very often, and lead to one
// another.
const maxReference = 4 << 10

// named are the objects of a document that references name: by an address of their own ($id), or by an anchor. Two of one name are
// nil, because nobody knows which is meant.
type named struct {
	read         bool
	ids, anchors map[string]*node
}

// at returns the target of a reference into the document, or nil. It never fetches another document.
func (d *document) at(ref string) *node {
	if len(ref) > maxReference {
		return nil
	}
	n, ok := d.found[ref]
	if !ok {
		n = d.find(ref)
		d.found[ref] = n
	}
	return n
}

func (d *document) find(ref string) *node {
	address, fragment, ok := strings.Cut(ref, "#")
	n := d.root
	if address != "" {
		n = d.withAddress(address)
	}
	if n == nil || address == "" && !ok {
		return nil
	}
	if strings.Contains(fragment, "%") {
		if p, err := url.PathUnescape(fragment); err == nil {
			fragment = p
		}
	}
	if fragment == "" || fragment[0] == '/' {
		return n.follow(fragment)
	}
	d.readNames()
	return d.named.anchors[fragment]
}

// knownAt notes the addresses of the document: where it was found, and its own $self and $id. Its name has no query.
func (d *document) knownAt(addresses ...string) {
	for _, raw := range append(addresses, d.root.get("$self").str(), d.root.get("$id").str()) {
		u, err := url.Parse(raw)
		if raw == "" || err != nil {
			continue
		}
		if len(d.addresses) > 0 {
			u = d.addresses[0].ResolveReference(u)
		}
		plain := *u
		plain.RawQuery, plain.ForceQuery = "", false
		d.addresses = append(d.addresses, u, &plain)
	}
}

// withAddress returns the target of an address in the document: the document itself or a schema of it; nil for one elsewhere.
func (d *document) withAddress(address string) *node {
	for _, from := range d.addresses {
		u, err := from.Parse(address)
		if err != nil {
			return nil
		}
		for _, own := range d.addresses {
			if addressOf(u) == addressOf(own) {
				return d.root
			}
		}
		d.readNames()
		if n := d.named.ids[addressOf(u)]; n != nil {
			return n
		}
	}
	return nil
}

// readNames lists the objects that references name in 3.1, once.
func (d *document) readNames() {
	if d.named.read || d.version != openapi31 {
		return
	}
	d.named = named{read: true, ids: map[string]*node{}, anchors: map[string]*node{}}
	d.nameAll(d.root)
}

func (d *document) nameAll(n *node) {
	if n.kids == nil {
		return
	}
	for i := range n.kids.nodes {
		d.nameAll(&n.kids.nodes[i])
	}
	name := func(all map[string]*node, name string) {
		_, twice := all[name]
		if all[name] = n; twice {
			all[name] = nil
		}
	}
	if anchor := n.get("$anchor").str(); anchor != "" {
		name(d.named.anchors, anchor)
	}
	if id := n.get("$id").str(); id != "" && n != d.root && len(d.addresses) > 0 {
		if u, err := d.addresses[0].Parse(id); err == nil {
			name(d.named.ids, addressOf(u))
		}
	}
}

// addressOf returns an address in the form that all its spellings share, without its fragment.
func addressOf(u *url.URL) string {
	plain := *u
	plain.Fragment, plain.RawFragment = "", ""
	plain.Host = strings.ToLower(plain.Host)
	switch plain.Scheme {
	case "http":
		plain.Host = strings.TrimSuffix(plain.Host, ":80")
	case "https":
		plain.Host = strings.TrimSuffix(plain.Host, ":443")
	}
	return plain.String()
}

var fromToken = strings.NewReplacer("~1", "/", "~0", "~")

// follow returns the node to which a JSON Pointer leads, or nil.
func (n *node) follow(pointer string) *node {
	if pointer == "" {
		return n
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = fromToken.Replace(part)
		if n != nil && n.kind == list {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= n.size() {
				return nil
			}
			n = &n.kids.nodes[i]
			continue
		}
		if n = n.get(part); n == nil {
			return nil
		}
	}
	return n
}
