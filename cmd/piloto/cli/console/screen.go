package console

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"piloto/cmd/piloto/show"
	"piloto/internal/ground/visible"
)

// Screen is stdout or stderr. Everything that a command writes goes through one, so that no text of a deployment, a model, a service or
// a file reaches a terminal otherwise than visible. It remembers that something could not be written.
type Screen struct {
	To    io.Writer
	Plain bool // a program or a file reads it: bytes are passed as they are

	Unread func() // called when the reader of the stream is gone; nil: nothing is called

	mu   sync.Mutex // a log writes beside the command
	rest []byte     // the beginning of a character that was not written to its end
	Err  error
}

// Write writes a text of which every character is made visible.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Plain {
		return len(p), s.put(string(p))
	}
	text := slices.Concat(s.rest, p)
	n := len(bytes.TrimSuffix(text[:wholeCharacters(text)], []byte("\r"))) // it may be that of a line break
	s.rest = append([]byte(nil), text[n:]...)
	return len(p), s.put(visible.Screen(string(text[:n])))
}

// styled writes a text with colours. It is only for the text of a show.Writer, which makes each value visible itself: of
// all sequences the colours alone are passed.
func (s *Screen) styled(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Plain {
		return s.put(text)
	}
	var b strings.Builder
	at := 0
	for _, place := range colours.FindAllStringIndex(text, -1) {
		b.WriteString(visible.Screen(text[at:place[0]]) + text[place[0]:place[1]])
		at = place[1]
	}
	return s.put(b.String() + visible.Screen(text[at:]))
}

// colours are the sequences that show.Writer writes.
var colours = regexp.MustCompile(`\x1b\[(0|1|2|31|32|33)m`)

// End writes the beginning of a character whose end never came.
func (s *Screen) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.put(visible.Screen(string(s.rest)))
	s.rest = nil
}

func (s *Screen) put(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(s.To, text)
	if err != nil {
		s.Err = err
	}
	if s.Unread != nil && errors.Is(err, syscall.EPIPE) {
		s.Unread()
	}
	return err
}

// Unscreened returns the terminal itself, for a program that a person uses there.
func Unscreened(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok {
		return s.To
	}
	return w
}

// wholeCharacters returns the length of a text without the beginning of a character at its end.
func wholeCharacters(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if utf8.FullRune(text[at:]) {
				break
			}
			return at
		}
	}
	return len(text)
}

// Show writes the text of a show.Writer to stdout or stderr.
func (con *Console) Show(to io.Writer, w *show.Writer) error {
	if s, ok := to.(*Screen); ok {
		return s.styled(w.String())
	}
	_, err := io.WriteString(to, w.String())
	return err
}
