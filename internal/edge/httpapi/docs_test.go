package httpapi

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
)

// TestDocumentAndPageMatchTheRoutes compares the embedded files with the code that serves the routes.
func TestDocumentAndPageMatchTheRoutes(t *testing.T) {
	a := described()
	raw, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"openapi.json": raw, "docs.html": docs(t, a)} {
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the routes are (-update makes it anew)\n%s", name, diff)
		}
	}
}

// docs renders the document as a page.
func docs(t *testing.T, a *whole) []byte {
	t.Helper()
	tmpl := template.Must(template.ParseFiles("docs.tmpl"))
	var out bytes.Buffer
	if err := tmpl.Execute(&out, map[string]any{"Style": template.CSS(docsStyle), "Groups": docsGroups(a)}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
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

func docsGroups(a *whole) []docsGroup {
	var groups []docsGroup
	for _, r := range a.router.routes {
		if len(groups) == 0 || groups[len(groups)-1].Name != string(r.function) {
			groups = append(groups, docsGroup{Name: string(r.function)})
		}
		op := a.operation(r.method, r.pattern)
		g := &groups[len(groups)-1]
		g.Routes = append(g.Routes, docsRoute{
			Method: r.method, Path: documented(r.pattern), Summary: op.Summary, Access: string(r.access),
			Fields: docsFields(a, op), Answers: docsAnswers(op),
		})
	}
	return groups
}

func docsFields(a *whole, op *huma.Operation) []docsField {
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
