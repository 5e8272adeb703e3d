package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// gate stands between n8n and Piloto, one for each direction, like a network: it records the requests, and spoils a
// request once when it is told to.
type gate struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []passed
	spoil spoil
}

// passed is a recorded request. Status is 0 when there was no response.
type passed struct {
	Path   string
	Header http.Header
	Body   string
	Status int
}

type spoil int

const (
	nothing     spoil = iota
	loseAnswer        // the request arrives, its response does not
	changeBody        // one byte of the request is changed
	inHurry           // the client does not wait for a slow response
	goElsewhere       // requests go to a path without a handler, until the next instruction
)

func newGate(product string) (*gate, error) {
	to, err := url.Parse("http://" + product)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		// The server is down: the client gets no response either.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.pass(proxy, w, r) }))
	return g, nil
}

func (g *gate) pass(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	g.mu.Lock()
	how := g.spoil
	if how != goElsewhere {
		g.spoil = nothing
	}
	at := len(g.seen)
	g.seen = append(g.seen, passed{Path: r.URL.Path, Header: r.Header.Clone(), Body: string(body)})
	g.mu.Unlock()
	switch how {
	case changeBody:
		body = bytes.Replace(body, []byte(`"message":"`), []byte(`"message":"!`), 1)
		r.Header.Del("Content-Length")
	case inHurry:
		r.Header.Set("Prefer", "respond-async")
	case goElsewhere:
		r.URL.Path += "-elsewhere"
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	rec := httptest.NewRecorder()
	proxy.ServeHTTP(rec, r)
	g.mu.Lock()
	g.seen[at].Status = rec.Code
	g.mu.Unlock()
	if how == loseAnswer {
		panic(http.ErrAbortHandler)
	}
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// next spoils the next request, and forgets the recorded ones.
func (g *gate) next(how spoil) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spoil, g.seen = how, nil
}

// requestsTo returns the recorded requests since next whose path begins with path.
func (g *gate) requestsTo(path string) []passed {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []passed
	for _, p := range g.seen {
		if strings.HasPrefix(p.Path, path) {
			out = append(out, p)
		}
	}
	return out
}
