package mcp

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// events parses a stream of server-sent events while it arrives.
type events struct {
	each  func(name string, data []byte)
	id    string        // of the last complete event; "": the stream cannot be resumed
	retry time.Duration // the pause that the server wants before the stream is resumed
	next  string        // id of the incomplete event

	line, data []byte
	name       string
	hasData    bool // the event has a data line
	cr         bool // the last byte was a carriage return
	started    bool // the first line was read; a byte order mark may stand before it
}

func (s *events) feed(p []byte) {
	for len(p) > 0 {
		if s.cr && p[0] == '\n' {
			s.cr, p = false, p[1:]
			continue
		}
		s.cr = false
		at := bytes.IndexAny(p, "\r\n")
		if at < 0 {
			s.line = append(s.line, p...)
			return
		}
		s.line = append(s.line, p[:at]...)
		s.cr = p[at] == '\r'
		p = p[at+1:]
		s.endLine()
	}
}

// read parses a stream until enough returns true. Else it returns the error that ended the stream, or errNoReply
// when the stream ended without one.
func (s *events) read(body io.Reader, enough func() bool) error {
	s.line, s.data, s.name, s.hasData, s.cr, s.started, s.next = nil, nil, "", false, false, false, s.id
	chunk := make([]byte, 16<<10)
	for {
		n, err := body.Read(chunk)
		s.feed(chunk[:n])
		if err != nil {
			s.end()
		}
		switch {
		case enough():
			return nil
		case errors.Is(err, io.EOF):
			return errNoReply
		case err != nil:
			return err
		}
	}
}

// end emits the incomplete event at the end of the stream. The JSON parser finds out whether it is whole.
func (s *events) end() {
	if len(s.line) > 0 {
		s.endLine()
	}
	s.emit()
}

func (s *events) endLine() {
	line := s.line
	s.line = s.line[:0]
	if !s.started {
		line, s.started = bytes.TrimPrefix(line, []byte("\ufeff")), true
	}
	if len(line) == 0 {
		s.dispatch()
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		s.name = strings.Clone(string(value))
	case "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.data, s.hasData = append(s.data, value...), true
	case "id":
		switch {
		case bytes.IndexByte(value, 0) >= 0: // the standard ignores an id with NUL
		case len(value) > maxEventID:
			s.next = ""
		default:
			s.next = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			s.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// dispatch ends an event: a resumed stream continues after it.
func (s *events) dispatch() {
	s.id = s.next
	s.emit()
}

func (s *events) emit() {
	if s.hasData && len(s.data) > 0 {
		s.each(s.name, s.data)
	}
	s.data, s.name, s.hasData = nil, "", false
}
