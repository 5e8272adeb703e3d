package ask

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// An answer that the provider cut at its token limit is continued once. A text goes on where it stopped. Calls are asked
// again, because the last one may be incomplete and others may be missing; only a file that is written is finished (write.go).

// Bounds of the place where two texts are joined, in bytes.
const (
	seamTail    = 40  // of the first text that the model is asked to repeat
	seamOverlap = 200 // that the second text may repeat in any case
	seamLeast   = 8   // that count as repeated
)

// goOn continues an answer that was cut. When that fails, it returns the answer as it is.
func (q *Query) goOn(ctx context.Context, calls *paid.Calls, cut llm.Reply) (llm.Reply, error) {
	before := q.Messages
	defer func() { q.Messages = before }()
	tail := tailOf(cut.Text)
	ask := locale.ModelText("prompt.cut_text", "tail", tail)
	if len(cut.Calls) > 0 {
		ask = locale.ModelText("prompt.cut_calls")
	}
	q.Messages = slices.Concat(before, []llm.Message{{Role: llm.Assistant, Content: cut.Text, Thought: cut.Thought, Extra: cut.Extra, From: cut.From}, {Role: llm.System, Content: ask}})
	if q.Writing != nil {
		q.seam = &seam{to: q.Writing, before: cut.Text, tail: tail}
		release := q.Writing.hold(cut.Text)
		defer func() { q.seam = nil; release() }()
	}
	more, err := q.askOnce(ctx, calls)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrStopped):
		cut.Text, cut.Cut = join(cut.Text, more.Text, tail), true
		return cut, err
	case err != nil:
		q.Log.WarnContext(ctx, "turn.not_continued", "turn_id", calls.Turn.ID, "error", err)
		return cut, nil
	}
	if q.seam != nil {
		q.seam.flush()
	}
	more.Text, more.Thought = join(cut.Text, more.Text, tail), cut.Thought+more.Thought
	more.From = cmp.Or(more.From, cut.From)
	if more.Extra == nil {
		more.Extra = cut.Extra
	}
	more.Usage = sum(cut.Usage, more.Usage)
	return more, nil
}

func sum(a, b llm.Usage) llm.Usage {
	return llm.Usage{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output, Estimated: a.Estimated || b.Estimated}
}

// tailOf returns the end of a text that the model repeats before it goes on: of its last line, from the beginning of a
// word.
func tailOf(text string) string {
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if len(text) <= seamTail {
		return text
	}
	at := len(text) - seamTail
	for !utf8.RuneStart(text[at]) {
		at++
	}
	if space := strings.IndexByte(text[at:], ' '); space >= 0 && at+space+1 < len(text) {
		at += space + 1
	}
	return text[at:]
}

// join joins a text and its continuation: the tail that the model was asked to repeat, or any other end of the first
// text that the second one repeats, stands in it once.
func join(before, after, tail string) string {
	after = strings.TrimLeft(after, " \n\t«“\"…")
	if before == "" || after == "" {
		return before + after
	}
	if rest, repeated := strings.CutPrefix(after, tail); repeated && tail != "" {
		return before + strings.TrimPrefix(strings.TrimPrefix(rest, "»"), "”")
	}
	for n := min(len(before), len(after), seamOverlap); n >= seamLeast; n-- {
		if before[len(before)-n:] == after[:n] {
			return before + after[n:]
		}
	}
	if first, _ := utf8.DecodeRuneInString(after); unicode.IsPunct(first) {
		return before + after
	}
	return before + " " + after
}

// seam is the sink of a continued text. It holds back the beginning, until it is long enough to be joined.
type seam struct {
	to           *Stream
	before, tail string
	held         string
	passing      bool
}

// Text implements llm.Sink.
func (s *seam) Text(delta string) {
	if s.passing {
		s.to.Text(delta)
		return
	}
	if s.held += delta; len(s.held) > seamOverlap {
		s.flush()
	}
}

// Reset implements llm.Sink.
func (s *seam) Reset() {
	s.held, s.passing = "", false
	s.to.Reset()
}

// flush passes on the held text.
func (s *seam) flush() {
	if !s.passing {
		s.passing = true
		s.to.Text(join(s.before, s.held, s.tail)[len(s.before):])
	}
}

// unheard is the sink of an answer whose text nobody reads.
type unheard struct{}

// Text implements llm.Sink.
func (unheard) Text(string) {}

// Reset implements llm.Sink.
func (unheard) Reset() {}
