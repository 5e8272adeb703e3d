package httpapi

import "strings"

// fenced returns a text of Markdown with the end of the code block that it leaves open, so that what follows it, as the
// notes of the message, is no code.
func fenced(text string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		body := strings.TrimLeft(line, " ")
		mark := fence(body)
		switch rest := strings.TrimSpace(body[len(mark):]); {
		case len(line)-len(body) > 3 || mark == "":
		case open == "" && (mark[0] == '~' || !strings.Contains(rest, "`")):
			open = mark
		case open != "" && rest == "" && strings.HasPrefix(mark, open):
			open = ""
		}
	}
	if open == "" {
		return text
	}
	return text + "\n" + open
}

// fence returns the three or more backticks or tildes with which a line begins.
func fence(line string) string {
	for _, mark := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}
