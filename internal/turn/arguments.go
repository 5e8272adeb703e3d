package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"piloto/internal/fault"
	"piloto/internal/plan"
)

// maxArguments bounds what a tool call may carry.
const maxArguments = 256 << 10

// readArguments returns the JSON object a model wrote as a tool call's
// arguments. Models wrap it in a code fence, in a string, or in a sentence, and
// leave commas behind; each of these is undone, and nothing else is guessed.
func readArguments(raw string) (json.RawMessage, error) {
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("the arguments are larger than %d bytes", maxArguments)
	}
	text := strings.TrimSpace(strings.ToValidUTF8(raw, "\uFFFD"))
	if text == "" {
		text = "{}"
	}
	for range 3 {
		var inner string
		if json.Unmarshal([]byte(text), &inner) != nil {
			break
		}
		text = strings.TrimSpace(inner)
	}
	if isObject(text) {
		return json.RawMessage(text), nil
	}
	if body, ok := firstObject(text); ok {
		if isObject(body) {
			return json.RawMessage(body), nil
		}
		if repaired := dropTrailingCommas(body); isObject(repaired) {
			return json.RawMessage(repaired), nil
		}
		text = body
	}
	var v any
	err := json.Unmarshal([]byte(text), &v)
	if err == nil {
		err = errors.New("they are not an object")
	}
	return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
}

func isObject(text string) bool {
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// firstObject returns the text from the first { to the } that closes it, outside
// of strings.
func firstObject(text string) (string, bool) {
	from := strings.IndexByte(text, '{')
	if from < 0 {
		return "", false
	}
	depth, quoted := 0, false
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[from : i+1], true
			}
		}
	}
	return "", false
}

// dropTrailingCommas removes a comma before a closing bracket, outside of strings.
func dropTrailingCommas(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case !quoted && c == ',':
			rest := strings.TrimLeft(text[i+1:], " \t\r\n")
			if rest != "" && (rest[0] == '}' || rest[0] == ']') {
				continue
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// decodeStrict reads an object into v and refuses members v has not. It says
// every one of them at once, since a model mends what it is told.
func decodeStrict(raw json.RawMessage, v any, known []string, where ...any) []fault.Field {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return []fault.Field{{Loc: where, Msg: "must be an object", Type: "type_error"}}
	}
	var wrong []fault.Field
	for name := range members {
		if !slices.Contains(known, name) {
			wrong = append(wrong, fault.Field{
				Loc: append(slices.Clone(where), name), Type: "extra_forbidden",
				Msg: "is not a parameter; the parameters are " + strings.Join(known, ", "),
			})
		}
	}
	slices.SortFunc(wrong, func(a, b fault.Field) int { return strings.Compare(fmt.Sprint(a.Loc), fmt.Sprint(b.Loc)) })
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var typeError *json.UnmarshalTypeError
	if err := dec.Decode(v); errors.As(err, &typeError) {
		wrong = append(wrong, fault.Field{
			Loc: append(slices.Clone(where), typeError.Field), Type: "type_error",
			Msg: fmt.Sprintf("must be a %s, not a %s", typeError.Type, typeError.Value),
		})
	} else if err != nil && !errors.Is(err, io.EOF) {
		wrong = append(wrong, fault.Field{Loc: where, Msg: err.Error(), Type: "type_error"})
	}
	return wrong
}

var (
	requestKeys = []string{"mcp_id", "method", "path", "query", "body", "tool"}
	stepKeys    = []string{"id", "title", "mcp_id", "method", "path", "query", "body", "tool", "needs"}
	planKeys    = []string{"goal", "steps"}
)

// readRequest reads the arguments of mcp_request as a step.
func readRequest(raw json.RawMessage) (plan.ProposedStep, []fault.Field) {
	var s plan.ProposedStep
	wrong := decodeStrict(raw, &s, requestKeys)
	return s, append(wrong, tidy(&s)...)
}

// readPlan reads the arguments of propose_plan.
func readPlan(raw json.RawMessage) (plan.Proposal, []fault.Field) {
	var outer struct {
		Goal  string            `json:"goal"`
		Steps []json.RawMessage `json:"steps"`
	}
	wrong := decodeStrict(raw, &outer, planKeys)
	p := plan.Proposal{Goal: strings.TrimSpace(outer.Goal)}
	if len(outer.Steps) > plan.MaxSteps {
		return p, append(wrong, fault.Field{
			Loc: []any{"steps"}, Type: "too_long", Msg: fmt.Sprintf("a plan has at most %d steps", plan.MaxSteps),
		})
	}
	for i, rawStep := range outer.Steps {
		var s plan.ProposedStep
		bad := decodeStrict(rawStep, &s, stepKeys, "steps", i)
		for _, f := range tidy(&s) {
			f.Loc = append([]any{"steps", i}, f.Loc...)
			bad = append(bad, f)
		}
		wrong = append(wrong, bad...)
		p.Steps = append(p.Steps, s)
	}
	return p, wrong
}

// tidy brings a step into the one form that is shown and sent: the method in
// capitals, absent for null, and an object that was written as a string as the
// object. It says what is missing.
func tidy(s *plan.ProposedStep) []fault.Field {
	var wrong []fault.Field
	missing := func(name, value string) {
		if value == "" {
			wrong = append(wrong, fault.Field{Loc: []any{name}, Msg: "is required", Type: "missing"})
		}
	}
	s.Method = strings.ToUpper(strings.TrimSpace(s.Method))
	s.Path = strings.TrimSpace(s.Path)
	missing("mcp_id", s.MCPID)
	if s.Tool = strings.TrimSpace(s.Tool); s.Tool == "" {
		missing("method", s.Method)
		missing("path", s.Path)
	} else if s.Method+s.Path != "" || len(s.Query) > 0 {
		wrong = append(wrong, fault.Field{
			Loc: []any{"tool"}, Type: "extra_forbidden", Msg: "a tool has neither method, path nor query: its arguments are the body",
		})
	}
	if s.Method != "" && !slices.Contains(methods, s.Method) {
		wrong = append(wrong, fault.Field{Loc: []any{"method"}, Type: "enum", Msg: "must be one of " + strings.Join(methods, ", ")})
	}
	s.Query, s.Body = unquoted(s.Query), unquoted(s.Body)
	if len(s.Query) > 0 && s.Query[0] != '{' {
		wrong = append(wrong, fault.Field{Loc: []any{"query"}, Type: "type_error", Msg: "must be an object"})
		s.Query = nil
	}
	if string(s.Query) == "{}" {
		s.Query = nil
	}
	return wrong
}

// unquoted returns a JSON value in its shortest form: nothing for null, and the
// object or list itself when it stands in a string.
func unquoted(raw json.RawMessage) json.RawMessage {
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		text := strings.TrimSpace(inner)
		if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
			raw = json.RawMessage(text)
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.String() == "null" {
		return nil
	}
	return b.Bytes()
}
