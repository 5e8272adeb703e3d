package plan

import (
	"cmp"
	"strings"

	"piloto/internal/ground/ref"
)

// URL returns the address of a step's request as it is sent, with its references: "http://x/rooms/${s1.body.id}?floor=2". That
// of a tool is the address of its server.
func (b Binding) URL(s Step) string {
	switch {
	case s.Tool != "":
		return b.BaseURL
	case b.Query != "":
		return b.BaseURL + s.Path + "?" + b.Query
	}
	return b.BaseURL + s.Path
}

// MediaOf returns the type in which the body of a step is sent; "" for a step without a body, and for a tool.
func (b Binding) MediaOf(s Step) string {
	if body := strings.TrimSpace(string(s.Body)); s.Tool != "" || body == "" || body == "null" {
		return ""
	}
	return cmp.Or(b.Media, "application/json")
}

// LeadsTo reports whether a URL is that of a step's request, byte for byte, with values for its references. A value fills a
// part of a segment of the path, or a value of the query; a list that is all of a parameter repeats it.
func (b Binding) LeadsTo(s Step, sent string) bool {
	if s.Tool != "" {
		return sent == b.BaseURL
	}
	rest, ok := strings.CutPrefix(sent, b.BaseURL)
	path, query, asks := strings.Cut(rest, "?")
	return ok && asks == (b.Query != "") && fitsPath(s.Path, path) && fitsQuery(b.Query, query)
}

// anyValue stands for a value in a template; no URL has it.
const anyValue = "\x00"

// template returns a text with anyValue for each reference.
func template(text string) (string, bool) {
	pieces, err := ref.Literals(text)
	return strings.Join(pieces, anyValue), err == nil
}

func fitsPath(written, path string) bool {
	text, ok := template(written)
	want, got := strings.Split(text, "/"), strings.Split(path, "/")
	if !ok || len(want) != len(got) {
		return false
	}
	for i := range want {
		if !fits(want[i], got[i]) {
			return false
		}
	}
	return true
}

// fitsQuery compares the parameters in their order.
func fitsQuery(written, query string) bool {
	text, ok := template(written)
	if !ok || text == query {
		return ok
	}
	sent := strings.Split(query, "&")
	at := make([]bool, len(sent)+1) // the numbers of sent parameters that those so far may be
	at[0] = true
	for _, want := range strings.Split(text, "&") {
		next, repeated := make([]bool, len(sent)+1), false
		name, isList := strings.CutSuffix(want, anyValue)
		isList = isList && strings.HasSuffix(name, "=") && !strings.Contains(name, anyValue)
		for i, got := range sent {
			repeated = at[i] && fits(want, got) || repeated && isList && strings.HasPrefix(got, name)
			next[i+1] = repeated
		}
		at = next
	}
	return at[len(sent)]
}

// fits reports whether a text matches a template, with any text for each anyValue.
func fits(template, text string) bool {
	pieces := strings.Split(template, anyValue)
	text, ok := strings.CutPrefix(text, pieces[0])
	if !ok || len(pieces) == 1 {
		return ok && text == ""
	}
	for _, p := range pieces[1 : len(pieces)-1] {
		if _, text, ok = strings.Cut(text, p); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, pieces[len(pieces)-1])
}
