package openai

import (
	"encoding/json"
	"regexp"
	"sync"
	"unicode/utf8"
)

// carry keeps characters whole across the deltas of a stream: servers that stream token by token cut through the
// bytes of a character, or through a pair of \u escapes. The incomplete end of a delta is carried to the next one.
// The key is the index of the tool call, or one of the constants below.
type carry map[int][]byte

const (
	ofText             = -1
	ofCalls            = -2 // calls without an index
	ofReasoningContent = -3
	ofReasoning        = -4
)

// complete moves the incomplete character at the end of each text of a delta to the next delta.
func (s carry) complete(c *content) {
	c.Text = s.join(ofText, c.Text)
	c.ReasoningContent, c.Reasoning = s.join(ofReasoningContent, c.ReasoningContent), s.join(ofReasoning, c.Reasoning)
	for i := range c.Calls {
		key := ofCalls
		if at := c.Calls[i].Index; at != nil && *at >= 0 {
			key = *at
		}
		c.Calls[i].Function.Arguments = s.join(key, c.Calls[i].Function.Arguments)
	}
}

// join returns a JSON string with the carried bytes before it and without the incomplete character at its end. It
// works on the encoded JSON, because decoding would lose the incomplete character.
func (s carry) join(key int, raw json.RawMessage) json.RawMessage {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	inner := raw[1 : len(raw)-1]
	if left := s[key]; len(left) > 0 {
		inner = append(append([]byte(nil), left...), inner...)
	}
	end := wholeLen(inner)
	if end == len(inner) {
		delete(s, key)
	} else {
		s[key] = append([]byte(nil), inner[end:]...)
	}
	out := make(json.RawMessage, 0, end+2)
	out = append(out, '"')
	out = append(out, inner[:end]...)
	return append(out, '"')
}

var halfPair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}$`)
})

// wholeLen returns the length of the prefix of a JSON string's content that has only whole characters.
func wholeLen(inner []byte) int {
	n := len(inner)
	for i := n - 1; i >= 0 && i >= n-3; i-- {
		if utf8.RuneStart(inner[i]) {
			if !utf8.FullRune(inner[i:]) {
				return i
			}
			break
		}
	}
	if n < 6 || !halfPair().Match(inner[n-6:]) {
		return n
	}
	escapes := 0
	for i := n - 7; i >= 0 && inner[i] == '\\'; i-- {
		escapes++
	}
	if escapes%2 == 1 {
		return n // the backslash is escaped itself, so this is text
	}
	return n - 6
}
