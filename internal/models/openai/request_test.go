package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

// pickyProvider is a provider that refuses some members of a request, with the error of refuse, and accepts every other
// request. It records the requests.
type pickyProvider struct {
	refuse map[string]string // a member, and its error

	mu   sync.Mutex
	sent []map[string]any
}

func (s *pickyProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		says(500, `{}`)(w, r)
		return
	}
	s.mu.Lock()
	s.sent = append(s.sent, body)
	s.mu.Unlock()
	for member, no := range s.refuse {
		if _, has := body[member]; has {
			says(400, no)(w, r)
			return
		}
	}
	if body["stream"] == true {
		events(delta("hola"), stop, done)(w, r)
		return
	}
	says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)(w, r)
}

// members returns, for each recorded request, the members that quirks are about.
func (s *pickyProvider) members() []string {
	var all []string
	for _, body := range s.sent {
		var has []string
		for _, m := range []string{"max_tokens", "max_completion_tokens", "stream_options", "temperature", "reasoning_effort"} {
			if _, ok := body[m]; ok {
				has = append(has, m)
			}
		}
		all = append(all, strings.Join(has, " "))
	}
	return all
}

func ask(model string, sink llm.Sink) llm.Request {
	return llm.Request{Model: model, MaxTokens: 50, Sink: sink, Temperature: 0.2, Messages: []llm.Message{{Role: llm.User, Content: "u"}}}
}

func TestTemperatureZeroIsSentAsZero(t *testing.T) {
	for _, c := range []struct {
		temperature float64
		want        string
	}{{0, "0"}, {0.2, "0.2"}, {1, "1"}} {
		for _, sink := range []llm.Sink{nil, &page{}} {
			sent := make(chan []byte, 1)
			client := provider(t, func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || int64(len(body)) != r.ContentLength {
					t.Errorf("%d bytes of %d, %v", len(body), r.ContentLength, err)
				}
				sent <- body
			})
			r := llm.Request{Model: "m", Sink: sink, Temperature: c.temperature}
			r.Messages = []llm.Message{{Role: llm.User, Content: `"temperature":1e-45 <b>&amp;</b>`}} // the text of a message stays
			_, _ = client.Complete(context.Background(), r)
			var got struct {
				Temperature json.RawMessage
				Messages    []struct{ Content string }
			}
			if err := json.Unmarshal(<-sent, &got); err != nil || string(got.Temperature) != c.want || got.Messages[0].Content != r.Messages[0].Content {
				t.Errorf("%v was sent as %s, %v, %v", c.temperature, got.Temperature, got.Messages, err)
			}
		}
	}
}

