package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// soon makes streams resume after a short pause.
const soon = "retry: 1\n\n"

// streamHead is the head of a stream that breaks off in the middle of its HTTP body.
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// rests answers requests that resume a stream with one piece after the other; the last piece answers all further
// requests. It records the requests.
type rests struct {
	pieces []func(w http.ResponseWriter, r *http.Request)
	id     func() string // of the call

	mu   sync.Mutex
	came []http.Header
}

func (s *rests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.came = append(s.came, r.Header.Clone())
	piece := s.pieces[min(len(s.came), len(s.pieces))-1]
	s.mu.Unlock()
	piece(w, r)
}

func (s *rests) after() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.came {
		ids = append(ids, h.Get("Last-Event-Id"))
	}
	return ids
}

// piece returns a rest of a stream; the text ID in it becomes the call's id.
func (s *rests) piece(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { stream(text)(w, r, s.id()) }
}

func refuseWith(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestBrokenStreamIsResumed(t *testing.T) {
	answer := "id: last\ndata: " + fine + "\n\n"
	for name, c := range map[string]struct {
		first  func(http.ResponseWriter, *http.Request, string)
		pieces func(*rests) []func(http.ResponseWriter, *http.Request)
		after  string // the requested event ids, in order
		lost   bool
	}{
		"the connection is lost": {
			bytesOf(streamHead + chunk(soon+"id: e1\ndata: {}\n\n")),
			func(s *rests) []func(http.ResponseWriter, *http.Request) { return list(s.piece(answer)) }, "e1", false,
		},
		"the server ends it": {
			stream(soon + "id: e1\ndata: \n\n"),
			func(s *rests) []func(http.ResponseWriter, *http.Request) { return list(s.piece(answer)) }, "e1", false,
		},
		"again and again": {
			stream(soon + "id: e1\n\n"),
			func(s *rests) []func(http.ResponseWriter, *http.Request) {
				return list(s.piece("id: e2\ndata: {}\n\n"), s.piece(": nothing new\n\n"), s.piece("id: e3\ndata: {}\n\nid: e4\ndata: {"), s.piece(answer))
			}, "e1 e2 e2 e3", false,
		},
		"the server is away for a moment": {
			stream(soon + "id: e1\n\n"),
			func(s *rests) []func(http.ResponseWriter, *http.Request) {
				return list(refuseWith(503), refuseWith(429), s.piece(answer))
			}, "e1 e1 e1", false,
		},
		"what came before comes again": {
			stream(soon + "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"),
			func(s *rests) []func(http.ResponseWriter, *http.Request) {
				return list(s.piece("id: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n" + answer))
			}, "e1", false,
		},
		"the id is taken back": {stream(soon + "id: e1\n\nid\ndata: {}\n\n"), nil, "", true},
		"no id":                {stream(soon + "data: {}\n\n"), nil, "", true},
		"an id with a NUL":     {stream(soon + "id: e\x001\n\n"), nil, "", true},
		"an id of a book":      {stream(soon + "id: " + strings.Repeat("x", 2000) + "\n\n"), nil, "", true},
		"an id that is no header": {
			stream(soon + "id: \x01\n\n"), nil, "", true,
		},
		"an event that is not whole": {stream(soon + "id: e1\ndata: {"), nil, "", true},
		"it cannot be resumed": {
			stream(soon + "id: e1\n\n"), func(*rests) []func(http.ResponseWriter, *http.Request) { return list(refuseWith(405)) }, "e1", true,
		},
		"the session is gone": {
			stream(soon + "id: e1\n\n"), func(*rests) []func(http.ResponseWriter, *http.Request) { return list(refuseWith(404)) }, "e1", true,
		},
		"the rest is elsewhere": {
			stream(soon + "id: e1\n\n"),
			func(*rests) []func(http.ResponseWriter, *http.Request) {
				return list(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				})
			}, "e1", true,
		},
		"the rest is no stream": {
			stream(soon + "id: e1\n\n"),
			func(s *rests) []func(http.ResponseWriter, *http.Request) {
				return list(func(w http.ResponseWriter, _ *http.Request) { say(w, strings.ReplaceAll(fine, "ID", s.id())) })
			}, "e1", true,
		},
		"the server stays away": {
			stream(soon + "id: e1\n\n"), func(*rests) []func(http.ResponseWriter, *http.Request) { return list(refuseWith(503)) }, "e1 e1 e1 e1", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := ""
			s := &rests{id: func() string { return called }, pieces: list(refuseWith(418))}
			if c.pieces != nil {
				s.pieces = c.pieces(s)
			}
			server := newFaultyServer(t, func(w http.ResponseWriter, r *http.Request, id string) {
				called = id
				c.first(w, r, id)
			})
			server.rest = s.ServeHTTP
			call := server.do(t)
			call.Keys = tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}
			a, err := client(t).CallTool(t.Context(), call)
			if c.lost != errors.Is(err, tool.ErrLost) || !c.lost && (err != nil || a.Status != http.StatusOK) {
				t.Errorf("%+v %v", a, err)
			}
			if got := strings.Join(s.after(), " "); got != c.after {
				t.Errorf("asked for what followed %q, want %q", got, c.after)
			}
			if n := server.calls.Load(); n != 1 {
				t.Errorf("it was called %d times", n)
			}
			for _, h := range s.came {
				if h.Get("Accept") != "text/event-stream" || h.Get("Authorization") != "Bearer "+secret || h.Get("Mcp-Session-Id") == "" || h.Get("Mcp-Protocol-Version") == "" ||
					h.Get("Idempotency-Key")+h.Get("Content-Type")+h.Get("Mcp-Name")+h.Get("Mcp-Method") != "" {
					t.Errorf("asked with %v", h)
				}
			}
		})
	}
}

