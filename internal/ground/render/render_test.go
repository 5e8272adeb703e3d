package render

import (
	"html/template"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"
)

// places lists the places of a value on a page: as an author writes it, and with the functions that html/template
// appends.
var places = []struct{ written, escaped string }{
	{`<p>{{.}}</p>`, `<p>{{. | html}}</p>`},
	{`<p title="a {{.}} b">`, `<p title="a {{. | attr}} b">`},
	{`<title>{{.}}</title>`, `<title>{{. | rcdata}}</title>`},
	{`<textarea>{{.}}</textarea>`, `<textarea>{{. | rcdata}}</textarea>`},
	{`<a href="{{.}}">`, `<a href="{{. | urlfilter | urlnormal | attr}}">`},
	{`<a href="/?id={{.}}">`, `<a href="/?id={{. | urlpart | attr}}">`},
}

func FuzzValuesAreEscapedAsHTMLTemplateDoes(f *testing.F) {
	for _, seed := range []string{
		"", "a", `<script>alert("1")</script>`, "javascript:alert(1)", "HTTPS://x/?a=b&c#d", "mailto:a", "a:b/c", "/a:b", "%zz%41", "ñ\x00'+\"", "\xff", "a b\n", "&amp;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0xFFFD) || strings.Contains(strings.ToLower(text), "ſ") {
			t.Skip("said otherwise, and as safely")
		}
		if isImage(text) {
			t.Skip("html/template accepts no bytes of images")
		}
		for _, p := range places {
			var want, got strings.Builder
			if err := template.Must(template.New("").Parse(p.written)).Execute(&want, text); err != nil {
				t.Fatal(err)
			}
			if err := New(map[string]string{"x": p.escaped}).Execute(&got, "x", text, nil); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Errorf("%s: %q\n got %s\nwant %s", p.written, text, got.String(), want.String())
			}
		}
	})
}

func TestOnlyImagesAreAddressesOfBytes(t *testing.T) {
	for text, want := range map[string]bool{
		"data:image/png;base64,iVBORw0K+/=": true, "data:image/jpeg;base64,AA": true, "data:image/gif;base64,": true,
		"data:image/svg+xml;base64,AA": false, "data:text/html;base64,AA": false, "data:image/png,<script>": false,
		"data:image/png;base64,A\" onerror=x": false, "data:text/html,;base64,AA": false, "DATA:image/png;base64,AA": false, "javascript:data:image/png;base64,AA": false,
	} {
		var b strings.Builder
		if err := New(map[string]string{"x": `<img src="{{. | urlfilter | urlnormal | attr}}">`}).Execute(&b, "x", text, nil); err != nil {
			t.Fatal(err)
		}
		if got := !strings.Contains(b.String(), unsafeURL); got != want {
			t.Errorf("%s: %s", text, b.String())
		}
	}
}

func TestHTMLIsNotEscapedTwice(t *testing.T) {
	const text = `<code title="a">x &amp; y</code> "z"`
	for _, p := range places[:4] {
		var want, got strings.Builder
		if err := template.Must(template.New("").Parse(p.written)).Execute(&want, template.HTML(text)); err != nil {
			t.Fatal(err)
		}
		if err := New(map[string]string{"x": p.escaped}).Execute(&got, "x", HTML(text), nil); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s\n got %s\nwant %s", p.written, got.String(), want.String())
		}
	}
}

type person struct {
	Name  string
	Tags  []string
	Boss  *person
	Ages  map[string]int
	Since time.Duration
	Any   any
}

// Templates have the same meaning here as in text/template, except for methods.
func TestTextOfHTMLHasNoMarkup(t *testing.T) {
	if got := HTML(`<span class="a">1 &lt; 2</span> &amp;amp; &#34;x&#34; &#43;`).Text(); got != `1 < 2 &amp; "x" +` {
		t.Error(got)
	}
}

