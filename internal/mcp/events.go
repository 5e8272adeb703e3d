package mcp

import (
	"bytes"
	"strings"
)

// events reads a stream of server-sent events as it comes in. Ids and retry times
// are dropped: nothing is ever resumed.
type events struct {
	each func(name string, data []byte)

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

// end gives out an event that the stream ended in: whether it is whole shows when
// it is read as JSON.
func (s *events) end() {
	if len(s.line) > 0 {
		s.take()
	}
	s.dispatch()
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
	}
}

func (s *events) dispatch() {
	if s.some && len(s.data) > 0 {
		s.each(s.name, s.data)
	}
	s.data, s.name, s.some = nil, "", false
}
