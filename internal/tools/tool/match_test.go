package tool

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/ground/fault"
)

func entries(lines ...string) []Entry {
	var list []Entry
	for _, l := range lines {
		method, path, _ := strings.Cut(l, " ")
		list = append(list, Entry{Method: method, Path: path})
	}
	return list
}

var rooms = entries(
	"GET /rooms", "POST /rooms", "GET /rooms/{id}", "DELETE /rooms/{id}", "GET /rooms/free",
	"GET /rooms/{id}/reservations", "POST /reservations", "GET /reservations/{id}", "GET /reports/{name}.json",
	"GET /reports/{name}", "GET /compare/{base}...{head}", "GET /a-{b}", "POST /rooms/{id}:cancel", "GET /list/",
	"GET /{any}/settings", "GET /rooms/{id}/{part}", "GET /{kind}/{id}/reservations",
)

func TestMatchFindsTheTemplate(t *testing.T) {
	cases := []struct {
		call, want string
		params     map[string]string
	}{
		{"GET /rooms", "/rooms", map[string]string{}},
		{"get /rooms", "/rooms", map[string]string{}},
		{"GET /list", "/list/", map[string]string{}},
		{"GET /rooms/12", "/rooms/{id}", map[string]string{"id": "12"}},
		{"GET /rooms/free", "/rooms/free", map[string]string{}},
		{"GET /rooms/a%20b", "/rooms/{id}", map[string]string{"id": "a b"}},
		{"GET /rooms/100%", "/rooms/{id}", map[string]string{"id": "100%"}},
		{"GET /rooms/12/reservations", "/rooms/{id}/reservations", map[string]string{"id": "12"}},
		{"GET /reports/may.json", "/reports/{name}.json", map[string]string{"name": "may"}},
		{"GET /reports/may.xml", "/reports/{name}", map[string]string{"name": "may.xml"}},
		{"GET /compare/v1...v2", "/compare/{base}...{head}", map[string]string{"base": "v1", "head": "v2"}},
		{"GET /a-b", "/a-{b}", map[string]string{"b": "b"}},
		{"POST /rooms/7:cancel", "/rooms/{id}:cancel", map[string]string{"id": "7"}},
		{"GET /rooms/settings", "/rooms/{id}", map[string]string{"id": "settings"}},
		{"GET /rooms/${s1.body.id}", "/rooms/{id}", map[string]string{"id": "${s1.body.id}"}},
		{`GET /rooms/${s1.body["a/b"]}/reservations`, "/rooms/{id}/reservations", map[string]string{"id": `${s1.body["a/b"]}`}},
		{"GET /rooms/r-${s1.body.id}", "/rooms/{id}", map[string]string{"id": "r-${s1.body.id}"}},
		{"GET /users/9/reservations", "/{kind}/{id}/reservations", map[string]string{"kind": "users", "id": "9"}},
	}
	for _, c := range cases {
		method, path, _ := strings.Cut(c.call, " ")
		e, params, err := Match(rooms, method, path)
		if err != nil {
			t.Errorf("%s: %v", c.call, err)
			continue
		}
		if e.Path != c.want || !cmp.Equal(params, c.params) {
			t.Errorf("%s: %s %v, want %s %v", c.call, e.Path, params, c.want, c.params)
		}
	}
}

func TestMatchRefusesPathOutsideAllowlist(t *testing.T) {
	cases := []struct {
		call    string
		want    error
		nearest string // first
	}{
		{"GET /room", ErrNotAllowed, "GET /rooms"},
		{"PUT /rooms/12", ErrNotAllowed, "DELETE /rooms/{id}"},
		{"PATCH /rooms", ErrNotAllowed, "GET /rooms"},
		{"GET /rooms/12/reservations/3", ErrNotAllowed, "GET /rooms/{id}/reservations"},
		{"GET /nothing/like/it", ErrNotAllowed, ""},
		{"GET //rooms", ErrNotAllowed, "GET /rooms"},
		{"GET rooms", ErrArguments, ""},
		{"GET https://evil.example/rooms", ErrArguments, ""},
		{"GET /rooms/{id}", ErrArguments, ""},
		{"GET /rooms/%7Bid%7D", ErrArguments, ""},
		{"GET /" + strings.Repeat("a", 9000), ErrArguments, ""},
	}
	for _, c := range cases {
		method, path, _ := strings.Cut(c.call, " ")
		_, _, err := Match(rooms, method, path)
		if !errors.Is(err, c.want) {
			t.Errorf("%.60s: %v, want %v", c.call, err, c.want)
			continue
		}
		first, _, _ := strings.Cut(fault.Of(err).Args["nearest"], "; ")
		if first != c.nearest {
			t.Errorf("%.60s: nearest %q, want %q first", c.call, fault.Of(err).Args["nearest"], c.nearest)
		}
	}
}

