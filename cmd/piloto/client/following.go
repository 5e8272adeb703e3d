package client

import (
	"context"
	"fmt"
	"io"
	"time"
)

// silence is how long a request that follows something waits for a byte of an answer.
const silence = 15 * time.Second

// errSilent is the cause of a request that was given up, because nothing came.
var errSilent = fmt.Errorf("nothing came for %s: %w", silence, context.DeadlineExceeded)

// Following returns a client of the same deployment for requests that their caller makes again: each is sent once, and ends after 15
// seconds without a byte, because a connection may be dead without a word. The next one has another connection.
func (c *Client) Following() *Client {
	f := *c
	f.silence = silence
	return &f
}

// limit returns a context that ends when nothing of an answer was heard for as long as the client waits. heard returns a reader whose
// bytes are heard.
func (c *Client) limit(ctx context.Context) (heard func(io.Reader) io.Reader, limited context.Context, end func()) {
	if c.silence == 0 {
		return func(r io.Reader) io.Reader { return r }, ctx, func() {}
	}
	limited, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(c.silence, cancel)
	heard = func(r io.Reader) io.Reader {
		return io.TeeReader(r, writes(func() { timer.Reset(c.silence) }))
	}
	return heard, limited, func() { timer.Stop(); cancel() }
}

// writes is a writer that is called with each write, and keeps nothing.
type writes func()

func (w writes) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
