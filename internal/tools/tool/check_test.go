package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

func TestCheckReportsEveryProblem(t *testing.T) {
	const good = `{"date":"2026-11-20","people":2}`
	with := func(member string) string { return `{"date":"2026-11-20","people":2,` + member + `}` }
	cases := []struct {
		path, query, body string
		want              []string
	}{
		{"/rooms/7/reservations", `{"mode":"fast"}`, good, nil},
		{"/rooms/7/reservations", `{"mode":"fast","notify":"true","tags":"a"}`, good, nil},
		{"/rooms/7/reservations", `{"mode":"fast","tags":["a","b"]}`, good, nil},
		{"/rooms/7/reservations", `{"mode":"fast","notify":null}`, good, nil},
		{"/rooms/0/reservations", `{"mode":"fast"}`, good, []string{"/path/id: must be ≥ 1"}},
		{"/rooms/x/reservations", `{"mode":"fast"}`, good, []string{"/path/id: must be an integer, not a string"}},
		{"/rooms/%2e%2e/reservations", `{"mode":"fast"}`, good, []string{"/path/id: must not be a dot segment"}},
		{"/rooms/{id}/reservations", `{"mode":"fast"}`, good, []string{"/path/id: put a value in the place of {id}"}},
		{"/rooms", `{"mode":"fast"}`, good, []string{"/path: must match /rooms/{id}/reservations"}},
		{"/rooms/7/reservations", ``, good, []string{"/query/mode: is required"}},
		{"/rooms/7/reservations", `{"mode":"x"}`, good, []string{`/query/mode: must be one of "fast", "slow"`}},
		{"/rooms/7/reservations", `{"mode":"fast","notify":"si"}`, good, []string{"/query/notify: must be a boolean, not a string"}},
		{"/rooms/7/reservations", `{"mode":"fast","nope":1,"X-Tenant":"a"}`, good, []string{
			"/query/X-Tenant: is not a query parameter here; known are notify, tags, mode",
			"/query/nope: is not a query parameter here; known are notify, tags, mode",
		}},
		{"/rooms/7/reservations", `{"mode":"fast","tags":["a","toolong","c"]}`, good, []string{
			"/query/tags: must have at most 2 elements, has 3", "/query/tags/1: must have at most 5 characters, has 7",
		}},
		{"/rooms/7/reservations", `["fast"]`, good, []string{"/query: must be an object of parameters"}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, ``, []string{"/body: is required"}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, `{"people":0,"x/y":1}`, []string{
			"/body/date: is required", "/body/people: must be ≥ 1",
			"/body/x~1y: is not a property here; known are code, date, extras, guest, look, pay, people, when",
		}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, `{"date":"20/11/2026","people":"2"}`, []string{
			"/body/date: must be a date as 2026-01-31", "/body/people: must be an integer, not a string",
		}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"code":"abc"`), []string{"/body/code: must match the pattern ^[A-Z]{3}$"}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"look":"xyz"`), nil},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"guest":{"email":"no"}`), []string{
			"/body/guest/email: must be an e-mail address", "/body/guest/name: is required",
		}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"extras":["tv","tv"]`), []string{"/body/extras: must not repeat an element: 0 and 1 are equal"}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"pay":{"card":"1"}`), []string{"/body/pay/card: must have at least 12 characters, has 1"}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"pay":{"card":"123456789012","iban":"x"}`), []string{
			"/body/pay: fits more than one of the forms of which exactly one is allowed",
		}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"when":true`), []string{
			"/body/when: fits none of the allowed forms: must be a string, not a boolean, or must be an integer, not a boolean, or must be null, not a boolean",
		}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"when":3000000000`), []string{"/body/when: must be an integer of 32 bits"}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, `"{\"date\":\"2026-11-20\",\"people\":2}"`, []string{
			"/body: must be the object itself, not a string that holds one",
		}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, `{"date":"2026-11-20","people":2,"people":3}`, []string{
			`/body: is not a usable JSON value: "people" is there twice`,
		}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, `{"date":`, []string{"/body: is not a usable JSON value: it cannot be read"}},
		{"/rooms/7/reservations", `{"mode":"fast"}`, with(`"people2":1e999999999`), []string{"/body: is not a usable JSON value: it has the number 1e999999999"}},
	}
	for _, c := range cases {
		var got []string
		for _, p := range tool.Reserve().Check(schema.Compiler{}, tool.Arguments{Method: "POST", Path: c.path, Query: json.RawMessage(c.query), Body: json.RawMessage(c.body)}) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s %s:\n%s", c.path, c.query, c.body, diff)
		}
	}
}

