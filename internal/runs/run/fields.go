package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/lazy"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/order"
	"piloto/internal/ground/visible"
)

// field is one value of an object: its name as a person reads it, and the kind that its name implies.
type field struct {
	member string // as the answer has it
	name   string
	kind   fieldKind
	cell   locale.Phrase
}

// fieldKind orders the fields of an object for a person: the requested fields come first, and ids last.
type fieldKind int

const (
	askedFor fieldKind = iota
	named
	dated
	counted
	stated
	otherField
	housekeeping
	identified
)

// Words in the names of fields.
var (
	nameWords  = lazy.Words("name nombre title titulo subject asunto label etiqueta description descripcion summary resumen text texto message mensaje")
	dateWords  = lazy.Words("date fecha day dia start end inicio fin begin from until desde hasta time hora when cuando due vence")
	countWords = lazy.Words("price precio amount importe total cost coste costo quantity cantidad count capacity capacidad people personas number numero size currency moneda balance saldo")
	stateWords = lazy.Words("status estado state result resultado active activo done hecho ok")
	houseWords = lazy.Words("created updated modified creado actualizado modificado version revision etag url href link links path self sha hash digest token cursor type object")
	idWords    = lazy.Words("id ids uuid guid uid key ref reference referencia")
)

// sameWords are words for the same thing in Spanish and English, as they are in the names of fields.
var sameWords = map[string]string{
	"precio": "price", "cuesta": "price", "coste": "cost", "importe": "amount", "nombre": "name", "fecha": "date", "dia": "day", "hora": "time", "estado": "status",
	"sala": "room", "pedido": "order", "cliente": "customer", "correo": "email", "telefono": "phone", "direccion": "address", "cantidad": "quantity", "ciudad": "city",
	"titulo": "title", "persona": "people", "capacidad": "capacity",
}

// wordsOf returns the words of a text or of a field's name, folded and in the singular.
func wordsOf(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			w := strings.Trim(fold.Text(string(word)), " ")
			words = append(words, w)
			word = nil
		}
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]): // roomName
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// isAsked reports whether a word of a field's name is one of those that were asked for.
func isAsked(word string, asked []string) bool {
	return slices.ContainsFunc(asked, func(a string) bool { return common(a) == common(word) })
}

// common returns the form of a word in which those for the same thing are equal.
func common(word string) string {
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "s")
	}
	return cmp.Or(sameWords[word], word)
}

// kindOf returns the kind of a field by its name.
func kindOf(name string, asked []string) fieldKind {
	words := wordsOf(name)
	has := func(set map[string]bool) bool {
		return slices.ContainsFunc(words, func(w string) bool { return set[w] })
	}
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	switch {
	case isAsked(last, asked):
		return askedFor
	case has(idWords()):
		return identified
	case slices.ContainsFunc(words, func(w string) bool { return isAsked(w, asked) }):
		return askedFor
	case has(houseWords()):
		return housekeeping
	case has(nameWords()):
		return named
	case has(dateWords()):
		return dated
	case has(countWords()):
		return counted
	case has(stateWords()):
		return stated
	}
	return otherField
}

// fewFields is the number of fields from which on those for the service's own use are left out.
const fewFields = 2

// chosen returns the fields of several things that a person is shown, each name once, in their order.
func chosen(things [][]field, asked []string, most int) []field {
	var all []field
	for _, fields := range things {
		for _, f := range fields {
			if !slices.ContainsFunc(all, func(o field) bool { return o.name == f.name }) {
				f.kind = kindOf(f.name, asked)
				all = append(all, f)
			}
		}
	}
	order.By(all, func(a, b field) int { return cmp.Compare(a.kind, b.kind) })
	if len(all) > fewFields && all[fewFields-1].kind < housekeeping { // the rest says enough
		all = slices.DeleteFunc(all, func(f field) bool { return f.kind == housekeeping })
	}
	return all[:min(len(all), most)]
}

// fieldsOf returns the values of an object, and of the objects in it, in their original order.
func fieldsOf(body json.RawMessage) []field {
	members, _ := jcs.Members(body)
	var fields []field
	for _, m := range members {
		if inner, ok := jcs.Members(m.Value); ok {
			for _, n := range inner {
				fields = appendField(fields, m.Name+" "+n.Name, n.Value)
			}
			continue
		}
		fields = appendField(fields, m.Name, m.Value)
	}
	return fields
}

// mostInCell is the number of elements of a list that stand in one cell.
const mostInCell = 5

