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

// gate stands between n8n and Piloto, one for each direction, as a network does: it sees
// what passes, and what it is told to spoil it spoils, once.
type gate struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []passed
	spoil spoil
}

// passed is a request that came by. Status is 0 when nobody answered it.
type passed struct {
	Path   string
	Header http.Header
	Body   string
	Status int
}

type spoil int

const (
	nothing     spoil = iota
	loseAnswer        // the request arrives, its answer does not
	changeBody        // one byte of the request is another
	inHurry           // whoever asks does not wait for an answer that takes long
	goElsewhere       // requests go to a path that nobody serves, until they are told otherwise
)

func newGate(product string) (*gate, error) {
	to, err := url.Parse("http://" + product)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		// Nobody is there: neither is an answer.
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

// next spoils the request that comes next, and forgets those that came.
func (g *gate) next(how spoil) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spoil, g.seen = how, nil
}

// came returns the requests to what begins with a path since next.
func (g *gate) came(path string) []passed {
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
