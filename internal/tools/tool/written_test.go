package tool

import (
	"encoding/json"
	"errors"
	"testing"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
)

// TestWrittenIsWhatIsSent compares what is shown of a call with its URL. What is shown is shown again as it is.
func TestWrittenIsWhatIsSent(t *testing.T) {
	o := op("GET", "/v/{x}/ñ b/{y}.json", param("q", "query", "", true), param("ids", "query", "", true), param("f", "query", "json", false), param("in", "query", "deepObject", true))
	for _, c := range []struct{ path, query, want string }{
		{"/v/a/ñ b/c.json", "", "/v/a/%C3%B1%20b/c.json"},
		{"/v/a/%c3%b1%20b/c.json/", "", "/v/a/%C3%B1%20b/c.json"},
		{"/v/%7e-~;@:,+!$&'()*=/ñ b/é%C3%A9%c3%a9.json", "", "/v/%7e-~;@:,+!$&'()*=/%C3%B1%20b/%C3%A9%C3%A9%c3%a9.json"},
		{"/v/[\"<>^`{|}]/ñ b/100%.json", "", "/v/%5B%22%3C%3E%5E%60%7B%7C%7D%5D/%C3%B1%20b/100%25.json"},
		{"/v/e\u0301/ñ b/a+b %20.json", "", "/v/e%CC%81/%C3%B1%20b/a+b%20%20.json"},
		{"/v/$${s1.body.x}/ñ b/c.json", "", "/v/$%7Bs1.body.x%7D/%C3%B1%20b/c.json"},
		{"/v/a/ñ b/c.json", `{"q":"a b+c&d=%/ñ","ids":["x y","z"],"in":{"a":"1 2"}}`, "/v/a/%C3%B1%20b/c.json?q=a%20b%2Bc%26d%3D%25%2F%C3%B1&ids=x%20y&ids=z&in%5Ba%5D=1%202"},
		{"/v/a/ñ b/c.json", `{"q":"","ids":[],"f":{"a":"b c"}}`, "/v/a/%C3%B1%20b/c.json?q=&f=%7B%22a%22%3A%22b%20c%22%7D"},
		{"/v/a/ñ b/c.json", `{}`, "/v/a/%C3%B1%20b/c.json"},
	} {
		a := Arguments{Path: c.path, Query: json.RawMessage(c.query)}
		for range 2 {
			path, query, err := Written(base, o, a)
			if query != "" {
				query = "?" + query
			}
			if err != nil || path+query != c.want {
				t.Errorf("%s %s is shown as %s%s %v, want %s", c.path, c.query, path, query, err, c.want)
			}
			if a.Path, err = ResolvePath(o.Path, path, nil); err != nil { // no reference
				t.Error(err)
			}
		}
		if sent, err := URL(base, o, a); err != nil || sent != base.BaseURL+c.want {
			t.Errorf("%s %s is sent as %s %v, want %s", c.path, c.query, sent, err, c.want)
		}
	}
}

// TestURLHasTheBaseOfItsOperation: an operation that its document puts elsewhere is sent there, on the origin of its server only.
func TestURLHasTheBaseOfItsOperation(t *testing.T) {
	o := op("GET", "/v/{x}", param("q", "query", "", true))
	a := Arguments{Path: "/v/a b", Query: json.RawMessage(`{"q":"c d"}`)}
	for own, want := range map[string]string{
		"": base.BaseURL + "/v/a%20b?q=c%20d", "https://api.example.com:8443/v2": "https://api.example.com:8443/v2/v/a%20b?q=c%20d",
		"https://api.example.com/v2": "", "https://other.example/v2": "",
	} {
		o.Base = own
		path, query, err := Written(base, o, a)
		if err != nil || path+"?"+query != "/v/a%20b?q=c%20d" {
			t.Errorf("at %q: %s?%s %v", own, path, query, err)
		}
		sent, err := URL(base, o, a)
		if sent != want || (want == "") != errors.Is(err, ErrRequest) {
			t.Errorf("at %q: %s %v, want %q", own, sent, err, want)
		}
		if r, err := Build(base, o, a); want != "" && (err != nil || r.URL != want || r.Origin != base.At(o)) {
			t.Errorf("at %q: %+v %v", own, r, err)
		}
	}
}

