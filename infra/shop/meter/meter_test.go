package meter

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// talk is a conversation of three calls: the second goes on from the first, the third begins otherwise.
func talk(t *testing.T) []Call {
	t.Helper()
	rules := strings.Repeat("Regla: atiende bien, sin «prisa» y sin <etiquetas>. ", 100)
	tools := []any{map[string]any{"type": "function", "function": map[string]any{"name": "look", "parameters": map[string]any{"a": 1, "b": []int{1, 2}}}}}
	system := map[string]any{"role": "system", "content": rules}
	first := map[string]any{"role": "user", "content": "¿Cuánto cuesta?"}
	called := map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": "c1"}}}
	read := map[string]any{"role": "tool", "content": "{\"price\":\t1350}", "tool_call_id": "c1"}
	parts := map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "¿Y dos?"}}}
	var calls []Call
	for _, r := range []struct {
		messages []any
		choice   any
		answer   string
	}{
		{[]any{system, first}, "auto", `{"tools":[{"name":"look","args":{"path":"/p"}}],"text":""}`},
		{[]any{system, first, called, read}, "required", `{"text":"Cuesta 13,50 €."}`},
		{[]any{map[string]any{"role": "system", "content": "Otra cosa"}, first, called, read, parts}, nil, `{"text":"27 €"}`},
	} {
		request := map[string]any{"model": "m", "tools": tools, "messages": r.messages}
		if r.choice != nil {
			request["tool_choice"] = r.choice
		}
		raw, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		var a Answer
		if err := json.Unmarshal([]byte(r.answer), &a); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, Call{Request: raw, Answer: a})
	}
	return calls
}

// TestTokensAreCounted: what follows the longest known beginning is new, the plain loop has each text once, and a call that must call a
// tool is forced. The numbers are those of another program that counts the same.
func TestTokensAreCounted(t *testing.T) {
	want := Tokens{Calls: 3, Forced: 1, All: 2814, New: 1472, Cached: 1342, Plain: 290}
	got, err := Count(talk(t), 1000)
	if err != nil || got != want {
		t.Errorf("%+v, want %+v (%v)", got, want, err)
	}
	if got, want := (Tokens{New: 3, Plain: 2}).Ratio(), 1.5; got != want {
		t.Errorf("the ratio is %v", got)
	}
	if _, err := Count([]Call{{Request: []byte("no JSON")}}, 0); err == nil {
		t.Error("a request that is no JSON is counted")
	}
	short := Call{Request: []byte(`{"messages":[{"role":"user","content":"hola"}]}`)}
	if got, _ := Count([]Call{short, short}, 0); got.New != got.All || got.Cached != 0 {
		t.Errorf("a short beginning is cached: %+v", got)
	}
	document := `{"paths":{"/a":{"parameters":[],"get":{"operationId":"readA","summary":"Read","parameters":[{"name":"x"}]},"post":{"operationId":"b","description":"Bé"}}}}`
	plain := `{"name": "readA", "description": "Read", "parameters": [[{"name": "x"}], null]}` + `{"name": "b", "description": "B.", "parameters": [null, null]}`
	if n, err := Base([]byte(document), "¡Sé breve!"); err != nil || n != len(plain)+10 {
		t.Errorf("a plain loop begins with %d characters, want %d (%v)", n, len(plain)+10, err)
	}
}

// streamed is an answer of a provider in pieces, with head and tail of a call apart.
const streamed = `data: {"choices":[{"delta":{"role":"assistant","content":"Miro"}}]}

data: {"choices":[{"delta":{"content":" ahora.","tool_calls":[{"index":0,"id":"c1","function":{"name":"look","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}},{"index":1,"function":{"name":"b","arguments":"broken"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"/p\"}"}}]},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":7,"prompt_cache_hit_tokens":40}}

data: [DONE]
`

