package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/visible"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// Limits of one tool.
const (
	maxSummary     = 200     // characters
	maxDescription = 4 << 10 // bytes
	maxSchema      = 64 << 10
	maxLevels      = 100 // maximum nesting of objects and lists in a schema
	maxWarnings    = 50
)

var toolName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
})

// definition is a tool as its server describes it.
type definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Execution    struct {
		TaskSupport string `json:"taskSupport"`
	} `json:"execution"`
	Annotations struct {
		Title       string    `json:"title"`
		ReadOnly    statement `json:"readOnlyHint"`
		Destructive statement `json:"destructiveHint"`
		Idempotent  statement `json:"idempotentHint"`
		OpenWorld   statement `json:"openWorldHint"`
	} `json:"annotations"`
}

// operations turns a listing into operations. A tool that cannot be used as described is omitted with a warning. Compiling
// schemas is slow, so compile is false when the tools are only compared.
func operations(l listing, compile bool) (ops []tool.Operation, warnings []string) {
	l.warnings = append([]string(nil), l.warnings...)
	found := map[string][]definition{}
	var names []string // in the order of the list
	for i, raw := range l.tools {
		var d definition
		if err := json.Unmarshal(raw, &d); err != nil || string(bytes.TrimSpace(raw)) == "null" {
			l.warn("tool %d is not described as one: left out", i+1)
			continue
		}
		if !toolName().MatchString(d.Name) {
			l.warn("a tool has the name %q, which is none: left out", clip.Runes(d.Name, 60))
			continue
		}
		if found[d.Name] == nil {
			names = append(names, d.Name)
		}
		found[d.Name] = append(found[d.Name], d)
	}
	for _, name := range names {
		op, err := oneOperation(&l, found[name], compile)
		if err != nil {
			l.warn("%s: %v: left out", name, err)
			continue
		}
		ops = append(ops, op)
	}
	if len(l.warnings) > maxWarnings {
		l.warnings = append(l.warnings[:maxWarnings], fmt.Sprintf("and %d more", len(l.warnings)-maxWarnings))
	}
	return ops, l.warnings
}

// operation converts the tool into an operation.
func (d definition) operation() (tool.Operation, error) {
	op := tool.Operation{
		Entry: tool.Entry{
			Name: d.Name, Summary: d.summary(), Hints: d.hints(),
			About: clip.Runes(clip.Line(plainText(d.Description, false)), tool.MaxAbout),
		},
		Description: clip.Bytes(plainText(d.Description, true), maxDescription),
	}
	if op.About == clip.Line(op.Summary) {
		op.About = ""
	}
	if d.Execution.TaskSupport == "required" {
		return op, errors.New("it is only done as a task, and tasks are not waited for")
	}
	input, err := compactSchema(d.InputSchema, true)
	if err != nil {
		return op, fmt.Errorf("its input schema %w", err)
	}
	op.Body = &tool.Body{Required: true, MediaType: "application/json", Schema: input}
	if len(d.OutputSchema) > 0 && string(d.OutputSchema) != "null" {
		if op.Output, err = compactSchema(d.OutputSchema, false); err != nil {
			return op, fmt.Errorf("its output schema %w", err)
		}
		titles := tool.Titles{}
		titles.NoteIn(d.OutputSchema)
		op.AnswerNames = titles.Named()
	}
	if _, err := headerParameters(input); err != nil {
		return op, err
	}
	return op, nil
}

// hints returns the statements of the server. One that is neither yes nor no is read as the one with the higher risk.
func (d definition) hints() tool.Hints {
	hint := func(s, unclearIs statement) *bool {
		if s == unclear {
			s = unclearIs
		}
		if is := s == yes; s != unsaid {
			return &is
		}
		return nil
	}
	a := d.Annotations
	return tool.Hints{
		ReadOnly: hint(a.ReadOnly, no), Destructive: hint(a.Destructive, yes),
		Idempotent: hint(a.Idempotent, no), OpenWorld: hint(a.OpenWorld, yes),
	}
}

func (d definition) summary() string {
	for _, text := range []string{d.Title, d.Annotations.Title, d.Description} {
		for line := range strings.Lines(text) {
			if line = plainText(line, false); line != "" {
				return clip.Runes(line, maxSummary)
			}
		}
	}
	return ""
}

// compactSchema checks one of a tool's schemas and returns it without white space. An input schema must describe an
// object; an output schema may describe anything.
func compactSchema(raw json.RawMessage, object bool) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, fmt.Errorf("is missing")
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("is larger than %d bytes", maxSchema)
	}
	tree, err := decodeObject(raw)
	if err != nil {
		return nil, fmt.Errorf("is not an object")
	}
	if t, ok := tree["type"]; object && ok && t != "object" {
		return nil, fmt.Errorf("describes no object")
	}
	if isDeeper(tree, maxLevels) {
		return nil, fmt.Errorf("is nested deeper than %d", maxLevels)
	}
	if !isSelfContained(tree) {
		return nil, fmt.Errorf("refers to another document")
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, fmt.Errorf("is not JSON")
	}
	return b.Bytes(), nil
}

// isDeeper reports whether a value has more levels than the limit.
func isDeeper(v any, levels int) bool {
	if levels < 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if isDeeper(e, levels-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if isDeeper(e, levels-1) {
				return true
			}
		}
	}
	return false
}

// isSelfContained reports whether a schema has no reference to another document.
func isSelfContained(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if s, ok := e.(string); ok && (k == "$ref" || k == "$dynamicRef" || k == "$recursiveRef") && !strings.HasPrefix(s, "#") {
				return false
			}
			if !isSelfContained(e) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !isSelfContained(e) {
				return false
			}
		}
	}
	return true
}

// checkSchemas refuses a tool whose schemas cannot be used for validation.
func checkSchemas(op tool.Operation) error {
	if !isUsable(op.Body.Schema) {
		return errors.New("its input schema is not a valid JSON Schema")
	}
	if len(op.Output) > 0 && !isUsable(op.Output) {
		return errors.New("its output schema is not a valid JSON Schema")
	}
	return nil
}

// isUsable reports whether a schema is an object that can be used for validation.
func isUsable(raw json.RawMessage) bool {
	_, err := decodeObject(raw)
	return err == nil && tool.Usable(schema.Compiler{}, raw)
}

// decodeObject decodes a JSON object; numbers keep their digits.
func decodeObject(raw json.RawMessage) (object map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err = dec.Decode(&object); err == nil && object == nil {
		err = errors.New("null")
	}
	return object, err
}

// plainText returns a text without invisible characters, with its lines or on one line, because an invisible text could
// be written for a model alone.
func plainText(text string, lines bool) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines:
			return r
		case unicode.IsSpace(r):
			return ' '
		case visible.Invisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.TrimSpace(text)
}
