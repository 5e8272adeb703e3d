package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// operation is one operation of the catalogue.
type operation struct {
	Server, Method, Path, Summary string
	Query, Body                   []parameter
	HasBody                       bool
}

type parameter struct {
	Name, Type string
	Required   bool
}

var (
	serverLine    = regexp.MustCompile(`^server (\S+)(?: "(.*)")?(?: (\S+))?$`)
	operationLine = regexp.MustCompile(`^- (GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (\S.*)$`)
	bodyMark      = regexp.MustCompile(` body\??(?:\{(.*)\}|:.*)?$`)
	placeholder   = regexp.MustCompile(`\{([^{}]+)\}`)
)

// readCatalogue returns the operations between <catalogue> and </catalogue>,
// in order. Lines of another form are skipped.
func readCatalogue(prompt string) []operation {
	var out []operation
	for {
		_, rest, found := strings.Cut(prompt, "<catalogue>")
		if !found {
			return out
		}
		block, after, _ := strings.Cut(rest, "</catalogue>")
		prompt = after
		server := ""
		for line := range strings.SplitSeq(block, "\n") {
			line = strings.TrimSpace(line)
			if m := serverLine.FindStringSubmatch(line); m != nil {
				server = m[1]
			} else if m := operationLine.FindStringSubmatch(line); m != nil && server != "" {
				out = append(out, readOperation(server, m[1], m[2]))
			}
		}
	}
}

// readOperation reads `/path(a:integer) body{b:string*} — summary`. A body
// that may be left out is written `body?{…}`; one without named properties has
// no braces.
func readOperation(server, method, text string) operation {
	op := operation{Server: server, Method: method}
	text, op.Summary, _ = strings.Cut(text, " — ")
	text = strings.TrimSpace(text)
	if at := bodyMark.FindStringSubmatchIndex(text); at != nil {
		op.HasBody = true
		if at[2] >= 0 {
			op.Body = readParameters(text[at[2]:at[3]])
		}
		text = strings.TrimSpace(text[:at[0]])
	}
	if at := strings.Index(text, "("); at >= 0 && strings.HasSuffix(text, ")") {
		op.Query = readParameters(text[at+1 : len(text)-1])
		text = text[:at]
	}
	op.Path = strings.TrimSpace(text)
	return op
}

func readParameters(text string) []parameter {
	var out []parameter
	for part := range strings.SplitSeq(text, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(part), ":")
		kind, required := strings.CutSuffix(strings.TrimSpace(kind), "*")
		name, starred := strings.CutSuffix(strings.TrimSpace(name), "*")
		if name != "" && name != "…" {
			out = append(out, parameter{name, kind, required || starred})
		}
	}
	return out
}

// schema holds the parts of a JSON Schema that the rules read.
type schema struct {
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
}

func (s schema) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	if len(s.Properties) > 0 {
		return "object"
	}
	return "string"
}

// readFound returns the operations of a search_tools result, and whether text is such a result.
func readFound(text string) ([]operation, bool) {
	var found struct {
		Tools []struct {
			Server     string `json:"mcp_id"`
			Method     string `json:"method"`
			Path       string `json:"path"`
			Summary    string `json:"summary"`
			Parameters []struct {
				Name     string `json:"name"`
				In       string `json:"in"`
				Required bool   `json:"required"`
				Schema   schema `json:"schema"`
			} `json:"parameters"`
			Body *schema `json:"body"`
		} `json:"tools"`
	}
	if json.Unmarshal([]byte(text), &found) != nil || found.Tools == nil {
		return nil, false
	}
	var out []operation
	for _, tool := range found.Tools {
		op := operation{Server: tool.Server, Method: strings.ToUpper(tool.Method), Path: tool.Path, Summary: tool.Summary, HasBody: tool.Body != nil}
		for _, p := range tool.Parameters {
			if p.In == "query" {
				op.Query = append(op.Query, parameter{p.Name, p.Schema.kind(), p.Required})
			}
		}
		if tool.Body != nil {
			for _, name := range sortedNames(tool.Body.Properties) {
				op.Body = append(op.Body, parameter{name, tool.Body.Properties[name].kind(), slices.Contains(tool.Body.Required, name)})
			}
		}
		if op.Server != "" && op.Method != "" && strings.HasPrefix(op.Path, "/") {
			out = append(out, op)
		}
	}
	return out, true
}

func sortedNames[V any](set map[string]V) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// placeholders returns the path's parameters, in order; all are required.
func (op operation) placeholders() []parameter {
	var out []parameter
	for _, m := range placeholder.FindAllStringSubmatch(op.Path, -1) {
		out = append(out, parameter{m[1], "string", true})
	}
	return out
}

// title returns the name of the operation in sentences.
func (op operation) title() string {
	if op.Summary != "" {
		return op.Summary
	}
	return op.address()
}

func (op operation) address() string { return op.Method + " " + op.Path }

// pathConcepts returns the concepts of the fixed segments of the path.
func (op operation) pathConcepts() []string {
	return concepts(placeholder.ReplaceAllString(op.Path, " "))
}

// owner returns the concept that a placeholder identifies: room for room_id, and the previous
// segment for a plain id.
func (op operation) owner(name string) string {
	base := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(fold(name), "id"), "uuid"), "code"), "_-")
	if base == "" {
		before, _, _ := strings.Cut(op.Path, "{"+name+"}")
		segments := strings.Split(strings.Trim(before, "/"), "/")
		base = segments[len(segments)-1]
	}
	if found := concepts(base); len(found) > 0 {
		return found[len(found)-1]
	}
	return base
}
