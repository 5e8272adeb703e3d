package reads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/redact"
	"piloto/internal/models/llm"
)

// The part of an answer that the model reads.

// Bounds of an answer in the prompt.
const (
	answerTokens = 2000 // of each result
	headLines    = 40   // of an answer that is longer
	tailLines    = 20
	lineBytes    = 500 // of a line of such an answer; the rest is a line of its own
	calledBytes  = 512 // of the address that was read
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

// linesOf returns an answer in lines. One that is too long to be read whole gets one line for each value of JSON, and no
// long lines, because its rest is read by lines.
func linesOf(text string) []string {
	if sent(text) <= answerTokens {
		return strings.Split(text, "\n")
	}
	var indented bytes.Buffer
	if json.Indent(&indented, []byte(text), "", " ") == nil {
		text = indented.String()
	}
	return Break(strings.Split(text, "\n"))
}

// Break returns lines of at most lineBytes. A long one ends after a comma or a space, when there is one.
func Break(lines []string) []string {
	var short []string
	for _, line := range lines {
		for len(line) > lineBytes {
			at := clip.Boundary(line, lineBytes)
			if sign := strings.LastIndexAny(line[lineBytes/2:at], ",; "); sign >= 0 {
				at = lineBytes/2 + sign + 1
			}
			short, line = append(short, line[:at]), line[at:]
		}
		short = append(short, line)
	}
	return short
}

// shorten sets the part of an answer that the model reads.
func (r *read) shorten(tag locale.Tag) {
	if r.lines == nil {
		return
	}
	room := answerTokens - llm.EstimateText(Text(r.source))
	text, cut := excerpt(r.lines, room, func(lines int) string { return omitted(tag, lines, r.source.ID) })
	r.source.Answer, r.source.Cut = text, r.source.Cut || cut
}

// omitted is the line that stands for so many lines of a read.
func omitted(tag locale.Tag, lines int, id string) string {
	return locale.Text(tag, "prompt.omitted", "count", strconv.Itoa(lines), "id", id)
}

// excerpt returns the part of an answer that the model reads, at most so many tokens as it is sent, and whether it is not all of it.
func excerpt(lines []string, tokens int, omitted func(lines int) string) (text string, cut bool) {
	if text = strings.Join(lines, "\n"); sent(text) <= tokens {
		return text, false
	}
	head, tail := max(1, min(headLines, len(lines)*2/3)), min(tailLines, len(lines)/3)
	for {
		text = strings.Join(slices.Concat(lines[:head], []string{omitted(len(lines) - head - tail)}, lines[len(lines)-tail:]), "\n")
		if head == 1 && tail == 0 || sent(text) <= tokens {
			return text, true
		}
		head, tail = max(1, head*3/4), tail*3/4
	}
}

// sent returns the tokens of a text as a part of a result, where it is a string of JSON.
func sent(text string) int { return llm.EstimateText(toolcall.Encode(text)) }

// result is the form in which the model reads a read.
type result struct {
	ID      string `json:"id,omitempty"`
	Service string `json:"service"`
	Called  string `json:"called"`
	At      string `json:"at"`
	Status  int    `json:"status,omitempty"`
	Answer  string `json:"answer,omitempty"`
	Cut     bool   `json:"cut,omitempty"`
	Error   string `json:"error,omitempty"`
	Note    string `json:"note,omitempty"`
}

func (r read) again() string {
	return textWith(r.source, "this was read before in this turn: here is the same answer; do not ask for it again")
}

// Text returns a read in the form in which the model reads it: an object of JSON.
func Text(s conversation.Source) string { return textWith(s, "") }

func textWith(s conversation.Source, note string) string {
	return toolcall.Encode(result{
		ID: s.ID, Service: s.Service, Called: clip.Bytes(s.Called(), calledBytes), At: s.At.Format("2006-01-02 15:04:05Z"), Status: s.Status, Answer: s.Answer, Cut: s.Cut, Error: s.Error, Note: note,
	})
}

// ResultKeys are the arguments of read_result.
var ResultKeys = []string{"id", "from", "lines"}

// Result answers a call of read_result: as many lines of an answer that was cut as a result may have.
func (s *Set) Result(raw json.RawMessage) string {
	var in struct {
		ID    string `json:"id"`
		From  int    `json:"from"`
		Lines int    `json:"lines"`
	}
	if wrong := toolcall.Decode(raw, &in, ResultKeys, "id", "from"); len(wrong) > 0 {
		return toolcall.Errors(wrong)
	}
	at := slices.IndexFunc(s.made, func(r read) bool { return r.source.ID == in.ID })
	if at < 0 {
		return toolcall.Error("", "there is no result with this id: the rest of what was read for an earlier answer is read anew, with look")
	}
	r := s.made[at]
	if r.kept != nil {
		var err error
		if r.lines, err = r.kept(); err != nil {
			return toolcall.Error("", "the answer cannot be read now")
		}
	}
	from := max(1, in.From)
	if from > len(r.lines) {
		return toolcall.Error("from", fmt.Sprintf("the answer has %d lines", len(r.lines)))
	}
	rest := r.lines[from-1:]
	if in.Lines > 0 {
		rest = rest[:min(in.Lines, len(rest))]
	}
	out := struct {
		ID   string `json:"id"`
		From int    `json:"from"`
		To   int    `json:"to"`
		Of   int    `json:"of"`
		Text string `json:"text"`
	}{in.ID, from, from, len(r.lines), rest[0]}
	for n := 2; n <= len(rest); n++ {
		more := out
		more.To, more.Text = from+n-1, strings.Join(rest[:n], "\n")
		if llm.EstimateText(toolcall.Encode(more)) > answerTokens {
			break
		}
		out = more
	}
	return toolcall.Encode(out)
}
