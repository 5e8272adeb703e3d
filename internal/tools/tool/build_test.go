package tool

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"piloto/internal/ground/ref"
)

func param(name, in, style string, explode bool) Parameter {
	return Parameter{Name: name, In: in, Style: style, Explode: explode, Schema: json.RawMessage("{}")}
}

func op(method, path string, params ...Parameter) Operation {
	return Operation{Entry: Entry{Method: method, Path: path}, Parameters: params}
}

var base = Server{BaseURL: "https://api.example.com:8443/v1"}

func TestBuildWritesThePath(t *testing.T) {
	cases := []struct{ template, path, want string }{
		{"/rooms", "/rooms", "/rooms"},
		{"/rooms/{id}", "/rooms/12", "/rooms/12"},
		{"/rooms/{id}", "/rooms/a b", "/rooms/a%20b"},
		{"/rooms/{id}", "/rooms/a%20b", "/rooms/a%20b"},
		{"/rooms/{id}", "/rooms/100%", "/rooms/100%25"},
		{"/rooms/{id}", "/rooms/a@b.com", "/rooms/a@b.com"},
		{"/rooms/{id}", "/rooms/a:b;c=d?e#f", "/rooms/a:b;c=d%3Fe%23f"},
		{"/rooms/{id}", "/rooms/ñandú", "/rooms/%C3%B1and%C3%BA"},
		{"/rooms/{id}", "/rooms/...", "/rooms/..."},
		{"/rooms/{id}", "/rooms/a..b", "/rooms/a..b"},
		{"/v{x}/y", "/v../y", "/v../y"},
		{"/list/", "/list", "/list/"},
		{"/rooms", "/rooms/", "/rooms"},
		{"/reports/{name}.json", "/reports/a b.json", "/reports/a%20b.json"},
		{"/things/{id}:cancel", "/things/9:cancel", "/things/9:cancel"},
		{"/@{scope}/x", "/@me/x", "/@me/x"},
	}
	for _, c := range cases {
		r, err := Build(base, op("GET", c.template), Arguments{Path: c.path})
		if want := base.BaseURL + c.want; err != nil || r.URL != want {
			t.Errorf("%s with %s: %s %v, want %s", c.template, c.path, r.URL, err, want)
		}
	}
}

func TestBuildRefusesPathsThatCouldLeaveTheTemplate(t *testing.T) {
	for _, value := range []string{
		"", ".", "..", "%2e", "%2e%2e", ".%2e", "%252e%252e", "%25252e%25252e", "..;", "..;x", "%2e%2e;a=b", "a/b", "a%2fb", "a%2Fb", "a%252fb",
		"a%25252fb", `a\b`, "a%5cb", "a%255cb", "a\r\nHost: x", "a%0d%0ab", "a%250d%250ab", "a%00", "\x00", "a\tb", "\x7f", "%7f", "\u0085",
		"\xff", "%ff%fe", "${s1.body.id}", "%2f..%2f", "..%2f..", "%2e%2e%2f", "%c0%ae%c0%ae",
	} {
		r, err := Build(base, op("GET", "/rooms/{id}/x"), Arguments{Path: "/rooms/" + value + "/x"})
		if !errors.Is(err, ErrRequest) {
			t.Errorf("%q: %q %v, want ErrRequest", value, r.URL, err)
		}
	}
}

func TestBuildSerialisesTheQuery(t *testing.T) {
	cases := []struct {
		p           Parameter
		value, want string
	}{
		{param("a", "query", "", true), `1`, "a=1"},
		{param("a", "query", "", true), `12345678901234567890`, "a=12345678901234567890"},
		{param("a", "query", "", true), `1.50`, "a=1.50"},
		{param("a", "query", "", true), `true`, "a=true"},
		{param("a", "query", "", true), `""`, "a="},
		{param("a", "query", "", true), `null`, ""},
		{param("a", "query", "", true), `"x y&z=1+2"`, "a=x%20y%26z%3D1%2B2"},
		{param("a b", "query", "", true), `"ñ"`, "a%20b=%C3%B1"},
		{param("a", "query", "", true), `[1,"b"]`, "a=1&a=b"},
		{param("a", "query", "", false), `[1,"b,c"]`, "a=1,b%2Cc"},
		{param("a", "query", "spaceDelimited", false), `[1,2]`, "a=1%202"},
		{param("a", "query", "pipeDelimited", false), `[1,2]`, "a=1%7C2"},
		{param("a", "query", "tabDelimited", false), `[1,2]`, "a=1%092"},
		{param("a", "query", "", true), `{"x":1,"y":"z"}`, "x=1&y=z"},
		{param("a", "query", "", false), `{"x":1,"y":"z"}`, "a=x,1,y,z"},
		{param("a", "query", "deepObject", true), `{"x":1,"y":{"z":[1,2]}}`, "a%5Bx%5D=1&a%5By%5D%5Bz%5D%5B%5D=1&a%5By%5D%5Bz%5D%5B%5D=2"},
		{param("a", "query", "deepObject", true), `["x","y"]`, "a%5B%5D=x&a%5B%5D=y"},
		{param("a", "query", "json", false), `{"x":[1]}`, "a=%7B%22x%22%3A%5B1%5D%7D"},
		{param("a", "query", "", true), `[]`, ""},
	}
	for _, c := range cases {
		r, err := Build(base, op("GET", "/x", c.p), Arguments{Path: "/x", Query: json.RawMessage(`{` + string(quoteJSON(c.p.Name)) + `:` + c.value + `}`)})
		want := base.BaseURL + "/x"
		if c.want != "" {
			want += "?" + c.want
		}
		if err != nil || r.URL != want {
			t.Errorf("%s %s: %s %v, want %s", c.p.Style, c.value, r.URL, err, want)
		}
	}
}

