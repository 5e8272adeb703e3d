package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/thought"
	"piloto/internal/ground/visible"
	"piloto/internal/tools/tool"
)

// buildArguments returns the arguments of an agent's tool for a message: message, session_id and
// context, as far as the tool's schema has them and accepts them. The context is an object, else
// its JSON as a string, else absent. ErrMisfit names the arguments at fault.
func buildArguments(schemas tool.Compiler, op tool.Operation, m Message) (json.RawMessage, error) {
	named := map[string]bool{"message": true, "session_id": true, "context": true}
	if op.Body != nil {
		if declared := propertyNames(op.Body.Schema); len(declared) > 0 {
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
	object, err := jcs.Marshal(data)
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
			raw, err := jcs.Marshal(arguments)
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
	return nil, ErrMisfit.With("detail", problemNames(first))
}

// problemNames lists the names of the arguments with problems.
func problemNames(problems []tool.Problem) string {
	var names []string
	for _, p := range problems {
		if name := strings.TrimPrefix(strings.TrimPrefix(p.Loc, "/body"), "/"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Bounds of the depth and the number of parts of a server's schema or answer. They are needed
// because a part of a schema can refer to a schema that contains it.
const (
	maxDepth = 8
	maxParts = 200
)

// propertyNames returns the property names of an object's schema, with those of the schemas that
// it refers to or consists of.
func propertyNames(raw json.RawMessage) map[string]bool {
	var root any
	if json.Unmarshal(raw, &root) != nil {
		return nil
	}
	names, left := map[string]bool{}, maxParts
	addProperties(root, root, names, 0, &left)
	return names
}

func addProperties(root, at any, names map[string]bool, depth int, left *int) {
	schema, ok := at.(map[string]any)
	if !ok || depth > maxDepth || *left == 0 {
		return
	}
	*left--
	if own, ok := schema["properties"].(map[string]any); ok {
		for name := range own {
			names[name] = true
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		addProperties(root, resolveRef(root, ref), names, depth+1, left)
	}
	for _, list := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := schema[list].([]any)
		for _, part := range parts[:min(len(parts), maxDepth)] {
			addProperties(root, part, names, depth+1, left)
		}
	}
}

// resolveRef returns the target of a reference within a schema ("#/$defs/name").
func resolveRef(root any, ref string) any {
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

// maxText bounds the text of an agent that a person sees, in bytes.
const maxText = 32 << 10

// textMembers lists the members in which agents return their text, the most common first. Those
// of n8n are among them: output of its AI Agent, text and response of its chains, message of its
// models, and json of an item.
var textMembers = []string{
	"reply", "respuesta", "output", "response", "message", "mensaje", "text", "texto", "content", "contenido", "result", "resultado", "json",
}

// resultText returns the text for a person in a tool's result: its blocks of text, else its
// structured content; "" when there is none. It reports whether the text is complete.
func resultText(body []byte) (text string, whole bool) {
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
	var parts []string
	for _, block := range result.Content {
		if block.Type != "text" {
			continue
		}
		if words := sanitize(unwrap(thought.Without(block.Text))); words != "" {
			parts = append(parts, words)
		}
	}
	text = strings.Join(parts, "\n")
	if text == "" {
		text = sanitize(jsonText(result.Structured))
	}
	return clip.Bytes(text, maxText), len(text) <= maxText
}

// isWorkflowError reports whether a text is the message that n8n returns for a failed workflow.
// Its details are for the workflow's owner, and not for a customer.
func isWorkflowError(text string) bool { return strings.HasPrefix(text, `There was an error: "`) }

// unwrap returns a text, or the text inside when it is JSON: an object or a list without a text
// for a person gives "".
func unwrap(text string) string {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || !strings.ContainsRune(`{["`, rune(trimmed[0])) || !json.Valid([]byte(trimmed)) {
		return text
	}
	return jsonText(json.RawMessage(trimmed))
}

// jsonText returns the text for a person in a JSON value: a string; the first non-empty text
// member of an object; the texts of all elements of a list, one per line. It returns "" when
// there is no text, or when an element of a list has none.
func jsonText(raw json.RawMessage) string { return valueText(raw, maxDepth) }

func valueText(raw json.RawMessage, levels int) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || levels == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var text string
		_ = json.Unmarshal(raw, &text) // an invalid string gives ""
		return text
	case '{':
		return objectText(raw, levels)
	case '[':
		return listText(raw, levels)
	}
	return ""
}

// objectText returns the text of an object.
func objectText(raw json.RawMessage, levels int) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for _, name := range textMembers {
		if text := valueText(object[name], levels-1); !visible.Blank(text) {
			return text
		}
	}
	return ""
}

// listText returns the texts of a list.
func listText(raw json.RawMessage, levels int) string {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil || len(elements) > maxParts {
		return ""
	}
	var parts []string
	for _, element := range elements {
		text := valueText(element, levels-1)
		if visible.Blank(text) {
			return "" // the other elements alone would be misleading
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// sanitize removes control characters and characters that change the text direction, because
// they can make a text read as another, and what a model thought aloud. It returns "" when no visible character is left.
func sanitize(text string) string {
	text = strings.TrimSpace(thought.Without(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff' {
			return -1
		}
		return r
	}, cleanText(text))))
	if visible.Blank(text) {
		return ""
	}
	return text
}
