package openai

import (
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
	name   string // of the member that has them
	text   strings.Builder
	parts  map[string]*thoughtParts // those that go back as they came, by the name of their member
	signed json.RawMessage          // extra_content of the message, of Google
	inText strings.Builder          // those that were in the text, which do not go back
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
	for _, from := range []struct {
		name string
		raw  json.RawMessage
	}{{asDetails, part.Details}, {asBlocks, part.Blocks}} {
		var list []members
		_ = json.Unmarshal(from.raw, &list) // of another form there are none
		t.addParts(from.name, list)
	}
	t.addParts(asContent, part.thoughts)
}

// addParts adds parts of a member that is a list of them.
func (t *thoughts) addParts(name string, list []members) {
	for _, part := range list {
		if t.parts == nil {
			t.parts = map[string]*thoughtParts{}
		}
		if t.parts[name] == nil {
			t.parts[name] = &thoughtParts{}
		}
		t.parts[name].add(part)
		if _, text, _ := textOfPart(part); name == asContent {
			t.unseen(text)
		}
	}
}

// apart reports whether thoughts came beside the text, so that none is in it.
func (t *thoughts) apart() bool { return t.name != "" || len(t.parts) > 0 }

// extra returns the further members that go back with the message, as an object; nil when there is none.
func (t *thoughts) extra() json.RawMessage {
	all := members{}
	for name, parts := range t.parts {
		if raw := parts.raw(); raw != nil {
			all[name] = raw
		}
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
	if parts, has := out.more[asContent]; has {
		if delete(out.more, asContent); len(m.Calls) > 0 {
			out.Content = inParts(parts, out.Content)
		}
	}
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
	case speaks(words, "`thinking`", "'thinking'", `"thinking"`) && !speaks(words, "expected `thinking`"): // of another provider
		q.NoExtra = true
	case speaks(words, "extra_content", asDetails, asBlocks, "provider_specific_fields"):
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