func quoteJSON(s string) []byte { b, _ := json.Marshal(s); return b }

func TestBuildWritesParametersInTheDocumentsOrder(t *testing.T) {
	o := op("GET", "/x", param("b", "query", "", true), param("a", "query", "", true))
	r, err := Build(base, o, Arguments{Path: "/x", Query: json.RawMessage(`{"a":1,"b":2}`)})
	if err != nil || !strings.HasSuffix(r.URL, "?b=2&a=1") {
		t.Errorf("%s %v", r.URL, err)
	}
}

func TestBuildRefusesArguments(t *testing.T) {
	s := base
	s.Keys = []KeyPlace{{In: "query", Name: "key"}}
	o := op("POST", "/x", param("a", "query", "", true), param("key", "query", "", true), param("X-H", "header", "", false))
	for _, a := range []Arguments{
		{Path: "/x", Query: json.RawMessage(`{"b":1}`)},
		{Path: "/x", Query: json.RawMessage(`{"X-H":"1"}`)},
		{Path: "/x", Query: json.RawMessage(`{"key":"mine"}`)},
		{Path: "/x", Query: json.RawMessage(`[1]`)},
		{Path: "/x", Query: json.RawMessage(`{"a":1,"a":2}`)},
		{Path: "/x", Query: json.RawMessage(`{"a":`)},
		{Path: "/x", Body: json.RawMessage(`{}`)},
	} {
		if _, err := Build(s, o, a); !errors.Is(err, ErrArguments) {
			t.Errorf("%s %s: %v, want ErrArguments", a.Query, a.Body, err)
		}
	}
}

func TestBuildWritesTheBody(t *testing.T) {
	cases := []struct{ media, body, want, contentType string }{
		{"application/json", `{"n":12345678901234567890, "s":"<é>"}`, `{"n":12345678901234567890, "s":"<é>"}`, "application/json"},
		{"application/merge-patch+json", `[1]`, `[1]`, "application/merge-patch+json"},
		{"application/json", ``, ``, ""},
		{"application/json", `null`, ``, ""},
		{
			formMedia, `{"amount":2000,"card":{"number":"42 42"},"expand":["a","b"],"items":[{"price":"p&q","quantity":1}],"x":""}`,
			"amount=2000&card%5Bnumber%5D=42+42&expand%5B%5D=a&expand%5B%5D=b&items%5B0%5D%5Bprice%5D=p%26q&items%5B0%5D%5Bquantity%5D=1&x=", formMedia,
		},
	}
	for _, c := range cases {
		o := op("POST", "/x")
		deep := Encoding{Style: "deepObject", Explode: true}
		o.Body = &Body{MediaType: c.media, Schema: json.RawMessage("{}"), Encoding: map[string]Encoding{"card": deep, "expand": deep, "items": deep}}
		r, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(c.body)})
		if err != nil || string(r.Body) != c.want || r.Header["Content-Type"] != c.contentType {
			t.Errorf("%s %s: %s %q %v, want %s", c.media, c.body, r.Body, r.Header["Content-Type"], err, c.want)
		}
	}
	for media, body := range map[string]string{
		"multipart/form-data": `[]`, "text/plain": `{}`, formMedia: `[1]`, "application/json": `{"a":1,"a":2}`, "application/a+json": `{"a":`,
	} {
		o := op("POST", "/x")
		o.Body = &Body{MediaType: media}
		if _, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(body)}); !errors.Is(err, ErrArguments) {
			t.Errorf("%s %s: %v, want ErrArguments", media, body, err)
		}
	}
}