func TestCheckDoesNotValidateReferences(t *testing.T) {
	cases := []struct {
		path, query, body string
		want              []string
	}{
		{"/rooms/${s1.body.id}/reservations", `{"mode":"${s1.body.mode}"}`, `{"date":"${s1.body.date}","people":"${s1.body.n}"}`, nil},
		{"/rooms/${s1.body.id}/reservations", `{"mode":"${s1.body.mode}"}`, `{"date":"${s1.body.date}","peeple":"${s1.body.n}"}`, []string{
			"/body/peeple: is not a property here; known are code, date, extras, guest, look, pay, people, when",
			"/body/people: is required",
		}},
		{"/rooms/1/reservations", `{"mode":"fast","tags":"${s1.body.tags}"}`, `"${s1.body}"`, nil},
		{"/rooms/1/reservations", `{"mode":"fast"}`, `{"date":"on ${s1.body.day}","people":99,"guest":"${s1.body.guest}"}`, []string{"/body/people: must be ≤ 12"}},
		{"/rooms/1/reservations", `{"mode":"fast"}`, `{"date":"${s1.body.d}","people":1,"pay":{"card":"${s1.body.c}"},"when":"${s1.body.w}"}`, nil},
		{"/rooms/1/reservations", `{"mode":"fast"}`, `{"date":"${s1.body.d}","people":1,"pay":{"card":"${s1.body.c}","iban":"${s1.body.i}"}}`, nil},
		{"/rooms/1/reservations", `{"mode":"fast"}`, `{"date":"2026-01-01","people":1,"extras":["${s1.body.c}","x"]}`, []string{`/body/extras/1: must be one of "tv", "bed"`}},
		{"/rooms/1/reservations", `{"mode":"fast"}`, `{"date":"${s1.bod.d}","people":1}`, []string{
			"/body/date: is not a reference that can be followed (write $${ for a plain ${): \"${s1.bod.d}\": only .body, .status and .headers can be named, not .bod",
		}},
	}
	for _, c := range cases {
		var got []string
		for _, p := range tool.Reserve().Check(schema.Compiler{}, tool.Arguments{Path: c.path, Query: json.RawMessage(c.query), Body: json.RawMessage(c.body)}) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s %s:\n%s", c.path, c.query, c.body, diff)
		}
	}
}

func TestCheckResolvedTakesReferencesAsText(t *testing.T) {
	got := tool.Reserve().CheckResolved(schema.Compiler{}, tool.Arguments{
		Path: "/rooms/1/reservations", Query: json.RawMessage(`{"mode":"fast"}`), Body: json.RawMessage(`{"date":"${s1.body.d}","people":1,"look":"${"}`),
	})
	if len(got) != 1 || got[0].Loc != "/body/date" || got[0].Type != "format" {
		t.Errorf("%v", got)
	}
}

func TestCheckValidatesPresenceAndTypeOfBody(t *testing.T) {
	none := tool.Op("GET", "/x")
	multipart := tool.Op("POST", "/x")
	multipart.Body = &tool.Body{MediaType: "multipart/form-data", Encoding: map[string]tool.Encoding{"csv": {Style: "form"}, "pipes": {Style: "pipeDelimited"}}}
	plain := tool.Op("POST", "/x")
	plain.Body = &tool.Body{MediaType: "text/plain", Required: true}
	form := tool.Op("POST", "/x")
	form.Body = &tool.Body{MediaType: tool.FormMedia, Schema: json.RawMessage("{}")}
	broken := tool.Op("POST", "/x")
	broken.Body = &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":7,"$ref":"http://x/y"}`)}
	cases := []struct {
		op         tool.Operation
		body, want string
	}{
		{none, ``, ""},
		{none, `null`, ""},
		{none, `{}`, "/body: GET /x takes no body: leave it out"},
		{multipart, ``, ""},
		{multipart, `{"a":"b"}`, ""},
		{multipart, `"a"`, "/body: must be an object: it is sent as a form"},
		{multipart, `{"csv":["a","b c"],"pipes":["a,b"],"other":["a,b|c"]}`, ""},
		{multipart, `{"csv":["a","b,c"]}`, "/body/csv/1: must not contain a comma: it would be read as two elements"},
		{multipart, `{"pipes":["a|b","${s1.body.x}"]}`, "/body/pipes/0: must not contain a |: it would be read as two elements"},
		{plain, `"{\"a\":1}"`, ""},
		{plain, `"${s1.body.x}"`, ""},
		{plain, `{"a":1}`, "/body: must be a text: it is sent as text/plain"},
		{plain, `[1]`, "/body: must be a text: it is sent as text/plain"},
		{form, `[1]`, "/body: must be an object: it is sent as a form"},
		{form, `{"a":1}`, ""},
		{form, `{"a":null}`, "/body/a: must not be null, because a form has none: leave it out, or give an empty text"},
		{multipart, `{"l":["a",null]}`, "/body/l: must not be null, because a form has none: leave it out, or give an empty text"},
		{form, `{"a":{"b":null}}`, ""},
		{multipart, `{"csv":{"b":null}}`, "/body/csv: must not be null, because a form has none: leave it out, or give an empty text"},
		{broken, `{"any":"thing"}`, ""},
	}
	for _, c := range cases {
		got := ""
		for _, p := range c.op.Check(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(c.body)}) {
			got += p.String()
		}
		if got != c.want {
			t.Errorf("%s with %s: %q, want %q", c.op.Path, c.body, got, c.want)
		}
	}
}

func TestCheckIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("large allowlists")
	}
	// Every level doubles the work: 2^64 applications without the limit.
	double := tool.Op("POST", "/x")
	double.Body = &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object",
		"anyOf":[{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["z"]},{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["y"]}]}}}`)}
	deep := strings.Repeat(`{"x":`, 60) + "{}" + strings.Repeat("}", 60)
	chain := tool.Op("POST", "/x")
	defs := []string{}
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	defs = append(defs, `"d40":{"type":"string"}`)
	chain.Body = &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`)}
	pattern := tool.Op("POST", "/x")
	pattern.Body = &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":"string","pattern":"^(a+)+$"}`)}
	for _, c := range []struct {
		op         tool.Operation
		body, want string
	}{
		{double, deep, "complex"},
		{chain, `1`, "complex"},
		{pattern, `"` + strings.Repeat("a", 100_000) + `!"`, "pattern"},
		{double, strings.Repeat("[", 100_000), "json"},
		{double, strings.Repeat("[", 100) + strings.Repeat("]", 100), "json"},
		{double, `"` + strings.Repeat("x", 2<<20) + `"`, "json"},
		{double, "{\"x\":\"\xff\"}", "json"},
	} {
		got := c.op.Check(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(c.body)})
		if len(got) != 1 || got[0].Type != c.want {
			t.Errorf("%.40s: %v, want %s", c.body, got, c.want)
		}
	}
}

func TestCheckReportsAtMostTwentyProblems(t *testing.T) {
	query := map[string]int{}
	for i := range 50 {
		query[fmt.Sprintf("q%02d", i)] = i
	}
	raw, _ := json.Marshal(query)
	if got := tool.Op("GET", "/x").Check(schema.Compiler{}, tool.Arguments{Path: "/x", Query: raw}); len(got) != tool.MaxProblems+1 || got[tool.MaxProblems].String() != "/: has 30 more problems" {
		t.Errorf("%d problems, last %v", len(got), got[len(got)-1])
	}
}

func FuzzCheckNeverFails(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":"${s1.body.x}"}`, "/x")
	f.Add(`{"allOf":[{"$ref":"#"}]}`, `1`, "/x")
	f.Add(`{"pattern":"(","minimum":1e999}`, `"x"`, "/${")
	f.Fuzz(func(t *testing.T, text, body, path string) {
		o := tool.Op("POST", "/{x}", tool.Parameter{Name: "q", In: "query", Schema: json.RawMessage(text)}, tool.Parameter{Name: "x", In: "path", Schema: json.RawMessage(text)})
		o.Body = &tool.Body{MediaType: "application/json", Schema: json.RawMessage(text)}
		o.Check(schema.Compiler{}, tool.Arguments{Path: path, Body: json.RawMessage(body), Query: json.RawMessage(`{"q":` + body + `}`)})
		tool.Fingerprint("https://x", o)
		tool.Signature(o)
	})
}

// What a card shows is sent: a value of which a form or a query would have nothing is refused.
func TestNothingThatIsShownVanishes(t *testing.T) {
	forms := []string{"application/x-www-form-urlencoded", "multipart/form-data"}
	values := []string{`[]`, `{}`, `[[]]`, `[{}]`, `{"a":{}}`, `{"a":[]}`, `{"a":{"b":[]}}`, `[{"a":[]}]`, `""`, `[""]`, `0`, `false`, `{"a":""}`, `["x"]`, `{"a":1,"b":[]}`}
	server := tool.Server{BaseURL: "https://a.example"}
	refused := 0
	for _, style := range []string{"", "form", "spaceDelimited", "pipeDelimited", "deepObject", "json"} {
		for _, explode := range []bool{false, true} {
			for _, value := range values {
				empties := strings.Count(value, "[]") + strings.Count(value, "{}")
				query := tool.Operation{Entry: tool.Entry{Method: "DELETE", Path: "/o"}, Parameters: []tool.Parameter{{Name: "m", In: "query", Style: style, Explode: explode, Schema: json.RawMessage(`{}`)}}}
				a := tool.Arguments{Method: "DELETE", Path: "/o", Query: json.RawMessage(`{"m":` + value + `}`)}
				if len(query.CheckResolved(schema.Compiler{}, a)) > 0 {
					refused++
				} else if r, err := tool.Build(server, query, a); err != nil || !strings.Contains(r.URL, "=") || empties > 0 && style == "deepObject" {
					t.Errorf("query, %q %t: %s is sent as %q %v", style, explode, value, r.URL, err)
				}
				for _, media := range forms {
					o := tool.Operation{Entry: tool.Entry{Method: "POST", Path: "/o"}, Body: &tool.Body{MediaType: media, Schema: json.RawMessage(`{}`), Encoding: map[string]tool.Encoding{"m": {Style: style, Explode: explode}}}}
					a := tool.Arguments{Method: "POST", Path: "/o", Body: a.Query}
					if len(o.CheckResolved(schema.Compiler{}, a)) > 0 {
						refused++
					} else if r, err := tool.Build(server, o, a); err != nil || !strings.Contains(string(r.Body), "=") || empties > 0 && style == "deepObject" {
						t.Errorf("%s, %q %t: %s is sent as %q %v", media, style, explode, value, r.Body, err)
					}
				}
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}
