package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// describe registers every group on services that do not exist: what comes out
// is read, and never served.
func describe() *api {
	a := newAPI(Config{})
	a.chat(nil)
	a.confirm(nil)
	a.ai(AIServices{})
	a.registry(nil)
	a.rules()
	a.companies(nil)
	a.records(nil, nil)
	a.memory(nil)
	return a
}

// described is what is made of the whole API, once.
var described struct {
	sync.Once
	api      *api
	document []byte
	docs     []byte
	err      error
}

func describeOnce() {
	described.Do(func() {
		a := describe()
		described.api = a
		if described.document, described.err = json.Marshal(a.huma.OpenAPI()); described.err != nil {
			return
		}
		described.docs, described.err = docs(a)
	})
}

// Document returns the OpenAPI 3.1 document of every route of this package.
func Document() ([]byte, error) {
	describeOnce()
	return described.document, described.err
}

// page is an answer that is not one of our shapes.
type page struct {
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

func (a *api) documents() {
	register(a, operation{
		method: http.MethodGet, path: "/openapi.json", id: "openapi", access: withChat, summary: "This document",
	}, func(context.Context, *nothing) (*page, error) {
		raw, err := Document()
		return &page{ContentType: "application/openapi+json", Policy: "default-src 'none'", Body: raw}, err
	})
	register(a, operation{
		method: http.MethodGet, path: "/docs", id: "docs", access: withChat, summary: "This document, to be read",
	}, func(context.Context, *nothing) (*page, error) {
		describeOnce()
		return &page{ContentType: "text/html; charset=utf-8", Policy: docsPolicy, Body: described.docs}, described.err
	})
}

//go:embed docs.css
var docsStyle string

// docsPolicy allows the page its own style and nothing else: no script at all.
var docsPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
	styleHash() + "'"

func styleHash() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return base64.StdEncoding.EncodeToString(sum[:])
}

//go:embed docs.html
var docsTemplate string

// docs makes a page of the document.
func docs(a *api) ([]byte, error) {
	tmpl, err := template.New("docs").Parse(docsTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, map[string]any{"Style": template.CSS(docsStyle), "Groups": docsGroups(a)})
	return out.Bytes(), err
}

// docsGroup is the routes of one function; docsRoute is one of them.
type docsGroup struct {
	Name   string
	Routes []docsRoute
}

type docsRoute struct {
	Method, Path, Summary, Access string
	Fields                        []docsField
	Answers                       []string
}

type docsField struct {
	Place, Name, Type, Doc string
	Required               bool
}

func docsGroups(a *api) []docsGroup {
	var groups []docsGroup
	for _, r := range a.router.routes {
		if len(groups) == 0 || groups[len(groups)-1].Name != string(r.function) {
			groups = append(groups, docsGroup{Name: string(r.function)})
		}
		op := a.operation(r.method, r.pattern)
		g := &groups[len(groups)-1]
		g.Routes = append(g.Routes, docsRoute{
			Method: r.method, Path: r.pattern, Summary: op.Summary, Access: string(r.access),
			Fields: docsFields(a, op), Answers: docsAnswers(op),
		})
	}
	return groups
}

func docsFields(a *api, op *huma.Operation) []docsField {
	var fields []docsField
	for _, p := range op.Parameters {
		fields = append(fields, docsField{p.In, p.Name, typeName(p.Schema), p.Description, p.Required})
	}
	schema := a.bodySchema(op)
	if schema == nil {
		return fields
	}
	var names []string
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := schema.Properties[name]
		fields = append(fields, docsField{"body", name, typeName(s), s.Description, slices.Contains(schema.Required, name)})
	}
	return fields
}

func typeName(s *huma.Schema) string {
	if s == nil {
		return ""
	}
	if _, name, ok := strings.Cut(s.Ref, "#/components/schemas/"); ok {
		return name
	}
	if s.Type == huma.TypeArray {
		return "list of " + typeName(s.Items)
	}
	return s.Type
}

func docsAnswers(op *huma.Operation) []string {
	var answers []string
	for status, r := range op.Responses {
		text := r.Description
		if n, err := strconv.Atoi(status); err == nil && text == "" {
			text = http.StatusText(n)
		}
		answers = append(answers, status+" "+text)
	}
	slices.Sort(answers)
	return answers
}
