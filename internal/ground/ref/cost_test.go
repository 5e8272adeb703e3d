package ref_test

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/infra/local/fixture/cost"
	"piloto/internal/ground/ref"
)

// TestReferenceParsingIsLinear: the parser once searched all of the text for the end of each quoted name, so that
// 256 KiB took seconds.
func TestReferenceParsingIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("large texts")
	}
	look := func(string) (ref.Result, bool) {
		return ref.Result{Status: 200, Body: json.RawMessage(`{"a":1,"b":[2]}`), Headers: map[string]string{"X": "y"}}, true
	}
	readers := map[string]func(string){
		"InText":      func(s string) { _, _ = ref.InText(s) },
		"Contains":    func(s string) { _ = ref.Contains(s) },
		"Literals":    func(s string) { _, _ = ref.Literals(s) },
		"ResolveText": func(s string) { _, _ = ref.ResolveText(s, look, nil, nil) },
		"InJSON":      func(s string) { _, _ = ref.InJSON(quoteJSON(s)) },
		"ResolveJSON": func(s string) { _, _ = ref.ResolveJSON(quoteJSON(s), look) },
		"Next": func(s string) {
			for s != "" {
				_, to := ref.Next(s)
				s = s[to:]
			}
		},
	}
	const size = 256 << 10
	hostile := cost.Repeated(size, `${`, `$${`, `$`, `${s1.body["a" ]}`, `${s1.body["`, `${s1.body["}`, `${s1.body[`, `${s1.body[0]`, `${a`, `${}`, "}", `"]`, "\u202e ")
	hostile["one name"] = "${" + strings.Repeat("a", size) + "}"
	hostile["one quoted name"] = `${s1.body["` + strings.Repeat("a", size) + `"]}`
	ordinary := strings.Repeat(`La sala ${s1.body.a}, `, size/23)
	for name, read := range readers {
		cost.Alike(t, name, read, ordinary, hostile)
	}
}

func quoteJSON(s string) json.RawMessage {
	raw, _ := json.Marshal([]string{s})
	return raw
}

func TestReferenceDoesNotDependOnFollowingText(t *testing.T) {
	for text, want := range map[string]string{
		`${s1.body["a"]}`: `a`, `${s1.body["a\"]b"]}`: `a"]b`, `${s1.body["a]b"]}`: `a]b`, `${s1.body["a\\"]}`: `a\`, `${s1.body["}"]}`: `}`,
		`${s1.body["a" ]}`: "", `${s1.body["a]}`: "", `${s1.body["a"x]}`: "",
	} {
		for _, after := range []string{"", `"]`, `"]}`, "]", `${s1.body["b"]}`} {
			name := ""
			if from, to := ref.Next(text + after); from == 0 && to == len(text) {
				refs, err := ref.InText(text)
				if err != nil {
					t.Fatal(err)
				}
				name = refs[0].Path[0].Name
			}
			if name != want {
				t.Errorf("%s before %q names %q, want %q", text, after, name, want)
			}
		}
	}
}
