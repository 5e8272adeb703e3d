package ref

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func condition(t testing.TB, text string) Condition {
	t.Helper()
	var c Condition
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func results1(body string) Lookup {
	return func(step string) (Result, bool) {
		switch step {
		case "s1":
			return Result{Status: 200, Headers: map[string]string{"Etag": "x"}, Body: json.RawMessage(body)}, true
		case "none":
			return Result{Status: 204}, true
		}
		return Result{}, false
	}
}

func TestConditionHolds(t *testing.T) {
	look := results1(`{"n":10,"f":1.50,"big":9007199254740993,"t":"ñandú","yes":true,"nil":null,"empty":"","o":{"a":1,"b":[2]},
		"p":{"b":[2.0],"a":1e0},"l":[1],"huge":1e999999999,"ref":"${s1.body.n}"}`)
	for in, want := range map[string]bool{
		`{"value":"${s1.status}","is":"equal","to":200}`:                                                                                         true,
		`{"value":"${s1.status}","is":"equal","to":"200"}`:                                                                                       false,
		`{"value":"${s1.status}","is":"not_equal","to":"200"}`:                                                                                   true,
		`{"value":"${s1.body.f}","is":"equal","to":1.5}`:                                                                                         true,
		`{"value":"${s1.body.f}","is":"equal","to":15e-1}`:                                                                                       true,
		`{"value":"${s1.body.big}","is":"equal","to":9007199254740992}`:                                                                          false,
		`{"value":"${s1.body.big}","is":"more","to":9007199254740992}`:                                                                           true,
		`{"value":"${s1.body.n}","is":"at_most","to":10.0}`:                                                                                      true,
		`{"value":"${s1.body.n}","is":"less","to":10}`:                                                                                           false,
		`{"value":"${s1.body.n}","is":"at_least","to":10}`:                                                                                       true,
		`{"value":"${s1.body.n}","is":"more","to":9}`:                                                                                            true,
		`{"value":"${s1.body.n}","is":"less","to":"9"}`:                                                                                          false,
		`{"value":"${s1.body.n}","is":"at_least","to":"9"}`:                                                                                      false,
		`{"value":"${s1.body.t}","is":"more","to":"n"}`:                                                                                          true,
		`{"value":"${s1.body.t}","is":"equal","to":"\u00f1andú"}`:                                                                                true,
		`{"value":"${s1.body.yes}","is":"equal","to":true}`:                                                                                      true,
		`{"value":"${s1.body.nil}","is":"equal","to":null}`:                                                                                      true,
		`{"value":"${s1.body.gone}","is":"equal","to":null}`:                                                                                     false,
		`{"value":"${s1.body.gone}","is":"not_equal","to":null}`:                                                                                 true,
		`{"value":"${s1.body.gone}","is":"less","to":1}`:                                                                                         false,
		`{"value":"${s1.body.gone}","is":"at_least","to":1}`:                                                                                     false,
		`{"value":"${s1.body.gone}","is":"present"}`:                                                                                             false,
		`{"value":"${s1.body.gone}","is":"absent"}`:                                                                                              true,
		`{"value":"${s1.body.nil}","is":"present"}`:                                                                                              false,
		`{"value":"${s1.body.nil}","is":"absent"}`:                                                                                               true,
		`{"value":"${s1.body.empty}","is":"present"}`:                                                                                            true,
		`{"value":"${s1.body.n.x}","is":"present"}`:                                                                                              false,
		`{"value":"${s1.body.l[0]}","is":"present"}`:                                                                                             true,
		`{"value":"${s1.body.l[1]}","is":"present"}`:                                                                                             false,
		`{"value":"${s1.headers.ETag}","is":"equal","to":"x"}`:                                                                                   true,
		`{"value":"${s1.headers.none}","is":"absent"}`:                                                                                           true,
		`{"value":"${none.body.x}","is":"absent"}`:                                                                                               true,
		`{"value":"${s1.body.o}","is":"equal","to":"${s1.body.p}"}`:                                                                              true,
		`{"value":"${s1.body.o}","is":"equal","to":"${s1.body.l}"}`:                                                                              false,
		`{"value":"${s1.body.o}","is":"less","to":"${s1.body.l}"}`:                                                                               false,
		`{"value":"${s1.body.n}","is":"not_equal","to":"${s1.body.gone}"}`:                                                                       true,
		`{"value":"${s1.body.huge}","is":"equal","to":"${s1.body.huge}"}`:                                                                        true,
		`{"value":"${s1.body.huge}","is":"more","to":1}`:                                                                                         false,
		`{"value":"${s1.body.ref}","is":"equal","to":"$${s1.body.n}"}`:                                                                           true,
		`{"value":"${s1.body.ref}","is":"equal","to":"${s1.body.n}"}`:                                                                            false,
		`{"all":[{"value":"${s1.status}","is":"equal","to":200},{"value":"${s1.body.n}","is":"more","to":3}]}`:                                   true,
		`{"all":[{"value":"${s1.status}","is":"equal","to":200},{"value":"${s1.body.n}","is":"more","to":30}]}`:                                  false,
		`{"any":[{"value":"${s1.status}","is":"equal","to":500},{"value":"${s1.body.n}","is":"more","to":3}]}`:                                   true,
		`{"any":[{"value":"${s1.status}","is":"equal","to":500},{"value":"${s1.body.n}","is":"more","to":30}]}`:                                  false,
		`{"not":{"any":[{"value":"${s1.status}","is":"equal","to":500},{"not":{"value":"${s1.body.n}","is":"present"}}]}}`:                       true,
		`{"not":{"value":"${s1.body.gone}","is":"less","to":1}}`:                                                                                 true,
		`{"all":[{"value":"${s1.status}","is":"equal","to":200}]}`:                                                                               true,
		`{"any":[{"value":"${s1.status}","is":"equal","to":201},{"value":"${s1.status}","is":"at_most","to":` + strings.Repeat("9", 900) + `}]}`: true,
	} {
		if got, err := condition(t, in).Holds(look); err != nil || got != want {
			t.Errorf("%s = %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestConditionOnUnknownStepIsError(t *testing.T) {
	for _, in := range []string{
		`{"value":"${s9.status}","is":"absent"}`,
		`{"value":"${s1.status}","is":"equal","to":"${s9.status}"}`,
		`{"any":[{"value":"${s1.status}","is":"equal","to":200},{"value":"${s9.status}","is":"present"}]}`,
		`{"all":[{"value":"${s1.status}","is":"equal","to":1},{"value":"${s9.status}","is":"present"}]}`,
		`{"not":{"value":"${item}","is":"present"}}`,
	} {
		if got, err := condition(t, in).Holds(results1(`{}`)); !errors.Is(err, ErrUnresolved) || got {
			t.Errorf("%s = %v, %v", in, got, err)
		}
	}
}

const (
	one  = `{"value":"${s1.status}","is":"present"}`
	twos = one + "," + one
)

func TestCheckRefusesInvalidCondition(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 5) + one + strings.Repeat("}", 5)
	for name, in := range map[string]string{
		"it says nothing":                  `{}`,
		"it has no parts":                  `{"all":[]}`,
		"it is two things":                 `{"value":"${s1.status}","is":"present","not":` + one + `}`,
		"it is both all and any":           `{"all":[` + one + `],"any":[` + one + `]}`,
		"the value is text":                `{"value":"s1.status","is":"present"}`,
		"the value has text around it":     `{"value":"x${s1.status}","is":"present"}`,
		"the value is broken":              `{"value":"${s1.status","is":"present"}`,
		"the comparison is none":           `{"value":"${s1.status}","is":"==","to":1}`,
		"there is no comparison":           `{"value":"${s1.status}","to":1}`,
		"present compares":                 `{"value":"${s1.status}","is":"present","to":1}`,
		"equal has nothing to compare":     `{"value":"${s1.status}","is":"equal"}`,
		"it compares with an object":       `{"value":"${s1.status}","is":"equal","to":{"a":1}}`,
		"it compares with a list":          `{"value":"${s1.status}","is":"equal","to":[1]}`,
		"it compares with mixed text":      `{"value":"${s1.status}","is":"equal","to":"n ${s1.body}"}`,
		"it compares with a broken one":    `{"value":"${s1.status}","is":"equal","to":"${s1.body"}`,
		"truth is ordered":                 `{"value":"${s1.status}","is":"less","to":true}`,
		"nothing is ordered":               `{"value":"${s1.status}","is":"more","to":null}`,
		"the number is huge":               `{"value":"${s1.status}","is":"less","to":1e999999999}`,
		"the number is tiny":               `{"value":"${s1.status}","is":"equal","to":1e-99999}`,
		"the number is long":               `{"value":"${s1.status}","is":"less","to":` + strings.Repeat("9", 1001) + `}`,
		"it is too deep":                   deep,
		"it has too many comparisons":      `{"any":[` + one + strings.Repeat(","+one, 20) + `]}`,
		"a part of a part is wrong":        `{"any":[` + one + `,{"all":[{"value":"${s1.status}","is":"x","to":1}]}]}`,
		"too many, spread over many parts": `{"any":[{"all":[` + strings.Repeat(twos+",", 5) + one + `]},{"all":[` + strings.Repeat(twos+",", 5) + one + `]}]}`,
	} {
		c := condition(t, in)
		if c.Check() == nil {
			t.Errorf("%s: %s passes", name, in)
		}
		if _, err := c.Holds(results1(`{}`)); err == nil {
			t.Errorf("%s: %s is decided", name, in)
		}
	}
	for _, in := range []string{one, `{"not":{"not":{"not":{"not":` + one + `}}}}`, `{"any":[` + one + strings.Repeat(","+one, 19) + `]}`} {
		if err := condition(t, in).Check(); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestConditionTextUsesSymbols(t *testing.T) {
	for in, want := range map[string]string{
		one: "s1.status ∃",
		`{"all":[{"value":"${s1.status}","is":"equal","to":200},{"not":{"value":"${s1.body.x}","is":"present"}}]}`:                         "s1.status = 200 ∧ ¬(s1.body.x ∃)",
		`{"any":[{"value":"${s1.status}","is":"at_most","to":"b\u202e\nc"},{"value":"${s2.body[\"a b\"]}","is":"less","to":"${item.n}"}]}`: `s1.status ≤ "b\u202e\nc" ∨ s2.body["a b"] < item.n`,
		`{"all":[` + one + `]}`:                        "s1.status ∃",
		`{"all":[{"any":[` + twos + `]},` + one + `]}`: "(s1.status ∃ ∨ s1.status ∃) ∧ s1.status ∃",
	} {
		if got := condition(t, in).Text(); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestConditionListsReferences(t *testing.T) {
	refs, err := condition(t, `{"any":[{"value":"${s1.status}","is":"equal","to":"${s2.body.x}"},{"not":{"value":"${item.a}","is":"absent"}}]}`).References()
	var got []string
	for _, r := range refs {
		got = append(got, r.String())
	}
	if strings.Join(got, " ") != "s1.status s2.body.x item.a" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestComparingDeepValuesIsLinear(t *testing.T) {
	const depth = 9000
	deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	body := `{"pad":"` + strings.Repeat("x", 100_000) + `","a":` + deep + `,"b":` + deep + `}`
	if ok, err := condition(t, `{"value":"${s1.body.a}","is":"equal","to":"${s1.body.b}"}`).Holds(results1(body)); !ok || err != nil {
		t.Error(ok, err)
	}
}

func TestReferenceToItemResolves(t *testing.T) {
	look := func(name string) (Result, bool) {
		return Result{Body: json.RawMessage(`{"id":7,"body":"b","tags":["x"],"odd key":null}`)}, name == "item"
	}
	for in, want := range map[string]string{
		`"${item.id}"`:            `7`,
		`"${item.body}"`:          `"b"`,
		`"n${item.id}"`:           `"n7"`,
		`"${item.tags[0]}"`:       `"x"`,
		`"${item[\"odd key\"]}"`:  `null`,
		`["${item}"]`:             `[{"id":7,"body":"b","tags":["x"],"odd key":null}]`,
		`"${item.tags[0]} $${i}"`: `"x ${i}"`,
	} {
		if got, err := ResolveJSON(json.RawMessage(in), look); err != nil || string(got) != want {
			t.Errorf("%s = %s, %v; want %s", in, got, err, want)
		}
	}
	scalar := func(string) (Result, bool) { return Result{Body: json.RawMessage(`"a/b"`)}, true }
	if got, err := ResolveText("/x/${item}", scalar, nil, func(s string) string { return "<" + s + ">" }); got != "/x/<a/b>" || err != nil {
		t.Error(got, err)
	}
	if _, err := ResolveText("${item.id}", results1(`{}`), nil, nil); !errors.Is(err, ErrUnresolved) || !strings.Contains(err.Error(), "ref.no_element") {
		t.Error(err)
	}
}

func TestAroundReturnsLabel(t *testing.T) {
	look := results1(`{"items":[{"id":"r-9","capacity":6,"name":"Sala\u202e\nNorte","floor":null,"tags":["a"],"open":true,"price":1.50,"z":"never"},
		{"id":4},"loose",{"Título":"T","id":1,"note":"` + strings.Repeat("ñ", 200) + `"}],"total":2}`)
	for in, want := range map[string][2]string{
		"${s1.body.items[0].id}":   {`"r-9"`, "Sala Norte, 6, true, 1.50"},
		"${s1.body.items[0].name}": {`"Sala\u202e\nNorte"`, "r-9, 6, true, 1.50"},
		"${s1.body.items[1].id}":   {`4`, "4"},
		"${s1.body.items[2]}":      {`"loose"`, "loose"},
		"${s1.body.items[1]}":      {`{"id":4}`, "4"},
		"${s1.body.items[3].id}":   {`1`, "T, " + strings.Repeat("ñ", 116) + "…"},
		"${s1.body.items[0].tags}": {`["a"]`, "Sala Norte, r-9, 6, true"},
		"${s1.body.total}":         {`2`, "2"},
		"${s1.status}":             {`200`, "200"},
		"${s1.headers.Etag}":       {`"x"`, "x"},
	} {
		refs, err := InText(in)
		if err != nil {
			t.Fatal(err)
		}
		value, label, err := ValueAndLabel(refs[0], look)
		if err != nil || string(value) != want[0] || label != want[1] {
			t.Errorf("%s = %s, %q, %v; want %q", in, value, label, err, want)
		}
	}
	refs, _ := InText("${s1.body.items[7].id}")
	for body, want := range map[string]string{
		`{"id":7,"api_key":"k-1","Password":"p","name":"Caja","tokens":9}`: "Caja",
		`{"id":7,"accessToken":"t"}`:                                       "7",
		`{"id":7,"clave":"1234","floor":2}`:                                "2",
	} {
		secret, _ := InText("${s1.body.id}")
		if _, label, err := ValueAndLabel(secret[0], results1(body)); err != nil || label != want {
			t.Errorf("%s: %q, %v; want %q", body, label, err, want)
		}
	}
	if _, _, err := ValueAndLabel(refs[0], look); !errors.Is(err, ErrUnresolved) {
		t.Error(err)
	}
}

func FuzzConditions(f *testing.F) {
	f.Add(`{"all":[`+twos+`]}`, `{"a":[1,"x",null]}`)
	f.Add(`{"not":{"value":"${s1.body.a[0]}","is":"at_most","to":1e2}}`, `{"a":[1,"x",null]}`)
	f.Add(`{"value":"${s1.body.a}","is":"equal","to":"${s1.body}"}`, `{"a":1e999999999}`)
	f.Fuzz(func(t *testing.T, text, body string) {
		var c Condition
		if json.Unmarshal([]byte(text), &c) != nil || c.Check() != nil || !json.Valid([]byte(body)) {
			return
		}
		if strings.ContainsAny(c.Text(), "\n\r\u202e") {
			t.Fatalf("%q is more than a line", c.Text())
		}
		if _, err := c.References(); err != nil {
			t.Fatalf("it passes, and its references do not: %v", err)
		}
		holds, err := c.Holds(results1(body))
		opposite, errNot := Condition{Not: &c}.Holds(results1(body))
		deep := errNot != nil && err == nil // one more level may be too deep
		if !deep && (err == nil) != (errNot == nil) || err == nil && !deep && holds == opposite {
			t.Fatalf("%s is %v (%v), its opposite %v (%v)", text, holds, err, opposite, errNot)
		}
	})
}

func TestSecretiveFindsSecretMember(t *testing.T) {
	for v, want := range map[string]bool{
		`"token"`: false, `{"name":"token"}`: false, `{"a":["password",{"b":1}],"c":2}`: false, `[]`: false, `7`: false, ``: false, `{"a":`: false,
		`{"token":1}`: true, `{"a":{"b":[1,{"api_key":"x"}]}}`: true, `{"a":{},"clave":null}`: true, `[[{"x":1},{"Password":2}]]`: true,
	} {
		if HoldsSecret(json.RawMessage(v)) != want {
			t.Errorf("%s: %v", v, !want)
		}
	}
}
