package toolcall

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/jcs"
)

// Begun is an object of texts whose JSON may end early.
type Begun struct {
	Members map[string]string // that are whole, without those that are null
	Open    string            // name of the member that is not; "": none
	Text    string            // what it has so far: whole characters
}

// blanks is the white space of JSON, and the comma between two members.
const blanks = " \t\r\n,"

// Begin reads the arguments of a call that was cut, or is whole. It reports false for what is no beginning of such an object.
func Begin(raw string) (b Begun, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(raw, blanks), "{")
	b.Members = map[string]string{}
	for ok {
		rest = strings.TrimLeft(rest, blanks)
		if rest == "" || rest[0] == '}' {
			return b, strings.Trim(rest, blanks+"}") == ""
		}
		name, after, whole, legible := beginText(rest)
		if rest = strings.TrimLeft(after, blanks); !whole || rest == "" {
			return b, legible
		}
		rest, ok = strings.CutPrefix(rest, ":")
		if rest = strings.TrimLeft(rest, blanks); !ok || strings.HasPrefix("null", rest) {
			return b, ok
		}
		if after, null := strings.CutPrefix(rest, "null"); null {
			rest = after
			continue
		}
		text, after, whole, legible := beginText(rest)
		if _, twice := b.Members[name]; twice || !legible {
			return b, false
		}
		if !whole {
			b.Open, b.Text = name, text
			return b, true
		}
		b.Members[name], rest = text, after
	}
	return b, false
}

// beginText reads a JSON string at the beginning of a text, which may end in it. after is what follows the string. An escape or a
// character that is not whole is left out.
func beginText(raw string) (text, after string, whole, legible bool) {
	body, isText := strings.CutPrefix(raw, `"`)
	if !isText {
		return "", "", false, false
	}
	at := 0
	for at < len(body) && body[at] != '"' {
		n := escapeSize(body[at:])
		if n == 0 { // it is cut
			body = body[:at]
			break
		}
		at += n
	}
	if whole = at < len(body); whole {
		body, after = body[:at], body[at+1:]
	} else {
		body = wholeRunes(body)
	}
	quoted := []byte(`"` + body + `"`)
	legible = utf8.ValidString(body) && !jcs.HalfPair(quoted) && json.Unmarshal(quoted, &text) == nil
	return text, after, whole, legible
}

// escapeSize returns the size of the character or escape at the beginning of a part of a JSON string, with both halves of a pair;
// 0 when it is cut.
func escapeSize(body string) int {
	const unit = len(`\u0000`)
	switch {
	case body[0] != '\\':
		return 1
	case len(body) == 1:
		return 0
	case body[1] != 'u':
		return 2
	case len(body) < unit:
		return 0
	}
	isHigh := strings.ContainsAny(body[2:3], "dD") && strings.ContainsAny(body[3:4], "89abAB")
	switch rest := body[unit:]; {
	case !isHigh, rest != "" && rest[0] != '\\', len(rest) > 1 && rest[1] != 'u':
		return unit
	case len(rest) < unit:
		return 0
	}
	return 2 * unit
}

// wholeRunes returns a text without the rest of a character at its end, or what a decoder made of one.
func wholeRunes(text string) string {
	for range utf8.UTFMax {
		r, n := utf8.DecodeLastRuneInString(text)
		if r != utf8.RuneError || n == 0 {
			break
		}
		text = text[:len(text)-n]
	}
	return text
}