// TestARefusedMemberIsDroppedAndRemembered uses the error texts of several providers.
func TestARefusedMemberIsDroppedAndRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		refuse map[string]string
		want   []string // the members of each request, of two calls
	}{
		"stream_options, as unknown": {map[string]string{
			"stream_options": `{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error","param":null,"code":null}}`,
		}, []string{"max_tokens stream_options temperature", "max_tokens temperature", "max_tokens temperature"}},
		"stream_options, by a validator": {map[string]string{
			"stream_options": `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`,
		}, []string{"max_tokens stream_options temperature", "max_tokens temperature", "max_tokens temperature"}},
		"temperature": {map[string]string{
			"temperature": `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`,
		}, []string{"max_tokens stream_options temperature", "max_tokens stream_options", "max_tokens stream_options"}},
		"max_tokens": {map[string]string{
			"max_tokens": `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`,
		}, []string{"max_tokens stream_options temperature", "max_completion_tokens stream_options temperature", "max_completion_tokens stream_options temperature"}},
		"all of them": {map[string]string{
			"max_tokens":     `{"error":"max_tokens is not supported"}`,
			"temperature":    `{"error":"temperature is deprecated for this model"}`,
			"stream_options": `{"error":"unknown field stream_options"}`,
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &pickyProvider{refuse: c.refuse}
			client := provider(t, s.ServeHTTP)
			for range 2 {
				reply, err := client.Complete(context.Background(), ask("m", &page{}))
				if err != nil || reply.Text != "hola" {
					t.Fatalf("%+v, %v after %q", reply, err, s.members())
				}
			}
			got := s.members()
			if c.want == nil {
				if len(got) != 5 || got[3] != "max_completion_tokens" || got[4] != got[3] {
					t.Errorf("%q", got)
				}
				return
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestALaterSystemMessageStaysInItsPlace: for a model that wants system messages first, and roles that alternate, a later one is part
// of what the user says. It was joined with the first one, which changed the beginning of each prompt. The error texts are those of
// llama.cpp, vLLM and Mistral.
func TestALaterSystemMessageStaysInItsPlace(t *testing.T) {
	for _, c := range []struct {
		status  int
		message string
	}{
		{500, "While executing CallExpression at line 85: Jinja Exception: System message must be at the beginning."},
		{400, "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."},
		{400, "Unexpected role 'system' after role 'user'"},
	} {
		var sent []string
		client := provider(t, func(w http.ResponseWriter, r *http.Request) {
			var got struct {
				Messages []struct{ Role, Content string } `json:"messages"`
			}
			_ = json.NewDecoder(r.Body).Decode(&got)
			line, later := "", false
			for i, m := range got.Messages {
				line += m.Role + ":" + m.Content + "|"
				later = later || i > 0 && m.Role == "system"
			}
			sent = append(sent, line)
			if later {
				w.WriteHeader(c.status)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": c.message}})
				return
			}
			_, _ = w.Write([]byte(`{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`))
		})
		r := ask("m", nil)
		r.Messages = []llm.Message{{Role: llm.System, Content: "a"}, {Role: llm.User, Content: "b"}, {Role: llm.System, Content: "c"}, {Role: llm.User, Content: "d"}}
		for range 2 {
			if reply, err := client.Complete(context.Background(), r); err != nil || reply.Text != "hola" {
				t.Fatalf("%s: %+v, %v", c.message, reply, err)
			}
		}
		joined := "system:a|user:b\n\nc\n\nd|"
		if d := cmp.Diff([]string{"system:a|user:b|system:c|user:d|", joined, joined}, sent); d != "" {
			t.Errorf("%s: %s", c.message, d)
		}
	}
}

func TestAMemberWithARefusedValueIsNotDropped(t *testing.T) {
	for name, no := range map[string]string{
		"temperature": `{"error":{"message":"temperature must be between 0 and 2","param":"temperature"}}`,
		"max_tokens":  `{"error":{"message":"max_tokens must be an integer","param":"max_tokens"}}`,
		"messages":    `{"error":{"message":"Unsupported value: messages[0].role","param":"messages[0].role"}}`,
	} {
		s := &pickyProvider{refuse: map[string]string{name: no}}
		if _, err := provider(t, s.ServeHTTP).Complete(context.Background(), ask("m", nil)); !errors.Is(err, llm.ErrRefused) || len(s.sent) != 1 {
			t.Errorf("%s: %v after %d requests", name, err, len(s.sent))
		}
	}
}

func TestQuirksBelongToOneModel(t *testing.T) {
	s := &pickyProvider{}
	client := provider(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"model":"picky"`)) && bytes.Contains(body, []byte(`"temperature"`)) {
			says(400, `{"error":"temperature is not supported"}`)(w, r)
			return
		}
		s.ServeHTTP(w, r)
	})
	for _, model := range []string{"picky", "other"} {
		if _, err := client.Complete(context.Background(), ask(model, nil)); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff([]string{"max_tokens", "max_tokens temperature"}, s.members()); d != "" {
		t.Error(d)
	}
}

// TestTheQuirkCacheIsBounded: accounts choose the names of models.
func TestTheQuirkCacheIsBounded(t *testing.T) {
	s := &pickyProvider{refuse: map[string]string{"temperature": `{"error":"temperature is not supported"}`}}
	client := provider(t, s.ServeHTTP)
	for i := range 257 {
		if _, err := client.Complete(context.Background(), ask(fmt.Sprint("m", i), nil)); err != nil {
			t.Fatal(err)
		}
	}
	learned := len(s.sent)
	for model, requests := range map[string]int{"m0": 2, "m256": 1} { // the first one was evicted
		before := len(s.sent)
		if _, err := client.Complete(context.Background(), ask(model, nil)); err != nil || len(s.sent)-before != requests {
			t.Errorf("%s: %d requests, %v", model, len(s.sent)-before, err)
		}
	}
	if learned != 2*257 {
		t.Errorf("%d requests", learned)
	}
}

// TestModelsThatAreKnownByNameGetTheirParameters with the first request.
func TestModelsThatAreKnownByNameGetTheirParameters(t *testing.T) {
	tools := []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for model, want := range map[string]string{
		"gpt-4o": "max_tokens temperature", "o3-mini": "max_completion_tokens", "gpt-5-nano": "max_completion_tokens",
		"gpt-6-sol": "max_completion_tokens temperature reasoning_effort",
	} {
		s := &pickyProvider{}
		r := ask(model, nil)
		r.Tools = tools
		if _, err := provider(t, s.ServeHTTP).Complete(context.Background(), r); err != nil {
			t.Errorf("%s: %v", model, err)
		} else if d := cmp.Diff([]string{want}, s.members()); d != "" {
			t.Errorf("%s: %s", model, d)
		}
	}
}

func TestARequestThatCannotBeSentIsRefused(t *testing.T) {
	s := &pickyProvider{}
	r := ask("m", nil)
	r.Tools = []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{oops`)}}
	if _, err := provider(t, s.ServeHTTP).Complete(context.Background(), r); !errors.Is(err, llm.ErrRefused) || len(s.sent) != 0 {
		t.Errorf("%v after %d requests", err, len(s.sent))
	}
}

func TestArgumentsGoBackAsAnObject(t *testing.T) {
	s := &pickyProvider{}
	client := provider(t, s.ServeHTTP)
	r := ask("m", nil)
	for _, written := range []string{`{"a":1}`, "", `{"a":`, `[1]`} {
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: "f", Arguments: written}}})
	}
	if _, err := client.Complete(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.sent[0]["messages"].([]any)[1:] {
		f := m.(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)
		got = append(got, f["arguments"].(string))
	}
	if d := cmp.Diff([]string{`{"a":1}`, "{}", `{"malformed":"{\"a\":"}`, `{"malformed":"[1]"}`}, got); d != "" {
		t.Error(d)
	}
}

