package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// maxStream is the maximum number of bytes that are read from the stream of a session (TransportSSE). It has room
// for a list of tools and an answer.
const maxStream = maxListing + maxAnswer

// listen opens the stream on which a server of protocol 2024-11-05 answers.
func (w *wire) listen(req *http.Request, e *exchanges) (*http.Response, error) {
	x, err := e.begin(message{Method: methodStream}, req)
	if err != nil {
		return nil, err
	}
	out, err := w.outgoingRequest(watch(req.Context(), x), req, nil, e)
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
			return newResponse(req, http.StatusNotAcceptable, nil, nil), e.end(x, errNoReply)
		}
		return newResponse(req, res.StatusCode, nil, nil), nil
	}
	forSDK := newResponse(req, http.StatusOK, nil, nil)
	forSDK.Header.Set("Content-Type", eventStream)
	forSDK.ContentLength = -1
	forSDK.Body = newTap(res.Body, e)
	return forSDK, nil
}

// methodStream marks the GET request that opens the stream; it carries no message.
const methodStream = "GET"

// tap reads the stream of a session and passes on only the part that the SDK needs: the address to which messages
// are posted, the fact that an answer arrived, and the requests of the server, which the SDK declines. The answers
// themselves go to their exchanges.
type tap struct {
	body   io.ReadCloser
	of     io.Reader
	events events
	out    bytes.Buffer
	asked  int
	err    error
}

func newTap(body io.ReadCloser, e *exchanges) *tap {
	t := &tap{body: body, of: &limitedReader{of: body, left: maxStream}}
	t.events.each = func(name string, data []byte) {
		if name == "endpoint" {
			t.pass(name, data)
			return
		}
		for _, m := range messages(data) {
			e.note(m)
			if m.isRequest() && t.asked < maxAsked && len(m.ID) <= maxID {
				t.asked++
				t.pass("", m.sdkRequest())
			}
			switch x := e.deliver(m); {
			case x == nil:
			case x.method == methodList, x.method == methodCall:
				t.pass("", x.placeholder())
			default:
				t.pass("", m.sdkAnswer(x.id))
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
