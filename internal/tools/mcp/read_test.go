package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"piloto/internal/tools/tool"
)

func TestLongAnswerDropsBlobsFirst(t *testing.T) {
	blob := strings.Repeat("AAAA", 300)
	result := func(text int) string {
		return `{"content":[{"type":"text","text":"` + strings.Repeat("ñ", text) + `"},{"type":"image","mimeType":"image/png","data":"` + blob + `"},` +
			`{"type":"resource","resource":{"uri":"x:y","blob":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}],"structuredContent":{"id":12}}`
	}
	cases := []struct {
		name      string
		text      int
		limit     int64
		truncated bool
		has       []string
		hasNot    []string
	}{
		{"it fits", 10, 2000, false, []string{blob, "AA="}, []string{"omitted"}},
		{"without the largest", 10, 1000, false, []string{`"omitted_bytes":900`, "AA=", `"id":12`, "ññ"}, []string{blob}},
		{"without both", 300, 800, false, []string{`"omitted_bytes":900`, `"omitted_bytes":29`, strings.Repeat("ñ", 300)}, []string{"AAAA"}},
		{"without the end of its text", 300, 400, true, []string{"ññ", `"id":12`}, []string{"AAAA", strings.Repeat("ñ", 300)}},
		{"without all but its size", 300, 60, true, []string{`{"content":[],"omitted_bytes":`}, []string{"id"}},
		{"not even that", 300, 10, true, []string{`{"content"`}, nil},
	}
	for _, c := range cases {
		a, ok := answerOf(&message{Result: json.RawMessage(result(c.text))}, c.limit, "")
		if !ok || a.Truncated != c.truncated || int64(len(a.Body)) > c.limit || a.Bytes < len(a.Body) || c.limit > 20 && !json.Valid(a.Body) {
			t.Errorf("%s: %+v %s", c.name, a, a.Body)
		}
		for _, s := range c.has {
			if !bytes.Contains(a.Body, []byte(s)) {
				t.Errorf("%s: no %q in %s", c.name, s, a.Body)
			}
		}
		for _, s := range c.hasNot {
			if bytes.Contains(a.Body, []byte(s)) {
				t.Errorf("%s: %q in %s", c.name, s, a.Body)
			}
		}
	}
}

func TestAnswerFitsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) map[string]any {
			name := rapid.SampledFrom([]string{"text", "data", "other"}).Draw(t, "name")
			return map[string]any{"type": "x", name: rapid.StringN(0, 400, 2000).Draw(t, "value")}
		}), 0, 8).Draw(t, "blocks")
		raw, err := json.Marshal(map[string]any{"content": blocks, "structuredContent": map[string]any{"a": rapid.StringN(0, 100, 400).Draw(t, "a")}})
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.Int64Range(1, 4000).Draw(t, "limit")
		a, ok := answerOf(&message{Result: raw}, limit, "")
		switch {
		case !ok, int64(len(a.Body)) > limit, a.Bytes < len(a.Body) && !a.Truncated:
			t.Fatalf("%+v", a)
		case limit >= 60 && (!json.Valid(a.Body) || !utf8.Valid(a.Body)):
			t.Fatalf("no JSON: %s", a.Body)
		}
	})
}

// FuzzEvents checks that a stream has the same events however it is cut into pieces.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: x\r\ndata: a\r\ndata: b\r\n\r\n", "data:a\rdata: b\r\r", ": c\n\nid: 1\nretry: 5\ndata\n\n", "data: a", "event: e\n\ndata: x\n\n", "\r\n\n\r", "dat\xff: a\n\n",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		read := func(size int) string {
			var out strings.Builder
			s := events{each: func(name string, data []byte) { fmt.Fprintf(&out, "%q %q\n", name, data) }}
			for at := 0; at < len(stream); at += size {
				s.feed(stream[at:min(at+size, len(stream))])
			}
			s.end()
			return out.String()
		}
		if size <= 0 || size > 100 {
			size = 1
		}
		if whole, pieces := read(len(stream)+1), read(size); whole != pieces {
			t.Errorf("whole:\n%s\nin pieces of %d:\n%s", whole, size, pieces)
		}
	})
}