func appendField(fields []field, name string, value json.RawMessage) []field {
	var cell locale.Phrase
	var list []json.RawMessage
	switch trimmed := bytes.TrimSpace(value); {
	case len(trimmed) == 0 || trimmed[0] == '{' || trimmed[0] != '[' && !says(trimmed):
		return fields
	case trimmed[0] != '[':
		cell = cellOf(trimmed)
	case json.Unmarshal(trimmed, &list) != nil || len(list) == 0:
		return fields
	case len(list) > mostInCell || slices.ContainsFunc(list, isComposite):
		cell = locale.Say("run.elements", "n", len(list))
	default:
		var cells []locale.Phrase
		for _, v := range list {
			cells = append(cells, cellOf(v))
		}
		cell = locale.Joined{Phrases: cells, Between: ", "}
	}
	return append(fields, field{member: name, name: escaped(oneLine(strings.Join(nameParts(name), " "))), cell: cell})
}

// nameParts returns the parts of a field's name, as they are written.
func nameParts(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '_' || unicode.IsSpace(r) || unicode.IsControl(r) })
}

func isComposite(value json.RawMessage) bool {
	trimmed := bytes.TrimSpace(value)
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[')
}

// mostWraps bounds the depth at which the result is searched.
const mostWraps = 4

// unwrapped returns the part of an answer that is the result: the structured content of a tool, the text of a tool, or the
// only object in an object.
func unwrapped(body json.RawMessage) json.RawMessage {
	for range mostWraps {
		inner := innerOf(body)
		if inner == nil {
			return body
		}
		body = inner
	}
	return body
}

func innerOf(body json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(body, &text) == nil {
		if raw := json.RawMessage(text); isComposite(raw) && json.Valid(raw) {
			return raw
		}
		return nil
	}
	members, ok := jcs.Members(body)
	if !ok {
		return nil
	}
	for _, m := range members {
		switch {
		case m.Name == "structuredContent" && isComposite(m.Value) && (says(m.Value) || !slices.ContainsFunc(members, func(o jcs.Member) bool { return o.Name == "content" && textOf(o.Value) != nil })):
			return m.Value
		case m.Name == "content" && (len(members) <= 2 || !slices.ContainsFunc(members, func(o jcs.Member) bool { return o.Name != "content" && o.Name != "isError" && says(o.Value) })):
			if text := textOf(m.Value); text != nil {
				return text
			}
		}
	}
	if len(members) == 1 && isComposite(members[0].Value) && !isTrouble(members[0].Name) {
		return members[0].Value
	}
	return nil
}

// textOf returns the content of a tool's answer as a JSON text, when it is one text.
func textOf(content json.RawMessage) json.RawMessage {
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil || len(parts) != 1 || parts[0].Type != "text" {
		return nil
	}
	return parts[0].Text
}

// says reports whether a value has anything: a number, a text that shows something, true or false, or a member or an element
// that says something. It reads the value once, however deep it is.
func says(value json.RawMessage) bool {
	in := json.NewDecoder(bytes.NewReader(value))
	in.UseNumber()
	var objects []bool // of the lists and objects that are open
	inObject := func() bool { return len(objects) > 0 && objects[len(objects)-1] }
	isName := false
	for {
		token, err := in.Token()
		if err != nil {
			return !errors.Is(err, io.EOF) || len(objects) > 0 // text that cannot be decoded may say something
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				objects = append(objects, t == '{')
			} else {
				objects = objects[:len(objects)-1]
			}
			isName = inObject()
			continue
		case string:
			if !isName && !visible.Blank(t) {
				return true
			}
			isName = inObject() && !isName
			continue
		case nil:
		default:
			return true
		}
		isName = inObject()
	}
}

// listIn returns body as an array, or the only array member of an envelope object. An array of empty elements counts only if
// the object has no other content. An array that holds only an array is unwrapped.
func listIn(body json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && list != nil {
		return innermost(list), true
	}
	lists := 0
	members, _ := jcs.Members(body)
	for _, m := range members {
		var inner []json.RawMessage
		switch {
		case bytes.HasPrefix(bytes.TrimSpace(m.Value), []byte("[")) && json.Unmarshal(m.Value, &inner) == nil:
			list, lists = inner, lists+1
		case slices.ContainsFunc(wordsOf(m.Name), func(w string) bool { return idWords()[w] || nameWords()[w] }):
			return nil, false // an order has an id, and items
		}
	}
	list = innermost(list)
	return list, lists == 1 && (slices.ContainsFunc(list, says) || !says(body))
}

// innermost returns a list without the lists around it.
func innermost(list []json.RawMessage) []json.RawMessage {
	var inner []json.RawMessage
	for range mostWraps {
		if len(list) != 1 || json.Unmarshal(list[0], &inner) != nil || inner == nil {
			break
		}
		list, inner = inner, nil
	}
	return list
}
