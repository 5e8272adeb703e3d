package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"piloto/internal/ground/fault"
)

// conditional returns an operation with header parameters of every kind.
func conditional() Operation {
	header := func(name string, required bool, schema string) Parameter {
		return Parameter{Name: name, In: "header", Required: required, Schema: json.RawMessage(schema)}
	}
	return op("PUT", "/o", header("If-Match", true, `{"type":"string"}`), header("X-Version", true, `{"enum":["2024-01-01"]}`),
		header("X-Mode", true, `{"default":"safe"}`), header("X-Kind", true, `{"const":7}`), header("X-Page", false, `{"type":"integer","default":3}`),
		header("X-Ids", false, `{"type":"array","items":{"type":"integer"}}`))
}

func TestHeadersAreShownAsTheyAreSent(t *testing.T) {
	o := conditional()
	const filled = `,"X-Version":"2024-01-01","X-Mode":"safe","X-Kind":"7"}`
	for given, want := range map[string]string{
		`{"If-Match":"\"v7\""}`:                       `{"If-Match":"\"v7\""` + filled,
		`{"if-match":"\"v7\"","X-PAGE":9}`:            `{"If-Match":"\"v7\"","X-Page":"9"` + filled,
		`{"If-Match":"${s1.headers.ETag}"}`:           `{"If-Match":"${s1.headers.ETag}"` + filled,
		`{"If-Match":"a","X-Ids":[1,2]}`:              `{"If-Match":"a","X-Ids":"1,2"` + filled,
		`{"If-Match":"a","X-Page":null}`:              `{"If-Match":"a"` + filled,
		`{"x-mode":"fast","If-Match":"a","X-Kind":7}`: `{"X-Mode":"fast","If-Match":"a","X-Kind":"7","X-Version":"2024-01-01"}`,
	} {
		a, err := o.WithHeaders(Arguments{Path: "/o", Headers: json.RawMessage(given)})
		if err != nil || string(a.Headers) != want {
			t.Errorf("%s: %s %v, want %s", given, a.Headers, err, want)
		}
		if strings.Contains(given, "${") {
			continue
		}
		r, err := Build(base, o, Arguments{Path: "/o", Headers: a.Headers})
		if err != nil {
			t.Fatal(given, err)
		}
		shown := map[string]string{}
		if err := json.Unmarshal(a.Headers, &shown); err != nil {
			t.Fatal(err)
		}
		for name, value := range shown {
			if r.Header[name] != value {
				t.Errorf("%s: %s is sent as %q, and shown as %q", given, name, r.Header[name], value)
			}
		}
		if len(r.Header) != len(shown)+1 { // Accept
			t.Errorf("%s: sent %v", given, r.Header)
		}
	}
}

func TestARequiredHeaderWithOneValueOrADefaultIsFilledIn(t *testing.T) {
	const defs = `,"$defs":{"V":{"type":"string","enum":["v1"]},"W":{"allOf":[{"$ref":"#/$defs/V"}]},"D":{"default":"d"},"C":{"$ref":"#/$defs/C"}}}`
	for schema, want := range map[string]string{
		`{"type":["string","null"],"enum":["only",null]}`:         `{"X-E":"only"}`,
		`{"allOf":[{"type":"string"},{"enum":["only"]}]}`:         `{"X-E":"only"}`,
		`{"oneOf":[{"const":"only"}]}`:                            `{"X-E":"only"}`,
		`{"oneOf":[{"const":"a"},{"const":"b"}]}`:                 ``,
		`{"anyOf":[{"type":"string","enum":[true]}]}`:             `{"X-E":"true"}`,
		`{"type":"array","default":["a","b"]}`:                    `{"X-E":"a,b"}`,
		`{"type":"array","default":["a,b"]}`:                      ``,
		`{"default":{"a":1}}`:                                     ``,
		`{"default":null}`:                                        ``,
		`{"$ref":"#/$defs/V"` + defs:                              `{"X-E":"v1"}`,
		`{"$ref":"#/$defs/W"` + defs:                              `{"X-E":"v1"}`,
		`{"default":"mine","allOf":[{"$ref":"#/$defs/D"}]` + defs: `{"X-E":"mine"}`,
		`{"default":"v2","allOf":[{"$ref":"#/$defs/V"}]` + defs:   `{"X-E":"v1"}`,
		`{"$ref":"#/$defs/C"` + defs:                              ``,
	} {
		o := op("PUT", "/o", Parameter{Name: "X-E", In: "header", Required: true, Schema: json.RawMessage(schema)})
		if a, err := o.WithHeaders(Arguments{Path: "/o"}); err != nil || string(a.Headers) != want {
			t.Errorf("%s: %s %v, want %s", schema, a.Headers, err, want)
		}
	}
}