func list[T any](of ...T) []T { return of }

// TestAnswerLimitsCoverAllStreams uses a server that never ends its answer.
func TestAnswerLimitsCoverAllStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("large streams")
	}
	t.Parallel()
	s := &rests{id: func() string { return "1" }}
	s.pieces = list(s.piece("id: e2\ndata: " + strings.Repeat("x", 1<<20) + "\n\n"))
	server := newFaultyServer(t, stream(soon+"id: e1\n\n"))
	server.rest = s.ServeHTTP
	_, err := client(t, func(o *mcp.Options) { o.Timeout = time.Minute }).CallTool(t.Context(), server.do(t))
	if n := len(s.after()); !errors.Is(err, tool.ErrLost) || n < 10 || n > 20 {
		t.Errorf("%v after %d streams", err, n)
	}
}

// TestResumeStopsWhenCallerLeaves covers the pause before a request too.
func TestResumeStopsWhenCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := newFaultyServer(t, func(w http.ResponseWriter, r *http.Request, id string) {
		stream("retry: 600000\n\nid: e1\n\n")(w, r, id)
		time.AfterFunc(100*time.Millisecond, cancel)
	})
	server.rest = func(http.ResponseWriter, *http.Request) { t.Error("it was asked for") }
	if _, err := client(t).CallTool(ctx, server.do(t)); err == nil {
		t.Error("it was answered")
	}
}

// TestListIsReadFromBrokenStream checks that registration resumes a stream as a call does.
func TestListIsReadFromBrokenStream(t *testing.T) {
	t.Parallel()
	server := newFaultyServer(t, result(`{}`))
	s := &rests{}
	var mu sync.Mutex
	asked := ""
	server.rest = s.ServeHTTP
	s.pieces = list(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+asked+`,"result":`+oneTool+"}\n\n")
	})
	server.listed = func(w http.ResponseWriter, r *http.Request, id string) {
		mu.Lock()
		asked = id
		mu.Unlock()
		stream(soon+"id: e1\n\n")(w, r, id)
	}
	if _, ops := register(t, server.URL, nil); len(ops) != 1 || len(s.after()) == 0 {
		t.Errorf("%v after %v", ops, s.after())
	}
}