// FuzzListing checks that every listed tool that is kept can be named, checked and pinned, and is the same the next
// time.
func FuzzListing(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`,
		`{"tools":[{"name":"a","title":"\u202e","description":"x\ny","inputSchema":{"properties":{"x":{"type":"string","x-mcp-header":"A"}}},"outputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}],"nextCursor":"b"}`,
		`{"tools":[null,{},{"name":7},{"name":"a","inputSchema":true},{"name":"b","inputSchema":{"$ref":"#"}},{"name":"b","inputSchema":{}}]}`,
		`{"tools":{}}`, `[]`, `{"tools":[{"name":"a","inputSchema":{"properties":{"\u0078":{"x-mcp-header":"\r\n"}}}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var l listing
		if _, err := l.add(raw); err != nil {
			return
		}
		ops, _ := operations(l, true)
		seen := map[string]bool{}
		again := liveTools("http://x.test", l)
		for _, op := range ops {
			fingerprint := tool.Fingerprint("http://x.test", op)
			if !toolName().MatchString(op.Name) || seen[op.Name] || fingerprint == "" || again[op.Name].fingerprint != fingerprint {
				t.Errorf("%+v", op)
			}
			seen[op.Name] = true
			if len(op.Description) > maxDescription || len(op.Body.Schema) > maxSchema || utf8.RuneCountInString(op.Summary) > maxSummary ||
				!utf8.ValidString(op.Summary+op.Description) || strings.ContainsAny(op.Summary, "\r\n\x00") {
				t.Errorf("%+v", op)
			}
			for _, p := range again[op.Name].parameters {
				if strings.ContainsAny(p.header, "\r\n: ") {
					t.Errorf("%q", p.header)
				}
			}
		}
	})
}

func TestResultWithTooManyValuesIsNotParsed(t *testing.T) {
	if testing.Short() {
		t.Skip("large results")
	}
	list := "[" + strings.Repeat("{},", 1<<20) + "{}]"
	for name, c := range map[string]struct {
		result string
		failed bool
		none   bool
	}{
		"structure":       {`{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":` + list + `}}`, false, false},
		"blocks":          {`{"content":` + list + `,"isError":true}`, true, false},
		"wants something": {`{"resultType":"input_required","more":` + list + `}`, true, false},
		"is none":         {`{"content":"a","more":` + list + `}`, false, true},
	} {
		a, ok := answerOf(&message{Result: json.RawMessage(c.result)}, 1<<20, "s3cret-s3cret")
		if ok == c.none {
			t.Errorf("%s: %v", name, ok)
		}
		want := fmt.Sprintf(`{"content":[],"omitted_bytes":%d}`, len(c.result))
		if !c.none && (a.Failed != c.failed || !a.Truncated || a.Bytes != len(c.result) || string(a.Body) != want) {
			t.Errorf("%s: %+v %.100s", name, a.Failed, a.Body)
		}
	}
	text := `{"content":[{"type":"text","text":"` + `\"` + strings.Repeat(",{", 1<<20) + `"}]}` // commas inside a text count as no values
	if a, ok := answerOf(&message{Result: json.RawMessage(text)}, 1<<20, ""); !ok || !bytes.Contains(a.Body, []byte(`"text":"\",{,{`)) {
		t.Errorf("%v %.100s", ok, a.Body)
	}
}

func TestBatchOfMessagesIsReadUpToLimit(t *testing.T) {
	answer := `{"jsonrpc":"2.0","id":7,"result":{}}`
	if list := messages([]byte("[" + strings.Repeat("{},", 1<<20) + answer + "]")); len(list) != maxBatch {
		t.Errorf("%d messages", len(list))
	}
	if list := messages([]byte(" [{}," + answer + "]")); len(list) != 2 || !list[1].isAnswerTo("7") {
		t.Errorf("%+v", list)
	}
	for _, raw := range []string{"[", "[}", "[{},", "[{]"} {
		if list := messages([]byte(raw)); list != nil {
			t.Errorf("%s: %+v", raw, list)
		}
	}
}
