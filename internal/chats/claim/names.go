package claim

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/lazy"
)

// numbersIn yields the words that have digits.
func numbersIn(words []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, w := range words {
			if strings.ContainsFunc(w, unicode.IsDigit) && !yield(w) {
				return
			}
		}
	}
}

// identifier matches a word of letters and digits that is no amount and no ordinal: «#W9373487», «FDZ0T5», «59xx6w».
var identifier = lazy.Pattern(`\b(?:[a-z]+\d[a-z\d]*|\d+[a-z]+\d[a-z\d]*)\b`)

// numbered matches nouns that a number names: «las reservas 7, 8 y 9».
var numbered = lazy.Pattern(`(?:\b(?:reservas?|pedidos?|facturas?|citas?|tareas?|mesas?|salas?|tickets?|incidencias?|entradas?|habitacion(?:es)?|cuentas?|orders?|bookings?|reservations?|invoices?|appointments?|tasks?|rooms?|tables?|issues?|accounts?|items?)(?: (?:n\.?º|number|numero|no\.?))?|#) ?((?:#?\d+(?:, | y | e | and |, and )?)+)`)

var digits = lazy.Pattern(`\d+`)

// identifiers returns the identifiers of a folded sentence, and the numbers that name a thing.
func identifiers(text string) []string {
	names := slices.DeleteFunc(identifier().FindAllString(text, -1), func(w string) bool { return len(w) < 4 })
	for _, found := range numbered().FindAllStringSubmatch(text, -1) {
		names = append(names, digits().FindAllString(found[1], -1)...)
	}
	return names
}

// onIn returns those of some names that are the objects of an act: of its clause, and of the parts of a list beside it,
// but not its source or its alternative.
func onIn(words []string, at int, names []string) (on []string) {
	if len(names) == 0 {
		return nil
	}
	from, to := clauseOf(words, at)
	for i := from; i < to; i++ {
		if !slices.Contains(names, words[i]) || has(words[max(from, i-3):i], sources()) || i+1 < len(words) && words[i+1] == "al" {
			continue
		}
		if name := words[i]; isNumber(name) {
			on = append(on, numberedAs(words[:i])+" "+name)
		} else {
			on = append(on, name)
		}
	}
	return on
}

// sources stand before names that are not the object of an act.
var sources = lazy.Words(`from instead desde vez except excepto salvo than replacing next beside near junto lado`)

// numberedAs returns the noun of a number in a list of them: “invoices 7 and 8”.
func numberedAs(before []string) string {
	for _, w := range slices.Backward(before) {
		if !isNumber(w) && !clauses()[w] {
			return thingOf(w)
		}
	}
	return ""
}

func isNumber(word string) bool { return strings.Trim(word, "0123456789") == "" }

// clauseOf returns where the clause of a word begins and ends. A part between signs, or beside an “and”, is of it unless it has a
// verb, a denial or a relative.
func clauseOf(words []string, at int) (from, to int) {
	cuts := func(w string) bool { return clauses()[w] }
	from, to = at, at+1
	for from > 0 && !cuts(words[from-1]) {
		from--
	}
	for to < len(words) && !cuts(words[to]) {
		to++
	}
	for from > 0 {
		start := from - 1
		for start > 0 && !cuts(words[start-1]) {
			start--
		}
		if says(words[start : from-1]) {
			break
		}
		from = start
	}
	last := to // before the last sign
	for to < len(words) {
		end := to + 1
		for end < len(words) && !cuts(words[end]) {
			end++
		}
		if contrasts()[words[to]] {
			break
		}
		if part := words[to+1 : end]; says(part) {
			if (words[to] == "and" || words[to] == "y") && namesFirst(part) { // “…; rooms 205 and 206 are taken”
				to = last
			}
			break
		}
		if words[to] == "," || words[to] == ":" {
			last = to
		}
		to = end
	}
	return from, to
}

// namesFirst reports whether a part of a sentence has a name before its verb.
func namesFirst(part []string) bool {
	at := slices.IndexFunc(part, func(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) })
	return at >= 0 && !says(part[:at])
}

