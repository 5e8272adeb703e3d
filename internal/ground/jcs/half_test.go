package jcs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestLoneSurrogateIsFoundAndReplaced(t *testing.T) {
	for text, legible := range map[string]string{
		`"a"`: "", `"\ud83d\ude00"`: "", `"\\ud800"`: "", `"\\\\ud800"`: "", `"\u0041"`: "", `""`: "", `{"a":["\ufffd"]}`: "",
		`"\ud800"`: `"\ufffd"`, `"\udc00"`: `"\ufffd"`, `"\uD83D"`: `"\ufffd"`, `"\ud83d\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`,
		`"\ude00\ud83d"`: `"\ufffd\ufffd"`, `{"\ud800":"\udfff"}`: `{"\ufffd":"\ufffd"}`, `"\\\ud800"`: `"\\\ufffd"`, `["\ud800","\udc00"]`: `["\ufffd","\ufffd"]`, `"\ud800\n"`: `"\ufffd\n"`,
	} {
		want := legible
		if want == "" {
			want = text
		}
		raw := []byte(text)
		if got := string(Legible(raw)); got != want || !json.Valid([]byte(got)) || HalfPair([]byte(got)) {
			t.Errorf("%s becomes %s", text, got)
		}
		if HalfPair(raw) != (legible != "") || string(raw) != text {
			t.Errorf("%s has half a pair: %v", raw, HalfPair(raw))
		}
	}
	for _, cut := range []string{`\`, `\u`, `\ud8`, `\ud800\`, `\ud800\u`, `\ud800\udc`, `"\ud800`, strings.Repeat(`\`, 7)} {
		HalfPair([]byte(cut)) // invalid JSON may give any answer, but must not panic
	}
}

func TestPlainKeepsJSONValue(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"t\u00e9 \u003ca\u003e"}`:     `{"a":"té <a>"}`,
		`"\ud83d\ude00 \ud83d x \ude00"`:    `"😀 \ud83d x \ude00"`,
		`"\u0022 \u005c \u0007 \n \\u00e9"`: `"\u0022 \u005c \u0007 \n \\u00e9"`,
		`"\u00e`:                            `"\u00e`,
		`"\`:                                `"\`,
		`"\ud83d\n"`:                        `"\ud83d\n"`,
		`{"é":1}`:                           `{"é":1}`,
	} {
		if got := string(Plain([]byte(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(`{"a":"t\u00e9 \ud83d\ude00 \ud83d"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after any
		if json.Unmarshal(text, &before) != nil {
			return
		}
		if err := json.Unmarshal(Plain(text), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q: %q, %v", text, Plain(text), err)
		}
	})
}