func TestMatchNamesAtMostFiveNearest(t *testing.T) {
	_, _, err := Match(rooms, "GET", "/rooms/1/2/3/4/reservations")
	if n := len(strings.Split(fault.Of(err).Args["nearest"], "; ")); n != 5 {
		t.Errorf("%d entries named, want 5", n)
	}
}

func TestSplitQueryMovesTheQuery(t *testing.T) {
	cases := []struct{ path, query, wantPath, wantQuery string }{
		{"/rooms", `{"a":1}`, "/rooms", `{"a":1}`},
		{"/rooms?a=1&b=x%20y", "", "/rooms", `{"a":"1","b":"x y"}`},
		{"/rooms?a=1&a=2", "", "/rooms", `{"a":["1","2"]}`},
		{"/rooms?a=1&c=<", `{"a":12345678901234567890}`, "/rooms", `{"a":12345678901234567890,"c":"<"}`},
		{`/rooms/${s1.body["why?"]}?a=${s1.body.id}`, "", `/rooms/${s1.body["why?"]}`, `{"a":"${s1.body.id}"}`},
		{"/rooms?", "", "/rooms", `{}`},
	}
	for _, c := range cases {
		got, err := SplitQuery(Arguments{Path: c.path, Query: []byte(c.query)})
		if err != nil || got.Path != c.wantPath || string(got.Query) != c.wantQuery {
			t.Errorf("%s: %s %s %v, want %s %s", c.path, got.Path, got.Query, err, c.wantPath, c.wantQuery)
		}
	}
	for _, bad := range []Arguments{{Path: "/a?b=%zz"}, {Path: "/a?b=1", Query: []byte(`[1]`)}, {Path: "/a?b=1", Query: []byte(`{`)}} {
		if _, err := SplitQuery(bad); !errors.Is(err, ErrArguments) {
			t.Errorf("%s %s: %v, want ErrArguments", bad.Path, bad.Query, err)
		}
	}
}

// TestMatchParsesOnlyEntriesThatBeginLikeThePath counts: the other entries of a large allowlist cost no allocation.
func TestMatchParsesOnlyEntriesThatBeginLikeThePath(t *testing.T) {
	allocations := func(others int) float64 {
		entries := []Entry{{Method: "POST", Path: "/orders/{id}"}}
		for i := range others {
			entries = append(entries, Entry{Method: "POST", Path: fmt.Sprintf("/warehouse%d/orders/{id}", i)})
		}
		return testing.AllocsPerRun(20, func() {
			if _, _, err := Match(entries, "POST", "/orders/7"); err != nil {
				t.Fatal(err)
			}
		})
	}
	if small, large := allocations(5), allocations(5000); large > small {
		t.Errorf("%g allocations among 5,000 entries, %g among 5", large, small)
	}
}

func FuzzMayMatchRefusesNothingThatMatches(f *testing.F) {
	for _, c := range [][2]string{{"/a/{id}", "/a/7"}, {"/a/", "/a"}, {"/a", "/a/"}, {"/%61/{id}", "/a/1"}, {"/a b/{id}.json", "/a%20b/x.json"}, {"/{a}{b}", "/xy"}, {"/a{id}/", "/a1"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, template, path string) {
		if TemplateProblem(template) != "" || !strings.HasPrefix(path, "/") {
			return
		}
		if _, _, ok := matchTemplate(template, path); ok && !mayMatch(template, path) {
			t.Errorf("%q matches %q", template, path)
		}
	})
}

// An address without an id is not that of all things: it is refused before it is shown.
func TestMatchRefusesAnEmptyParameter(t *testing.T) {
	for call, name := range map[string]string{
		"DELETE /rooms/": "{id}", "GET /rooms/": "{id}", "PATCH /rooms/": "{id}", "GET /rooms//reservations": "{id}", "GET /rooms//": "{id}", "GET /rooms/7/": "{part}", "GET /reports/.json": "", "GET /reports/": "{name}",
		"GET /compare/...": "{base}", "GET /a-": "{b}", "POST /rooms/:cancel": "{id}", "GET //settings": "{any}", "GET /rooms/${s1.body.id}/": "{part}", "GET /users//reservations": "{id}",
	} {
		method, path, _ := strings.Cut(call, " ")
		e, _, err := Match(rooms, method, path)
		if name == "" {
			if err != nil {
				t.Errorf("%s: %v", call, err)
			}
			continue
		}
		if !errors.Is(err, ErrArguments) || !strings.Contains(fault.Of(err).Fields[0].Msg, name) {
			t.Errorf("%s is %s %v, want %s to be missed", call, e, err, name)
		}
	}
	alone := entries("DELETE /orders", "GET /list/", "GET /list/{id}")
	for call, want := range map[string]string{"DELETE /orders/": "/orders", "GET /list/": "/list/"} { // nothing is missing there
		method, path, _ := strings.Cut(call, " ")
		if e, _, err := Match(alone, method, path); err != nil || e.Path != want {
			t.Errorf("%s is %q %v, want %s", call, e.Path, err, want)
		}
	}
}
