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
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

// page is the text that a person sees.
type page struct {
	text   string
	deltas []string
}

func (p *page) Text(delta string) {
	p.text += delta
	p.deltas = append(p.deltas, delta)
}
func (p *page) Reset() { *p = page{} }

// events serves a stream of these events.
func events(datas ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range datas {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", d)
		}
	}
}

// raw serves these bytes as a stream.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

func delta(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"model":"m","choices":[{"index":0,"delta":{"content":` + string(quoted) + `}}]}`
}

const (
	stop = `{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done = "[DONE]"
)

func finish(reason string) string { return strings.Replace(stop, `"stop"`, `"`+reason+`"`, 1) }

// named returns a chunk with a part of a tool call's name.
func named(name string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"` + name + `"}}]}}]}`
}

// TestProviderFailuresMapToFaults checks each failure of a whole answer and of a stream.
func TestProviderFailuresMapToFaults(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a key that is refused":        {says(401, `{"error":{"message":"Incorrect API key provided: sk-te**st"}}`), llm.ErrNoKey},
		"a key without rights":         {says(403, `{"error":{"message":"no"}}`), llm.ErrNoKey},
		"a refused key, as a string":   {says(401, `{"error":"invalid key"}`), llm.ErrNoKey},
		"a refused key, without words": {says(401, ``), llm.ErrNoKey},
		"a refused key, by Groq":       {says(401, `{"error":{"message":"Invalid API Key","type":"invalid_request_error","code":"invalid_api_key"}}`), llm.ErrNoKey},
		"a refused key, by OpenRouter": {says(401, `{"error":{"message":"No auth credentials found","code":401}}`), llm.ErrNoKey},
		"a refused key, by Gemini": {says(400, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",
			"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]`), llm.ErrNoKey},
		"a refused key that answers 200": {says(200, `{"error":{"message":"no","code":401}}`), llm.ErrNoKey},
		"what was written is flagged":    {says(403, `{"error":{"message":"flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"…"}}}`), llm.ErrRefused},

		"too many":                        {says(429, `{"error":{"message":"slow down"}}`), llm.ErrLimited},
		"too many, as a string":           {says(429, `{"error":"slow down"}`), llm.ErrLimited},
		"too many, by Groq":               {says(429, `{"error":{"message":"Rate limit reached … Please try again in 7.66s","type":"tokens","code":"rate_limit_exceeded"}}`), llm.ErrLimited},
		"no capacity, by Groq":            {says(498, `{"error":{"message":"flex tier"}}`), llm.ErrLimited},
		"too many, in HTML":               {says(429, `<html>`), llm.ErrLimited},
		"too many, that answers 200":      {says(200, `{"error":{"message":"upstream","code":429}}`), llm.ErrLimited},
		"too many, in words, with 200":    {says(200, `{"error":{"message":"upstream","type":"rate_limit_error"}}`), llm.ErrLimited},
		"too many, inside of the choice":  {says(200, `{"choices":[{"index":0,"error":{"code":429,"message":"upstream"},"message":{"content":""}}]}`), llm.ErrLimited},
		"no money left":                   {says(402, `{"error":{"message":"Insufficient credits","code":402}}`), llm.ErrRefused},
		"no money left, as too many":      {says(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`), llm.ErrRefused},
		"no money left, that answers 200": {says(200, `{"error":{"message":"Insufficient credits","code":402}}`), llm.ErrRefused},

		"a model of no one":            {says(404, `{"error":{"message":"no such model"}}`), llm.ErrRefused},
		"a model of no one, by Ollama": {says(404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`), llm.ErrRefused},
		"a model of no one, by vLLM":   {says(404, `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","param":null,"code":404}`), llm.ErrRefused},
		"too long":                     {says(400, `{"error":{"message":"context length","type":"invalid_request_error"}}`), llm.ErrRefused},
		"too long, as a string":        {says(400, `{"error":"context length"}`), llm.ErrRefused},
		"too long, by Groq":            {says(413, `{"error":{"message":"Request too large","type":"tokens","code":"rate_limit_exceeded"}}`), llm.ErrRefused},
		"too long, that answers 200":   {says(200, `{"error":{"message":"context","type":"invalid_request_error"}}`), llm.ErrRefused},
		"invalid, by FastAPI":          {says(422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`), llm.ErrRefused},
		"elsewhere":                    {moved("https://example.com/v1/chat/completions"), llm.ErrUnreachable},

		"a time-out of the gateway":   {says(408, ``), llm.ErrUnreachable},
		"a conflict":                  {says(409, `{"error":{"message":"lock"}}`), llm.ErrUnreachable},
		"a broken tool call, by Groq": {says(400, `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<x>"}}`), llm.ErrUnreachable},
		"broken":                      {says(500, `{"error":{"message":"boom"}}`), llm.ErrUnreachable},
		"broken, in its own numbers":  {says(500, `{"error":{"message":"boom","code":401}}`), llm.ErrUnreachable},
		"broken, with odd types":      {says(500, `{"error":{"message":{"a":1},"code":[],"type":7}}`), llm.ErrUnreachable},
		"unavailable, in HTML":        {says(503, `<html>no</html>`), llm.ErrUnreachable},
		"overloaded":                  {says(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.ErrUnreachable},
		"an error that answers 200":   {says(200, `{"error":{"message":"overloaded"}}`), llm.ErrUnreachable},
		"an error string, with 200":   {says(200, `{"error":"overloaded"}`), llm.ErrUnreachable},
		"an error beside a choice":    {says(200, `{"error":{"message":"x"},"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`), llm.ErrUnreachable},
		"no choices":                  {says(200, `{"choices":[]}`), llm.ErrUnreachable},
		"choices that are null":       {says(200, `{"choices":null}`), llm.ErrUnreachable},
		"an empty choice":             {says(200, `{"choices":[{"index":0,"message":{}}]}`), llm.ErrUnreachable},
		"a choice without a word":     {says(200, `{"choices":[{"index":0,"message":{"content":" "}}]}`), llm.ErrUnreachable},
		"ended with an error":         {says(200, `{"choices":[{"index":0,"finish_reason":"error","message":{"content":"ho"}}]}`), llm.ErrUnreachable},
		"filtered to nothing":         {says(200, `{"choices":[{"index":0,"finish_reason":"content_filter","message":{"content":""}}]}`), llm.ErrRefused},
		"no room to say anything":     {says(200, `{"choices":[{"index":0,"finish_reason":"length","message":{"content":""}}]}`), llm.ErrRefused},
		"nothing":                     {says(200, ``), llm.ErrUnreachable},
		"nothing at all":              {says(204, ``), llm.ErrUnreachable},
		"a list":                      {says(200, `[]`), llm.ErrUnreachable},
		"not JSON":                    {says(200, `hello`), llm.ErrUnreachable},
		"half an answer":              {cut, llm.ErrUnreachable},
		"no answer in time":           {never, llm.ErrUnreachable},
		"a connection that is closed": {hangUp, llm.ErrUnreachable},
	} {
		for kind, sink := range map[string]llm.Sink{"whole": nil, "streamed": &page{}} {
			t.Run(kind+": "+name, func(t *testing.T) {
				t.Parallel()
				reply, err := provider(t, c.answer).Complete(context.Background(), llm.Request{Model: "m", Sink: sink})
				if !errors.Is(err, c.want) {
					t.Fatalf("got %v, want %v", err, c.want)
				}
				if reply.Text != "" || reply.Provider != "test" || reply.Model != "m" {
					t.Errorf("with %+v", reply)
				}
			})
		}
	}
}

// TestStreamFailuresMapToFaults checks the failures that only a stream can have.
func TestStreamFailuresMapToFaults(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"cut after a chunk":           {events(delta("ho")), llm.ErrUnreachable},
		"cut inside of a chunk":       {raw("data: " + delta("ho") + "\n\ndata: {\"choi"), llm.ErrUnreachable},
		"cut by the connection":       {func(w http.ResponseWriter, r *http.Request) { events(delta("ho"))(w, r); panic(http.ErrAbortHandler) }, llm.ErrUnreachable},
		"done inside of a call":       {events(named("ab"), part(`"index":0,"function":{"arguments":"{\"a\":{"}`), done), llm.ErrUnreachable},
		"done without a word":         {events(done), llm.ErrUnreachable},
		"comments only":               {raw(strings.Repeat(": OPENROUTER PROCESSING\n\n", 10)), llm.ErrUnreachable},
		"not JSON":                    {events(delta("ho"), "{oops}", stop, done), llm.ErrUnreachable},
		"an error in the middle":      {events(delta("ho"), `{"error":{"message":"boom","type":"server_error"}}`), llm.ErrUnreachable},
		"an error with white space":   {events(delta("ho"), `{ "error" : {"message":"slow down","code":429} }`), llm.ErrLimited},
		"an error as a string":        {events(delta("ho"), `{"error":"boom"}`), llm.ErrUnreachable},
		"an error beside a choice":    {events(delta("ho"), `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"upstream"}}`), llm.ErrUnreachable},
		"an event named error":        {raw("data: " + delta("ho") + "\n\nevent: error\ndata: {\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}\n\n"), llm.ErrLimited},
		"an error after comments":     {raw(": wait\n\n: wait\n\ndata: {\"error\":{\"code\":\"insufficient_quota\"}}\n\n"), llm.ErrRefused},
		"an error, as the first word": {events(`{"error":{"code":"invalid_api_key","message":"no"}}`), llm.ErrNoKey},
		"filtered to nothing":         {events(finish("content_filter"), done), llm.ErrRefused},
		"no room to say anything":     {events(finish("length"), done), llm.ErrRefused},
		"too many tool calls":         {manyCalls, llm.ErrUnreachable},
		"a name in endless parts":     {events(append(slices.Repeat([]string{named("ab"), named("cd")}, 1000), finish("tool_calls"))...), llm.ErrUnreachable},
		"an event in endless lines":   {raw("data: [\n" + strings.Repeat("data: 1,\n", 100) + "data: 1]\n\ndata: " + delta("hola") + "\n\ndata: " + stop + "\n\n"), llm.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := provider(t, c.answer).Complete(context.Background(), llm.Request{Model: "m", Sink: &page{}})
			if !errors.Is(err, c.want) || reply.Text != "" {
				t.Fatalf("got %+v, %v, want %v", reply, err, c.want)
			}
		})
	}
}

