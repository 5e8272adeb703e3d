package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Members of a message whose thoughts go back as they came: lists of parts.
const (
	asDetails = "reasoning_details" // OpenRouter
	asBlocks  = "thinking_blocks"   // LiteLLM, of Anthropic
	asContent = "content"           // Mistral, and gateways that send Anthropic's parts: the thoughts are before the text
)

// thoughtParts is a list of parts, which a stream sends in pieces.
type thoughtParts struct {
	list []*thoughtPart
	size int
}

// thoughtPart is one of them. Its text is apart, because very many pieces may make it.
type thoughtPart struct {
	members members
	key     string // of the member that is its text; "" for none
	nested  bool   // that is a list of texts
	text    strings.Builder
}

// textOfPart returns the text of a part of thoughts, and where it stands.
func textOfPart(part members) (key, text string, nested bool) {
	for _, name := range []string{"text", "summary", "thinking"} {
		raw, has := part[name]
		switch {
		case !has:
		case json.Unmarshal(raw, &text) == nil:
			return name, text, false
		default:
			var list []struct{ Text string }
			if json.Unmarshal(raw, &list) == nil {
				for _, one := range list {
					text += one.Text
				}
				return name, text, true
			}
		}
	}
	return "", "", false
}

// add adds a part, or the next piece of the last one.
func (p *thoughtParts) add(part members) {
	key, text, nested := textOfPart(part)
	last := &thoughtPart{members: members{}, key: key, nested: nested}
	if n := len(p.list); n > 0 && p.list[n-1].isContinuedBy(part, key, text) {
		last = p.list[n-1]
	} else {
		p.list, p.size = append(p.list, last), p.size+len(part["data"])
	}
	if p.size += len(text) + len(part["signature"]); p.size > mostExtra || len(p.list) > mostCalls {
		p.size = mostExtra + 1 // nothing of them goes back
		return
	}
	for name, value := range part {
		if _, has := last.members[name]; !has || !isBlank(value) {
			last.members[name] = value
		}
	}
	last.text.WriteString(text)
}

// isContinuedBy reports whether a part is the next piece of this one. A signature ends a part that has no index.
func (p *thoughtPart) isContinuedBy(part members, key, text string) bool {
	same := func(name string) bool { return bytes.Equal(p.members[name], part[name]) }
	_, indexed := part["index"]
	mine := key == p.key || key == "" && !isBlank(part["signature"])
	return p.key != "" && mine && same("type") && same("index") && (indexed || text == "" || isBlank(p.members["signature"]))
}

// raw returns the list; nil when it is empty, or too long to go back.
func (p *thoughtParts) raw() json.RawMessage {
	if len(p.list) == 0 || p.size > mostExtra {
		return nil
	}
	all := make([]members, len(p.list))
	for i, one := range p.list {
		if all[i] = one.members; one.key == "" {
			continue
		}
		var text any = one.text.String()
		if one.nested {
			text = []textPart{{"text", one.text.String()}}
		}
		all[i][one.key], _ = json.Marshal(text) // texts can be encoded
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return raw
}

// textPart is a part of a content.
type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// thoughtTypes are the types of the parts of a content that are thoughts.
var thoughtTypes = []string{"thinking", "redacted_thinking", "reasoning", "thought"}

// partsOf returns the text of a content that is a list, as a JSON string, and the parts of it that are thoughts.
func partsOf(raw json.RawMessage) (text json.RawMessage, thoughts []members) {
	var list []members
	if json.Unmarshal(raw, &list) != nil {
		return nil, nil
	}
	var whole strings.Builder
	for _, part := range list {
		switch kind := textIn(part["type"]); {
		case slices.Contains(thoughtTypes, kind):
			thoughts = append(thoughts, part)
		case kind == "text", kind == "":
			whole.WriteString(textIn(part["text"]))
		}
	}
	text, _ = json.Marshal(whole.String()) // a string can be encoded
	return text, thoughts
}

// inParts returns a content, which is a text or nil, as a list with the parts of thoughts before it.
func inParts(thoughts json.RawMessage, content any) any {
	var list []json.RawMessage
	if json.Unmarshal(thoughts, &list) != nil {
		return content
	}
	if text, is := content.(string); is {
		raw, _ := json.Marshal(textPart{"text", text}) // texts can be encoded
		list = append(list, raw)
	}
	return list
}
