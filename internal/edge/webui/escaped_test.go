package webui

import (
	"html/template"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
)

// escapers maps html/template's functions to those of package render.
var escapers = strings.NewReplacer(
	"_html_template_htmlescaper", "html", "_html_template_attrescaper", "attr", "_html_template_rcdataescaper", "rcdata",
	"_html_template_urlfilter", "urlfilter", "_html_template_urlnormalizer", "urlnormal", "_html_template_urlescaper", "urlpart",
	"_html_template_jsvalescaper", "script",
)

// escapedByTemplate returns the sources of template/*.html as html/template escapes them. So html/template is used
// only at build time, and is not linked.
func escapedByTemplate(t *testing.T) map[string]string {
	t.Helper()
	funcs := template.FuncMap(templateFuncs(loadAssets(), words{tag: locale.Spanish, now: time.Now}))
	set := template.Must(template.New("").Funcs(funcs).ParseGlob("template/*.html"))
	for _, each := range set.Templates() {
		_ = set.ExecuteTemplate(io.Discard, each.Name(), nil) // only for its effect on the tree
	}
	sources := map[string]string{}
	for _, each := range set.Templates() {
		if each.Tree == nil || strings.HasSuffix(each.Name(), ".html") {
			continue // a file with definitions only
		}
		source := escapers.Replace(each.Tree.Root.String())
		if strings.Contains(source, "_html_template_") || strings.Contains(source, "$htmltemplate_") {
			t.Errorf("%s: a place for values that package render knows nothing of", each.Name())
		}
		sources[each.Name()] = source
	}
	return sources
}

func TestEscapedTemplatesMatchHTMLTemplate(t *testing.T) {
	want := render.Join(escapedByTemplate(t))
	if *update {
		if err := os.WriteFile("escaped.html", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("escaped.html")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("escaped.html is not made of template/*.html (-update makes it anew)\n%s", diff)
	}
}

// TestNoValueIsAWholeQuery: a value in a query is escaped as one part of it, so that its = and & would be lost. A
// value that has several parts is a whole address.
func TestNoValueIsAWholeQuery(t *testing.T) {
	part := regexp.MustCompile(`[?&;]\{\{[^}]*\burlpart\b[^}]*\}\}`)
	if !part.MatchString(`href="/x?{{.Query | urlpart | attr}}"`) {
		t.Fatal("the test finds nothing")
	}
	for name, source := range render.Sections(escapedTemplates) {
		for _, found := range part.FindAllString(source, -1) {
			t.Errorf("%s: %s", name, found)
		}
	}
}

// TestEveryValueIsEscaped: every value in a page is followed by its escapers. A missing one would let a foreign
// text become HTML.
func TestEveryValueIsEscaped(t *testing.T) {
	for name, source := range render.Sections(escapedTemplates) {
		for _, action := range strings.Split(source, "{{")[1:] {
			action, _, _ = strings.Cut(action, "}}")
			word, _, _ := strings.Cut(action, " ")
			switch {
			case word == "if", word == "with", word == "range", word == "else", word == "end", word == "template",
				strings.HasPrefix(action, "$") && (strings.Contains(action, " := ") || strings.Contains(action, " = ")):
			case strings.HasSuffix(action, " | html"), strings.HasSuffix(action, " | attr"), strings.HasSuffix(action, " | rcdata"), strings.HasSuffix(action, " | script"):
			default:
				t.Errorf("%s: {{%s}}", name, action)
			}
		}
	}
}
