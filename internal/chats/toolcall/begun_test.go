package toolcall

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBegin reads a call at each byte at which it may be cut: what it has of the content is a beginning of it, of whole characters,
// and grows.
func TestBegin(t *testing.T) {
	const content = "línea \"uno\"\n\ttab \\ 😀 fin\u2028"
	for _, raw := range []string{
		`{"path":"a.md","content":"l\u00ednea \"uno\"\n\ttab \\ \ud83d\ude00 fin\u2028"}`,
		`{ "path" : "a.md" , "mode" : null, "content" : "línea \"uno\"\n\ttab \\ 😀 fin` + "\u2028" + `" } `,
		`{"content":"línea \u0022uno\u0022\u000a\tt\u0061b \\ 😀 fin\u2028","path":"a.md"}`,
	} {
		var whole map[string]any
		if err := json.Unmarshal([]byte(raw), &whole); err != nil || whole["content"] != content {
			t.Fatal(raw, err)
		}
		last := 0
		for n := 1; n <= len(raw); n++ {
			b, ok := Begin(raw[:n])
			if !ok {
				t.Fatalf("%q is no beginning", raw[:n])
			}
			got := b.Members["content"]
			if b.Open == "content" {
				got = b.Text
			}
			if !strings.HasPrefix(content, got) || !utf8.ValidString(got) || len(got) < last {
				t.Fatalf("%q: %q after %d bytes", raw[:n], got, last)
			}
			last = len(got)
		}
		if b, _ := Begin(raw); last != len(content) || b.Open != "" || b.Members["path"] != "a.md" || len(b.Members) != 2 {
			t.Errorf("%+v", b)
		}
	}
	if b, ok := Begin(`{"path":"a","content":"ca` + "\uFFFD"); !ok || b.Text != "ca" {
		t.Errorf("%+v, %v", b, ok)
	}
	for _, raw := range []string{
		``, `x`, `[`, `"a"`, `{x`, `{"a" "b"`, `{"a":1`, `{"a":{`, `{"a":"1","a":"2"`, `{"a":"1","a":"2`, `{"a":"b"} x`, "{\"a\":\"b\nc\"", `{"a":"\x"`, `{"a":"\ud800"`,
		`{"a":"\ud800x`, "{\"a\":\"\xff\"",
	} {
		if b, ok := Begin(raw); ok {
			t.Errorf("%q: %+v", raw, b)
		}
	}
}

// TestBeginIsLinear: a content of a megabyte is read at once.
func TestBeginIsLinear(t *testing.T) {
	content := strings.Repeat(`\u00f1\"`, 200_000)
	if b, ok := Begin(`{"content":"` + content); !ok || b.Text != strings.Repeat(`ñ"`, 200_000) {
		t.Error(ok, len(b.Text))
	}
}
