// Package meter stands between Piloto and the provider of its model: it keeps each request and answer, and counts the tokens of
// the prompts.
package meter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Call is one call of a model.
type Call struct {
	Request json.RawMessage
	Status  int
	Answer  Answer
	Usage   Usage
}

// Answer is the text and the tool calls of an answer.
type Answer struct {
	Text  string `json:"text,omitempty"`
	Tools []Tool `json:"tools,omitempty"`
}

// Tool is one call of a tool.
type Tool struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// written returns an answer as JSON.
func (a Answer) written() string { return spaced([]byte(encoded(a))) }

// Usage is the provider's own count of a call's tokens, or the sum of several.
type Usage struct {
	Given  int `json:"given"` // calls for which the provider gave a count
	Prompt int `json:"prompt"`
	Cached int `json:"cached"`
	Output int `json:"output"`
}

// Plus returns the sum of two counts.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.Given + o.Given, u.Prompt + o.Prompt, u.Cached + o.Cached, u.Output + o.Output}
}

// Recorder serves the chat completions of a provider, and keeps the calls.
type Recorder struct {
	to    http.Handler
	mu    sync.Mutex
	calls []Call
	open  int
	last  time.Time // when a call ended
}

// NewRecorder returns a recorder of the calls that a handler answers. See Provider and ByHand.
func NewRecorder(to http.Handler) *Recorder { return &Recorder{to: to} }

// Provider returns the handler that sends each request on to a provider.
func Provider(base *url.URL) http.Handler {
	return &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(base)
		r.Out.Header.Del("Accept-Encoding") // the answer is read here, too
	}}
}

// Calls returns the calls that ended.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Call{}, r.calls...)
}

// Quiet reports whether no call is open, and none ended for a while.
func (r *Recorder) Quiet(while time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open == 0 && time.Since(r.last) > while
}

// ServeHTTP implements http.Handler.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/chat/completions") {
		r.to.ServeHTTP(w, req)
		return
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	r.mu.Lock()
	r.open++
	r.mu.Unlock()
	copied := &tee{to: w, status: http.StatusOK}
	defer func() { // a client that goes away ends the handler with a panic
		call := Call{Request: raw, Status: copied.status}
		call.Answer, call.Usage = readAnswer(copied.body.Bytes())
		r.mu.Lock()
		defer r.mu.Unlock()
		r.open--
		r.last = time.Now()
		r.calls = append(r.calls, call)
	}()
	r.to.ServeHTTP(copied, req)
}

// tee keeps the body that it writes.
type tee struct {
	to     http.ResponseWriter
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (t *tee) Header() http.Header { return t.to.Header() }

// WriteHeader implements http.ResponseWriter.
func (t *tee) WriteHeader(status int) {
	t.status = status
	t.to.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (t *tee) Write(p []byte) (int, error) {
	t.body.Write(p)
	return t.to.Write(p)
}

// Unwrap lets a response controller flush.
func (t *tee) Unwrap() http.ResponseWriter { return t.to }

// piece is an answer, or one event of a stream.
type piece struct {
	Choices []struct {
		Message, Delta struct {
			Content string     `json:"content"`
			Calls   []toolCall `json:"tool_calls"`
		}
	} `json:"choices"`
	Usage *struct {
		Prompt  int `json:"prompt_tokens"`
		Output  int `json:"completion_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Hit int `json:"prompt_cache_hit_tokens"` // as DeepSeek calls it
	} `json:"usage"`
}

type toolCall struct {
	Index    int `json:"index"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// readAnswer reads the body of an answer, streamed or not. Of a body that is none it returns nothing.
func readAnswer(body []byte) (a Answer, u Usage) {
	var text strings.Builder
	names, arguments := map[int]string{}, map[int]string{}
	add := func(calls []toolCall, streamed bool) {
		for i, c := range calls {
			if streamed {
				i = c.Index
			}
			names[i] += c.Function.Name
			arguments[i] += c.Function.Arguments
		}
	}
	take := func(raw []byte) {
		var p piece
		if json.Unmarshal(raw, &p) != nil {
			return
		}
		for _, c := range p.Choices[:min(1, len(p.Choices))] {
			text.WriteString(c.Message.Content + c.Delta.Content)
			add(c.Message.Calls, false)
			add(c.Delta.Calls, true)
		}
		if p.Usage != nil {
			u = Usage{1, p.Usage.Prompt, max(p.Usage.Details.Cached, p.Usage.Hit), p.Usage.Output}
		}
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		take(body)
	} else {
		lines := bufio.NewScanner(bytes.NewReader(body))
		lines.Buffer(nil, len(body)+1)
		for lines.Scan() {
			if event, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok {
				take(bytes.TrimSpace(event))
			}
		}
	}
	a.Text = text.String()
	for i := range len(names) {
		args := json.RawMessage(arguments[i])
		if !json.Valid(args) {
			args = json.RawMessage(encoded(arguments[i]))
		}
		a.Tools = append(a.Tools, Tool{names[i], args})
	}
	return a, u
}
