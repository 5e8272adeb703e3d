package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// defaultLimit is how much of an answer is kept when a call does not say.
const defaultLimit = 1 << 20

// answerOf makes an answer of a message: the tool's result, or the error that the
// server gave instead. It reports false for what is neither.
func answerOf(m *message, limit int64, secret string) (tool.Answer, bool) {
	a := tool.Answer{Status: http.StatusOK, Headers: map[string]string{}}
	if m.Error != nil {
		code := m.Error.Code
		if code == "" {
			code = "0"
		}
		a.Failed, a.Unheard = true, code == "-32601" || code == "-32602" // JSON-RPC: no such method, invalid params
		said := map[string]any{"error": map[string]any{"code": code, "message": redact.Text(known(m.Error.Message, secret))}}
		return a, fit(&a, said, limit)
	}
	if int64(len(m.Result)) > min(cmp.Or(max(limit, 0), defaultLimit), maxAnswer) && values(m.Result) > maxValues {
		return tooMany(m.Result)
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
	failed, _ := result["isError"].(bool)
	kind, _ := result["resultType"].(string)
	a.Failed = failed || kind == "input_required" // it wants something of us first: there is nothing we give
	return a, fit(&a, withoutSecret(kept, secret), limit)
}

// maxValues is how many values a result may hold that is to be cut to its limit: as
// a tree each takes some hundred bytes, however few it has as JSON.
const maxValues = 100_000

// values counts the values of a JSON text, about.
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

// tooMany is the answer of a result with more values than are read: of it there is
// whether the tool failed, and how large it was.
func tooMany(raw json.RawMessage) (tool.Answer, bool) {
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
		Failed: result.IsError == true || result.Type == "input_required",
	}, err == nil
}

// withoutSecret returns a value with a secret taken out of its texts, however they
// were escaped.
func withoutSecret(v any, secret string) any {
	if len(secret) < redact.MinSecret {
		return v
	}
	switch v := v.(type) {
	case string:
		return known(v, secret)
	case []any:
		for i, e := range v {
			v[i] = withoutSecret(e, secret)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for k, e := range v {
			clean[known(k, secret)] = withoutSecret(e, secret)
		}
		return clean
	}
	return v
}

// fit writes a value as the answer's body. What is too long loses its blobs first,
// then the ends of its texts; it stays JSON as long as that is possible at all.
func fit(a *tool.Answer, v any, limit int64) bool {
	if limit <= 0 {
		limit = defaultLimit
	}
	f := fitting{tree: v, limit: int(min(limit, maxAnswer))}
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

type fitting struct {
	tree  any
	limit int
	body  []byte
	cut   bool
}

func (f *fitting) write() bool {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f.tree); err != nil {
		return false
	}
	f.body = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return true
}

// part is a text of one block: where it is, and under which name.
type part struct {
	in   map[string]any
	name string
}

func (p part) text() string { s, _ := p.in[p.name].(string); return s }

// parts returns the texts of the content's blocks that have one of the names, the
// longest first.
func (f *fitting) parts(names ...string) []part {
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
	slices.SortStableFunc(list, func(a, b part) int { return cmp.Compare(len(b.text()), len(a.text())) })
	return list
}

// minBlob is the length from which a blob is longer than what is said in its place.
const minBlob = 32

// leaveOutBlobs takes out as many blobs as must be, the largest first, and says how
// large they were.
func (f *fitting) leaveOutBlobs() {
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

// maxCut is how many texts are cut before all are left out.
const maxCut = 100

func (f *fitting) cutTexts() {
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

func (f *fitting) leaveOutStructure() { f.leaveOut("structuredContent", nil) }
func (f *fitting) leaveOutContent()   { f.leaveOut("content", []any{}) }

// leaveOut replaces a member, and says how large it was.
func (f *fitting) leaveOut(name string, by any) {
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
