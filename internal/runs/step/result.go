package step

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/meaning"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// detail returns the readable sentence of an error response: the text of a tool, the detail,
// message or error of a JSON object, or the first line of a text.
func detail(body json.RawMessage) string {
	const most = 300
	var object map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &object) == nil {
		if text = firstText(object["content"]); text == "" {
			text = explanation(object)
		}
	} else if json.Unmarshal(body, &text) != nil {
		return ""
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(text, "<") { // an HTML page
		return ""
	}
	return clip.Runes(text, most)
}

// explanation returns the member of an error object that explains it.
func explanation(object map[string]json.RawMessage) string {
	for _, name := range []string{"detail", "message", "error_description", "error", "title"} {
		var text string
		if json.Unmarshal(object[name], &text) == nil && text != "" {
			return text
		}
		var nested struct{ Message string }
		if json.Unmarshal(object[name], &nested) == nil && nested.Message != "" {
			return nested.Message
		}
	}
	return ""
}

// firstText returns the first text in the content of a tool's result.
func firstText(content json.RawMessage) string {
	var blocks []struct{ Type, Text string }
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		if b.Type == "text" && b.Text != "" {
			return b.Text
		}
	}
	return ""
}

// resultOf turns a response into a result: JSON stays as it is, anything else becomes a JSON
// string. Both must be valid UTF-8, because clients read them as JSON, and json.Valid accepts any
// byte inside a string. An invalid byte becomes half of a surrogate pair, which is shown as a lost
// character and is never sent.
func resultOf(a tool.Answer) *plan.Result {
	sum := sha256.Sum256(a.Body)
	res := &plan.Result{
		Status: a.Status, Headers: a.Headers, Bytes: a.Bytes, Truncated: a.Truncated, SHA256: hex.EncodeToString(sum[:]),
	}
	body := bytes.TrimSpace(a.Body)
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte(lostByte))
	}
	var compact bytes.Buffer
	switch {
	case len(body) == 0:
	case !a.Truncated && json.Compact(&compact, body) == nil:
		res.Body = compact.Bytes()
	default:
		res.Body = quote(a.Body)
	}
	return res
}

// isPage reports whether a result is a page with a status of success, which no operation answered.
func isPage(res *plan.Result) bool {
	var text string
	return meaning.Of(res.Status, false) == meaning.Done && json.Unmarshal(res.Body, &text) == nil && meaning.Page(res.Headers["Content-Type"], []byte(text))
}

// lostByte replaces, in JSON, the bytes that are not UTF-8.
const lostByte = `\udfff`

// quote returns a text as a JSON string.
func quote(text []byte) json.RawMessage {
	const mark = "\uFFFF" // not a character
	if bytes.Contains(text, []byte(mark)) || utf8.Valid(text) {
		raw, _ := json.Marshal(strings.ToValidUTF8(string(text), "\uFFFD"))
		return raw
	}
	raw, _ := json.Marshal(strings.ToValidUTF8(string(text), mark))
	return bytes.ReplaceAll(raw, []byte(mark), []byte(lostByte))
}
