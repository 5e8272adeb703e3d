package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"piloto/internal/models/llm"
)

// Names under which providers send the thoughts of a model, in the order in which they count.
const (
	asReasoningContent = "reasoning_content" // DeepSeek, Kimi, GLM, Qwen, vLLM
	asReasoning        = "reasoning"         // OpenRouter, Groq, Ollama, newer vLLM
)

// Limits of what goes back of one answer, in bytes. Thoughts that are longer lose their end, and other members go back whole
// or not at all.
const (
	mostThought = 64 << 10
	mostExtra   = 128 << 10
)

// thoughts are those of one answer.
type thoughts struct {
	name    string // of the member that has them
	text    strings.Builder
	details []members       // OpenRouter's form of them, which goes back as it came
	signed  json.RawMessage // extra_content of the message, of Google
	inText  strings.Builder // those that were in the text, which do not go back
}

func (t *thoughts) unseen(part string) {
	if t.inText.Len() < mostThought {
		t.inText.WriteString(part)
	}
}

// add adds those of a message, or of a chunk of one.
func (t *thoughts) add(part *content) {
	for _, from := range []struct {
		name string
		text string
	}{{asReasoningContent, textIn(part.ReasoningContent)}, {asReasoning, textIn(part.Reasoning)}} {
		if from.text == "" || t.name != "" && t.name != from.name {
			continue // some servers send both
		}
		t.name = from.name
		if t.text.Len() < mostThought {
			t.text.WriteString(from.text)
		}
	}
	if !isBlank(part.Extra) {
		t.signed = part.Extra
	}
	var details []members
	_ = json.Unmarshal(part.Details, &details) // of another form there are none
	for _, d := range details {
		t.addDetail(d)
	}
}

// addDetail adds a detail, or the next part of the last one.
func (t *thoughts) addDetail(part members) {
	if len(t.details) > 0 {
		last := t.details[len(t.details)-1]
		key := ""
		for _, name := range []string{"text", "summary"} {
			if _, has := part[name]; has && bytes.Equal(last["type"], part["type"]) && bytes.Equal(last["index"], part["index"]) {
				key = name
			}
		}
		if _, has := last[key]; has {
			joined, err := json.Marshal(textIn(last[key]) + textIn(part[key]))
			if err == nil {
				for name, value := range part {
					if !isBlank(value) {
						last[name] = value
					}
				}
				last[key] = joined
				return
			}
		}
	}
	t.details = append(t.details, part)
}

// extra returns the further members that go back with the message, as an object; nil when there is none.
func (t *thoughts) extra() json.RawMessage {
	all := members{}
	if len(t.details) > 0 {
		all["reasoning_details"], _ = json.Marshal(t.details) // they were JSON
	}
	if t.signed != nil {
		all["extra_content"] = t.signed
	}
	if raw := all.object(); len(raw) <= mostExtra {
		return raw
	}
	return nil
}

// unsigned is the signature that Google takes in place of one that is not there.
var unsigned = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

// sendThoughts adds the thoughts and the further members of a message of the model, as it wants them back.
func (q Quirks) sendThoughts(out *message, m llm.Message) {
	if m.Role != llm.Assistant {
		return
	}
	out.more = q.membersOf(m.Extra)
	if text := q.thoughtOf(m); text != "" {
		out.more[cmp.Or(q.Thought, asReasoningContent)], _ = json.Marshal(text) // a string can be encoded
	}
	for i := range out.Calls {
		more := q.membersOf(m.Calls[i].Extra)
		if i == 0 && q.Signed && isBlank(more["extra_content"]) {
			more["extra_content"] = unsigned
		}
		out.Calls[i].more = more
	}
}

// membersOf returns the further members of a message or a call that go back with it.
func (q Quirks) membersOf(raw json.RawMessage) members {
	m := members{}
	if q.NoExtra || json.Unmarshal(raw, &m) != nil || m == nil {
		return members{}
	}
	return m
}

// thoughtOf returns the thought that goes back with a message.
func (q Quirks) thoughtOf(m llm.Message) string {
	switch {
	case q.NoThoughts:
		return ""
	case q.AllThoughts:
		return cmp.Or(m.Thought, " ") // an empty one is refused
	case len(m.Calls) > 0:
		return m.Thought
	}
	return ""
}

// readThoughts finds a quirk about thoughts in the words of a refusal.
func (q *Quirks) readThoughts(words string) {
	missing, unsupported := speaks(words, "missing", "passed back", "required", "must be p"), speaks(words, unsupportedMarks...)
	switch {
	case speaks(words, "thought_signature", "thought signature", "thoughtsignature"):
		q.NoExtra, q.Signed = q.NoExtra || !missing, true
	case speaks(words, "extra_content", "reasoning_details", "provider_specific_fields"):
		q.NoExtra = q.NoExtra || unsupported
	case speaks(words, "reasoning_content", "reasoning content", "'reasoning'", "`reasoning`", `"reasoning"`, "assistant.reasoning"):
		switch {
		case unsupported || speaks(words, "should not", "must not", "remove"):
			q.NoThoughts = true
		case missing && !q.AllThoughts:
			q.AllThoughts, q.NoThoughts = true, false
			if !speaks(words, "reasoning_content", "reasoning content") {
				q.Thought = asReasoning
			}
		}
	}
}
