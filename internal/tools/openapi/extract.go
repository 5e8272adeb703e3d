package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// extract lists the operations of a document, with the schemas of their arguments.
func (s *skeleton) extract(documentURL, registered string) (tool.Found, error) {
	e := extractor{
		document: s.document, origins: &s.origins, security: &s.security, answers: answerReader{s.document}, bundle: newBundle(),
		keyForms: map[string]tool.KeyForm{},
	}
	base := s.origins.baseURL(registered, documentURL)
	operations := slices.Grow([]tool.Operation(nil), len(s.calls))
	for _, c := range s.calls {
		if err := s.document.ctx.Err(); err != nil {
			return tool.Found{}, err
		}
		operations = append(operations, e.operation(c, base, documentURL))
	}
	return tool.Found{
		BaseURL:     base,
		DocumentURL: documentURL,
		Title:       clip(s.document.root.get("info").get("title").scalar(), 200),
		Operations:  operations,
		Warnings:    s.document.allWarnings(),
		KeyPlaces:   s.security.places,
	}, nil
}

// extractor turns calls into operations.
type extractor struct {
	document *document
	origins  *origins
	answers  answerReader
	security *security
	bundle   *bundle
	keyForms map[string]tool.KeyForm // by the style and the schema of a key
	left     int                     // bytes of schema that the current operation may still use
}

func (e *extractor) operation(c call, base, documentURL string) tool.Operation {
	e.left = schemaSize
	out := tool.Operation{
		Entry:       tool.Entry{Method: c.method, Path: c.path, OperationID: c.operationID, Summary: c.title(), About: about(c.description)},
		Description: c.description,
	}
	names := templateNames(c.path)
	for _, p := range c.parameters {
		e.parameter(&out, &c, p, names)
	}
	out.Base = e.origins.ownBase(&c, base, documentURL)
	for _, name := range names {
		if !slices.ContainsFunc(out.Parameters, func(p tool.Parameter) bool { return p.In == "path" && p.Name == name }) {
			out.Parameters = append(out.Parameters, tool.Parameter{
				Name: name, In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`),
			})
		}
	}
	if c.body != nil {
		e.bodies(&out, &c)
	}
	if c.method == "POST" {
		out.Output = e.answers.output(c.path)
	}
	out.Security, out.Refused = c.security, c.refused
	out.TellsMissing, out.JSONOnly = e.answers.tellsMissing(c.method, c.path), e.answers.answersJSONOnly(c.method, c.path)
	out.AnswerNames = e.answers.answerNames(c.method, c.path)
	if out.JSONOnly && c.method == "GET" {
		out.AnswerMembers = e.answers.answerMembers(c.method, c.path)
	}
	return out
}

func (e *extractor) parameter(out *tool.Operation, c *call, p parameter, names []string) {
	isKey := e.isKey(p)
	given := p.in == "header" && !isKey
	switch {
	case p.in == "path" && !slices.Contains(names, p.name):
		e.document.warn("%s: the path has no {%s}", c.where(), clip(p.name, 100))
		return
	case p.in == "cookie":
		switch {
		case isKey:
		case p.required:
			c.refuse(tool.RefusedCookie, p.name)
		default:
			e.document.warn("%s: the cookie %s is not sent", c.where(), clip(p.name, 100))
		}
		return
	case p.in == "header" && isKey:
		if p.required {
			out.Needs = append(out.Needs, tool.KeyPlace{In: p.in, Name: p.name})
		}
		return
	case given && strings.EqualFold(p.name, tool.KeyHeader):
		e.keyForm(out, c, p)
		return
	case given && !e.mayGive(p):
		switch isAdded := e.isAdded(c, p); {
		case isAdded:
		case p.required:
			c.refuse(tool.RefusedHeader, p.name)
		case tool.AddedValue(p.name) != "":
			e.document.warn("%s: each request has the header %s, with a value that the document does not accept", c.where(), clip(p.name, 100))
		}
		return
	case p.problem != "" && !isKey:
		if p.required {
			c.refuse(tool.RefusedStyle, p.name+": "+p.problem)
		} else {
			e.document.warn("%s: the parameter %s is not sent, because the document writes it in a way that is not supported (%s)", c.where(), clip(p.name, 100), p.problem)
		}
		return
	case given && !e.isLine(p):
		if p.required {
			c.refuse(tool.RefusedValue, p.name)
		} else {
			e.document.warn("%s: the header %s is not sent, because its value cannot be written", c.where(), clip(p.name, 100))
		}
		return
	}
	if p.required && !isKey {
		if broken := e.document.brokenIn(p.schema, 0); broken != "" {
			c.refuse(tool.RefusedUnread, clip(p.name, 100)+": "+broken)
		}
	}
	out.Parameters = append(out.Parameters, tool.Parameter{
		Name: p.name, In: p.in, Required: p.required && !isKey, Style: p.style, Explode: p.explode,
		Schema: e.schema(p.schema, c.where()+" "+p.name),
	})
}

// isKey reports whether a parameter is the place of a key. A person stores a key, and no call names it: a header with the
// name of a secret is one, too.
func (e *extractor) isKey(p parameter) bool {
	place := tool.KeyPlace{In: p.in, Name: p.name}
	if slices.ContainsFunc(e.security.places, place.Is) {
		return true
	}
	isToken := strings.EqualFold(p.name, "Authorization")
	if p.in != "header" || !isToken && (!redact.Name(p.name) || !tool.MaySetHeader(p.name)) || len(e.security.places) >= maxSchemes {
		return false
	}
	if hasToken := slices.ContainsFunc(e.security.places, tool.KeyPlace{In: "bearer"}.Is); !isToken || !hasToken {
		e.security.places = append(e.security.places, place)
	}
	return true
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
	return clipLine(s, 300)
}

// maxAbout is the most characters of a description that a catalogue has.
const maxAbout = 400

var markup = lazy.Pattern(`<[^<>]{1,80}>`)

// about returns a description as a catalogue has it: one line, without the tags of a page.
func about(description string) string {
	return clipLine(markup().ReplaceAllString(description, " "), maxAbout)
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
