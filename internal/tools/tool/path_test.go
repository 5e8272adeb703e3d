package tool

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"piloto/internal/ground/ref"
)

// pathCase is one case of testdata/paths.jsonl. Its label was written before the code, by this rule: what is typed stays as it
// is, and only what no path may have is percent-encoded; the value of a result is percent-encoded but for unreserved
// characters; both are one segment, or are refused.
type pathCase struct {
	Kind     string          // typed: a path; result: one with references; template: whether it may be called
	Template string          `json:"template"`
	Path     string          `json:"path"`
	Value    json.RawMessage `json:"value"` // of a result: the member v of s1
	Want     string          `json:"want"`  // the path that is sent, kept, or refused
}

func TestBuildSendsPathOnlyAsItsTemplate(t *testing.T) {
	file, err := os.Open("testdata/paths.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	n := 0
	for ; lines.Scan(); n++ {
		var c pathCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got := c.outcome(t); got != c.Want {
			t.Errorf("line %d: %s with %+q and %s: %s, want %s", n+1, c.Template, c.Path, c.Value, got, c.Want)
		}
	}
	if err := lines.Err(); err != nil || n < 250 {
		t.Errorf("%d cases: %v", n, err)
	}
}

func (c pathCase) outcome(t *testing.T) string {
	if c.Kind == "template" {
		if TemplateProblem(c.Template) != "" {
			return "refused"
		}
		return "kept"
	}
	look := func(step string) (ref.Result, bool) {
		return ref.Result{Status: 200, Body: json.RawMessage(`{"v":` + string(c.Value) + `}`)}, step == "s1" && c.Kind == "result"
	}
	entry := Entry{Method: "GET", Path: c.Template}
	_, _, err := Match([]Entry{entry}, "GET", c.Path)
	path := c.Path
	if err == nil && c.Kind == "result" {
		path, err = ResolvePath(c.Template, c.Path, look)
	}
	var r Request
	if err == nil {
		r, err = Build(base, Operation{Entry: entry}, Arguments{Path: path})
	}
	if err != nil {
		if errors.Is(err, ErrRequest) && strings.Contains(err.Error(), "%!") {
			t.Errorf("%v", err)
		}
		return "refused"
	}
	return strings.TrimPrefix(r.URL, base.BaseURL)
}

// catalogue has many entries with similar paths.
var catalogue = entries(
	"GET /users/{id}", "POST /users/{id}", "DELETE /users/{id}", "POST /users/{id}:delete", "GET /users/me", "GET /users/{id}.json", "POST /users/admin-{x}",
	"GET /files/{name}.{ext}", "GET /files/{name}", "GET /{kind}/{id}", "DELETE /{kind}/all", "GET /{any}/settings", "GET /users/{id}/keys", "GET /users/me/keys", "POST /rooms/{id}",
)

func TestResultValueSelectsNoSibling(t *testing.T) {
	for _, c := range []struct{ call, values string }{
		{"POST /users/${v}", "5:delete 5%3Adelete 5%253adelete 5:DELETE ５：delete 5:delete. 5:delete;x me ME Me mé me%20 me. me;v=1 me%3bx m\u200be ｍｅ me.xml me.json 5.json 5.JSON admin-1 Admin-x settings all"},
		{"DELETE /users/${v}", "me 5:delete 5.json all admin-7"},
		{"GET /users/${v}/keys", "me ME me;x me. m%65"},
		{"POST /users/${v}${v}", "me m"},
		{"POST /users/m${v}", "e E é"},
		{"GET /files/${v}", "a.b a.b.c"},
		{"GET /${v}/5", "users Users files users; users."},
		{"DELETE /users/${v}:delete", ""},
		{"POST /rooms/${v}", "settings all"},
	} {
		method, written, _ := strings.Cut(c.call, " ")
		written = strings.ReplaceAll(written, "${v}", "${s1.body.v}")
		for value := range strings.FieldsSeq(c.values) {
			if c.call == "POST /users/${v}${v}" && value == "m" {
				continue
			}
			path, err := callWithValue(t, method, written, value)
			if err == nil && c.call != "POST /users/${v}${v}" {
				t.Errorf("%s with %+q is sent as %s", c.call, value, path)
			}
		}
		for _, value := range []string{"5", "lamp", "a-b", "a:b", "mel", "ame", "ñ", "x@y.z-1"} {
			if strings.HasPrefix(c.call, "GET /files") && strings.Contains(value, ".") || strings.HasSuffix(c.call, ":delete") || strings.Contains(c.call, "/m$") {
				continue
			}
			if path, err := callWithValue(t, method, written, value); err != nil {
				t.Errorf("%s with %q is refused: %v (%s)", c.call, value, err, path)
			}
		}
	}
}

// callWithValue returns the path that is sent when the reference of a call has the value.
func callWithValue(t *testing.T, method, written, value string) (string, error) {
	t.Helper()
	e, _, err := Match(catalogue, method, written)
	if err != nil {
		return "", err
	}
	quoted, _ := json.Marshal(value)
	path, err := ResolvePath(e.Path, written, func(string) (ref.Result, bool) {
		return ref.Result{Body: json.RawMessage(`{"v":` + string(quoted) + `}`)}, true
	})
	if err == nil {
		err = Selects(e, Siblings(catalogue, e), written, path)
	}
	return path, err
}

func TestTypedPathSelectsNoOtherOperation(t *testing.T) {
	for call, want := range map[string]bool{
		"POST /users/5": true, "POST /users/5:delete": true, "GET /users/me": true, "GET /users/5.json": true, "DELETE /users/me": true, "GET /files/a.b": true, "GET /users/5/keys": true,
		"GET /users/ME": false, "GET /users/m%65": true, "GET /users/me%20": false, "GET /users/m\u200be": false, "GET /users/me;x": false, "POST /users/5:Delete": false,
		"GET /users/me.": false, "GET /users/Me/keys": false, "GET /users/settings": true, "GET /users/${s1.body.id}": true, "GET /users/${s1.body.id}/keys": true, "GET /Users/ME": false,
		"GET /files/${s1.body.name}.pdf": true, "GET /${s1.body.kind}/me": true,
	} {
		method, path, _ := strings.Cut(call, " ")
		e, _, err := Match(catalogue, method, path)
		if err == nil {
			err = Selects(e, Siblings(catalogue, e), path, path)
		}
		if (err == nil) != want {
			t.Errorf("%s (%s): %v", call, e.Path, err)
		}
	}
}

// TestReadingsOfValueGrowLinearly counts the characters of all readings of a value: twice the value has at most
// twice as many.
func TestReadingsOfValueGrowLinearly(t *testing.T) {
	for _, unit := range []string{"a", ".", "%25", "%252561", ";a", "ﷺ", "a\u0301", "\u200b", " .", "%zz", "a.b;c", "％61"} {
		read := func(n int) (sum int) {
			for _, text := range readings("x" + strings.Repeat(unit, n)) {
				sum += len(text)
			}
			return sum
		}
		one, two := read(500), read(1000)
		if two > 2*one+200 || two > 40*1000*len(unit) {
			t.Errorf("%q: %d characters, and %d for twice the value", unit, one, two)
		}
	}
}
