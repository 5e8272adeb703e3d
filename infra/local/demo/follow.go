package demo

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// wish is the request of a message: an operation, with the values of each thing that the message names.
type wish struct {
	op    operation
	parts []values
	found bool
	kind  string
	nouns []string
	bare  bool // no noun but those of operations: «resérvala»
}

// wish finds the operation that the person means. A message that changes or deletes, and names nothing, is about the
// newest thing that a plan made; «una reserva» is about none.
func (d dialogue) wish(ops []operation, k memory) wish {
	w := wish{parts: d.parts(ops)}
	w.kind, w.nouns = readIntent(w.parts[0].rest)
	if first := &w.parts[0]; (w.kind == updates || w.kind == deletes) && len(first.ids)+len(first.numbers) == 0 && len(k.made) > 0 && !isAny(first.rest, k.made[0].kind) {
		made := k.made[0]
		if !slices.ContainsFunc(w.nouns, func(noun string) bool { return isKind(ops, noun) }) {
			w.nouns = append(w.nouns, made.kind)
		}
		if first.named[made.kind] == "" {
			first.named[made.kind] = made.text("id")
		}
	}
	w.bare = !slices.ContainsFunc(w.nouns, func(noun string) bool { return !isKind(ops, noun) })
	if w.op, w.found = findLiteral(ops, d.text, &w.parts[0]); !w.found {
		w.op, w.found = choose(ops, w.kind, w.nouns, w.parts[0])
	}
	return w
}

// isAny reports whether a text has a kind of things with an indefinite article.
func isAny(text, kind string) bool {
	words := tokens(text)
	for i, word := range words[:max(0, len(words)-1)] {
		if slices.Contains([]string{"un", "una", "alguna", "a", "an", "any"}, word) && concept(words[i+1]) == kind {
			return true
		}
	}
	return false
}

// facts returns the nouns that no operation has: they name members of a thing.
func (w wish) facts(ops []operation) []string {
	return slices.DeleteFunc(slices.Clone(w.nouns), func(noun string) bool { return isKind(ops, noun) })
}

// isKind reports whether operations are about things of a concept.
func isKind(ops []operation, noun string) bool {
	return slices.ContainsFunc(ops, func(op operation) bool { return kindOf(op.Path) == noun })
}

// recall answers without a call, from memory: a value of a thing («¿cuánto costó?»), or one of a list («¿y la
// segunda?»).
func (d dialogue) recall(ops []operation, k memory, w wish) (string, bool) {
	if w.kind != "" && w.kind != reads {
		return "", false
	}
	facts := w.facts(ops)
	fits := func(t thing) bool {
		return !slices.ContainsFunc(w.nouns, func(noun string) bool { return isKind(ops, noun) && noun != t.kind })
	}
	var row thing
	var byName, chosen bool
	if len(k.lists) > 0 {
		row, byName, chosen = k.lists[0].pick(d.text, w.parts[0])
	}
	if of := row; chosen && fits(of) {
		if said := of.about(facts); len(said) > 0 {
			return d.fact(of, said), true
		}
		return d.speech.line(of), !byName
	}
	for _, of := range k.made[:min(1, len(k.made))] {
		if said := of.about(facts); fits(of) && len(said) > 0 && !chosen {
			return d.fact(of, said), true
		}
	}
	return "", false
}

// fact says some members of a thing.
func (d dialogue) fact(of thing, said []member) string {
	var parts []string
	for _, m := range said {
		parts = append(parts, d.speech.label(m.name)+": "+d.speech.plain(m.value))
	}
	return d.speech.say("fact", d.speech.title(of), strings.Join(parts, ", "))
}

// need is a missing value of a creation: the parameter, and the newest list of such things.
type need struct {
	parameter string
	kind      string
	list      listing
	known     bool // there is such a list
	fresh     bool // it was read in this turn
}

// needOf returns the first required value of a creation that identifies a thing of the same server.
func (d dialogue) needOf(k memory, op operation) (n need, ok bool) {
	if op.Method != "POST" || strings.Contains(op.Path, "{") {
		return n, false
	}
	for _, p := range op.Body {
		if p.Required && roleOf(p.Name) == "id" {
			n.parameter, n.kind = p.Name, op.owner(p.Name)
			at := slices.IndexFunc(k.lists, func(l listing) bool { return l.op.Server == op.Server && kindOf(l.op.Path) == n.kind })
			if n.known = at >= 0; n.known {
				n.list = k.lists[at]
			}
			n.fresh = n.known && at == 0 && len(d.tail) > 0
			return n, true
		}
	}
	return n, false
}

// complete gives a creation the things that the message chooses from the lists that were read, and the values with which they were
// asked for. Of a list that was read for this message, the first suffice.
func (d dialogue) complete(n need, w wish) []values {
	var out []values
	for i, part := range w.parts {
		row, ok := d.rowFor(n, w, part)
		switch {
		case ok:
			out = append(out, part.with(n, row))
		case n.fresh && part.named[fold(n.parameter)] == "" && len(part.rooms) == 0:
			for j := range part.countOf(n.kind) {
				if at := i + j; at < len(n.list.rows) {
					out = append(out, part.with(n, n.list.rows[at]))
				}
			}
		default:
			out = append(out, part)
		}
	}
	return out
}

// rowFor returns the row that a part of the message chooses. Words such as «resérvala» mean the row that an earlier
// message chose, or the only one.
func (d dialogue) rowFor(n need, w wish, part values) (thing, bool) {
	if row, _, ok := n.list.pick(cmp.Or(part.rest, d.text), part); ok {
		return row, true
	}
	if !w.bare || len(part.rooms) > 0 || slices.Contains(w.nouns, n.kind) || len(w.parts) > 1 {
		return thing{}, false
	}
	for _, m := range slices.Backward(d.history) {
		if m.Role != "user" {
			continue
		}
		if row, _, ok := n.list.pick(textOf(m), readValues(textOf(m), nil, d.today)); ok {
			return row, true
		}
	}
	if len(n.list.rows) == 1 {
		return n.list.rows[0], true
	}
	return thing{}, false
}

// with returns the values together with a row of a list: its id, the values with which the list was asked for, and, on
// the same day, the time from which the row says that it is free.
func (v values) with(n need, row thing) values {
	v.named = maps.Clone(v.named)
	v.named[fold(n.parameter)] = row.text("id")
	asked := n.list.asked()
	v = v.or(asked)
	for _, m := range row.members {
		if text := plain(m.value); v.start == "" && v.date == asked.date && roleOf(m.name) == "start" && clock.MatchString(text) {
			v.start = text
		}
	}
	return v
}
