package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// maxStream is how much is read of the one stream of a session (TransportSSE): a
// list of tools and an answer.
const maxStream = maxListing + maxAnswer

// listen opens the stream on which a server of protocol 2024-11-05 answers.
func (w *wire) listen(req *http.Request, e *errand) (*http.Response, error) {
	x, err := e.begin(message{Method: methodStream}, req)
	if err != nil {
		return nil, err
	}
	out, err := w.outgoing(watch(req.Context(), x), req, nil, e)
	if err != nil {
		return nil, e.end(x, err)
	}
	res, err := w.reads.RoundTrip(out)
	if err != nil {
		return nil, e.end(x, err)
	}
	x.status, x.header = res.StatusCode, res.Header
	if res.StatusCode != http.StatusOK || mediaType(res.Header) != eventStream {
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return answered(req, http.StatusNotAcceptable, nil, nil), e.end(x, errNoReply)
		}
		return answered(req, res.StatusCode, nil, nil), nil
	}
	told := answered(req, http.StatusOK, nil, nil)
	told.Header.Set("Content-Type", eventStream)
	told.ContentLength = -1
	told.Body = newTap(res.Body, e)
	return told, nil
}

// methodStream stands for the request of the stream, which is no message.
const methodStream = "GET"

// tap reads the stream of a session and passes on what the SDK needs of it: where
// to send messages, that there is an answer, and what the server asks of us, which
// the SDK declines. The answers themselves go to their exchanges.
type tap struct {
	body   io.ReadCloser
	of     io.Reader
	events events
	out    bytes.Buffer
	asked  int
	err    error
}

func newTap(body io.ReadCloser, e *errand) *tap {
	t := &tap{body: body, of: &bounded{of: body, left: maxStream}}
	t.events.each = func(name string, data []byte) {
		if name == "endpoint" {
			t.pass(name, data)
			return
		}
		for _, m := range messages(data) {
			e.note(m)
			if m.asks() && t.asked < maxAsked && len(m.ID) <= maxID {
				t.asked++
				t.pass("", m.asked())
			}
			switch x := e.deliver(m); {
			case x == nil:
			case x.method == methodList, x.method == methodCall:
				t.pass("", x.token())
			default:
				t.pass("", m.raw)
			}
		}
	}
	return t
}

// pass writes one event.
func (t *tap) pass(name string, data []byte) {
	if name != "" {
		t.out.WriteString("event: " + name + "\n")
	}
	t.out.WriteString("data: ")
	t.out.Write(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")))
	t.out.WriteString("\n\n")
}

// Read implements io.Reader.
func (t *tap) Read(p []byte) (int, error) {
	chunk := make([]byte, 16<<10)
	for t.out.Len() == 0 && t.err == nil {
		n, err := t.of.Read(chunk)
		t.events.feed(chunk[:n])
		if err != nil {
			t.events.end()
			t.err = err
		}
	}
	if t.out.Len() > 0 {
		return t.out.Read(p)
	}
	if errors.Is(t.err, io.EOF) {
		return 0, io.EOF
	}
	return 0, t.err
}

// Close implements io.Closer.
func (t *tap) Close() error { return t.body.Close() }
