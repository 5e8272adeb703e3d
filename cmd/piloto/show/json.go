package show

import (
	"bytes"
	"encoding/json"
	"strings"

	"piloto/internal/ground/visible"
)

// JSON returns a value as it will be sent, indented: digits, the order of members and members that stand twice are
// kept, and every character is visible. Text that is no JSON is returned as a value.
func JSON(raw json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, raw, "", "  ") != nil {
		return visible.Line(string(raw))
	}
	var out strings.Builder
	for rest := indented.String(); rest != ""; {
		i := strings.IndexByte(rest, '"')
		if i < 0 {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:i])
		n := literalLen(rest[i:])
		out.WriteString(literal(rest[i : i+n]))
		rest = rest[i+n:]
	}
	return out.String()
}

// literalLen returns the length of the string literal with which a text begins, with its quotes.
func literalLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// literal returns a string literal with its characters visible. Its quotes and backslashes stay escaped, so that its
// end is where the closing quote is.
func literal(s string) string {
	var text string
	if json.Unmarshal([]byte(s), &text) != nil {
		return visible.Line(s)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(visible.Line(text)) + `"`
}