func TestListsInHeadersAreJoinedAsTheDocumentSays(t *testing.T) {
	for style, c := range map[string]struct{ given, want string }{
		"":               {`["a","b|c"]`, "a,b|c"},
		"pipeDelimited":  {`["a","b,c"]`, "a|b,c"},
		"spaceDelimited": {`["a","b"]`, "a b"},
	} {
		o := op("GET", "/o", Parameter{Name: "X-L", In: "header", Style: style, Required: true, Schema: json.RawMessage(`{"type":"array","maxItems":2,"items":{"type":"string"}}`)})
		a, err := o.WithHeaders(Arguments{Method: "GET", Path: "/o", Headers: json.RawMessage(`{"x-l":` + c.given + `}`)})
		if err != nil {
			t.Fatal(style, err)
		}
		if r, err := Build(Server{BaseURL: "https://a.example"}, o, a); err != nil || r.Header["X-L"] != c.want {
			t.Errorf("%q: %q %v, want %q", style, r.Header["X-L"], err, c.want)
		}
		between := o.Parameters[0].separator()
		if _, err := o.WithHeaders(Arguments{Headers: json.RawMessage(`{"X-L":["a` + between + `b"]}`)}); err == nil {
			t.Errorf("%q: an element with %q is taken", style, between)
		}
	}
}

func TestHeadersThatNobodyMaySetAreRefused(t *testing.T) {
	names := []string{
		"Host", "Authorization", "Content-Length", "content-type", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade", "Cookie",
		"Set-Cookie", "Idempotency-Key", "X-Trace-Id", "Proxy-Authorization", "Proxy-Connection", "X-Forwarded-For", "Forwarded", "X-HTTP-Method-Override",
		"X-Original-URL", "Origin", "Referer", "User-Agent", "Expect", "Mcp-Session-Id", "Sec-Fetch-Site", "bad name", "a:b", "x\r\ny", "",
	}
	for _, name := range names {
		o := op("PUT", "/o", Parameter{Name: name, In: "header", Schema: json.RawMessage(`{}`)})
		if MaySetHeader(name) {
			t.Errorf("%q may be set", name)
		}
		raw, err := json.Marshal(map[string]string{name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Build(base, o, Arguments{Path: "/o", Headers: raw}); !errors.Is(err, ErrArguments) {
			t.Errorf("%q: %v %v", name, r.Header, err)
		}
	}
	for _, name := range []string{"If-Match", "From", "If-Unmodified-Since", "X-Tenant", "API-Version", "Accept-Language", "Prefer", "X-Request-Id"} {
		if !MaySetHeader(name) {
			t.Errorf("%q may not be set", name)
		}
	}
}

func TestCheckReportsHeaders(t *testing.T) {
	o := conditional()
	rest := `,"X-Version":"2024-01-01","X-Mode":"safe","X-Kind":"7"}`
	for given, want := range map[string]string{
		``:                                      "/headers/If-Match missing",
		`{"If-Match":""` + rest:                 "/headers/If-Match header.refused",
		`{"If-Match":"a\r\nHost: b"` + rest:     "/headers/If-Match header.refused",
		`{"If-Match":" a"` + rest:               "/headers/If-Match header.refused",
		`{"If-Match":"ñ"` + rest:                "/headers/If-Match header.refused",
		`{"If-Match":{"a":1}` + rest:            "/headers/If-Match type",
		`{"If-Match":"${s1.nothing}"` + rest:    "/headers/If-Match reference",
		`{"If-Match":"a","Host":"b"` + rest:     "/headers/Host unknown",
		`{"If-Match":"a","if-match":"b"` + rest: "/headers/if-match duplicate",
		`["If-Match"]`:                          "/headers type",
		`{"If-Match":"` + strings.Repeat("a", maxHeaderValue+1) + `"` + rest: "/headers/If-Match header.refused",
	} {
		found := false
		for _, p := range o.Check(anySchema{}, Arguments{Path: "/o", Headers: json.RawMessage(given)}) {
			found = found || p.Loc+" "+p.Type == want
		}
		if !found {
			t.Errorf("%.80s: want %s", given, want)
		}
		if _, err := Build(base, o, Arguments{Path: "/o", Headers: json.RawMessage(given)}); given != "" && !strings.Contains(given, "${") && !errors.Is(err, ErrArguments) {
			t.Errorf("%.80s is sent: %v", given, err)
		}
	}
	if _, err := o.WithHeaders(Arguments{Headers: json.RawMessage(`{"If-Match":"a","IF-MATCH":"b"}`)}); fault.Of(err).Fields == nil {
		t.Errorf("%v", err)
	}
}

// anySchema accepts every value.
type anySchema struct{}

func (anySchema) Compile(json.RawMessage) (Schema, bool) { return nil, false }

func TestSignatureNamesHeaders(t *testing.T) {
	if got := Signature(conditional()); got != "headers{If-Match:string*, X-Page:integer, X-Ids:integer[]}" {
		t.Errorf("%s", got)
	}
}
