package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// places lists the places of a key.
var places = []tool.KeyPlace{{In: "bearer"}, {In: "header", Name: "X-Api-Key"}, {In: "query", Name: "api key"}}

func carriesKey(r *http.Request, place tool.KeyPlace) bool {
	switch place.In {
	case "bearer":
		return r.Header.Get("Authorization") == "Bearer "+secret
	case "header":
		return r.Header.Get(place.Name) == secret
	}
	return r.URL.Query().Get(place.Name) == secret
}

func TestKeyIsSentWithEveryRequestAndNeverReturned(t *testing.T) {
	for _, v := range versions {
		for _, place := range places {
			s := serve(t, mount("/", v.via, v.only == nil, echo(v.only...)))
			key := tool.Keys{{Place: place, Secret: secret}}
			at, ops := register(t, s.URL, key)
			call := callOf(at, ops["echo"], `{"text":`+string(quoteJSON(secret))+`}`)
			call.Keys, call.Idempotency = key, "run-1"
			a, err := client(t).CallTool(t.Context(), call)
			if err != nil || strings.Contains(string(a.Body), "s3cr3t") || !strings.Contains(string(a.Body), "[redacted]") {
				t.Errorf("%s %s: %v %s", v.name, place.In, err, a.Body)
			}
			if n := s.requests(func(r *http.Request) bool { return !carriesKey(r, place) || r.Header.Get("Referer") != "" }); n != 0 {
				t.Errorf("%s %s: %d requests without the key", v.name, place.In, n)
			}
		}
	}
}

func quoteJSON(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}

// escapeAll writes every character of a text as a JSON escape, which is valid but unusual.
func escapeAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func TestEchoedKeyIsRedacted(t *testing.T) {
	for name, body := range map[string]string{
		"text":    `{"content":[{"type":"text","text":` + string(quoteJSON("key: "+secret)) + `}]}`,
		"escaped": `{"content":[{"type":"text","text":"` + escapeAll(secret) + `"}]}`,
		"member":  `{"content":[],"structuredContent":{"a":{"` + escapeAll(secret) + `":[` + string(quoteJSON(secret)) + `]}}}`,
		"in URL":  `{"content":[{"type":"resource_link","uri":"http://x.test/?k=s3cr3t-k3y%2Fwith%2Bodd%3D%22chars"}]}`,
		"twice":   `{"content":[{"type":"text","text":` + string(quoteJSON(string(quoteJSON(secret)))) + `}]}`,
	} {
		s := newFaultyServer(t, result(body))
		call := s.do(t)
		call.Keys = tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}
		for _, limit := range []int64{1 << 20, 60, 40, 20} {
			call.Limit = limit
			a, err := client(t).CallTool(t.Context(), call)
			if err != nil || strings.Contains(string(a.Body), "s3cr") || int64(len(a.Body)) > limit {
				t.Errorf("%s %d: %v %s", name, limit, err, a.Body)
			}
		}
	}
	s := newFaultyServer(t, status(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":`+string(quoteJSON("no: "+secret))+`}}`, "Content-Type", "application/json"))
	call := s.do(t)
	call.Keys = tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}
	if a, err := client(t).CallTool(t.Context(), call); err != nil || string(a.Body) != `{"error":{"code":-32000,"message":"no: [redacted]"}}` {
		t.Errorf("%v %s", err, a.Body)
	}
}

func TestErrorsContainNoKey(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	echoing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct{ ID json.RawMessage }
		_ = json.Unmarshal(body, &m)
		say(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":1,"message":`+string(quoteJSON(r.URL.String()+r.Header.Get("X-Api-Key")))+`}}`)
	}))
	defer echoing.Close()
	hung := newFaultyServer(t, bytesOf(""))
	call := hung.do(t)
	for _, place := range places {
		key := tool.Keys{{Place: place, Secret: secret}}
		var errs []error
		for _, at := range []string{closed.URL, echoing.URL} {
			_, err := discoverer(t).Discover(t.Context(), tool.Target{Base: at, Keys: key})
			other := call
			other.Keys, other.Server.BaseURL = key, at
			_, errCall := client(t).CallTool(t.Context(), other)
			errs = append(errs, err, errCall)
		}
		same := call
		same.Keys = key
		_, err := client(t).CallTool(t.Context(), same)
		for _, err := range append(errs, err) {
			if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "s3cr") {
				t.Errorf("%s: %v", place.In, err)
			}
		}
	}
	bad := call
	bad.Keys = tool.Keys{{Place: tool.KeyPlace{In: "header", Name: "X"}, Secret: "a\r\nb: c"}}
	if _, err := client(t).CallTool(t.Context(), bad); !errors.Is(err, tool.ErrRequest) {
		t.Errorf("a key that splits a header: %v", err)
	}
	bad.Keys = tool.Keys{{Place: tool.KeyPlace{In: "oauth", Name: "app"}, Secret: secret}}
	if _, err := client(t).CallTool(t.Context(), bad); !errors.Is(err, tool.ErrRequest) {
		t.Errorf("a key that nobody exchanges: %v", err)
	}
}

func TestNothingIsSentWhenServerIsUnreachable(t *testing.T) {
	s := newFaultyServer(t, ok)
	call := s.do(t)
	call.Idempotency, call.TraceID = "run-1", "trace-1"
	c := client(t, func(o *mcp.Options) { o.Timeout = 2 * time.Second })
	if _, err := c.CallTool(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	last := s.headers[len(s.headers)-1]
	s.mu.Unlock()
	if last.Get("Idempotency-Key") != "run-1" || last.Get("X-Trace-Id") != "trace-1" || last.Get("User-Agent") != "piloto/1" {
		t.Errorf("%v", last)
	}
	for name, gate := range map[string]func(w http.ResponseWriter, method string) bool{
		"list never":   func(_ http.ResponseWriter, m string) bool { wait(m == "tools/list", s.done); return m != "tools/list" },
		"list fails":   func(w http.ResponseWriter, m string) bool { return !refuse(w, m == "tools/list", 500) },
		"list refused": func(w http.ResponseWriter, m string) bool { return !refuse(w, m == "tools/list", 429) },
		"all down":     func(w http.ResponseWriter, _ string) bool { return !refuse(w, true, 503) },
	} {
		calls := s.calls.Load()
		s.behind(gate)
		if _, err := c.CallTool(t.Context(), call); !errors.Is(err, tool.ErrNotSent) || s.calls.Load() != calls {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.behind(func(w http.ResponseWriter, m string) bool { return !refuse(w, m != "tools/call", 403) })
	if _, err := c.CallTool(t.Context(), call); !errors.Is(err, tool.ErrUnauthorized) {
		t.Errorf("refused: %v", err)
	}
}

func wait(really bool, done chan struct{}) {
	if really {
		<-done
	}
}

func refuse(w http.ResponseWriter, really bool, code int) bool {
	if really {
		w.WriteHeader(code)
	}
	return really
}
