package webui

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"piloto/internal/ground/visible"
)

func TestDisplayMarksInvisibleCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ñandú, 漢字, العربية": "plain text, ñandú, 漢字, العربية",
		"a\u202eb":                  "a⟦U+202E⟧b", // right-to-left override
		"a\u2066b\u2069":            "a⟦U+2066⟧b⟦U+2069⟧",
		"pay\u200bpal":              "pay⟦U+200B⟧pal", // zero width space
		"pay\u00adpal":              "pay⟦U+00AD⟧pal", // soft hyphen
		"a\u2060b\ufeffc":           "a⟦U+2060⟧b⟦U+FEFF⟧c",
		"a\u3164b\u115fc\u2800d":    "a⟦U+3164⟧b⟦U+115F⟧c⟦U+2800⟧d", // fillers, blank braille
		"a\u00a0b\u2003c\u3000d":    "a⟦U+00A0⟧b⟦U+2003⟧c⟦U+3000⟧d",
		"goal\nConfirmado: sí":      "goal⟦U+000A⟧Confirmado: sí", // a fake field
		"a\r\tb\x00\x1b[31m\x7f":    "a⟦U+000D⟧⟦U+0009⟧b⟦U+0000⟧⟦U+001B⟧[31m⟦U+007F⟧",
		"a\u2028b\u2029c":           "a⟦U+2028⟧b⟦U+2029⟧c",
		"x\U000e0041y":              "x⟦U+E0041⟧y", // tag character
		"x\ue000y":                  "x⟦U+E000⟧y",  // private use
		"bad\xff\xfe":               "bad⟦0xFF⟧⟦0xFE⟧",
		"❤\ufe0f":                   "❤⟦U+FE0F⟧",
		"c\u0336o\u0336":            "c⟦U+0336⟧o⟦U+0336⟧", // struck out
		"e\u0301\u0302\u0303\u0304": "e\u0301\u0302⟦U+0303⟧⟦U+0304⟧",
		"a" + strings.Repeat(" ", 10240) + "rm -rf /": "a⟦U+0020 ×10240⟧rm -rf /",
		"p\u0430ypal":           "pа⟦U+0430⟧ypal", // Cyrillic а in a Latin word
		"\u0440\u0430\u0443 me": "р⟦U+0440⟧а⟦U+0430⟧у⟦U+0443⟧ me",
		"привет мир":            "привет мир", // a Cyrillic text
		"рука и сор":            "рука и сор",
		"gοοgle":                "gο⟦U+03BF⟧ο⟦U+03BF⟧gle",
		"𝐩𝐚𝐲":                   "𝐩⟦U+1D429⟧𝐚⟦U+1D41A⟧𝐲⟦U+1D432⟧",
		"ｐａｙ":                   "ｐ⟦U+FF50⟧ａ⟦U+FF41⟧ｙ⟦U+FF59⟧",
		"1º, 2ª, µm, 10 €":      "1º, 2ª, µm, 10 €",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q)\n got %q\nwant %q", in, got, want)
		}
		if got := stripTags(string(display(in))); got != want {
			t.Errorf("display(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestProseKeepsLinesAndEmoji(t *testing.T) {
	for in, want := range map[string]string{
		"uno\ndos":                    "uno\ndos",
		"👩\u200d🚀 ❤\ufe0f":            "👩\u200d🚀 ❤\ufe0f",
		"a\u200db\u202ec":             "a⟦U+200D⟧b⟦U+202E⟧c",
		"«\u00a0sí\u00a0»":            "«\u00a0sí\u00a0»",
		strings.Repeat(" ", 20) + "x": strings.Repeat(" ", 20) + "x",
	} {
		if got := stripTags(string(prose(in))); got != want {
			t.Errorf("prose(%q) = %q, want %q", in, got, want)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

func stripTags(s string) string { return html.UnescapeString(tags.ReplaceAllString(s, "")) }

// TestDisplayShowsEveryTextCompletely: no invisible character is left, there is no other markup, and the text can
// be recovered.
func TestDisplayShowsEveryTextCompletely(t *testing.T) {
	odd := []rune("abc <>&\"' \u202e\u200b\u2066\n\t\u00a0\u0430\u03bf\ue000\U000e0041${s1.body}⟦⟧")
	mark := regexp.MustCompile(`⟦(?:U\+[0-9A-F]+(?: ×\d+)?|0x[0-9A-F]{2})⟧`)
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.OneOf(rapid.SampledFrom(odd), rapid.Rune())).Draw(t, "text")
		p := visibleWriter{step: func(string) string { return `"><script>` }}
		p.text(in)
		out := string(p.html())
		for _, tag := range tags.FindAllString(out, -1) {
			if tag != "</span>" && tag != `<span class="esc">` && !strings.HasPrefix(tag, `<span class="ref" title="&#34;&gt;&lt;script&gt;`) {
				t.Fatalf("foreign markup %q in %q", tag, out)
			}
		}
		shown := stripTags(out)
		for _, r := range mark.ReplaceAllString(shown, "") {
			if r != ' ' && !unicode.IsGraphic(r) || visible.Invisible(r) {
				t.Fatalf("%U is still invisible in %q", r, shown)
			}
		}
		visible := func(s string) string { // the letters without a mark, in order
			var b strings.Builder
			for _, r := range mark.ReplaceAllString(s, "") {
				if !visible.Invisible(r) && r != ' ' && !unicode.Is(unicode.M, r) && r != unicode.ReplacementChar {
					b.WriteRune(r)
				}
			}
			return b.String()
		}
		if got, want := visible(shown), visible(strings.ToValidUTF8(in, "")); got != want {
			t.Fatalf("shown %q of %q", got, want)
		}
	})
}

func TestJSONKeepsDigitsOrderAndDuplicates(t *testing.T) {
	for in, want := range map[string]string{
		`{"z":1,"a":9007199254740993}`: `{"z": 1, "a": 9007199254740993}`,
		`{"a":1,"a":2}`:                `{"a": 1, "a": 2}`,
		`{"n":1.10,"e":1e400}`:         `{"n": 1.10, "e": 1e400}`,
		`[]`:                           `[]`,
		`{"a":{"b":[1,{"c":null}]}}`:   "{\n  \"a\": {\n    \"b\": [\n      1,\n      {\n        \"c\": null\n      }\n    ]\n  }\n}",
		`{"note":"a\nconfirm: true","q":"\"\\x"}`: `{"note": "a\nconfirm: true", "q": "\"\\x"}`,
		`"a\u202eb\u200b"`:                        `"a⟦U+202E⟧b⟦U+200B⟧"`,
		`{"p\u0430y":true}`:                       `{"pа⟦U+0430⟧y": true}`,
		`"<b>&amp;"`:                              `"<b>&amp;"`,
		`not json`:                                `not json`,
		`{"a":1} {"b":2}`:                         `{"a":1} {"b":2}`,
	} {
		c := jsonCode(json.RawMessage(in), nil)
		if got := stripTags(string(c.Body)); got != want {
			t.Errorf("jsonCode(%s)\n got %s\nwant %s", in, got, want)
		}
	}
	if jsonCode(nil, nil) != nil || jsonCode(json.RawMessage(" null "), nil) != nil {
		t.Error("nothing is shown as something")
	}
}

func TestDeepJSONIsShownInBoundedSpace(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	if c := jsonCode(json.RawMessage(deep), nil); len(c.Body) > 2<<20 {
		t.Errorf("%d bytes for %d", len(c.Body), len(deep))
	}
}

func TestLongValuesShowTheirEnd(t *testing.T) {
	long := `{"pad":"` + strings.Repeat("x", 10<<10) + `","then":"DROP TABLE\u202e"}`
	c := jsonCode(json.RawMessage(long), nil)
	if shown := stripTags(string(c.Body)); !strings.Contains(shown, strings.Repeat("x", 10<<10)) || !strings.Contains(shown, "DROP TABLE⟦U+202E⟧") {
		t.Error("the value is not whole")
	}
	if end := stripTags(string(c.Tail)); !strings.HasSuffix(end, `"then": "DROP TABLE⟦U+202E⟧" }`) {
		t.Errorf("the end reads %q", end)
	}
	if c := jsonCode(json.RawMessage(`{"a":1}`), nil); c.Tail != "" {
		t.Error("a short value repeats its end")
	}
}

func TestReferencesNameTheirStep(t *testing.T) {
	p := visibleWriter{step: func(id string) string { return "paso " + id }}
	p.text(`/a/${s1.body["x}y"].id}/$${s1.body}/${broken/${s2.status}`)
	got := string(p.html())
	for _, want := range []string{
		`<span class="ref" title="paso s1">${s1.body[&#34;x}y&#34;].id}</span>`, `/$${s1.body}/${broken/`, `<span class="ref" title="paso s2">${s2.status}</span>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

func TestHostsAreShownAsTheyAreResolved(t *testing.T) {
	for base, want := range map[string][2]string{
		"http://127.0.0.1:9100":         {"http://127.0.0.1:9100", ""},
		"https://[::1]:8443/v1":         {"https://[::1]:8443", ""},
		"https://[2001:db8::1]":         {"https://[2001:db8::1]", ""},
		"https://EXAMPLE.com":           {"https://example.com", ""},
		"https://españa.es":             {"https://xn--espaa-rta.es", "españa.es"},
		"https://xn--espaa-rta.es":      {"https://xn--espaa-rta.es", "españa.es"},
		"https://p\u0430ypal.com":       {"https://xn--pypal-4ve.com", ""}, // mixed: only punycode
		"https://user:pw@example.com/x": {"https://user:pw@example.com/x", ""},
		"https://a\u202eb.com":          {"https://xn--ab-g4t.com", ""},
	} {
		got := targetOf(base)
		if stripTags(string(got.Origin)) != want[0] || stripTags(string(got.Also)) != want[1] {
			t.Errorf("targetOf(%q) = %q (%q), want %q", base, stripTags(string(got.Origin)), stripTags(string(got.Also)), want)
		}
	}
}
