// Package inproc carries HTTP requests to a handler of the same process without a socket: the
// production SDK clients reach the embedded engines through it.
//
// These rules hold: the handler sees the same request as from a server (host, path, headers, body,
// context), the caller sees the status, headers and body that the handler wrote, and a panic in the
// handler becomes an error.
package inproc

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport calls Handler. It serves as aws.Config.HTTPClient (Do) and as http.Client.Transport
// (RoundTrip). It holds whole responses in memory, so it does not support streams.
type Transport struct {
	Handler http.Handler
}

// Do passes req to the handler and returns the response. It fails when the request's context has
// ended, before or during the call.
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

// answer stores the output of a handler.
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
