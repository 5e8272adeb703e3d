package meter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// charactersPerToken is how a prompt is counted, for every model: only the ratio of two counts means something.
const charactersPerToken = 4

// leastPrefix is the shortest beginning of a prompt that a provider keeps, in characters.
const leastPrefix = 4096

// Tokens are the prompt tokens of a conversation, counted by characters.
type Tokens struct {
	Calls  int `json:"calls"`
	Forced int `json:"forced"` // calls that had to call a tool
	All    int `json:"all"`
	New    int `json:"new"`    // what follows the longest beginning that an earlier call of the conversation had
	Cached int `json:"cached"` // the rest
	Plain  int `json:"plain"`  // what a plain loop of tools would have sent anew: rules, operations, messages, results and answers, once
}

// Ratio returns the new tokens for each one of the plain loop; 0 without calls.
func (t Tokens) Ratio() float64 { return float64(t.New) / float64(max(t.Plain, 1)) }

// Plus returns the sum of two conversations.
func (t Tokens) Plus(o Tokens) Tokens {
	return Tokens{t.Calls + o.Calls, t.Forced + o.Forced, t.All + o.All, t.New + o.New, t.Cached + o.Cached, t.Plain + o.Plain}
}

// request is what is counted of a call.
type request struct {
	Tools      json.RawMessage   `json:"tools"`
	Messages   []json.RawMessage `json:"messages"`
	ToolChoice json.RawMessage   `json:"tool_choice"`
}

// Count counts a conversation. A plain loop would begin with the characters of base.
func Count(calls []Call, base int) (Tokens, error) {
	all, fresh, plain := 0, 0, base
	t := Tokens{Calls: len(calls)}
	var prompts []string
	seen := map[string]bool{}
	for _, c := range calls {
		var r request
		if err := json.Unmarshal(c.Request, &r); err != nil {
			return t, fmt.Errorf("a request of the model: %w", err)
		}
		if choice := string(r.ToolChoice); choice != "" && choice != `"auto"` && choice != `"none"` && choice != "null" {
			t.Forced++
		}
		prompt := r.prompt()
		known := 0
		for _, earlier := range prompts {
			if n := commonPrefix(earlier, prompt); n >= leastPrefix {
				known = max(known, n)
			}
		}
		prompts = append(prompts, prompt)
		size := utf8.RuneCountInString(prompt)
		all, fresh = all+size, fresh+size-known
		for _, m := range r.Messages {
			if role, text := read(m); (role == "user" || role == "tool") && !seen[text] {
				seen[text] = true
				plain += utf8.RuneCountInString(text)
			}
		}
		plain += utf8.RuneCountInString(c.Answer.written())
	}
	t.All, t.New, t.Plain = all/charactersPerToken, fresh/charactersPerToken, plain/charactersPerToken
	t.Cached = t.All - t.New
	return t, nil
}

// prompt returns the text of a request in the order in which providers read it: the tools, then the messages.
func (r request) prompt() string {
	var b strings.Builder
	if b.WriteString(spaced(r.Tools)); b.Len() == 0 {
		b.WriteString("[]")
	}
	for _, m := range r.Messages {
		b.WriteString(spaced(m))
	}
	return b.String()
}

// read returns the role of a message, and its content as a text.
func read(raw json.RawMessage) (role, text string) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &m) != nil || len(m.Content) == 0 || string(m.Content) == "null" {
		return m.Role, ""
	}
	if json.Unmarshal(m.Content, &text) != nil {
		text = spaced(m.Content)
	}
	return m.Role, text
}

// commonPrefix returns the number of characters that two texts begin with in common.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return utf8.RuneCountInString(b[:n])
}

// spaced returns JSON with a space after each comma and colon, and texts without needless escapes, so that the count does not depend on
// its encoder.
func spaced(raw []byte) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case ' ', '\n', '\t', '\r':
		case ',', ':':
			b.WriteByte(c)
			b.WriteByte(' ')
		case '"':
			end := i + 1
			for end < len(raw)-1 && raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			b.WriteString(quoted(raw[i : end+1]))
			i = end
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// quoted returns a text of JSON without needless escapes.
func quoted(raw []byte) string {
	var text string
	if bytes.IndexByte(raw, '\\') < 0 || json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return encoded(text)
}

// encoded returns a value as JSON, in which < is not escaped.
func encoded(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil { // texts, and what came from JSON
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Base returns the characters with which a plain loop of tools begins: the rules, and each operation of an OpenAPI document once.
func Base(document []byte, rules string) (int, error) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return 0, err
	}
	n := utf8.RuneCountInString(rules)
	for _, path := range doc.Paths {
		for _, raw := range path {
			var o struct {
				ID          string          `json:"operationId"`
				Summary     string          `json:"summary"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
				Body        json.RawMessage `json:"requestBody"`
			}
			if json.Unmarshal(raw, &o) != nil { // parameters of all operations of the path
				continue
			}
			about := o.Description
			if about == "" {
				about = o.Summary
			}
			operation, err := json.Marshal(struct {
				Name        string             `json:"name"`
				Description string             `json:"description"`
				Parameters  [2]json.RawMessage `json:"parameters"`
			}{o.ID, about, [2]json.RawMessage{o.Parameters, o.Body}})
			if err != nil {
				return 0, err
			}
			n += utf8.RuneCountInString(spaced(operation))
		}
	}
	return n, nil
}
