package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"piloto/internal/tools/tool"
)

// fit makes the arguments of an agent's tool of a message: those of message,
// session_id and context that the tool's own schema names, in a form that it
// takes. The context goes as an object, else as the JSON of one, else not at all.
// ErrMisfit says what the schema wants beside them.
func fit(schemas tool.Compiler, op tool.Operation, m Message) (json.RawMessage, error) {
	named := map[string]bool{"message": true, "session_id": true, "context": true}
	if op.Body != nil {
		if declared := properties(op.Body.Schema); len(declared) > 0 {
			named = declared
		}
	}
	if !named["message"] {
		return nil, ErrMisfit.With("detail", "message")
	}
	data := m.Context
	if data == nil {
		data = map[string]any{}
	}
	object, err := plain(data)
	if err != nil {
		return nil, err
	}
	var first []tool.Problem
	for _, session := range []bool{true, false} {
		for _, form := range []any{object, string(object), nil} {
			arguments := map[string]any{"message": m.Text}
			if session && named["session_id"] {
				arguments["session_id"] = m.Session
			}
			if form != nil && named["context"] {
				arguments["context"] = form
			}
			raw, err := plain(arguments)
			if err != nil {
				return nil, err
			}
			problems := op.CheckResolved(schemas, tool.Arguments{Body: raw})
			if len(problems) == 0 {
				return raw, nil
			}
			if first == nil {
				first = problems
			}
		}
	}
	return nil, ErrMisfit.With("detail", places(first))
}

// places names the arguments that problems are about.
func places(problems []tool.Problem) string {
	var names []string
	for _, p := range problems {
		if name := strings.TrimPrefix(strings.TrimPrefix(p.Loc, "/body"), "/"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Bounds of following the parts of what a server wrote, a schema or an answer: how
// far, and how many. A part of a schema can refer to what it is a part of, more than
// once.
const (
	deepest   = 8
	mostParts = 200
)

// properties are the names that a schema of an object has, its own and those of
// what it refers to or is made of.
func properties(raw json.RawMessage) map[string]bool {
	var root any
	if json.Unmarshal(raw, &root) != nil {
		return nil
	}
	names, left := map[string]bool{}, mostParts
	gather(root, root, names, 0, &left)
	return names
}

func gather(root, at any, names map[string]bool, depth int, left *int) {
	schema, ok := at.(map[string]any)
	if !ok || depth > deepest || *left == 0 {
		return
	}
	*left--
	if own, ok := schema["properties"].(map[string]any); ok {
		for name := range own {
			names[name] = true
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		gather(root, followed(root, ref), names, depth+1, left)
	}
	for _, list := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := schema[list].([]any)
		for _, part := range parts[:min(len(parts), deepest)] {
			gather(root, part, names, depth+1, left)
		}
	}
}

// followed is what a reference within a schema ("#/$defs/name") points to.
func followed(root any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := root
	for _, part := range strings.Split(path, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

// plain is a value's JSON, < > and & as they are.
func plain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mostText is how much of what an agent says a person is shown, in bytes.
const mostText = 32 << 10

// spokenAs are the members under which agents put what they say, the likeliest
// first. Those of n8n are among them: output is what its AI Agent says, text and
// response its chains', message its models', and json the item itself.
var spokenAs = []string{
	"reply", "respuesta", "output", "response", "message", "mensaje", "text", "texto", "content", "contenido", "result", "resultado", "json",
}

// speech is what the result of a tool says to a person, "" when it says nothing:
// its blocks of text, else its structured content. It reports whether that is all
// of it.
func speech(body []byte) (text string, whole bool) {
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(body, &result) != nil {
		return "", false
	}
	var said []string
	for _, block := range result.Content {
		if block.Type != "text" {
			continue
		}
		if words := tidy(unwrapped(block.Text)); words != "" {
			said = append(said, words)
		}
	}
	text = strings.Join(said, "\n")
	if text == "" {
		text = tidy(inside(result.Structured))
	}
	return ended(text, mostText), len(text) <= mostText
}

// broke reports the sentence that n8n has a tool say whose workflow failed: what follows it
// is for whoever keeps the workflow, and not for a customer.
func broke(text string) bool { return strings.HasPrefix(text, `There was an error: "`) }

// unwrapped is a text, or what it says when it is JSON: an object or a list that
// says nothing to a person is no text for one.
func unwrapped(text string) string {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || !strings.ContainsRune(`{["`, rune(trimmed[0])) || !json.Valid([]byte(trimmed)) {
		return text
	}
	return inside(json.RawMessage(trimmed))
}

// inside is what JSON says to a person: a string; the first member of an object
// that says something under a name that agents use; what all elements of a list
// say, one below the other. It is "" when nothing, or not all of a list, is for a
// person.
func inside(raw json.RawMessage) string { return within(raw, deepest) }

func within(raw json.RawMessage, levels int) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || levels == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var text string
		_ = json.Unmarshal(raw, &text) // what is no string says nothing
		return text
	case '{':
		return member(raw, levels)
	case '[':
		return listed(raw, levels)
	}
	return ""
}

// member is what an object says.
func member(raw json.RawMessage, levels int) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for _, name := range spokenAs {
		if text := within(object[name], levels-1); strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// listed is what a list says.
func listed(raw json.RawMessage, levels int) string {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil || len(elements) > mostParts {
		return ""
	}
	var said []string
	for _, element := range elements {
		text := within(element, levels-1)
		if strings.TrimSpace(text) == "" {
			return "" // the rest of it would be half of what was meant
		}
		said = append(said, text)
	}
	return strings.Join(said, "\n")
}

// tidy is a text without what nobody can read, or that lets it read as another:
// control characters and those that turn the direction of what follows. It is ""
// when nothing is left to read.
func tidy(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff' {
			return -1
		}
		return r
	}, legible(text)))
	if !strings.ContainsFunc(text, unicode.IsGraphic) {
		return ""
	}
	return text
}
