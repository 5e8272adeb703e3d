package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/order"
	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// defaultLimit is the number of bytes of an answer that are kept when the call has no limit.
const defaultLimit = 1 << 20

// answerOf turns a message into an answer: the tool's result, or the server's error. It returns false when the
// message holds neither.
func answerOf(m *message, limit int64, secrets ...string) (tool.Answer, bool) {
	a := tool.Answer{Status: http.StatusOK, Headers: map[string]string{}}
	if m.Error != nil {
		code := cmp.Or(m.Error.Code, "0")
		a.Failed, a.Code = true, code.String()
		message := cmp.Or(redact.Text(redactSecrets(m.Error.Message, secrets)), "error "+a.Code)
		said := map[string]any{"error": map[string]any{"code": code, "message": message}}
		return a, fitBody(&a, said, limit)
	}
	if int64(len(m.Result)) > min(cmp.Or(max(limit, 0), defaultLimit), maxAnswer) && values(m.Result) > maxValues {
		return tooManyValues(m.Result)
	}
	dec := json.NewDecoder(bytes.NewReader(m.Result))
	dec.UseNumber()
	var result map[string]any
	if err := dec.Decode(&result); err != nil || result == nil {
		return a, false
	}
	content, ok := result["content"].([]any)
	if !ok && result["content"] != nil {
		return a, false
	}
	if content == nil {
		content = []any{}
	}
	kept := map[string]any{"content": content}
	if structured, ok := result["structuredContent"]; ok && structured != nil {
		kept["structuredContent"] = structured
	}
	kind, _ := result["resultType"].(string)
	a.Failed = statementOf(result["isError"]) > no || kind == "input_required" // the server wants input first, and this client gives none
	return a, fitBody(&a, withoutSecrets(kept, secrets), limit)
}

// maxValues limits the values in a result that must be cut to its size limit: as a tree each value takes some
// hundred bytes, even when it is short in JSON.
const maxValues = 100_000

// values estimates the number of values in a JSON text.
func values(raw []byte) int {
	n, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n
}

// tooManyValues returns the answer for a result with too many values. It holds only whether the tool failed, and
// the size of the result.
func tooManyValues(raw json.RawMessage) (tool.Answer, bool) {
	var result struct {
		Content json.RawMessage `json:"content"`
		IsError any             `json:"isError"`
		Type    any             `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) > 0 && result.Content[0] != '[' && result.Content[0] != 'n' {
		return tool.Answer{}, false
	}
	body, err := json.Marshal(map[string]any{"content": []any{}, "omitted_bytes": len(raw)})
	return tool.Answer{
		Status: http.StatusOK, Headers: map[string]string{}, Body: body, Bytes: len(raw), Truncated: true,
		Failed: statementOf(result.IsError) > no || result.Type == "input_required",
	}, err == nil
}

// withoutSecrets returns a value with the secrets removed from its texts. The texts are unescaped already.
func withoutSecrets(v any, secrets []string) any {
	if len(secrets) == 0 {
		return v
	}
	switch v := v.(type) {
	case string:
		return redactSecrets(v, secrets)
	case []any:
		for i, e := range v {
			v[i] = withoutSecrets(e, secrets)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for k, e := range v {
			clean[redactSecrets(k, secrets)] = withoutSecrets(e, secrets)
		}
		return clean
	}
	return v
}

// fitBody writes a value as the answer's body. When it is too long, it first drops the blobs, then cuts the texts;
// the body stays valid JSON as long as possible.
func fitBody(a *tool.Answer, v any, limit int64) bool {
	if limit <= 0 {
		limit = defaultLimit
	}
	f := bodyFitter{tree: v, limit: int(min(limit, maxAnswer))}
	if !f.write() {
		return false
	}
	a.Bytes = len(f.body)
	for _, step := range []func(){f.leaveOutBlobs, f.cutTexts, f.leaveOutStructure, f.leaveOutContent} {
		if len(f.body) > f.limit {
			step()
		}
	}
	if len(f.body) > f.limit {
		f.body, f.cut = f.body[:f.limit], true
	}
	a.Body, a.Truncated = f.body, f.cut
	return true
}

type bodyFitter struct {
	tree  any
	limit int
	body  []byte
	cut   bool
}

func (f *bodyFitter) write() bool {
	body, err := jcs.Marshal(f.tree)
	if err == nil {
		f.body = body
	}
	return err == nil
}

// part is a text in one block: the object that holds it, and its name there.
type part struct {
	in   map[string]any
	name string
}

func (p part) text() string { s, _ := p.in[p.name].(string); return s }

// parts returns the texts in the content's blocks that have one of the names, longest first.
func (f *bodyFitter) parts(names ...string) []part {
	root, _ := f.tree.(map[string]any)
	blocks, _ := root["content"].([]any)
	var list []part
	add := func(in map[string]any) {
		for _, name := range names {
			if s, ok := in[name].(string); ok && s != "" {
				list = append(list, part{in, name})
			}
		}
	}
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		add(block)
		if resource, ok := block["resource"].(map[string]any); ok {
			add(resource)
		}
	}
	if e, ok := root["error"].(map[string]any); ok {
		add(e)
	}
	order.By(list, func(a, b part) int { return cmp.Compare(len(b.text()), len(a.text())) })
	return list
}

// minBlob is the length from which a blob is longer than the note that replaces it.
const minBlob = 32

// leaveOutBlobs removes as many blobs as necessary, the largest first, and notes their size.
func (f *bodyFitter) leaveOutBlobs() {
	over := len(f.body) - f.limit
	for _, p := range f.parts("data", "blob") {
		if over <= 0 {
			break
		}
		text := p.text()
		if len(text) < minBlob {
			break
		}
		delete(p.in, p.name)
		p.in["omitted_bytes"] = base64.StdEncoding.DecodedLen(len(text)) - strings.Count(text[max(0, len(text)-2):], "=")
		over -= len(text) - minBlob
	}
	f.write()
}

// maxCut limits how many texts are cut before all content is dropped.
const maxCut = 100

func (f *bodyFitter) cutTexts() {
	for i, p := range f.parts("text", "message") {
		over := len(f.body) - f.limit
		if over <= 0 || i == maxCut {
			return
		}
		text := p.text()
		p.in[p.name] = strings.ToValidUTF8(text[:max(0, len(text)-over)], "")
		f.cut = true
		f.write()
	}
}

func (f *bodyFitter) leaveOutStructure() { f.leaveOut("structuredContent", nil) }
func (f *bodyFitter) leaveOutContent()   { f.leaveOut("content", []any{}) }

// leaveOut replaces a member, and notes its size.
func (f *bodyFitter) leaveOut(name string, by any) {
	root, _ := f.tree.(map[string]any)
	if root[name] == nil {
		return
	}
	before := len(f.body)
	delete(root, name)
	if by != nil {
		root[name] = by
	}
	f.cut = true
	f.write()
	omitted, _ := root["omitted_bytes"].(int)
	root["omitted_bytes"] = omitted + before - len(f.body)
	f.write()
}