func TestWrittenKeepsReferences(t *testing.T) {
	o := op("GET", "/v/{x}/{y}.json", param("q", "query", "", true), param("ids", "query", "", true), param("f", "query", "json", false), param("in", "query", "deepObject", true))
	for _, c := range []struct{ path, query, want string }{
		{"/v/${s1.body.id}/c.json", "", "/v/${s1.body.id}/c.json"},
		{`/v/ñ ${s1.body["a/b ?"]}%c3%b1/é${item.x}.json`, "", `/v/%C3%B1%20${s1.body["a/b ?"]}%c3%b1/%C3%A9${item.x}.json`},
		{"/v/a/c.json", `{"q":"${s1.body.q}","ids":["${s1.body.a}","x y"]}`, "/v/a/c.json?q=${s1.body.q}&ids=${s1.body.a}&ids=x%20y"},
		{"/v/a/c.json", `{"q":"a b ${s1.body.q}&$${c}","in":{"d":"${s1.body.d}"},"f":{"e":"${s1.body.e}"}}`, "/v/a/c.json?q=a%20b%20${s1.body.q}%26%24%7Bc%7D&f=%7B%22e%22%3A${s1.body.e}%7D&in%5Bd%5D=${s1.body.d}"},
	} {
		path, query, err := Written(base, o, Arguments{Path: c.path, Query: json.RawMessage(c.query)})
		if query != "" {
			query = "?" + query
		}
		if err != nil || path+query != c.want {
			t.Errorf("%s %s is shown as %s%s %v, want %s", c.path, c.query, path, query, err, c.want)
		}
		if again, _, err := Written(base, o, Arguments{Path: path}); err != nil || again != path {
			t.Errorf("%s is shown again as %s %v", path, again, err)
		}
	}
	for _, a := range []Arguments{
		{Path: "/v/a/c.json", Query: json.RawMessage(`{"in":"${s1.body.in}"}`)}, // its members are the parameters
		{Path: `/v/a\${s1.body.id}/c.json`}, {Path: "/v/a%2f${s1.body.id}/c.json"}, {Path: "/v/%00${s1.body.id}/c.json"},
	} {
		if path, query, err := Written(base, o, a); err == nil {
			t.Errorf("%s %s is shown as %s %s", a.Path, a.Query, path, query)
		}
	}
}

// TestValuesOfResultsAreEscapedOrNamed: a value is sent in a path with all its signs, or a person is told which one cannot be.
func TestValuesOfResultsAreEscapedOrNamed(t *testing.T) {
	for value, want := range map[string]string{
		"W123": "/o/W123", "#W123": "/o/%23W123", ";": "/o/%3B", "?": "/o/%3F", "#": "/o/%23", "a;b": "/o/a%3Bb", "?x=1": "/o/%3Fx%3D1", "a b": "/o/a%20b", "+": "/o/%2B", "100%": "/o/100%25",
		"a:b@c": "/o/a%3Ab%40c", "ñ": "/o/%C3%B1", "n\u0303": "/o/n%CC%83", "${x}": "/o/%24%7Bx%7D", "{id}": "/o/%7Bid%7D", "~-._": "/o/~-._", "日本": "/o/%E6%97%A5%E6%9C%AC",
		"": "step.value_empty", "a/b": "step.value_slash", `a\b`: "step.value_slash", "a%2Fb": "step.value_slash", "／": "step.value_slash", ".": "step.value_dots", "..": "step.value_dots", "%2e%2e": "step.value_dots",
		"a\nb": "step.value_sign", "\x00": "step.value_sign", " ": "step.value_blank", "%20": "step.value_blank", "\u200b": "step.value_blank", "...": "step.value_blank",
	} {
		body, _ := json.Marshal(map[string]string{"v": value})
		path, err := ResolvePath("/o/{id}", "/o/${s1.body.v}", func(string) (ref.Result, bool) { return ref.Result{Body: body}, true })
		got := path
		if errors.Is(err, ErrValue) {
			f := fault.Of(err)
			if got = f.Inner["why"].Code; f.Args["reference"] != "${s1.body.v}" || !locale.Exists(got) || len(f.Fields) != 1 {
				t.Errorf("%+q: %v %v", value, f, f.Fields)
			}
		} else if err != nil {
			t.Errorf("%+q: %v", value, err)
		}
		if got != want {
			t.Errorf("%+q: %s, want %s", value, got, want)
		}
	}
}
