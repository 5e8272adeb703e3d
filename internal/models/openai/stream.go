package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	sdk "github.com/sashabaranov/go-openai"
)

const (
	// mostLines bounds the data lines of one event.
	mostLines = 64
	// linger is how long a stream may stay open, for its usage, after it said why
	// it finished: some servers never close it.
	linger = 2 * time.Second
	// longest bounds a stream when neither its context nor the client does.
	longest = 15 * time.Minute
)

// stream reads an answer that comes in chunks until the server ends it, or until
// it has been finished for a while. A failure after the finish is none.
func stream(ctx context.Context, api *sdk.Client, body sdk.ChatCompletionRequest, said *speech) error {
	in, err := api.CreateChatCompletionStream(ctx, body)
	if err != nil {
		return err
	}
	leave := func() { _ = in.Close() }
	defer leave()
	over := time.AfterFunc(longest, leave)
	defer over.Stop()
	for {
		chunk, err := in.Recv()
		switch {
		case err != nil && said.finish != "":
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		finished := said.finish != ""
		if err := said.hear(chunk); err != nil {
			return err
		}
		if said.finish != "" && !finished {
			over.Reset(linger)
		}
	}
}

// hear takes in one chunk.
func (s *speech) hear(chunk sdk.ChatCompletionStreamResponse) error {
	if chunk.Model != "" {
		s.model = chunk.Model
	}
	s.counted(chunk.Usage)
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		s.say(choice.Delta.Content + choice.Delta.Refusal)
		for _, call := range choice.Delta.ToolCalls {
			if err := s.call(call); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			s.finish = choice.FinishReason
		}
	}
	return nil
}

// events reads a stream of server-sent events and gives the SDK the chunks alone,
// each whole, mended and on a line of its own. Comments, names, ids and blank
// lines are left out; an error in it, or one event too many, ends it.
type events struct {
	body  io.Closer
	limit *io.LimitedReader
	in    *bufio.Reader
	key   string
	seams seams

	began bool
	name  string // of the event that is being read
	data  []byte
	lines int
	out   bytes.Buffer
	err   error
}

func newEvents(body io.ReadCloser, key string) *events {
	limit := &io.LimitedReader{R: body, N: maxAnswer + 1}
	return &events{body: body, limit: limit, in: bufio.NewReader(limit), key: key, seams: seams{}}
}

// Close implements io.Closer; it may be called while Read waits.
func (e *events) Close() error { return e.body.Close() }

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 && e.err == nil {
		if !e.began {
			e.began = true
			e.err = e.begin()
			continue
		}
		e.err = e.line()
	}
	if e.out.Len() > 0 {
		return e.out.Read(p)
	}
	return 0, e.err
}

// begin skips what may stand before the first event. A server that does not
// stream answers with one JSON value: that is read as a stream of one chunk.
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
	a, err := mend(body, e.key)
	if err != nil {
		return err
	}
	a.finish()
	for i := range a.Choices {
		if c := &a.Choices[i]; c.Message != nil {
			c.Delta, c.Message = c.Message, nil
		}
	}
	if err := e.write(a); err != nil {
		return err
	}
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

// more takes one data line. Since some servers leave the blank line out, an event
// is over as soon as its data is a JSON value.
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

// flush ends an event; one whose data is no JSON value was cut.
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
		e.out.WriteString("data: [DONE]\n\n")
		return io.EOF
	case name == "error":
		return inside(data, e.key)
	}
	a, err := mend(data, e.key)
	if err != nil {
		return err
	}
	for i := range a.Choices {
		if said := a.Choices[i].Delta; said != nil && a.Choices[i].Index == 0 {
			e.seams.close(said)
		}
	}
	return e.write(a)
}

func (e *events) write(a answer) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	e.out.WriteString("data: ")
	e.out.Write(line)
	e.out.WriteString("\n\n")
	return nil
}
