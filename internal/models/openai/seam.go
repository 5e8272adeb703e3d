package openai

import (
	"encoding/json"
	"regexp"
	"sync"
	"unicode/utf8"
)

// seams keeps characters whole: servers that stream token by token cut through
// the bytes of one, or through a pair of \u escapes. What stands of a character
// at the end of a delta waits for the next one. The key is the tool call's index,
// or one of these.
type seams map[int][]byte

const (
	ofText  = -1
	ofCalls = -2 // those without an index
)

// close moves what is cut from each text of a delta to the next.
func (s seams) close(c *content) {
	c.Text = s.join(ofText, c.Text)
	for i := range c.Calls {
		key := ofCalls
		if at := c.Calls[i].Index; at != nil && *at >= 0 {
			key = *at
		}
		c.Calls[i].Function.Arguments = s.join(key, c.Calls[i].Function.Arguments)
	}
}

// join returns a JSON string with what was left before it and without what is cut
// at its end. It works on the text of the JSON: decoded, what is cut would be
// lost already.
func (s seams) join(key int, raw json.RawMessage) json.RawMessage {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	inner := raw[1 : len(raw)-1]
	if left := s[key]; len(left) > 0 {
		inner = append(append([]byte(nil), left...), inner...)
	}
	end := whole(inner)
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

// whole returns how many bytes of the inside of a JSON string are whole
// characters.
func whole(inner []byte) int {
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
		return n // the backslash is itself escaped: it is text
	}
	return n - 6
}
