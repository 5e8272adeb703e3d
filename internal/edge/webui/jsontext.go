package webui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"piloto/internal/ground/render"
)

// code is a block of text shown whole: it scrolls, and its end stands beside it
// when it is long.
type code struct {
	Body   render.HTML
	Tail   render.HTML
	Bytes  int
	Marked bool
}

// jsonCode renders a JSON value, or nil when there is none. Order, duplicate
// names and the digits of numbers stay as they were written; step is as in pen.
// What is not JSON is shown as text.
func jsonCode(raw json.RawMessage, step func(string) string) *code {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return nil
	}
	j := jsonPen{pen: pen{step: step}, flat: flat(trimmed)}
	if err := j.write(trimmed); err != nil {
		return textCode(string(trimmed))
	}
	return &code{Body: j.pen.html(), Tail: display(indents.ReplaceAllString(tail(j.raw.String()), " ")), Bytes: len(trimmed), Marked: j.pen.marked}
}

func textCode(text string) *code {
	var p pen
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			p.b.WriteByte('\n')
		}
		p.text(strings.TrimSuffix(line, "\r"))
	}
	return &code{Body: p.html(), Tail: display(strings.ReplaceAll(tail(text), "\n", " ⏎ ")), Bytes: len(text), Marked: p.marked}
}

// jsonPen writes JSON indented, one value after another, without recursion: the
// depth of a document is not ours to choose.
type jsonPen struct {
	pen   pen
	raw   strings.Builder // the same without markup, for the tail
	stack []level
	flat  bool // on one line
}

// flat reports a short value without values inside values: it reads better on
// one line.
func flat(raw []byte) bool {
	const short = 88
	return len(raw) <= short && bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= 1
}

type level struct {
	object bool
	n      int // values so far
	name   bool
}

// deepest is how far lines are indented at most.
const deepest = 24

func (j *jsonPen) write(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err == io.EOF && len(j.stack) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		j.token(t)
		if len(j.stack) == 0 && dec.More() {
			return fmt.Errorf("more than one value")
		}
	}
}

func (j *jsonPen) token(t json.Token) {
	if d, ok := t.(json.Delim); ok && (d == '}' || d == ']') {
		top := j.stack[len(j.stack)-1]
		j.stack = j.stack[:len(j.stack)-1]
		if top.n > 0 {
			j.line()
		}
		j.sign(d.String())
		return
	}
	if j.before(t) {
		return
	}
	switch t := t.(type) {
	case json.Delim:
		j.sign(t.String())
		j.stack = append(j.stack, level{object: t == '{'})
	case string:
		j.quoted(t, "s")
	case json.Number:
		j.atom(t.String(), "n")
	case nil:
		j.atom("null", "l")
	default:
		j.atom(fmt.Sprint(t), "l")
	}
}

// before writes what precedes a token: the comma, the line, and the token
// itself when it is a member's name; it reports whether it was.
func (j *jsonPen) before(t json.Token) (done bool) {
	if len(j.stack) == 0 {
		return false
	}
	top := &j.stack[len(j.stack)-1]
	if top.object && top.name {
		top.name = false
		return false
	}
	if top.n > 0 {
		j.sign(",")
		if j.flat {
			j.sign(" ")
		}
	}
	top.n++
	j.line()
	name, isText := t.(string)
	if !top.object || !isText {
		return false
	}
	top.name = true
	j.quoted(name, "k")
	j.sign(": ")
	return true
}

func (j *jsonPen) line() {
	if !j.flat {
		j.sign("\n" + strings.Repeat("  ", min(len(j.stack), deepest)))
	}
}

func (j *jsonPen) sign(s string) {
	j.pen.b.WriteString(s)
	j.raw.WriteString(s)
}

func (j *jsonPen) atom(s, class string) {
	j.raw.WriteString(s)
	j.pen.b.WriteString(`<span class="j-` + class + `">`)
	j.pen.literal(s)
	j.pen.b.WriteString(`</span>`)
}

// quoted writes a string between quotes, its own quotes, backslashes and line
// breaks escaped as JSON does, everything else as display does.
func (j *jsonPen) quoted(s, class string) {
	step := j.pen.step
	if class == "k" {
		j.pen.step = nil // member names are never references
	}
	j.pen.b.WriteString(`<span class="j-` + class + `">&#34;`)
	text := escapes.Replace(s)
	j.pen.text(text)
	j.pen.b.WriteString(`&#34;</span>`)
	j.pen.step = step
	j.raw.WriteString(`"` + text + `"`)
}

// indents are the line breaks of the writing itself: those of a string are escaped.
var indents = regexp.MustCompile(`\n *`)

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
