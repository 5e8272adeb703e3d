package ref

import (
	"encoding/json"
	"errors"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

var finished = map[string]Result{
	"s1": {Status: 201, Headers: map[string]string{"Location": "/r/9"}, Body: json.RawMessage(
		`{"id":12345678901234567890,"name":"Sala \"Norte\"","items":[{"id":"a/b"},{"id":null}],"odd key":{"x":true},"f":1.50}`)},
	"empty": {Status: 204},
}

func lookUp(step string) (Result, bool) { r, ok := finished[step]; return r, ok }

func TestResolveJSONKeepsTypesAndDigits(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":"${s1.body.id}"}`:               `{"id":12345678901234567890}`,
		`{"id":"n-${s1.body.id}"}`:             `{"id":"n-12345678901234567890"}`,
		`["${s1.body.items[0].id}",1.0,null]`:  `["a/b",1.0,null]`,
		`"${s1.body.items}"`:                   `[{"id":"a/b"},{"id":null}]`,
		`"${s1.body[\"odd key\"].x}"`:          `true`,
		`"${s1.status}"`:                       `201`,
		`"${s1.headers.location}"`:             `"/r/9"`,
		`"${s1.body.name} y ${s1.body.f}"`:     `"Sala \"Norte\" y 1.50"`,
		`"$${s1.body}"`:                        `"${s1.body}"`,
		`"$ {x} $x"`:                           `"$ {x} $x"`,
		`{"${s1.body.id}":"key is not a ref"}`: `{"${s1.body.id}":"key is not a ref"}`,
		`{"b":1,"a":9007199254740993}`:         `{"b":1,"a":9007199254740993}`,
		`"<&>"`:                                `"<&>"`,
		``:                                     ``,
	} {
		got, err := ResolveJSON(json.RawMessage(in), lookUp)
		if err != nil || string(got) != want {
			t.Errorf("%s = %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestResolveRefusesMissingValue(t *testing.T) {
	for _, in := range []string{
		`"${s9.body}"`, `"${s1.body.none}"`, `"${s1.body.items[2]}"`, `"${s1.body.id.x}"`, `"${s1.headers.none}"`,
		`"${empty.body}"`, `"x${s1.body.items[1].id}"`,
	} {
		if got, err := ResolveJSON(json.RawMessage(in), lookUp); !errors.Is(err, ErrUnresolved) {
			t.Errorf("%s = %s, %v", in, got, err)
		}
	}
	for _, in := range []string{`"x${s1.body.items}"`, `"x${s1.body}"`} {
		if got, err := ResolveJSON(json.RawMessage(in), lookUp); err == nil {
			t.Errorf("%s = %s", in, got)
		}
	}
}

func TestResolveTextEscapesEachValue(t *testing.T) {
	got, err := ResolveText("/r/${s1.body.items[0].id}/x", lookUp, nil, url.PathEscape)
	if err != nil || got != "/r/a%2Fb/x" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestResolveRefusesLargeTextEarly(t *testing.T) {
	large := func(string) (Result, bool) {
		return Result{Status: 200, Body: json.RawMessage(`{"x":"` + strings.Repeat("z", 500_000) + `"}`)}, true
	}
	for name, resolve := range map[string]func() error{
		"values": func() error {
			_, err := ResolveJSON(json.RawMessage(`["${s.body.x}"`+strings.Repeat(`,"${s.body.x}"`, 5000)+`]`), large)
			return err
		},
		"whole": func() error {
			_, err := ResolveJSON(json.RawMessage(`["${s.body}","${s.body}","${s.body}"]`), large)
			return err
		},
		"one value": func() error {
			_, err := ResolveJSON(json.RawMessage(`{"a":"`+strings.Repeat("${s.body.x}", 5000)+`"}`), large)
			return err
		},
		"text": func() error {
			_, err := ResolveText("/"+strings.Repeat("${s.body.x}", 5000), large, nil, url.PathEscape)
			return err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := resolve()
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, errTooLarge) || used > 64<<20 {
			t.Errorf("%s: %v, %d MB", name, err, used>>20)
		}
	}
	if got, err := ResolveJSON(json.RawMessage(`["${s.body.x}"]`), large); err != nil || len(got) != 500_004 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestResultIsParsedOnce(t *testing.T) {
	list := json.RawMessage(`{"items":[` + strings.Repeat("1,", 100_000) + `7]}`)
	look := func(string) (Result, bool) { return Result{Status: 200, Body: list}, true }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := ResolveJSON(json.RawMessage(`["${s.body.items[100000]}"`+strings.Repeat(`,"${s.body.items[99999]}"`, 3000)+`]`), look)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || !strings.HasPrefix(string(got), "[7,1,1") || used > 128<<20 {
		t.Errorf("%v, %d MB", err, used>>20)
	}
}

func TestMalformedReferencesAreReported(t *testing.T) {
	for _, in := range []string{
		"${", "${}", "${s1", "${s1}", "${s1.}", "${s1.body", "${s1.nothing}", "${s1.body.}", "${s1.body[}", "${s1.body[x]}",
		"${s1.body[-1]}", "${s1.body[01]}", "${s1.status.x}", "${s1.headers}", "${s1.headers[0]}", "${ s1.body}", `${s1.body["x]}`,
		"${s1.body" + strings.Repeat(".x", 40) + "}", "${" + strings.Repeat("a", 600) + ".body}",
	} {
		if refs, err := InText(in); err == nil {
			t.Errorf("%s was read as %v", in, refs)
		}
		if !Contains(in) {
			t.Errorf("Contains(%s) = false", in)
		}
	}
}

func TestLiteralsReturnsTextAroundReferences(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"/a/b":                           "/a/b",
		"/a/${s1.status}":                "/a/|",
		"${s1.body[\"/\"]}${item}/$${x}": "||/${x}",
	} {
		if got, err := Literals(in); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s = %q, %v; want %q", in, got, err, want)
		}
	}
	if got, err := Literals("${"); err == nil {
		t.Errorf("%q", got)
	}
}

func FuzzReferences(f *testing.F) {
	for _, s := range []string{"${s1.body.a[0][\"b c\"]}", "a ${s.status} $${x} ${s.headers.Location}", "${", "$$${a.body}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		refs, err := InText(text)
		if err != nil {
			return
		}
		for _, r := range refs {
			again, err := InText("${" + r.String() + "}")
			if err != nil || len(again) != 1 || again[0].String() != r.String() {
				t.Fatalf("%q reads back as %v, %v", r, again, err)
			}
		}
		raw, _ := json.Marshal(text)
		if _, err := InJSON(raw); err != nil {
			t.Fatalf("InText reads %q, InJSON does not: %v", text, err)
		}
	})
}
