package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

// extract lists the operations of a document, with the schemas of their arguments.
func (s *skeleton) extract(documentURL, registered string) (tool.Found, error) {
	e := extractor{skeleton: s, bundle: newBundle()}
	operations := slices.Grow([]tool.Operation(nil), len(s.calls))
	for _, c := range s.calls {
		if err := s.ctx.Err(); err != nil {
			return tool.Found{}, err
		}
		operations = append(operations, e.operation(c))
	}
	return tool.Found{
		BaseURL:     s.baseURL(registered, documentURL),
		DocumentURL: documentURL,
		Title:       clip(s.root.get("info").get("title").scalar(), 200),
		Operations:  operations,
		Warnings:    s.allWarnings(),
		KeyPlaces:   s.places,
	}, nil
}

// extractor turns calls into operations.
type extractor struct {
	*skeleton
	bundle *bundle
	left   int // bytes of schema that the current operation may still use
}

func (e *extractor) operation(c call) tool.Operation {
	e.left = schemaSize
	out := tool.Operation{
		Entry:       tool.Entry{Method: c.method, Path: c.path, OperationID: c.operationID, Summary: c.title()},
		Description: c.description,
	}
	names := templateNames(c.path)
	for _, p := range c.parameters {
		e.parameter(&out, p, names, c.where())
	}
	for _, name := range names {
		if !slices.ContainsFunc(out.Parameters, func(p tool.Parameter) bool { return p.In == "path" && p.Name == name }) {
			out.Parameters = append(out.Parameters, tool.Parameter{
				Name: name, In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`),
			})
		}
	}
	if c.body != nil {
		out.Body = &tool.Body{Required: c.body.required, MediaType: c.body.media, Schema: e.schema(c.body.schema, c.where()+" body")}
	}
	if c.method == "POST" {
		out.Output = e.output(c.path)
	}
	return out
}

func (e *extractor) parameter(out *tool.Operation, p parameter, names []string, where string) {
	isKey := slices.Contains(e.places, tool.KeyPlace{In: p.in, Name: p.name})
	switch {
	case p.in == "path" && !slices.Contains(names, p.name):
		e.warn("%s: the path has no {%s}", where, clip(p.name, 100))
		return
	case p.in == "cookie":
		if p.required {
			e.warn("%s: the cookie %s it asks for is not sent", where, clip(p.name, 100))
		}
		return
	case p.in == "header" && p.required && !isKey:
		e.warn("%s: the header %s it asks for is not sent", where, clip(p.name, 100))
	}
	out.Parameters = append(out.Parameters, tool.Parameter{
		Name: p.name, In: p.in, Required: p.required && !isKey, Style: p.style, Explode: p.explode,
		Schema: e.schema(p.schema, where+" "+p.name),
	})
}

// schema returns a schema with its definitions.
func (e *extractor) schema(n *node, where string) json.RawMessage {
	s := e.bundle.schema(e.document, n, where, e.left)
	e.left -= len(s)
	return json.RawMessage(s)
}

// title returns the operation's summary, or the first sentence of its description, on one line.
func (c call) title() string {
	s := c.summary
	if s == "" {
		s, _, _ = strings.Cut(strings.TrimSpace(c.description), "\n")
		if i := strings.Index(s, ". "); i > 0 {
			s = s[:i+1]
		}
	}
	return clip(strings.Join(strings.Fields(s), " "), 300)
}

// templateNames returns the parameters in a path.
func templateNames(path string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(path, "{")
		if !ok {
			return names
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		path = after
	}
}
