package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"piloto/internal/tools/tool"
)

// extract loads the skeleton and lists its operations.
func (s *skeleton) extract(documentURL, registered string) (tool.Found, error) {
	loader := openapi3.NewLoader() // it loads no other document: the skeleton has no reference
	loader.Context = s.ctx
	doc, err := loader.LoadFromData([]byte(s.b.String()))
	if err != nil {
		return tool.Found{}, documentError("its operations cannot be read").Because(err)
	}
	places := s.keyPlaces(doc)
	e := extractor{skeleton: s, bundle: newBundle(), places: places}
	var operations []tool.Operation
	for _, path := range s.paths {
		item := doc.Paths.Value(path)
		if item == nil {
			continue
		}
		for _, method := range methods {
			if err := s.ctx.Err(); err != nil {
				return tool.Found{}, err
			}
			if op := item.Operations()[strings.ToUpper(method)]; op != nil {
				operations = append(operations, e.operation(path, strings.ToUpper(method), op))
			}
		}
	}
	var servers []string
	for _, server := range doc.Servers {
		servers = append(servers, server.URL)
	}
	return tool.Found{
		BaseURL:     s.baseURL(registered, documentURL, servers),
		DocumentURL: documentURL,
		Title:       doc.Info.Title,
		Operations:  operations,
		Warnings:    s.allWarnings(),
		KeyPlaces:   places,
	}, nil
}

// keyPlaces lists the places of a key in the document's security schemes.
func (s *skeleton) keyPlaces(doc *openapi3.T) []tool.KeyPlace {
	var places []tool.KeyPlace
	for _, name := range s.schemes {
		ref := doc.Components.SecuritySchemes[name]
		if ref == nil || ref.Value == nil {
			continue
		}
		place := tool.KeyPlace{In: "bearer"}
		switch v := ref.Value; {
		case v.Type == "apiKey":
			place = tool.KeyPlace{In: v.In, Name: v.Name}
		case v.Scheme == "basic":
			place = tool.KeyPlace{In: "header", Name: "Authorization"}
		case v.Scheme != "bearer":
			continue
		}
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places
}

// extractor turns loaded operations into tools.
type extractor struct {
	*skeleton
	bundle *bundle
	places []tool.KeyPlace
	left   int // bytes of schema that the current operation may still use
}

func (e *extractor) operation(path, method string, op *openapi3.Operation) tool.Operation {
	where := method + " " + path
	e.left = schemaSize
	out := tool.Operation{
		Entry: tool.Entry{
			Method: method, Path: path, OperationID: op.OperationID,
			Summary: summary(op),
		},
		Description: op.Description,
	}
	for _, ref := range op.Parameters {
		if p := ref.Value; p != nil {
			e.parameter(&out, p, where)
		}
	}
	for _, name := range templateNames(path) {
		if !slices.ContainsFunc(out.Parameters, func(p tool.Parameter) bool { return p.In == "path" && p.Name == name }) {
			out.Parameters = append(out.Parameters, tool.Parameter{
				Name: name, In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`),
			})
		}
	}
	if op.RequestBody != nil && op.RequestBody.Value != nil {
		for media, m := range op.RequestBody.Value.Content { // there is exactly one
			out.Body = &tool.Body{Required: op.RequestBody.Value.Required, MediaType: media, Schema: e.schema(m.Schema, where+" body")}
		}
	}
	if method == "POST" {
		out.Output = e.output(path)
	}
	return out
}

func (e *extractor) parameter(out *tool.Operation, p *openapi3.Parameter, where string) {
	isKey := slices.Contains(e.places, tool.KeyPlace{In: p.In, Name: p.Name})
	switch {
	case p.In == "path" && !slices.Contains(templateNames(out.Path), p.Name):
		e.warn("%s: the path has no {%s}", where, clip(p.Name, 100))
		return
	case p.In == "cookie":
		if p.Required {
			e.warn("%s: the cookie %s it asks for is not sent", where, clip(p.Name, 100))
		}
		return
	case p.In == "header" && p.Required && !isKey:
		e.warn("%s: the header %s it asks for is not sent", where, clip(p.Name, 100))
	}
	style, _ := p.Extensions["x-style"].(string)
	out.Parameters = append(out.Parameters, tool.Parameter{
		Name: p.Name, In: p.In, Required: p.Required && !isKey, Style: style, Explode: p.Explode != nil && *p.Explode,
		Schema: e.schema(p.Schema, where+" "+p.Name),
	})
}

// schema returns the schema that a handle replaces.
func (e *extractor) schema(ref *openapi3.SchemaRef, where string) json.RawMessage {
	if ref == nil || ref.Value == nil {
		return json.RawMessage("{}")
	}
	i, ok := ref.Value.Extensions[handleKey].(float64)
	if !ok || i < 0 || int(i) >= len(e.schemas) {
		return json.RawMessage("{}")
	}
	s := e.bundle.schema(e.document, e.schemas[int(i)], where, e.left)
	e.left -= len(s)
	return json.RawMessage(s)
}

// summary returns the operation's summary, or the first sentence of its description, on one line.
func summary(op *openapi3.Operation) string {
	s := op.Summary
	if s == "" {
		s, _, _ = strings.Cut(strings.TrimSpace(op.Description), "\n")
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
