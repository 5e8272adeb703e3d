package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// slow answers calls with a stream that has an event every 8 seconds: events, in which TOKEN is the token of the call's
// progress, and then the answer.
type slow struct {
	*pipe
	event  string
	events int // before the answer
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return s.pipe.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta struct{ ProgressToken string } `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &m)
	if m.Method != "tools/call" {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return s.pipe.RoundTrip(r)
	}
	read, write := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = write.CloseWithError(context.Cause(r.Context())) })
	go func() {
		for range s.events {
			time.Sleep(8 * time.Second)
			event := bytes.ReplaceAll([]byte(s.event), []byte("TOKEN"), []byte(m.Params.Meta.ProgressToken))
			if _, err := fmt.Fprintf(write, "data: %s\n\n", event); err != nil {
				return
			}
		}
		time.Sleep(8 * time.Second)
		_, _ = fmt.Fprintf(write, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
		_ = write.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: read, Request: r}, nil
}

func TestProgressBeginsTheTimeOfACallAnew(t *testing.T) {
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"TOKEN","progress":1,"total":9}}`
	for name, c := range map[string]struct {
		event  string
		events int
		within time.Duration // of the caller
		ends   time.Duration
		done   bool
	}{
		"it reports":                       {progress, 6, time.Hour, 56 * time.Second, true},
		"without news":                     {`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, 6, time.Hour, 10 * time.Second, false},
		"of another call":                  {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-0"}}`, 6, time.Hour, 10 * time.Second, false},
		"of a number":                      {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, 6, time.Hour, 10 * time.Second, false},
		"of nothing":                       {`{"jsonrpc":"2.0","method":"notifications/progress"}`, 6, time.Hour, 10 * time.Second, false},
		"without end":                      {progress, 1000, 70 * time.Second, 70 * time.Second, false},
		"without end, nor one by who asks": {progress, 1000, 24 * time.Hour, 15 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &slow{&pipe{handler: &faultyServer{tools: func() string { return oneTool }}}, c.event, c.events}
				client := mcp.NewClient(mcp.Options{HTTP: &http.Client{Transport: net}, Now: time.Now, Timeout: 10 * time.Second})
				found, err := mcp.Discoverer{Client: &http.Client{Transport: net}}.Discover(t.Context(), tool.Target{Base: "http://x.test"})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				began := time.Now()
				a, err := client.CallTool(ctx, callOf(asServer(found), byName(found)["do"], `{}`))
				if took := time.Since(began); took != c.ends || (err == nil) != c.done {
					t.Errorf("%v after %s, want %s: %+v", err, took, c.ends, a)
				}
				if !c.done && (!errors.Is(err, tool.ErrLost) || fault.Of(err).Args["reason"] != "timeout") {
					t.Errorf("%v", err)
				}
				_ = client.Close()
				time.Sleep(10 * time.Second) // the server notices that nobody reads
			})
		})
	}
}

// A call ends at the time that it was granted, also while it reports progress. It asks for more before that time comes.
func TestACallGoesOnAsLongAsItIsGranted(t *testing.T) {
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"TOKEN","progress":1,"total":9}}`
	grant := func(times int) tool.Prolong {
		return func(_ context.Context, within time.Duration) time.Duration {
			if times--; times < 0 || within != 10*time.Second {
				return 0
			}
			return 20 * time.Second
		}
	}
	for name, c := range map[string]struct {
		within  time.Duration
		prolong tool.Prolong
		ends    time.Duration
	}{
		"no bound":             {0, nil, 200 * time.Second},
		"nobody grants more":   {25 * time.Second, nil, 25 * time.Second},
		"more is refused":      {25 * time.Second, grant(0), 25 * time.Second},
		"more is granted once": {25 * time.Second, grant(1), 36 * time.Second}, // asked for at 16 s
		"and again and again":  {25 * time.Second, grant(99), 200 * time.Second},
		"less than the limit":  {5 * time.Second, nil, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &slow{&pipe{handler: &faultyServer{tools: func() string { return oneTool }}}, progress, 24}
				client := mcp.NewClient(mcp.Options{HTTP: &http.Client{Transport: net}, Now: time.Now, Patience: 10 * time.Second})
				found, err := mcp.Discoverer{Client: &http.Client{Transport: net}}.Discover(t.Context(), tool.Target{Base: "http://x.test"})
				if err != nil {
					t.Fatal(err)
				}
				call := callOf(asServer(found), byName(found)["do"], `{}`)
				call.Within, call.Prolong = c.within, c.prolong
				began := time.Now()
				if _, err := client.CallTool(t.Context(), call); time.Since(began) != c.ends || (err == nil) != (c.ends == 200*time.Second) {
					t.Errorf("%v after %s, want %s", err, time.Since(began), c.ends)
				}
				_ = client.Close()
				time.Sleep(10 * time.Second)
			})
		})
	}
}

// silent answers nothing to one method.
type silent struct {
	*pipe
	method string
}

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return s.pipe.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(body, []byte(`"`+s.method+`"`)) {
		httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return s.pipe.RoundTrip(r)
}

// A tool may take long. A server that does not even answer the handshake is given up long before.
func TestWhatPrecedesACallHasATimeOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		opts   mcp.Options
		ends   time.Duration
		want   error
	}{
		"the list":              {"tools/list", mcp.Options{Timeout: 5 * time.Second, Patience: 13 * time.Minute}, 5 * time.Second, tool.ErrNotSent},
		"the list, at the most": {"tools/list", mcp.Options{Timeout: 13 * time.Minute, Patience: 13 * time.Minute}, tool.PrepareTime, tool.ErrNotSent},
		"the handshake":         {"initialize", mcp.Options{Timeout: 13 * time.Minute, Patience: 13 * time.Minute}, tool.PrepareTime, tool.ErrNotSent},
		"the call":              {"tools/call", mcp.Options{Timeout: 5 * time.Second, Patience: 13 * time.Minute}, 13 * time.Minute, tool.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &pipe{handler: &faultyServer{tools: func() string { return oneTool }}}
				found, err := mcp.Discoverer{Client: &http.Client{Transport: server}}.Discover(t.Context(), tool.Target{Base: "http://x.test"})
				if err != nil {
					t.Fatal(err)
				}
				c.opts.HTTP, c.opts.Now = &http.Client{Transport: silent{server, c.method}}, time.Now
				client := mcp.NewClient(c.opts)
				began := time.Now()
				_, err = client.CallTool(t.Context(), callOf(asServer(found), byName(found)["do"], `{}`))
				if took := time.Since(began); took != c.ends || !errors.Is(err, c.want) {
					t.Errorf("%v after %s, want %s", err, took, c.ends)
				}
				_ = client.Close()
			})
		})
	}
}
