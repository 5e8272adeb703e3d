package openai

import (
	"strings"
	"unicode"

	"piloto/internal/ground/thought"
	"piloto/internal/models/llm"
)

// end ends the text.
func (s *replyBuilder) end() {
	s.reader.End()
	if s.waits && s.opens && s.finish == outOfTokens && len(s.calls) == 0 { // the thought was cut
		s.thought.unseen(s.waiting.String())
		s.waiting.Reset()
	}
	s.waitNoMore()
	if s.json.Len() == 0 {
		return
	}
	text := s.json.String()
	s.json.Reset()
	s.plain = true
	if calls, ok := offered(listed(strings.TrimSpace(text)), s.tools); ok && len(calls) <= mostCalls {
		s.takeCalls(calls)
	} else {
		s.addText(text)
	}
}

// addBlock takes the calls of a block out of the text.
func (s *replyBuilder) addBlock(b thought.Block, inner string) bool {
	calls, ok := callsIn(b, inner, s.tools)
	if b.To != "" {
		calls, ok = calledBy(b.To, inner, s.tools)
	}
	if ok = ok && len(s.calls)+len(calls) <= mostCalls; ok {
		s.takeCalls(calls)
	}
	return ok
}

func (s *replyBuilder) takeCalls(calls []llm.Call) {
	for _, c := range calls {
		one := &partialCall{name: c.Name, inText: true}
		one.addArguments(c.Arguments)
		s.calls = append(s.calls, one)
	}
}

// drop takes back all of the text so far.
func (s *replyBuilder) drop() {
	s.thought.unseen(s.text.String() + s.json.String() + s.waiting.String())
	s.json.Reset()
	s.waiting.Reset()
	s.waits, s.opened = false, true
	s.plain, s.pending = false, nil
	if s.text.Len() > 0 && s.sink != nil {
		s.sink.Reset()
	}
	s.text.Reset()
}

// isPlain reports whether a whole answer shows that the model's template opens no thought: it has a text, and a lone closing
// tag is not in it. One in a Format says nothing, because the server may force its form.
func (s *replyBuilder) isPlain(r llm.Request) bool {
	whole := s.finish != outOfTokens && s.finish != contentFilter
	return r.Format == nil && whole && s.text.Len() > 0 && len(s.calls) == 0 && !s.opened
}

// addThought adds a part of a thought in the text, whose opening tag was there.
func (s *replyBuilder) addThought(part string) {
	s.waitNoMore()
	s.thought.unseen(part)
}

// waitNoMore adds the text that waited, because it is no thought.
func (s *replyBuilder) waitNoMore() {
	if text := s.waiting.String(); s.waits {
		s.waits = false
		s.waiting.Reset()
		s.addVisible(text)
	}
}

// addVisible adds a text without thoughts and calls. One that begins as JSON does waits for its end, because it may be a call.
func (s *replyBuilder) addVisible(delta string) {
	if s.waits {
		s.waiting.WriteString(delta)
		return
	}
	if s.plain || len(s.tools) == 0 {
		s.addText(delta)
		return
	}
	s.json.WriteString(delta)
	text := s.json.String()
	switch begin := strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "").Replace(text[:min(len(text), 64)]); {
	case begin == "", begin == "[", strings.HasPrefix(begin, "{"), strings.HasPrefix(begin, "[{"):
	default:
		s.json.Reset()
		s.plain = true
		s.addText(text)
	}
}

func (s *replyBuilder) addText(delta string) {
	if s.text.Len() == 0 {
		delta = strings.TrimLeftFunc(delta, unicode.IsSpace)
	}
	visible := strings.TrimRightFunc(delta, unicode.IsSpace)
	if visible != "" {
		now := string(s.pending) + visible
		s.pending = s.pending[:0]
		s.text.WriteString(now)
		if s.sink != nil {
			s.sink.Text(now)
		}
	}
	s.pending = append(s.pending, delta[len(visible):]...)
}
