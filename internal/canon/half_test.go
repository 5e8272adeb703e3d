package canon

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestHalfOfAPairIsFoundAndMadeLegible(t *testing.T) {
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
		HalfPair([]byte(cut)) // of what is no JSON it says anything, and does not fall over
	}
}