// TestTheProviderIsRecorded: the answer goes through as it is, compressed or not, and is read.
func TestTheProviderIsRecorded(t *testing.T) {
	whole := `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"look","arguments":"{\"path\":\"/p\"}"}}]}}],"usage":{"prompt_tokens":50,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":40}}}`
	for name, c := range map[string]struct{ body, answer string }{
		"streamed": {streamed, `{"text": "Miro ahora.", "tools": [{"name": "look", "args": {"path": "/p"}}, {"name": "b", "args": "broken"}]}`},
		"whole":    {whole, `{"tools": [{"name": "look", "args": {"path": "/p"}}]}`},
		"an error": {"<html>\n", `{}`},
	} {
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" {
				t.Errorf("%s %s", r.URL.Path, r.Header)
			}
			if name == "an error" {
				http.Error(w, strings.TrimSpace(c.body), http.StatusBadGateway)
				return
			}
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				_, _ = io.WriteString(w, c.body)
				return
			}
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = io.WriteString(packed, c.body)
			_ = packed.Close()
		}))
		base, err := url.Parse(provider.URL + "/v1")
		if err != nil {
			t.Fatal(err)
		}
		recorder := NewRecorder(Provider(base))
		front := httptest.NewServer(recorder)
		request, _ := http.NewRequest(http.MethodPost, front.URL+"/chat/completions", strings.NewReader(`{"model":"m"}`))
		request.Header.Set("Authorization", "Bearer k")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(answer.Body)
		if string(got) != c.body {
			t.Errorf("%s: the answer is %q", name, got)
		}
		front.Close()
		provider.Close()
		calls := recorder.Calls()
		if len(calls) != 1 || string(calls[0].Request) != `{"model":"m"}` || calls[0].Answer.written() != c.answer || calls[0].Status != answer.StatusCode {
			t.Errorf("%s: %+v", name, calls)
		}
		if u := calls[0].Usage; name != "an error" && u != (Usage{1, 50, 40, 7}) {
			t.Errorf("%s: %+v", name, u)
		}
		if !recorder.Quiet(0) || recorder.Quiet(time.Hour) {
			t.Error("it is not quiet since it answered")
		}
	}
}

// TestAPersonAnswers: the request is in a file, its answer is read from another, streamed or not, and numbers go on.
func TestAPersonAnswers(t *testing.T) {
	folder := t.TempDir()
	for i, c := range []struct{ request, file, answer string }{
		{`{"model":"m","stream":true}`, `{"tools":[{"name":"look","args":{"path":"/p"}}],"text":"Miro."}`, `{"text": "Miro.", "tools": [{"name": "look", "args": {"path": "/p"}}]}`},
		{`{"model":"m"}`, `{"tools":[{"name":"look","args":"{\"path\":"}]}`, `{"tools": [{"name": "look", "args": "{\"path\":"}]}`},
		{`{"model":"m"}`, `{"status":503,"error":"not today"}`, `{}`},
	} {
		hand, err := NewByHand(folder, func(file string) {
			if want := filepath.Join(folder, fmt.Sprintf("%04d.json", i+1)); file != want {
				t.Errorf("%s, want %s", file, want)
			}
			var kept struct{ Request struct{ Model string } }
			if raw, err := os.ReadFile(file); err != nil || json.Unmarshal(raw, &kept) != nil || kept.Request.Model != "m" {
				t.Errorf("%s: %v", file, err)
			}
			if err := os.WriteFile(strings.TrimSuffix(file, ".json")+".ans.json", []byte(c.file), 0o600); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		recorder := NewRecorder(hand)
		answer := httptest.NewRecorder()
		recorder.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/chat/completions", strings.NewReader(c.request)))
		call := recorder.Calls()[0]
		if call.Answer.written() != c.answer || strings.Contains(c.file, "status") != (answer.Code == http.StatusServiceUnavailable) {
			t.Errorf("%s: %d %+v", c.file, answer.Code, call)
		}
		if streams := strings.Contains(answer.Body.String(), "data: [DONE]"); streams != strings.Contains(c.request, "stream") {
			t.Errorf("%s is answered with %s", c.request, answer.Body)
		}
	}
}
