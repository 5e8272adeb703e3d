package visible

import (
	"fmt"
	"regexp"
	"strings"
)

// plainWord is a word in which no character has a meaning for a shell.
var plainWord = regexp.MustCompile(`^[\p{L}\p{N}_@%+:,./-][\p{L}\p{N}_@%+:,./=-]*$`)

// Word returns a text as one word of a line for bash or zsh, which read it as it is. Characters that Line makes visible are
// written as the codes of their bytes, so that the line shows its meaning.
func Word(text string) string {
	switch seen := Line(text) == text; {
	case seen && plainWord.MatchString(text):
		return text
	case seen:
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c >= ' ' && c < 0x7f && c != '\'' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return "$'" + b.String() + "'"
}