// FuzzBuildKeepsTheTemplate checks every built URL as a strict reader parses it: it must keep the registered origin
// and the template's segments. When a result fills a value, a lenient reader must not find a sibling's path.
func FuzzBuildKeepsTheTemplate(f *testing.F) {
	for _, seed := range []string{
		"12", "..", "%2e%2e", "a/b", "a%2fb", "@evil.example", "evil.example:80", "//evil.example", "?x=1", "#f", "\r\nHost: evil", "%0d%0a", "%25%32%65",
		"${s1.body.id}", "$${", "ñ", "%", "%%", "%zz", "a;b", "..;", "[::1]", "a b", "+", "&=", "\u202e", "．．", "me", "ME", "5:do", "a／b", "me.json", "m\u200be", "a:b", "{x}",
	} {
		f.Add(seed, seed, `{"q":"x"}`)
	}
	servers := []Server{{BaseURL: "https://api.example.com"}, {BaseURL: "http://127.0.0.1:8080/api/v3"}, {BaseURL: "https://[2606:4700::1111]:444/x"}}
	templates := []string{"/a/{x}/b/{y}", "/a/{x}.json/{y}", "/a/p-{x}/{y}:do"}
	beside := entries("GET /a/me/b/{y}", "POST /a/{x}/b/me", "PUT /a/{x}/b/{y}:do", "GET /a/me.json/{y}", "GET /a/{x}.json/me", "DELETE /a/p-me/{y}:do", "GET /a/{x}/me:do")
	f.Fuzz(func(t *testing.T, x, y, query string) {
		for i, s := range servers {
			template := templates[i]
			o := op("GET", template, param("q", "query", "deepObject", true))
			typed := strings.ReplaceAll(strings.ReplaceAll(template, "{x}", x), "{y}", y)
			if r, err := Build(s, o, Arguments{Path: typed, Query: json.RawMessage(query)}); err == nil {
				keepsTheTemplate(t, s, template, r.URL)
			}
			written := strings.ReplaceAll(strings.ReplaceAll(template, "{x}", "${s1.body.x}"), "{y}", "${s1.body.y}")
			path, err := ResolvePath(template, written, lookupOf(x, y))
			if err != nil || Selects(o.Entry, Siblings(beside, o.Entry), written, path) != nil {
				continue
			}
			r, err := Build(s, o, Arguments{Path: path})
			if err != nil {
				continue
			}
			keepsTheTemplate(t, s, template, r.URL)
			selectsNone(t, beside, s, r.URL)
			params, _, _ := matchTemplate(template, path)
			if params["x"] != string([]rune(x)) || params["y"] != string([]rune(y)) {
				t.Fatalf("%q and %q became %q", x, y, params)
			}
		}
	})
}

// lookupOf returns a result with two members.
func lookupOf(x, y string) ref.Lookup {
	body, _ := json.Marshal(map[string]string{"x": x, "y": y})
	return func(string) (ref.Result, bool) { return ref.Result{Status: 200, Body: body}, true }
}

func keepsTheTemplate(t *testing.T, s Server, template, raw string) {
	t.Helper()
	got, err := url.Parse(raw)
	if err != nil {
		t.Fatalf("%q does not parse: %v", raw, err)
	}
	want, _ := url.Parse(s.BaseURL)
	if got.Scheme != want.Scheme || got.Host != want.Host || got.User != nil || got.Fragment != "" {
		t.Fatalf("%q left %q", raw, s.BaseURL)
	}
	for _, c := range []byte(raw) {
		if c <= ' ' || c >= 0x7f || c == '\\' || c == '#' {
			t.Fatalf("%q holds %q", raw, c)
		}
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(raw, s.BaseURL), "?")
	parts, pieces := strings.Split(path, "/"), strings.Split(template, "/")
	if len(parts) != len(pieces) || parts[1] != "a" {
		t.Fatalf("%q has other segments than %q", raw, template)
	}
	for _, part := range parts[1:] {
		text := part
		for range 4 {
			if text == "" || text == "." || text == ".." || strings.ContainsAny(text, "/\\\r\n\x00") {
				t.Fatalf("%q: the segment %q becomes %q", raw, part, text)
			}
			next, err := url.PathUnescape(text)
			if err != nil {
				break
			}
			text = next
		}
	}
}

// selectsNone reads a URL as servers do that decode twice, ignore case, and drop parameters, dots and blanks. It
// compares it with each sibling's literals.
func selectsNone(t *testing.T, siblings []Entry, s Server, raw string) {
	t.Helper()
	path := strings.TrimPrefix(raw, s.BaseURL)
	for range 3 {
		for _, text := range []string{path, strings.ToLower(path), strings.TrimRight(path, ". "), strings.ReplaceAll(path, "\u200b", "")} {
			for _, e := range siblings {
				if _, _, ok := matchTemplate(e.Path, text); ok && strings.Count(e.Path, "/") == strings.Count(text, "/") && !strings.Contains(text, "${") {
					t.Fatalf("%q is read as %s", raw, e)
				}
			}
		}
		next, err := url.PathUnescape(path)
		if err != nil {
			return
		}
		path = next
	}
}
