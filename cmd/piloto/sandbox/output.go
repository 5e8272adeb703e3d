package sandbox

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace/mask"
)

// The kept parts of an output: its first and its last lines, and of each line its first bytes. More is read of a line, because half
// of a secret is not recognised.
const (
	headLines = 100
	tailLines = 100
	maxLine   = 1000 // with the ellipsis of a longer one
	readLine  = 8 << 10
)

// output keeps the first and the last lines of a stream, at most 2 MB of any stream. It is not safe for concurrent use.
type output struct {
	head, tail []string // tail is a ring: its oldest line is at count % tailLines once it is full
	count      int      // lines that are not in head
	line       []byte   // the line that is being written
	returned   bool     // the last byte was a carriage return
	key        int      // lines of a private key that has not ended, 0 outside of one
	keys       int      // private keys that have a mask
}

// Write takes the next bytes. It never fails.
func (o *output) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := bytes.IndexAny(rest, "\r\n")
		if n != 0 {
			piece := rest
			if n > 0 {
				piece = rest[:n]
			}
			rest = rest[len(piece):]
			o.add(piece)
			continue
		}
		if rest[0] == '\n' {
			o.endLine()
		} else {
			o.returned = true
		}
		rest = rest[1:]
	}
	return len(p), nil
}

// add appends bytes to the line. After a carriage return the line begins anew, as on a terminal.
func (o *output) add(piece []byte) {
	if o.returned {
		o.line, o.returned = o.line[:0], false
	}
	o.line = append(o.line, piece[:min(len(piece), readLine-len(o.line))]...)
}

func (o *output) endLine() {
	line := clean(string(o.line))
	defer func() { o.line, o.returned = o.line[:0], false }()
	if line = o.withoutKey(line); line == "" && o.key > 1 {
		return
	}
	switch {
	case len(o.head) < headLines:
		o.head = append(o.head, line)
	case len(o.tail) < tailLines:
		o.tail, o.count = append(o.tail, line), o.count+1
	default:
		o.tail[o.count%tailLines] = line
		o.count++
	}
}

// mostKey is the most lines of a private key. A text of more is none.
const mostKey = 200

// keyLine finds the first and the last line of a private key.
var keyLine = regexp.MustCompile(`----[- ](BEGIN|END) [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[- ]----`)

// withoutKey removes the line of a private key: it returns a mask for the first line of the key, and "" for the next ones.
// The lines are dropped before an output is shortened, because half of a key is not recognised.
func (o *output) withoutKey(line string) string {
	at := keyLine.FindAllStringSubmatch(line, -1)
	ends := len(at) > 0 && at[len(at)-1][1] == "END"
	switch {
	case o.key == 0 && (len(at) == 0 || ends):
		return line // no key, or all of it on one line
	case o.key == 0:
		o.key, o.keys = 1, o.keys+1
		return mask.Mark
	case ends || o.key > mostKey:
		o.key = 0
		return ""
	}
	o.key++
	return ""
}

// text ends the last line, and returns the lines that are kept, with a sentence where lines are missing.
func (o *output) text(tag locale.Tag) string {
	if len(o.line) > 0 {
		o.endLine()
	}
	lines := append([]string(nil), o.head...)
	if missing := o.count - len(o.tail); missing > 0 {
		lines = append(lines, locale.Text(tag, "sandbox.left_out", "count", strconv.Itoa(missing)))
	}
	for i := range o.tail {
		lines = append(lines, o.tail[(o.count+i)%len(o.tail)])
	}
	return strings.Join(lines, "\n")
}

// shortened returns a text with the first bytes of each of its lines.
func shortened(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = clip.Bytes(line, maxLine)
	}
	return strings.Join(lines, "\n")
}

// escapes are the sequences by which a program colours its text or moves the cursor.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// clean returns a line as valid UTF-8 without escapes and control characters, because they could act on a terminal.
func clean(line string) string {
	line = escapes.ReplaceAllString(strings.ToValidUTF8(line, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, line)
}