func manyCalls(w http.ResponseWriter, r *http.Request) {
	for i := range 300 {
		events(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"a","arguments":"{}"}}]}}]}`, i, i))(w, r)
	}
	events(finish("tool_calls"), done)(w, r)
}

func moved(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"ho`))
}

func never(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a server notices a closed connection only after it read the body
	<-r.Context().Done()
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// endless serves head, and then part repeatedly, up to 10 MiB.
func endless(head, part string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, head)
		block := strings.Repeat(part, 1+(1<<20)/len(part))
		for range 10 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}
}

func TestAnAnswerWithoutAnEndIsCut(t *testing.T) {
	chunk := "data: " + delta(strings.Repeat("x", 4000)) + "\n\n"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		sink   llm.Sink
	}{
		"whole":                 {endless(`{"choices":[{"finish_reason":"stop","message":{"content":"`, "x"), nil},
		"whole, for a stream":   {endless(`{"choices":[{"finish_reason":"stop","message":{"content":"`, "x"), &page{}},
		"a stream of chunks":    {endless("", chunk), &page{}},
		"a stream of one chunk": {endless(`data: {"choices":[{"index":0,"delta":{"content":"`, "x"), &page{}},
		"a stream of comments":  {endless("", ": wait\n\n"), &page{}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "a stream of chunks" || name == "a stream of comments") {
				t.Skip("millions of lines")
			}
			t.Parallel()
			server := httptest.NewServer(c.answer)
			defer server.Close()
			client := openai.New(openai.Endpoint{Provider: "test", BaseURL: server.URL, Key: "sk-test"}, &http.Client{Transport: ownTransport(t)}, time.Now)
			_, err := client.Complete(context.Background(), llm.Request{Model: "m", Sink: c.sink})
			if !errors.Is(err, llm.ErrUnreachable) || !strings.Contains(err.Error(), "8 MiB") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A pause until a date is one also where the answer has no date of its own.
func TestAPauseUntilADateIsHeard(t *testing.T) {
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("Retry-After", at.Add(6*time.Second).Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	client := openai.New(openai.Endpoint{Provider: "test", BaseURL: server.URL, Key: "sk-test"}, &http.Client{Transport: ownTransport(t)}, func() time.Time { return at })
	_, err := client.Complete(context.Background(), llm.Request{Model: "m"})
	if wait, asked := llm.RetryAfter(err); !errors.Is(err, llm.ErrLimited) || !asked || wait != 6*time.Second {
		t.Errorf("%v: %v %v", err, wait, asked)
	}
}

func TestTheKeyIsInNoError(t *testing.T) {
	repeating := func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("Location", "https://example.com/?key="+key)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		status := 400
		if bytes.Contains(body, []byte("elsewhere")) {
			status = 307
		}
		says(status, `{"error":{"message":"Bad key `+key+`","code":"`+key+`"}}`)(w, r)
	}
	server := httptest.NewServer(http.HandlerFunc(repeating))
	defer server.Close()
	for name, base := range map[string]string{"nobody there": "http://127.0.0.1:1/v1", "a provider that repeats it": server.URL} {
		for _, model := range []string{"m", "elsewhere"} {
			client := openai.New(openai.Endpoint{Provider: "test", BaseURL: base, Key: "sk-canary"}, &http.Client{Timeout: time.Second, Transport: ownTransport(t)}, time.Now)
			for _, sink := range []llm.Sink{nil, &page{}} {
				_, err := client.Complete(context.Background(), llm.Request{Model: model, Sink: sink})
				if err == nil || strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := client.Probe(context.Background()); err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s, probed: %v", name, err)
			}
		}
	}
}