// TestTheKeyNeverFollowsARedirect proves guarantee I16: the key and the conversation are sent only to the
// configured address, whatever the settings of the given http.Client.
func TestTheKeyNeverFollowsARedirect(t *testing.T) {
	var mu sync.Mutex
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, r.Method+" "+r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+r.URL.Path, status)
		}))
		client := openai.New(openai.Endpoint{Provider: "test", BaseURL: server.URL, Key: "sk-secret"}, &http.Client{
			Timeout:       time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return nil },
		}, time.Now)
		for _, sink := range []llm.Sink{nil, &page{}} {
			if _, err := client.Complete(context.Background(), ask("m", sink)); !errors.Is(err, llm.ErrUnreachable) || !strings.Contains(err.Error(), "redirected") {
				t.Errorf("%d: %v", status, err)
			}
		}
		if err := client.Probe(context.Background()); !errors.Is(err, llm.ErrUnreachable) {
			t.Errorf("%d, probed: %v", status, err)
		}
		server.Close()
	}
	if len(reached) > 0 {
		t.Errorf("another host was sent %q", reached)
	}
}

// TestTheProvidersWaitIsReturned: also for a stream, whose error headers the SDK drops.
func TestTheProvidersWaitIsReturned(t *testing.T) {
	const date = "Sat, 21 Nov 2026 02:00:00 GMT"
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration // negative: none
	}{
		"seconds":                  {map[string]string{"Retry-After": "7"}, 7 * time.Second},
		"none":                     {map[string]string{"Retry-After": "0"}, 0},
		"part of one":              {map[string]string{"Retry-After": " 1.5 "}, 1500 * time.Millisecond},
		"milliseconds":             {map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, 250 * time.Millisecond},
		"broken milliseconds":      {map[string]string{"Retry-After-Ms": "x", "Retry-After": "1"}, time.Second},
		"a date":                   {map[string]string{"Retry-After": "Sat, 21 Nov 2026 02:00:30 GMT", "Date": date}, 30 * time.Second},
		"a date that is over":      {map[string]string{"Retry-After": "Sat, 21 Nov 2026 01:00:00 GMT", "Date": date}, -1},
		"a date far away":          {map[string]string{"Retry-After": "Sat, 21 Nov 2099 01:00:00 GMT", "Date": date}, llm.MaxRetryAfter},
		"a date without a date":    {map[string]string{"Retry-After": "Sat, 21 Nov 2020 02:00:30 GMT", "Date": "x"}, -1},
		"nothing":                  {nil, -1},
		"negative":                 {map[string]string{"Retry-After": "-5"}, -1},
		"absurd":                   {map[string]string{"Retry-After": "86400"}, llm.MaxRetryAfter},
		"more than a number holds": {map[string]string{"Retry-After": "1e999"}, llm.MaxRetryAfter},
		"not a number":             {map[string]string{"Retry-After": "NaN"}, -1},
		"words":                    {map[string]string{"Retry-After": "soon"}, -1},
	} {
		for _, status := range []int{429, 503} {
			for _, sink := range []llm.Sink{nil, &page{}} {
				client := provider(t, func(w http.ResponseWriter, r *http.Request) {
					for k, v := range c.header {
						w.Header().Set(k, v)
					}
					says(status, `{"error":{"message":"later"}}`)(w, r)
				})
				_, err := client.Complete(context.Background(), ask("m", sink))
				if got, ok := llm.RetryAfter(err); err == nil || ok != (c.want >= 0) || ok && got != c.want {
					t.Errorf("%s, %d: %v %v (%v)", name, status, got, ok, err)
				}
			}
		}
	}
}