var (
	clauses   = lazy.Words(`, : and y e but pero while mientras although though aunque which who que because porque since so`)
	contrasts = lazy.Words(`but pero while mientras although though aunque which who que because porque since so`)
)

// says reports whether a part of a sentence has a verb, or denies something.
func says(part []string) bool {
	return slices.ContainsFunc(part, func(w string) bool {
		return finites()[w] && w != "an" && w != "before" || denials()[w] || participle(w) || verbs().became[w] != nil || verbs().past[w] != nil || otherVerbs()[w] || strings.HasSuffix(w, "ing")
	})
}

var otherVerbs = lazy.Words(`remains remain stays stay sigue siguen continua continuan permanece still had habia habian went goes came`)

// bothIn returns the noun of two objects of an act, in one form: “both orders”, «los dos pedidos».
func bothIn(words []string, at int) string {
	from, to := clauseOf(words, at)
	for i := from; i+1 < to; i++ {
		if twos()[words[i]] || words[i] == "dos" && i > 0 && (words[i-1] == "los" || words[i-1] == "las") || words[i] == "two" && i > 0 && words[i-1] == "the" {
			return thingOf(words[i+1])
		}
	}
	return ""
}

var twos = lazy.Words(`both ambos ambas`)

// thingOf returns one name for a noun that the documents of services replace by another.
func thingOf(noun string) string {
	noun = strings.TrimSuffix(noun, "s")
	if other := called[noun]; other != "" {
		return other
	}
	return noun
}

var called = map[string]string{"pedido": "order", "factura": "invoice", "cita": "appointment", "tarea": "task", "tarjeta": "card", "reserva": "reservation", "booking": "reservation", "suscripcione": "subscription", "incidencia": "ticket", "entrada": "ticket"}

// shape returns the form of a name: its letters, and that digits follow. A mixed name has no shape but its length.
func shape(name string) string {
	letters := strings.TrimRight(name, "0123456789")
	if strings.ContainsFunc(letters, unicode.IsDigit) {
		return strings.Repeat("?", len(name))
	}
	return letters + "9"
}

// Before adds the names of an act that was done before those that the record has: a text may name both.
func (r *Record) Before(c Call) {
	r.sent += max(1, mostOf(c.Sent))
	for _, t := range slices.Concat(thingsIn(c.Sent), thingsIn(c.Answered)) {
		r.act(maps.Keys(t.words))
		r.act(maps.Keys(t.names))
	}
	for _, text := range []string{c.Tool, c.Path, c.Summary} {
		r.act(slices.Values(namesIn(text)))
	}
}

// act adds words of an act as those of its objects.
func (r *Record) act(words iter.Seq[string]) {
	for word := range words {
		r.acted[word], r.acted[thingOf(word)] = true, true
		r.shapes[shape(word)] = r.shapes[shape(word)] || strings.ContainsFunc(word, unicode.IsDigit)
	}
}

// mostOf returns of how many things a request is, if it says so: by a list or by a number.
func mostOf(sent string) (most int) {
	var value any
	if json.Unmarshal([]byte(sent), &value) != nil {
		return 0
	}
	if list, ok := value.([]any); ok && len(list) == 2 { // the query and the body
		return max(mostIn(list[0]), mostIn(list[1]))
	}
	return mostIn(value)
}

func mostIn(value any) (most int) {
	switch v := value.(type) {
	case map[string]any:
		for _, each := range v {
			most = max(most, mostIn(each))
		}
	case []any:
		most = len(v)
		for _, each := range v {
			most = max(most, mostIn(each))
		}
	case string:
		most = 1 + strings.Count(v, ",")
	case float64:
		most = int(min(v, 2))
	}
	return most
}

// missed reports whether an act is claimed of a thing that was not acted on, beside one of its kind that was.
func (r *Record) missed(a Act) bool {
	return a.Both != "" && r.sent == 1 && r.acted[a.Both] || slices.ContainsFunc(a.On, func(name string) bool {
		if noun, number, ok := strings.Cut(name, " "); ok {
			return r.acted[noun] && !r.acted[number]
		}
		return r.shapes[shape(name)] && !r.acted[name]
	})
}
