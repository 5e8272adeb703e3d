package process

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Bounds of the part of a body that is read although its request is refused.
const (
	mostUnread = 64 << 20
	unreadTime = 20 * time.Second
)

// readTimeout limits the time in which a client sends a whole request.
const readTimeout = time.Minute

// afterBodies has each answer wait until its request was read to the end, up to mostUnread and unreadTime. A server
// that closes a connection on which bytes are still coming resets it: many clients send a whole body before they
// read, and would see the reset in place of the answer. A client that waits for 100 Continue gets the answer at once.
func afterBodies(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		body := &sentBody{body: r.Body, waits: strings.EqualFold(r.Header.Get("Expect"), "100-continue")}
		late := &lateAnswer{ResponseWriter: w, body: body, until: time.Now().Add(readTimeout)}
		own := *r // the server reads the rest of the first body by itself, so its request keeps it
		own.Body = body
		h.ServeHTTP(late, &own)
		late.readRest() // a handler may have written nothing
	})
}

// sentBody is the body of a request. The server closes it, when the answer is written.
type sentBody struct {
	body  io.Reader
	waits bool // the client sends nothing before the first Read
	ended bool
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	b.waits = false
	n, err := b.body.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

// Close implements io.Closer.
func (*sentBody) Close() error { return nil }

// lateAnswer reads the rest of the body before the first byte of the answer is written.
type lateAnswer struct {
	http.ResponseWriter
	body  *sentBody
	until time.Time // when the whole request must be there
	begun bool
}

// Unwrap lets http.ResponseController find the server's writer.
func (a *lateAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *lateAnswer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.readRest()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *lateAnswer) Write(p []byte) (int, error) {
	a.readRest()
	return a.ResponseWriter.Write(p)
}

// FlushError sends buffered data (http.ResponseController).
func (a *lateAnswer) FlushError() error {
	a.readRest()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

func (a *lateAnswer) readRest() {
	if a.begun || a.body.ended || a.body.waits {
		return
	}
	a.begun = true
	connection := http.NewResponseController(a.ResponseWriter)
	until := time.Now().Add(unreadTime)
	if until.After(a.until) {
		until = a.until
	}
	if connection.SetReadDeadline(until) != nil {
		return // nothing would bound the time
	}
	_, _ = io.CopyN(io.Discard, a.body, mostUnread)
	_ = connection.SetReadDeadline(a.until)
}
