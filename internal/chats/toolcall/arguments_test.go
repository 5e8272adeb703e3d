package toolcall

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestArgumentsAreReadInAnyWrapping(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                             `{"a":1}`,
		"  {\"a\":1}\n":                       `{"a":1}`,
		``:                                    `{}`,
		`"{\"a\":1}"`:                         `{"a":1}`,
		`"\"{\\\"a\\\":1}\""`:                 `{"a":1}`,
		"```json\n{\"a\":1}\n```":             `{"a":1}`,
		`Here you are: {"a":"}"} — done`:      `{"a":"}"}`,
		`{"a":[1,2,],"b":{"c":3,},}`:          `{"a":[1,2],"b":{"c":3}}`,
		`{"a":"1,]","b":2,}`:                  `{"a":"1,]","b":2}`,
		`{"a":"\",}",}`:                       `{"a":"\",}"}`,
		`{"id":12345678901234567890}`:         `{"id":12345678901234567890}`,
		`{}{"a":1}`:                           `{"a":1}`,
		`{"a":{}} {}`:                         `{"a":{}}`,
		`{}`:                                  `{}`,
		`{"a":"\ud83d\ude00 \\ud800"}`:        `{"a":"\ud83d\ude00 \\ud800"}`,
		`<tool_call>{"a":1}</tool_call>`:      `{"a":1}`,
		`{"a":"line\nbreak","b":"\u00e1"}`:    `{"a":"line\nbreak","b":"\u00e1"}`,
		`{"nested":{"a":{"b":{"c":"deep"}}}}`: `{"nested":{"a":{"b":{"c":"deep"}}}}`,
	} {
		got, err := Arguments(in)
		if err != nil || string(got) != want {
			t.Errorf("%q = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		`{"a":1}{"b":2}`, `{"a":1}{"a":1}`, `{"a":1} {"b":2`, `[{"a":1},{"b":2}]`, "```json\n{\"a\":1}\n{\"b\":2}\n```", `"{\"a\":1}{\"b\":2}"`, `{"a":1,}{"b":2,}`,
		`[1]`, `7`, `{"a":`, `{"a" 1}`, `nothing`, `{a:1}`, `"7"`,
		"{\"a\":\"x\xff\"}", `{"a":"\ud800"}`, `{"a":"\ude00"}`, `{"a":"\ud83dx"}`, `{"\ud800":1}`, `{"a":"\ud800\ud800"}`,
		`{"a":1,"a":2}`, `{"a":1,"a":1}`, `{"a":{"b":1,"b":null}}`, `{"a":[{"b":1,"b":1}]}`, `{"a":1,"\u0061":2}`, `"{\"a\":1,\"a\":2}"`, "```json\n{\"a\":1,\"a\":2}\n```", `{"a":1,"a":2,}`,
		`{"a":"\\\ud800"}`, `{"a":["\uD800\u0041"]}`, `"{\"a\":\"\\ud800\"}"`, `"{\"a\":\"\ud800\"}"`, strings.Repeat(" ", MaxArguments+1),
	} {
		if got, err := Arguments(in); err == nil {
			t.Errorf("%.20q was read as %s", in, got)
		}
	}
}

// The answer of the call says what stands twice, and where a text has the members, too: nobody knows which the model means.
func TestAMemberThatStandsTwiceIsRefused(t *testing.T) {
	if _, err := Arguments(`{"mcp_id":"m","body":{"sku":"te"},"method":"POST","body":{"sku":"oro"}}`); err == nil || !strings.Contains(err.Error(), `"body" stands twice`) {
		t.Error(err)
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":[1,],}`, "```\n{}\n```", `"{\"a\":1}"`, `{"a":"\\"}`, `{{}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if got, err := Arguments(raw); err == nil && (!json.Valid(got) || got[0] != '{') {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}

func TestTheLastObjectOfATextCounts(t *testing.T) {
	const said = `{"action":"respond","response":"hola {amiga}"}`
	for text, want := range map[string]string{
		said: said,
		"Creo que {\"action\":\"delegate\"} no; mejor:\n" + said + "\n¿Vale?": said,
		said + ` Así: {"ok":true}`:           said,
		`{"a":1} {"b":2}`:                    `{"b":2}`,
		`{"action": {"x":1} ` + said:         said,
		"```json\n" + said + "\n``` o {bien": said,
		`{"action":"respond",} {"x":1}`:      `{"action":"respond"}`,
		"nada":                               "",
		strings.Repeat("{", 1<<20):           "",
	} {
		got, err := LastObject(text, "action")
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%.60q: %s, %v", text, got, err)
		}
	}
}
