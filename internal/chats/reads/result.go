package reads

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/excerpt"
	"piloto/internal/ground/redact"
)

// The part of an answer that the model reads.

// Bounds of the answers in the prompt.
const (
	MostTokens  = 8000       // of each answer
	mostBytes   = 192 << 10  // of the answers of a turn, which are stored with its message
	leastRoom   = 600        // characters of an answer when the others took the room
	lineRunes   = 500        // of a line of a text that is cut; the rest is a line of its own
	defaultRoom = 8000 * 3.5 // characters
	calledBytes = 512        // of the address that was read
	timeForm    = "2006-01-02 15:04:05Z"
)

// readable returns an answer without secrets: a text without the quotes of JSON, and without characters that cannot be shown.
func readable(body []byte) string {
	text := string(body)
	var plain string
	if json.Unmarshal(body, &plain) == nil {
		text = plain
	}
	return redact.Text(strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return utf8.RuneError
		}
		return r
	}, text))
}

// shownForm returns an answer as the model reads it: what a named tool answers stands in it once, and as JSON where it is JSON.
func shownForm(text string) string {
	var of map[string]json.RawMessage
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &of) != nil || of["content"] == nil {
		return text
	}
	for name := range of {
		if !slices.Contains([]string{"content", "structuredContent", "isError", "_meta"}, name) {
			return text
		}
	}
	if whole := toolcall.Unquote(of["structuredContent"]); whole != nil {
		return `{"structuredContent":` + string(whole) + `}`
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(of["content"], &parts) != nil {
		return text
	}
	for _, p := range parts {
		inner := strings.TrimSpace(p.Text)
		if p.Type != "text" || !strings.HasPrefix(inner, "{") && !strings.HasPrefix(inner, "[") || !json.Valid([]byte(inner)) {
			return text
		}
	}
	var b strings.Builder
	b.WriteString(`{"content":[`)
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"type":"text","text":` + strings.TrimSpace(p.Text) + `}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

// Short returns the part of an answer that fits into so many characters, and what was left out: whole elements of JSON, and
// whole lines of another text.
func Short(answer string, room int) (string, []excerpt.Cut) {
	answer = shownForm(answer)
	if v, isJSON := jsonIn(answer); isJSON {
		if text, cuts := v.Short(room); utf8.RuneCountInString(text) <= room*5/4 {
			return text, cuts
		}
	}
	if sent(answer) <= room {
		return answer, nil
	}
	lines := linesOf(answer)
	head, tail := 0, 0
	for left := room - 40; head+tail < len(lines); { // two lines of the beginning for each of the end
		next := lines[head]
		if head >= 2*(tail+1) {
			next = lines[len(lines)-1-tail]
		}
		if left -= sent(next) + 2; left < 0 && head > 0 {
			break
		}
		if head >= 2*(tail+1) {
			tail++
		} else {
			head++
		}
	}
	middle := fmt.Sprintf("[… lines %d to %d are left out]", head+1, len(lines)-tail)
	return strings.Join(slices.Concat(lines[:head], []string{middle}, lines[len(lines)-tail:]), "\n"), []excerpt.Cut{{Shown: head, Of: len(lines)}}
}

// sent returns the characters of a text as it is sent, without its quotes.
func sent(text string) int { return utf8.RuneCountInString(toolcall.Encode(text)) - 2 }

// jsonIn returns the list or map that an answer is, as far as it goes.
func jsonIn(answer string) (excerpt.Value, bool) {
	if answer = strings.TrimSpace(answer); !strings.HasPrefix(answer, "{") && !strings.HasPrefix(answer, "[") {
		return excerpt.Value{}, false
	}
	return excerpt.Read(answer)
}

// linesOf returns the lines of a text, of at most lineRunes each.
func linesOf(text string) []string {
	var short []string
	for _, line := range strings.Split(text, "\n") {
		for runes := []rune(line); len(runes) > lineRunes; line = string(runes) {
			short, runes = append(short, string(runes[:lineRunes])), runes[lineRunes:]
		}
		short = append(short, line)
	}
	return short
}

// room returns the most characters of an answer.
func (s *Set) room() int {
	if s.Room == nil {
		return defaultRoom
	}
	return max(leastRoom, s.Room())
}

// Shown returns the part of a body that fits into so many characters, as JSON, and what was left out. A body that is a text
// of JSON is shown as the JSON that it holds.
func Shown(body json.RawMessage, room int) (json.RawMessage, []excerpt.Cut) {
	answer, cuts := Short(readable(body), room)
	return raw(answer), cuts
}

// shorten sets the part of an answer that the model reads.
func (s *Set) shorten(r *read) {
	if !r.answered {
		return
	}
	room, left := s.room(), mostBytes
	for _, o := range s.made[s.earlier:] {
		left -= len(o.source.Answer)
	}
	for room = max(leastRoom, min(room, left)); ; room = room * 3 / 4 { // some characters have several bytes
		r.source.Answer, r.source.Cuts = Short(r.text, room)
		if len(r.source.Answer) <= left || room <= leastRoom {
			break
		}
	}
	more := func(c excerpt.Cut) bool { return c.More }
	if r.source.Cut && !slices.ContainsFunc(r.source.Cuts, more) { // the service's answer was longer than what was read of it
		if len(r.source.Cuts) == 0 {
			n := len(linesOf(r.source.Answer))
			r.source.Cuts = []excerpt.Cut{{Shown: n, Of: n}}
		}
		r.source.Cuts[0].More = true
	}
	r.source.Cut = r.source.Cut || len(r.source.Cuts) > 0
}