func TestProbeReportsWhetherTheProviderCanBeCalled(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a list":            {says(200, `{"data":[]}`), nil},
		"an endless list":   {endless("{", "x"), nil},
		"no such list":      {says(404, `not found`), nil},
		"not to be asked":   {says(405, ``), nil},
		"a refused key":     {says(401, `{"error":"no"}`), llm.ErrNoKey},
		"a forbidden key":   {says(403, `{"error":"no"}`), llm.ErrNoKey},
		"no money left":     {says(402, `{"error":"no"}`), llm.ErrRefused},
		"too many":          {says(429, ``), llm.ErrLimited},
		"broken":            {says(500, ``), llm.ErrUnreachable},
		"unavailable":       {says(503, `<html>`), llm.ErrUnreachable},
		"a hung-up line":    {hangUp, llm.ErrUnreachable},
		"no answer in time": {never, llm.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := provider(t, c.answer).Probe(context.Background()); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("is sent the key", func(t *testing.T) {
		got := ""
		client := provider(t, func(_ http.ResponseWriter, r *http.Request) {
			got = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		})
		if err := client.Probe(context.Background()); err != nil || got != "GET /v1/models Bearer sk-test" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("takes three seconds at most", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := openai.New(openai.Endpoint{Provider: "test", BaseURL: "https://provider.example"}, &http.Client{Transport: silentTransport{}}, time.Now).Probe(context.Background())
			if took := time.Since(began); !errors.Is(err, llm.ErrUnreachable) || took != 3*time.Second {
				t.Errorf("%v after %v", err, took)
			}
		})
	})
	t.Run("can be stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := provider(t, never).Probe(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, llm.ErrStopped) {
			t.Errorf("%v", err)
		}
	})
}

// silentTransport does not answer until the request is cancelled.
type silentTransport struct{}

func (silentTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestWhatIsKnownOfAModelIsUsed from the first request, and survives being stored.
func TestWhatIsKnownOfAModelIsUsed(t *testing.T) {
	s := &pickyProvider{refuse: map[string]string{"temperature": `{"error":"temperature is not supported"}`}}
	server := httptest.NewServer(s)
	defer server.Close()
	var known json.RawMessage
	for range 2 {
		client := openai.New(openai.Endpoint{Provider: "test", BaseURL: server.URL}, server.Client(), time.Now)
		client.Teach("m", known, time.Now())
		if _, err := client.Complete(context.Background(), ask("m", nil)); err != nil {
			t.Fatal(err)
		}
		if known = client.Learned("m"); string(known) != `{"no_temperature":true,"plain":true}` {
			t.Fatal(string(known))
		}
	}
	if d := cmp.Diff([]string{"max_tokens temperature", "max_tokens", "max_tokens"}, s.members()); d != "" {
		t.Error(d)
	}
}

// TestARefusedToolChoiceCostsNoTools: a request that may call nothing is sent without them, and others keep them.
func TestARefusedToolChoiceCostsNoTools(t *testing.T) {
	s := &pickyProvider{refuse: map[string]string{"tool_choice": `{"error":{"message":"tool_choice is not supported by this model"}}`}}
	client := provider(t, s.ServeHTTP)
	r := ask("m", nil)
	r.Tools = []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for _, none := range []bool{true, false, true} {
		r.NoCalls = none
		if reply, err := client.Complete(context.Background(), r); err != nil || reply.NoTools {
			t.Errorf("%+v, %v", reply, err)
		}
	}
	var tools []bool
	for _, body := range s.sent {
		_, has := body["tools"]
		tools = append(tools, has)
	}
	if d := cmp.Diff([]bool{true, false, true, false}, tools); d != "" {
		t.Error(d)
	}
}
