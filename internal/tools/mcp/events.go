package mcp

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// events reads a stream of server-sent events as it comes in.
type events struct {
	each  func(name string, data []byte)
	id    string        // of the last event that is whole; "": the stream cannot be resumed
	retry time.Duration // after which the server wants to be asked for the rest
	next  string        // id of the event that is being read

	line, data []byte
	name       string
	some       bool // a data line was seen
	cr         bool // the last byte was one
	begun      bool // the first line was read: a mark of the byte order may stand before it
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
		s.take()
	}
}

// read feeds on a stream until enough is true. It returns what the stream ended with,
// errNoReply when it was whole.
func (s *events) read(body io.Reader, enough func() bool) error {
	s.line, s.data, s.name, s.some, s.cr, s.begun, s.next = nil, nil, "", false, false, false, s.id
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

// end gives out an event that the stream ended in: whether it is whole shows when
// it is read as JSON.
func (s *events) end() {
	if len(s.line) > 0 {
		s.take()
	}
	s.give()
}

func (s *events) take() {
	line := s.line
	s.line = s.line[:0]
	if !s.begun {
		line, s.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
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
		if s.some {
			s.data = append(s.data, '\n')
		}
		s.data, s.some = append(s.data, value...), true
	case "id":
		switch {
		case bytes.IndexByte(value, 0) >= 0: // as the standard has it
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

// dispatch ends an event: whoever resumes the stream has it.
func (s *events) dispatch() {
	s.id = s.next
	s.give()
}

func (s *events) give() {
	if s.some && len(s.data) > 0 {
		s.each(s.name, s.data)
	}
	s.data, s.name, s.some = nil, "", false
}