// result is the form in which the model reads a read.
type result struct {
	ID     string          `json:"id,omitempty"`
	At     string          `json:"at,omitempty"`
	Status int             `json:"status,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Cut    []excerpt.Cut   `json:"cut,omitempty"`
	Rest   *rest           `json:"read_result,omitempty"`
	Error  string          `json:"error,omitempty"`
	Note   string          `json:"note,omitempty"`
}

// rest are the arguments of read_result for the first part that was left out.
type rest struct {
	ID   string `json:"id"`
	At   string `json:"at,omitempty"`
	From int    `json:"from"`
}

// again answers a read that was made before in this turn or job.
func (r read) again() string {
	return toolcall.Encode(result{ID: r.source.ID, Note: "this was read before as " + r.source.ID + ", with the same answer: look there, and do not ask for it again"})
}

// Text returns a read in the form in which the model reads it: an object of JSON.
func Text(s conversation.Source) string {
	out := result{ID: s.ID, At: s.At.Format(timeForm), Status: s.Status, Answer: raw(s.Answer), Cut: s.Cuts, Error: s.Error}
	for _, c := range s.Cuts {
		if c.Shown < c.Of {
			out.Rest = &rest{s.ID, c.At, c.Shown + 1}
			break
		}
	}
	return toolcall.Encode(out)
}

// Told is a read whose call is not in the prompt, in the form in which the model reads it.
type Told struct {
	Service string          `json:"service"`
	Called  string          `json:"called"`
	At      string          `json:"at"`
	Answer  json.RawMessage `json:"answer"`
	Cut     []excerpt.Cut   `json:"cut,omitempty"`
}

// TellOf returns a read with the call that made it.
func TellOf(s conversation.Source) Told {
	return Told{s.Service, clip.Bytes(s.Called(), calledBytes), s.At.Format(timeForm), raw(s.Answer), s.Cuts}
}

// raw returns an answer as a part of a result: JSON as it is, and another text as a string of JSON.
func raw(answer string) json.RawMessage {
	if answer == "" {
		return nil
	}
	if (strings.HasPrefix(answer, "{") || strings.HasPrefix(answer, "[")) && json.Valid([]byte(answer)) {
		return json.RawMessage(answer)
	}
	return json.RawMessage(toolcall.Encode(answer))
}

// ResultKeys are the arguments of read_result.
var ResultKeys = []string{"id", "at", "from", "lines"}

// Result answers a call of read_result: as many elements, or lines, of an answer that was cut as a result may have.
func (s *Set) Result(arguments json.RawMessage) string {
	var in struct {
		ID    string `json:"id"`
		At    string `json:"at"`
		From  int    `json:"from"`
		Lines int    `json:"lines"`
	}
	if wrong := toolcall.Decode(arguments, &in, ResultKeys, "id", "from"); len(wrong) > 0 {
		return toolcall.Errors(wrong)
	}
	at := slices.IndexFunc(s.made, func(r read) bool { return r.source.ID == in.ID })
	if at < 0 {
		return toolcall.Error("", "there is no result with this id: the rest of what was read for an earlier answer is read anew, with look")
	}
	r := s.made[at]
	if r.kept != nil {
		var err error
		if r.text, err = r.kept(); err != nil {
			return toolcall.Error("", "the answer cannot be read now")
		}
	}
	out := struct {
		ID   string          `json:"id"`
		At   string          `json:"at,omitempty"`
		From int             `json:"from"`
		To   int             `json:"to"`
		Of   int             `json:"of"`
		Part json.RawMessage `json:"part"`
	}{ID: in.ID, At: in.At, From: max(1, in.From)}
	answer, room := shownForm(r.text), s.room()
	if v, isJSON := jsonIn(answer); isJSON {
		if out.At == "" && len(r.source.Cuts) > 0 {
			out.At = r.source.Cuts[0].At
		}
		p, ok := v.Part(out.At, excerpt.Span{From: out.From, Count: max(0, in.Lines), Most: room})
		if !ok && p.Of == 0 {
			return toolcall.Error("at", fmt.Sprintf("%q is no list, map or text of the answer", out.At))
		}
		if !ok {
			return toolcall.Error("from", fmt.Sprintf("there are %d", p.Of))
		}
		out.To, out.Of, out.Part = p.To, p.Of, json.RawMessage(p.JSON)
		return toolcall.Encode(out)
	}
	lines := linesOf(answer)
	if out.From > len(lines) {
		return toolcall.Error("from", fmt.Sprintf("the answer has %d lines", len(lines)))
	}
	out.To, out.Of = out.From, len(lines)
	for size := sent(lines[out.To-1]); out.To < len(lines) && (in.Lines <= 0 || out.To-out.From+1 < in.Lines); out.To++ {
		if size += sent(lines[out.To]) + 2; size > room {
			break
		}
	}
	out.Part = json.RawMessage(toolcall.Encode(strings.Join(lines[out.From-1:out.To], "\n")))
	return toolcall.Encode(out)
}
