package demo

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"piloto/internal/ground/meaning"
)

// look is the argument of the tool look.
type look struct {
	Server string         `json:"mcp_id"`
	Path   string         `json:"path"`
	Query  map[string]any `json:"query,omitempty"`
}

// mostRows is the greatest number of rows that an answer lists.
const mostRows = 20

// madeCall is a call of the model in the transcript, and its result.
type madeCall struct {
	id, tool, arguments, result string
	fresh                       bool // it was made for the person's last message
}

// answered takes the result of a call.
func (d *dialogue) answered(m openai.ChatCompletionMessage, fresh bool) {
	for i := range d.calls {
		if c := &d.calls[i]; c.id == m.ToolCallID {
			c.result, c.fresh = textOf(m), fresh
		}
	}
}

// reads returns the reads of the transcript, the oldest first.
func (d dialogue) reads(ops []operation) (list []readAnswer) {
	for _, told := range eventsIn[[]readAnswer](d.system, "an_agent_read") {
		for _, read := range told {
			read.Status = http.StatusOK // one that failed is not told
			list = append(list, read.plain())
		}
	}
	for _, c := range d.calls {
		if read, ok := c.read(ops); ok {
			list = append(list, read)
		}
	}
	return list
}

// lastRead returns the read that the last message of the dialogue is the result of; false when it is of another tool.
func (d dialogue) lastRead(ops []operation) (readAnswer, bool) {
	id := d.tail[len(d.tail)-1].ToolCallID
	for _, c := range slices.Backward(d.calls) {
		if c.id == id {
			return c.read(ops)
		}
	}
	return readAnswer{}, false
}

// read returns a call as a read; false when it is none, or was not made.
func (c madeCall) read(ops []operation) (readAnswer, bool) {
	var asked look
	var read readAnswer
	if c.tool != toolLook || json.Unmarshal([]byte(c.arguments), &asked) != nil || json.Unmarshal([]byte(c.result), &read) != nil || read.ID == "" {
		return readAnswer{}, false
	}
	query := url.Values{}
	for name, value := range asked.Query {
		query.Set(name, plain(value))
	}
	for _, op := range ops {
		if op.Server == asked.Server {
			read.Service, read.Called = op.Service, "GET "+op.Base+asked.Path
		}
	}
	if len(query) > 0 {
		read.Called += "?" + query.Encode()
	}
	read.fresh = c.fresh
	return read.plain(), true
}

// plain returns a read whose answer is text, or JSON as it is.
func (r readAnswer) plain() readAnswer {
	var text string
	if json.Unmarshal(r.Answer, &text) == nil {
		r.Answer = json.RawMessage(text)
	}
	return r
}

// eventsIn returns the events of a kind among the system messages of a prompt, the oldest first.
func eventsIn[T any](system, kind string) (list []T) {
	for part := range strings.SplitSeq(system, "<event>\n") {
		text, _, closed := strings.Cut(part, "\n</event>")
		var of map[string]json.RawMessage
		var one T
		if closed && json.Unmarshal([]byte(text), &of) == nil && of[kind] != nil && json.Unmarshal(of[kind], &one) == nil {
			list = append(list, one)
		}
	}
	return list
}

// tell writes the answer of a read: a list in rows.
func (d dialogue) tell(read readAnswer) string {
	if meaning.Of(read.Status, false) != meaning.Done {
		return d.speech.say("look.failed", d.speech.word(read.Service), read.Status)
	}
	answer := read.Answer
	rows, ok := rowsOf(answer)
	switch {
	case !ok && len(membersOf(answer)) > 0:
		return d.speech.say("look.one", d.speech.word(read.Service), d.speech.line(thingOf("", answer)))
	case !ok:
		var value any
		_ = json.Unmarshal(answer, &value) // text that is no JSON is shown unchanged
		return d.speech.say("look.one", d.speech.word(read.Service), strings.Join(strings.Fields(cmp.Or(d.speech.plain(value), string(read.Answer))), " "))
	case len(rows) == 0:
		return d.speech.say("look.none", d.speech.word(read.Service))
	}
	text := d.speech.say("look.rows", d.speech.word(read.Service), len(rows))
	for _, row := range rows[:min(len(rows), mostRows)] {
		text += "\n- " + d.speech.line(thingOf("", row))
	}
	if more := len(rows) - mostRows; more > 0 {
		text += d.speech.say("more", more)
	}
	return text
}

// line writes a thing on one line: its title, and its other members. The ids of things with a name, and the times of a record,
// are left out.
func (s speech) line(t thing) string {
	title := s.title(t)
	var parts []string
	for _, m := range t.members {
		base, isID := strings.CutSuffix(m.name, "_id")
		text := s.plain(m.value)
		if text == "" || strings.HasSuffix(m.name, "_at") || m.name == "id" && title != "" || isID && t.text(base+"_name") != "" || strings.Contains(", "+title+", ", ", "+text+", ") {
			continue
		}
		parts = append(parts, s.label(m.name)+": "+text)
	}
	if len(t.members) == 0 {
		return title
	}
	text := strings.Join(parts, ", ")
	if title != "" {
		text = strings.TrimSuffix(title+" ("+text+")", " ()")
	}
	return strings.Join(strings.Fields(text), " ")
}

// label returns the name of a member in sentences.
func (s speech) label(name string) string {
	label, ok := vocabulary.Labels[name]
	if !ok {
		label = vocabulary.Told[name]
	}
	if s.en {
		return cmp.Or(label.EN, name)
	}
	return cmp.Or(label.ES, name)
}

// title names a thing in the language of the sentence.
func (s speech) title(t thing) string {
	name, id, both := strings.Cut(t.title(), ", ")
	if both {
		return s.word(name) + ", " + id
	}
	return s.word(name)
}

// plain writes a simple value, or a list of them, in the language of the sentence.
func (s speech) plain(value any) string { return written(value, s.word) }

// labels returns the names of members in a question. A name that only answers have stays: the reply may be name=value.
func (s speech) labels(names []string) []string {
	var out []string
	for _, name := range names {
		if _, isTold := vocabulary.Told[name]; !isTold {
			name = s.label(name)
		}
		out = append(out, name)
	}
	return out
}

// plain writes a simple value, or a list of them; "" for another.
func plain(value any) string { return written(value, func(text string) string { return text }) }

// written does the same, with each text as word has it.
func written(value any, word func(text string) string) string {
	switch value := value.(type) {
	case string:
		return word(value)
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case []any:
		var all []string
		for _, one := range value {
			if text := written(one, word); text != "" {
				all = append(all, text)
			}
		}
		return strings.Join(all, "/")
	}
	return ""
}
