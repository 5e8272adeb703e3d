package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// mostLines is the largest number of data lines in one event.
	mostLines = 64
	// linger is how long a stream may stay open after its finish reason, because the usage may follow. Some servers
	// never close it.
	linger = 2 * time.Second
	// longest limits a stream when neither its context nor the client does.
	longest = 15 * time.Minute
)

// stream reads a streamed answer until the server ends it, or until linger has passed after the finish reason. An
// error after the finish reason is ignored.
func stream(in *events, b *replyBuilder) error {
	leave := func() { _ = in.body.Close() }
	defer leave()
	over := time.AfterFunc(longest, leave)
	defer over.Stop()
	for {
		chunk, err := in.next()
		switch {
		case err != nil && b.finish != "":
			return nil
		case errors.Is(err, io.EOF) && in.done && b.isWhole():
			b.finish = "stop"
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		finished := b.finish != ""
		if err := b.add(chunk); err != nil {
			return err
		}
		if b.finish != "" && !finished {
			over.Reset(linger)
		}
	}
}

// events reads a stream of server-sent events. It returns the chunks, each complete and normalized, and drops comments,
// names, ids and blank lines. An error event, or too much data, ends the stream.
type events struct {
	body  io.Closer
	limit *io.LimitedReader
	in    *bufio.Reader
	key   string
	carry carry

	began bool
	done  bool   // the server said that the stream is whole
	name  string // name of the current event
	data  []byte
	lines int
	out   []answer // chunks that were read and not returned
	err   error
}

func newEvents(body io.ReadCloser, key string) *events {
	limit := &io.LimitedReader{R: body, N: maxAnswer + 1}
	return &events{body: body, limit: limit, in: bufio.NewReader(limit), key: key, carry: carry{}}
}

// next returns the next chunk. At the end of the stream its error is io.EOF.
func (e *events) next() (answer, error) {
	for len(e.out) == 0 && e.err == nil {
		if !e.began {
			e.began = true
			e.err = e.begin()
			continue
		}
		e.err = e.line()
	}
	if len(e.out) > 0 {
		a := e.out[0]
		e.out = e.out[1:]
		return a, nil
	}
	return answer{}, e.err
}

// begin skips the bytes before the first event. A server that does not stream sends one JSON value, which is read
// as a stream of one chunk.
func (e *events) begin() error {
	if mark, err := e.in.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = e.in.Discard(3)
	}
	for {
		first, err := e.in.Peek(1)
		switch {
		case err != nil:
			return err
		case first[0] == '{' || first[0] == '[':
			return e.whole()
		case first[0] != ' ' && first[0] != '\t' && first[0] != '\r' && first[0] != '\n':
			return nil
		}
		_, _ = e.in.Discard(1)
	}
}

func (e *events) whole() error {
	body, err := io.ReadAll(e.in)
	if err != nil {
		return err
	}
	if e.limit.N <= 0 {
		return errTooLong
	}
	a, err := normalize(body, e.key)
	if err != nil {
		return err
	}
	a.finish()
	for i := range a.Choices {
		if c := &a.Choices[i]; c.Message != nil {
			c.Delta, c.Message = c.Message, nil
		}
	}
	e.out = append(e.out, a)
	return io.EOF
}

// line reads one line.
func (e *events) line() error {
	line, err := e.in.ReadBytes('\n')
	if err != nil && e.limit.N <= 0 {
		return errTooLong
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	ended := err != nil
	field, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		if err := e.more(value); err != nil {
			return err
		}
	case "":
		if len(line) > 0 && line[0] != ':' { // a blank line ends an event
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	if !ended {
		return nil
	}
	if err := e.flush(); err != nil {
		return err
	}
	return io.EOF
}

// more adds one data line. An event ends as soon as its data is a JSON value, because some servers omit the blank
// line.
func (e *events) more(value []byte) error {
	if e.lines++; e.lines > mostLines {
		return fmt.Errorf("an event of more than %d lines", mostLines)
	}
	if len(e.data) > 0 {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, value...)
	data := bytes.TrimSpace(e.data)
	if string(data) == "[DONE]" || json.Valid(data) {
		return e.dispatch(data)
	}
	return nil
}

// flush ends an event. An event whose data is not JSON was cut.
func (e *events) flush() error {
	if len(bytes.TrimSpace(e.data)) > 0 {
		return fmt.Errorf("an event that is not JSON: %w", io.ErrUnexpectedEOF)
	}
	e.name, e.data, e.lines = "", nil, 0
	return nil
}

// dispatch handles one event.
func (e *events) dispatch(data []byte) error {
	name := e.name
	e.name, e.data, e.lines = "", nil, 0
	switch {
	case string(data) == "[DONE]":
		e.done = true
		return io.EOF
	case name == "error":
		return embeddedError(data, e.key)
	}
	a, err := normalize(data, e.key)
	if err != nil {
		return err
	}
	for i := range a.Choices {
		if b := a.Choices[i].Delta; b != nil && a.Choices[i].Index == 0 {
			e.carry.complete(b)
		}
	}
	e.out = append(e.out, a)
	return nil
}