func TestTemplatesAgreeWithTextTemplate(t *testing.T) {
	ana := &person{
		Name: "Ana", Tags: []string{"a", "b"}, Boss: &person{Name: "Luz"}, Ages: map[string]int{"z": 1, "y": 2}, Since: 3 * time.Second, Any: []any{1, "x", nil},
	}
	funcs := Funcs{"up": strings.ToUpper, "list": func(v ...any) []any { return v }, "half": func(f float64) float64 { return f / 2 }}
	for _, source := range []string{
		`{{.Name}} {{.Boss.Name}} {{.Ages.y}} {{.Ages.none}} {{.Since}} {{.Boss.Boss}}`,
		`{{range $i, $t := .Tags}}{{if $i}}, {{end}}{{$t}}{{else}}none{{end}}`, `{{range .Ages}}{{.}}{{end}}{{range $k, $v := .Ages}}{{$k}}={{$v}}{{end}}`,
		`{{range .Boss.Tags}}x{{else}}none{{end}}`, `{{with .Boss}}{{.Name}} of {{$.Name}}{{else}}free{{end}}`, `{{with .Boss.Boss}}x{{else with .Name}}{{.}}{{end}}`,
		`{{if and .Name (not .Boss.Boss)}}y{{else if .Tags}}z{{end}}`, `{{or .Boss.Name "x"}} {{and .Name 0}} {{or "" 0}}`,
		`{{len .Tags}} {{index .Tags 1}} {{index .Ages "y"}} {{index .Ages "none"}} {{index .Any 1}}`, `{{eq .Name "Ana" "x"}}{{ne 1 2}}{{lt 1 2}}{{ge .Since 3}}{{eq .Name "a" "b"}}`,
		`{{up .Name | printf}}`, `{{.Name | up}} {{up (index .Tags 0)}} {{half 3}}`, `{{$x := 1}}{{if true}}{{$x = 2}}{{end}}{{$x}}`,
		`{{print .Name 1 2 nil}} {{print "a" "b" 3}}`, "a {{- .Name -}} b{{/* c */}}", `{{range list 1 .Name}}{{.}};{{end}}`, `{{(index .Any 1) | up}}`,
		`{{.Nothing}}`, `{{index .Tags 7}}`, `{{up 1}}`, `{{.Boss.Boss.Name}}`, `{{eq 1 "a"}}`, `{{up "a" "b"}}`, `{{range 3.5}}{{end}}`,
	} {
		var want, got strings.Builder
		parsed, err := texttemplate.New("x").Funcs(texttemplate.FuncMap(funcs)).Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		wrong := parsed.Execute(&want, ana)
		err = New(map[string]string{"x": source}).Execute(&got, "x", ana, funcs)
		if strings.Contains(source, "printf") {
			if err == nil {
				t.Errorf("%s: a function that is not there", source)
			}
			continue
		}
		if (wrong == nil) != (err == nil) || err == nil && got.String() != want.String() {
			t.Errorf("%s\n got %q %v\nwant %q %v", source, got.String(), err, want.String(), wrong)
		}
	}
}

func TestTemplateCallsNoMethod(t *testing.T) {
	if err := New(map[string]string{"x": `{{.IsZero}}`}).Execute(&strings.Builder{}, "x", time.Time{}, nil); err == nil {
		t.Error("it called one")
	}
}

func TestRecursiveTemplateEnds(t *testing.T) {
	if err := New(map[string]string{"x": `{{template "x"}}`}).Execute(&strings.Builder{}, "x", nil, nil); err == nil {
		t.Error("it did not end")
	}
}

func TestSectionsReadsOutputOfJoin(t *testing.T) {
	want := map[string]string{"a": "x {{if .}}y{{end}}\n", "b-c": "", "d": "\n{{range .}}\n{{end}}"}
	got := Sections(Join(want))
	if len(got) != len(want) {
		t.Errorf("%q", got)
	}
	for name, source := range want {
		if got[name] != source {
			t.Errorf("%s: %q", name, got[name])
		}
	}
}
