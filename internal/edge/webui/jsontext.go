package webui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"piloto/internal/ground/render"
)

// code is a complete block of text. It scrolls, and its end is shown beside it when it is long.
type code struct {
	Body   render.HTML
	Tail   render.HTML
	Bytes  int
	Marked bool
}

// jsonCode renders a JSON value, or nil when there is none. It keeps order, duplicate names and the digits of
// numbers; step is as in visibleWriter. Text that is not JSON is shown as text.
func jsonCode(raw json.RawMessage, step func(string) string) *code {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return nil
	}
	j := jsonWriter{pen: visibleWriter{step: step}, flat: flat(trimmed)}
	if err := j.write(trimmed); err != nil {
		return textCode(string(trimmed))
	}
	return &code{Body: j.pen.html(), Tail: display(indents().ReplaceAllString(tail(j.raw.String()), " ")), Bytes: len(trimmed), Marked: j.pen.marked}
}

func textCode(text string) *code {
	var p visibleWriter
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			p.b.WriteByte('\n')
		}
		p.text(strings.TrimSuffix(line, "\r"))
	}
	return &code{Body: p.html(), Tail: display(strings.ReplaceAll(tail(text), "\n", " ⏎ ")), Bytes: len(text), Marked: p.marked}
}

// jsonWriter writes JSON indented, one value after another, without recursion, because a client chooses the depth
// of a document.
type jsonWriter struct {
	pen   visibleWriter
	raw   strings.Builder // the same without markup, for the tail
	stack []level
	flat  bool // on one line
}

// flat reports whether a value is short and not nested, so that it reads better on one line.
func flat(raw []byte) bool {
	const short = 88
	return len(raw) <= short && bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= 1
}

type level struct {
	object bool
	n      int // values so far
	name   bool
}

// deepest is the largest indentation of lines.
const deepest = 24

func (j *jsonWriter) write(raw []byte) error {
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

func (j *jsonWriter) token(t json.Token) {
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

// before writes the parts before a token: the comma, the line break, and the token itself when it is a member's
// name. It reports whether it wrote the token.
func (j *jsonWriter) before(t json.Token) (done bool) {
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

func (j *jsonWriter) line() {
	if !j.flat {
		j.sign("\n" + strings.Repeat("  ", min(len(j.stack), deepest)))
	}
}

func (j *jsonWriter) sign(s string) {
	j.pen.b.WriteString(s)
	j.raw.WriteString(s)
}

func (j *jsonWriter) atom(s, class string) {
	j.raw.WriteString(s)
	j.pen.b.WriteString(`<span class="j-` + class + `">`)
	j.pen.literal(s)
	j.pen.b.WriteString(`</span>`)
}

// quoted writes a string in quotes. Quotes, backslashes and line breaks are escaped as in JSON, other characters as
// in display.
func (j *jsonWriter) quoted(s, class string) {
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

// indents matches the writer's own line breaks: those in strings are escaped.
var indents = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n *`) })

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
