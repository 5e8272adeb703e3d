package step

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// detail finds the sentence in an error answer that a person can use: what a tool
// says, the detail, message or error of a JSON object, or the first line of a text.
func detail(body json.RawMessage) string {
	const most = 300
	var object map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &object) == nil {
		if text = spoken(object["content"]); text == "" {
			text = explained(object)
		}
	} else if json.Unmarshal(body, &text) != nil {
		return ""
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(text, "<") { // a page, not a sentence
		return ""
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// explained is the member of an error that explains it.
func explained(object map[string]json.RawMessage) string {
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

// spoken is the first text among the content of a tool's result.
func spoken(content json.RawMessage) string {
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

// storable turns an answer into a result: JSON as it is, anything else as a
// JSON string. Either is UTF-8, since it becomes part of JSON that clients read:
// json.Valid lets any byte stand in a string. A byte that is none becomes half of a
// surrogate pair, which is shown as a lost character and is sent nowhere.
func storable(a tool.Answer) *plan.Result {
	sum := sha256.Sum256(a.Body)
	res := &plan.Result{
		Status: a.Status, Headers: a.Headers, Bytes: a.Bytes, Truncated: a.Truncated, SHA256: hex.EncodeToString(sum[:]),
	}
	body := bytes.ToValidUTF8(bytes.TrimSpace(a.Body), []byte(lost))
	switch {
	case len(body) == 0:
	case !a.Truncated && json.Valid(body):
		var compact bytes.Buffer
		if err := json.Compact(&compact, body); err == nil {
			res.Body = compact.Bytes()
		}
	default:
		res.Body = quoted(a.Body)
	}
	return res
}

// lost stands, in JSON, for bytes that are no text.
const lost = `\udfff`

// quoted is a text as a JSON string.
func quoted(text []byte) json.RawMessage {
	const mark = "\uFFFF" // no character
	if bytes.Contains(text, []byte(mark)) || utf8.Valid(text) {
		raw, _ := json.Marshal(strings.ToValidUTF8(string(text), "\uFFFD"))
		return raw
	}
	raw, _ := json.Marshal(strings.ToValidUTF8(string(text), mark))
	return bytes.ReplaceAll(raw, []byte(mark), []byte(lost))
}
