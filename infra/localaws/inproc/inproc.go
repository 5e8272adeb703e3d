// Package inproc carries HTTP requests to a handler of the same process without
// a socket: the production SDK clients reach the embedded engines through it.
//
// What must stay true: the handler sees the request a server would have given it
// (host, path, headers, body, context), the caller sees the status, headers and
// body the handler wrote, and a panic in the handler becomes an error here.
package inproc

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport calls Handler. It serves as aws.Config.HTTPClient (Do) and as
// http.Client.Transport (RoundTrip). Answers are held in memory whole, so it is
// not for streams.
type Transport struct {
	Handler http.Handler
}

// Do gives req to the handler and returns what it answered. It fails when the
// request's context has ended, before or during the call.
func (t Transport) Do(req *http.Request) (*http.Response, error) { return t.RoundTrip(req) }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (res *http.Response, err error) {
	ctx := req.Context()
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := req.WithContext(ctx)
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, fmt.Errorf("handler of %s %s panicked: %v", req.Method, req.URL.Path, p)
		}
	}()
	w := &answer{header: make(http.Header)}
	t.Handler.ServeHTTP(w, in)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return w.response(req), nil
}

// answer collects what a handler writes.
type answer struct {
	header http.Header
	sent   http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < 200 {
		return // only the first final status counts
	}
	a.status = status
	a.sent = a.header.Clone()
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *answer) response(req *http.Request) *http.Response {
	a.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.sent,
		Body:          io.NopCloser(bytes.NewReader(a.body.Bytes())),
		ContentLength: int64(a.body.Len()),
		Request:       req,
	}
}
