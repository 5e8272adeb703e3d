package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

const usage = `{"model":"m","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`

// readStream requests a stream from h and returns the reply and the page.
func readStream(t *testing.T, h http.HandlerFunc) (llm.Reply, *page) {
	t.Helper()
	return readOf(t, plainClient(t, h))
}

// readOf requests a stream of a client, and returns the reply and the page.
func readOf(t *testing.T, client *openai.Client) (llm.Reply, *page) {
	t.Helper()
	seen := &page{}
	reply, err := client.Complete(context.Background(), llm.Request{Model: "m", Sink: seen})
	if err != nil {
		t.Fatal(err)
	}
	if seen.text != reply.Text {
		t.Errorf("the page shows %q of %q", seen.text, reply.Text)
	}
	for _, d := range seen.deltas {
		if d == "" || !utf8.ValidString(d) || strings.Contains(d, "\uFFFD") {
			t.Errorf("the page was told %q", d)
		}
	}
	return reply, seen
}

// plainClient returns a client that knows that the model opens no thought, so that it holds no text back.
func plainClient(t *testing.T, h http.HandlerFunc) *openai.Client {
	t.Helper()
	client := provider(t, h)
	client.Teach("m", json.RawMessage(`{"plain":true}`), time.Unix(1, 0))
	return client
}

func TestAStreamReachesTheSinkAsItArrives(t *testing.T) {
	told := make(chan string)
	h := func(w http.ResponseWriter, r *http.Request) {
		for _, d := range []string{"Ho", "la"} {
			events(delta(d))(w, r)
			w.(http.Flusher).Flush()
			if got := <-told; got != d { // the next chunk is sent only after the sink received this one
				t.Errorf("told %q of %q", got, d)
			}
		}
		events(stop, usage, done)(w, r)
	}
	reply, err := plainClient(t, h).Complete(context.Background(), llm.Request{Model: "m", Sink: channel(told)})
	want := llm.Reply{Text: "Hola", Provider: "test", Model: "m", Usage: llm.Usage{Input: 12, Output: 3}}
	if d := cmp.Diff(want, reply); d != "" || err != nil {
		t.Error(d, err)
	}
}

type channel chan string

func (c channel) Text(delta string) { c <- delta }
func (c channel) Reset()            {}

func TestAStreamIsReadInEveryDialect(t *testing.T) {
	const hola = `{"choices":[{"index":0,"delta":{"content":"ho"}}]}`
	const ends = `{"choices":[{"index":0,"delta":{"content":"la"},"finish_reason":"stop"}]}`
	for name, text := range map[string]string{
		"as the protocol has it":       "data: " + hola + "\n\ndata: " + ends + "\n\ndata: [DONE]\n\n",
		"without a reason":             "data: " + hola + "\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"la\"}}]}\n\ndata: [DONE]\n\n",
		"without DONE":                 "data: " + hola + "\n\ndata: " + ends + "\n\n",
		"without a last line end":      "data: " + hola + "\n\ndata: " + ends,
		"without blanks":               "data:" + hola + "\n\ndata:" + ends + "\n\ndata:[DONE]\n\n",
		"without blank lines":          "data: " + hola + "\ndata: " + ends + "\ndata: [DONE]\n",
		"with CRLF":                    "data: " + hola + "\r\n\r\ndata: " + ends + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"with a byte order mark":       "\uFEFFdata: " + hola + "\n\ndata: " + ends + "\n\n",
		"with names and ids":           "retry: 10\nid: 1\nevent: message\ndata: " + hola + "\n\nid: 2\ndata: " + ends + "\n\n",
		"over many lines":              "data: " + strings.ReplaceAll(hola, ",", ",\ndata: ") + "\n\ndata: " + ends + "\n\n",
		"with keep-alive comments":     strings.Repeat(": OPENROUTER PROCESSING\n\n", 1000) + "data: " + hola + "\n\n" + strings.Repeat(":\n", 1000) + "data: " + ends + "\n\n",
		"with empty data":              "data:\n\ndata: " + hola + "\n\ndata: \n\ndata: " + ends + "\n\n",
		"with what is not of choice 0": "data: " + hola + "\n\ndata: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}\n\ndata: " + ends + "\n\n",
		"with odd types":               "data: {\"created\":1.5,\"id\":7,\"model\":null,\"error\":null,\"usage\":\"none\"," + hola[1:] + "\n\ndata: " + ends + "\n\n",
		"in parts":                     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"text\":\"no\"},{\"type\":\"text\",\"text\":\"ho\"}]}}]}\n\ndata: " + ends + "\n\n",
		"with a role and a null first": "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":null}}]}\n\ndata: " + hola + "\n\ndata: " + ends + "\n\n",
		"as one JSON value":            "\n " + `{"choices":[{"index":0,"message":{"content":"hola"},"finish_reason":"stop"}]}`,
		"as one JSON without a reason": `{"choices":[{"index":0,"message":{"content":"hola"}}]}`,
		"with more after DONE":         "data: " + hola + "\n\ndata: " + ends + "\n\ndata: [DONE]\n\ndata: {oops}\n\n",
		"and broken off after the end": "data: " + hola + "\n\ndata: " + ends + "\n\ndata: {\"usage\":{\"pro",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, _ := readStream(t, raw(text))
			if reply.Text != "hola" || reply.Model != "m" || !reply.Usage.Estimated {
				t.Errorf("%+v", reply)
			}
		})
	}
}

func TestAStreamThatIsNeverClosedEnds(t *testing.T) {
	t.Parallel()
	seen := &page{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		events(delta("hola"), stop)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	client := openai.New(openai.Endpoint{Provider: "test", BaseURL: server.URL, Key: "k"}, &http.Client{Transport: ownTransport(t)} /* which would wait for ever */, time.Now)
	reply, err := client.Complete(context.Background(), llm.Request{Model: "m", Sink: seen})
	if err != nil || reply.Text != "hola" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestWhiteSpaceAroundAStreamIsTrimmed(t *testing.T) {
	reply, seen := readStream(t, events(delta("\n"), delta(" "), delta(" Uno "), delta("\n\n"), delta("dos"), delta(" \n"), delta("\t"), stop, done))
	if d := cmp.Diff([]string{"Uno", " \n\ndos"}, seen.deltas); d != "" || reply.Text != "Uno \n\ndos" {
		t.Errorf("%q %s", reply.Text, d)
	}
}

// TestACharacterThatWasCutStaysWhole sends a text token by token, cut where some servers cut: inside of UTF-8 and
// between the halves of a \u pair.
func TestACharacterThatWasCutStaysWhole(t *testing.T) {
	chunk := func(inner string) string { return `{"choices":[{"index":0,"delta":{"content":"` + inner + `"}}]}` }
	for name, c := range map[string]struct {
		inner string
		size  int
		want  string
	}{
		"two bytes":           {"años", 1, "años"},
		"four bytes, by one":  {"a😀b", 1, "a😀b"},
		"four bytes, by two":  {"a😀b", 2, "a😀b"},
		"four bytes, by four": {"a😀b", 4, "a😀b"},
		"a pair":              {`a\ud83d\ude00b`, 7, "a😀b"},
		"a backslash":         {`a\\ud83d`, 8, `a\ud83d`},
		"a flag":              {"🇪🇸!", 3, "🇪🇸!"},
	} {
		t.Run(name, func(t *testing.T) {
			var datas []string
			for rest := c.inner; rest != ""; {
				n := min(c.size, len(rest))
				datas = append(datas, chunk(rest[:n]))
				rest = rest[n:]
			}
			reply, _ := readStream(t, events(append(datas, stop, done)...))
			if reply.Text != c.want {
				t.Errorf("%q of %q", reply.Text, c.want)
			}
		})
	}
}

func TestAnIncompleteLastCharacterIsDropped(t *testing.T) {
	reply, _ := readStream(t, events("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hola\xf0\x9f\"}}]}", stop, done))
	if reply.Text != "hola" {
		t.Errorf("%q", reply.Text)
	}
}

// part returns a chunk with a part of a tool call.
func part(members string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[{` + members + `}]}}]}`
}

func TestToolCallPartsOfAStreamAreJoined(t *testing.T) {
	type calls = []llm.Call
	both := calls{{ID: "a", Name: "one", Arguments: `{"x":1}`}, {ID: "b", Name: "two", Arguments: `{}`}}
	for name, c := range map[string]struct {
		parts []string
		want  calls
	}{
		"by index": {[]string{
			part(`"index":0,"id":"a","type":"function","function":{"name":"one","arguments":""}`),
			part(`"index":0,"function":{"arguments":"{\"x\""}`),
			part(`"index":1,"id":"b","type":"function","function":{"name":"two"}`),
			part(`"index":0,"function":{"arguments":":1}"}`),
			part(`"index":1,"function":{"arguments":"{}"}`),
		}, both},
		"without an index": {[]string{
			part(`"id":"a","function":{"name":"one","arguments":"{\"x\""}`),
			part(`"function":{"arguments":":1}"}`),
			part(`"id":"b","function":{"name":"two","arguments":"{}"}`),
		}, both},
		"without an index, by id": {[]string{
			part(`"id":"a","function":{"name":"one"}`),
			part(`"id":"b","function":{"name":"two"}`),
			part(`"id":"a","function":{"arguments":"{\"x\":1}"}`),
			part(`"id":"b","function":{"arguments":"{}"}`),
		}, both},
		"all of index 0": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}`),
			part(`"index":0,"id":"b","function":{"name":"two","arguments":"{}"}`),
		}, both},
		"with the name in every part": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}`),
			part(`"index":0,"id":"a","function":{"name":"one","arguments":":1}"}`),
			part(`"index":1,"id":"b","function":{"name":"two","arguments":"{}"}`),
		}, both},
		"with a new id in every part": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}`),
			part(`"index":0,"id":"z","function":{"arguments":":1}"}`),
			part(`"index":1,"id":"b","function":{"name":"two","arguments":"{}"}`),
		}, both},
		"without an index, with a new id in every part": {[]string{
			part(`"id":"a","function":{"name":"one","arguments":"{\"x\""}`),
			part(`"id":"z","function":{"arguments":":1}"}`),
			part(`"id":"b","function":{"name":"two","arguments":"{}"}`),
		}, both},
		"with indices that begin at 1": {[]string{
			part(`"index":1,"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}`),
			part(`"index":5,"id":"b","function":{"name":"two","arguments":"{}"}`),
		}, both},
		"with the arguments of the second under its own index": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}`),
			part(`"index":0,"function":{"arguments":":1}"}`),
			part(`"index":0,"id":"b","function":{"name":"two","arguments":""}`),
			part(`"index":1,"function":{"arguments":"{"}`),
			part(`"index":1,"function":{"arguments":"}"}`),
		}, both},
		"with arguments that are numbered from 0 and heads from 1": {[]string{
			part(`"index":1,"id":"a","function":{"name":"one"}`),
			part(`"index":0,"function":{"arguments":"{\"x\":1}"}`),
			part(`"index":2,"id":"b","function":{"name":"two"}`),
			part(`"index":1,"function":{"arguments":"{}"}`),
		}, both},
		"with both heads first": {[]string{
			part(`"index":1,"id":"a","function":{"name":"one"}`),
			part(`"index":2,"id":"b","function":{"name":"two"}`),
			part(`"index":0,"function":{"arguments":"{\"x\""}`),
			part(`"index":0,"function":{"arguments":":1}"}`),
			part(`"index":3,"id":"b","function":{"arguments":"{}"}`),
		}, both},
		"with a second head inside of the first call": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}`),
			part(`"index":0,"id":"b","function":{"name":"two"}`),
			part(`"index":0,"function":{"arguments":":1}"}`),
			part(`"index":1,"function":{"arguments":"{}"}`),
		}, both},
		"with objects for arguments": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":{"x":1}}`),
			part(`"index":1,"id":"b","function":{"name":"two","arguments":{}}`),
		}, both},
		"without ids, as Ollama": {[]string{
			part(`"function":{"name":"one","arguments":{"x":1}}`),
			part(`"function":{"name":"one","arguments":{"x":12345678901234567890}}`),
		}, calls{{Name: "one", Arguments: `{"x":1}`}, {Name: "one", Arguments: `{"x":12345678901234567890}`}}},
		"all of index 0 and one id": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}`),
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":2}"}`),
			part(`"index":0,"id":"a","function":{"name":"two","arguments":"{}"}`),
		}, calls{{ID: "a", Name: "one", Arguments: `{"x":1}`}, {ID: "a", Name: "one", Arguments: `{"x":2}`}, {ID: "a", Name: "two", Arguments: `{}`}}},
		"all of index 0 and without ids": {[]string{
			part(`"index":0,"function":{"name":"one","arguments":"{\"x\":\"}{\\\"\"}"}`),
			part(`"index":0,"id":null,"function":{"name":"one","arguments":"{\"x\""}`),
			part(`"index":0,"id":null,"function":{"arguments":":2}"}`),
		}, calls{{Name: "one", Arguments: `{"x":"}{\""}`}, {Name: "one", Arguments: `{"x":2}`}}},
		"without an index and of one id": {[]string{
			part(`"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}`),
			part(`"id":"a","function":{"name":"one","arguments":"{\"x\""}`),
			part(`"id":"a","function":{"arguments":":2}"}`),
		}, calls{{ID: "a", Name: "one", Arguments: `{"x":1}`}, {ID: "a", Name: "one", Arguments: `{"x":2}`}}},
		"of index 0, where the names are tools": {[]string{
			part(`"index":0,"function":{"name":"tool_a"}`),
			part(`"index":0,"function":{"name":"tool_b"}`),
			part(`"index":0,"function":{"arguments":"{}"}`),
		}, calls{{Name: "tool_a"}, {Name: "tool_b", Arguments: `{}`}}},
		"of index 0, where the first is incomplete": {[]string{
			part(`"index":0,"function":{"name":"one","arguments":"{\"x\""}`),
			part(`"index":0,"function":{"name":"two","arguments":"{}"}`),
		}, calls{{Name: "one", Arguments: `{"x"`}, {Name: "two", Arguments: `{}`}}},
		"with the name once more at the end": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}`),
			part(`"index":0,"id":"a","function":{"name":"one","arguments":""}`),
		}, calls{{ID: "a", Name: "one", Arguments: `{"x":1}`}}},
		"with numbers for ids": {[]string{
			part(`"id":1,"function":{"name":"one","arguments":"{\"x\""}`),
			part(`"id":2,"function":{"name":"two"}`),
			part(`"id":1,"function":{"arguments":":1}"}`),
			part(`"id":2,"function":{"arguments":"{}"}`),
		}, calls{{ID: "1", Name: "one", Arguments: `{"x":1}`}, {ID: "2", Name: "two", Arguments: `{}`}}},
		"with null arguments": {[]string{
			part(`"index":0,"id":"a","function":{"name":"one","arguments":null}`),
		}, calls{{ID: "a", Name: "one"}}},
		"with a name in two parts": {[]string{
			part(`"index":0,"id":"a","function":{"name":"search_"}`),
			part(`"index":0,"function":{"name":"tools","arguments":"{}"}`),
		}, calls{{ID: "a", Name: "search_tools", Arguments: "{}"}}},
		"with a character that was cut": {[]string{
			part("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"one\",\"arguments\":\"{\\\"x\\\":\\\"\xc3\"}"),
			part("\"index\":0,\"function\":{\"arguments\":\"\xb1\\\"}\"}"),
		}, calls{{ID: "a", Name: "one", Arguments: `{"x":"ñ"}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := events(append(c.parts, finish("tool_calls"), usage, done)...)
			reply, err := provider(t, h).Complete(context.Background(), llm.Request{
				Model: "m", Sink: &page{}, Messages: []llm.Message{{Role: llm.User, Content: "u"}}, Tools: []llm.Tool{{Name: "tool_a"}, {Name: "tool_b"}},
			})
			want := llm.Reply{Calls: c.want, Provider: "test", Model: "m", Usage: llm.Usage{Input: 12, Output: 3}}
			if d := cmp.Diff(want, reply); d != "" || err != nil {
				t.Error(err, d)
			}
		})
	}
}

// A server may end a stream with all that it has said. Two calls of an answer may also be the same: then they differ in id or
// index, or stand in one part.
func TestAStreamThatRepeatsItsCallsHasEachOnce(t *testing.T) {
	type calls = []llm.Call
	one := llm.Call{ID: "a", Name: "one", Arguments: `{"x":1}`}
	two := llm.Call{ID: "b", Name: "two", Arguments: `{}`}
	named := []string{
		part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}`), part(`"index":0,"function":{"arguments":":1}"}`),
		part(`"index":1,"id":"b","function":{"name":"two","arguments":"{}"}`),
	}
	const again = `"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}`
	numbered := []string{part(`"index":0,"function":{"name":"one","arguments":"{\"x\":1}"}`), part(`"index":1,"function":{"name":"two","arguments":"{}"}`)}
	for name, c := range map[string]struct {
		begin []string
		last  []string
		want  calls
	}{
		"all in the last part": {named, []string{part(`"index":0,` + again + `},{"index":1,"id":"b","function":{"name":"two","arguments":"{}"}`)}, calls{one, two}},
		"each in a part":       {named, []string{part(`"index":0,` + again), part(`"index":1,"id":"b","function":{"name":"two","arguments":"{}"}`)}, calls{one, two}},
		"one of them":          {named, []string{part(`"index":0,` + again)}, calls{one, two}},
		"written otherwise":    {named, []string{part(`"index":0,"id":"a","function":{"name":"one","arguments":{ "x" : 1 }}`)}, calls{one, two}},
		"with no name":         {named, []string{part(`"index":0,"id":"a","function":{"arguments":"{\"x\":1}"}`)}, calls{one, two}},
		"arguments only":       {named, []string{part(`"index":0,"function":{"arguments":"{\"x\":1}"}`)}, calls{one, two}},
		"with no index":        {named, []string{part(again)}, calls{one, two}},
		"of index 0 only": {
			[]string{part(`"index":0,` + again), part(`"index":0,"id":"b","function":{"name":"two","arguments":"{}"}`)},
			[]string{part(`"index":0,` + again + `},{"index":0,"id":"b","function":{"name":"two","arguments":"{}"}`)},
			calls{one, two},
		},
		"by index, with no ids": {numbered, numbered, calls{{Name: "one", Arguments: `{"x":1}`}, {Name: "two", Arguments: `{}`}}},
		"a call with another id": {
			named, []string{part(`"index":2,"id":"c","function":{"name":"one","arguments":"{\"x\":1}"}`)}, calls{one, two, {ID: "c", Name: "one", Arguments: `{"x":1}`}},
		},
		"a call with another index": {
			named, []string{part(`"index":2,` + again)}, calls{one, two, one},
		},
		"other arguments": {
			named, []string{part(`"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":2}"}`)}, calls{one, two, {ID: "a", Name: "one", Arguments: `{"x":2}`}},
		},
		"twice in one part":       {nil, []string{part(`"index":0,` + again + `},{"index":0,` + again)}, calls{one, one}},
		"with no index and no id": {[]string{part(`"function":{"name":"one","arguments":{"x":1}}`)}, []string{part(`"function":{"name":"one","arguments":{"x":1}}`)}, calls{{Name: "one", Arguments: `{"x":1}`}, {Name: "one", Arguments: `{"x":1}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			reply, _ := readStream(t, events(append(slices.Concat(c.begin, c.last), finish("tool_calls"), usage, done)...))
			if d := cmp.Diff(c.want, reply.Calls); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestTheOldFormOfACallIsACall, beside tool_calls, too. Where both say the same, it is one call.
func TestTheOldFormOfACallIsACall(t *testing.T) {
	const old, other = `"function_call":{"name":"one","arguments":"{\"x\":1}"}`, `"tool_calls":[{"index":0,"id":"b","function":{"name":"two","arguments":"{}"}}]`
	const same = `"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{ \"x\": 1 }"}}]`
	one, two := llm.Call{Name: "one", Arguments: `{"x":1}`}, llm.Call{ID: "b", Name: "two", Arguments: `{}`}
	for members, want := range map[string][]llm.Call{
		old:                           {one},
		old + "," + other:             {two, one},
		same + "," + old:              {{ID: "a", Name: "one", Arguments: `{ "x": 1 }`}},
		`"function_call":null`:        nil,
		`"function_call":{}`:          nil,
		`"function_call":"none"`:      nil,
		`"function_call":{"name":""}`: nil,
		`"function_call":{"name":"one","arguments":{"x":1}}`: {one},
	} {
		whole, err := provider(t, says(200, `{"choices":[{"finish_reason":"function_call","message":{"content":"t",`+members+`}}]}`)).
			Complete(t.Context(), llm.Request{Model: "m"})
		if d := cmp.Diff(want, whole.Calls); d != "" || err != nil {
			t.Errorf("%s: %v %s", members, err, d)
		}
		streamed, _ := readStream(t, events(`{"choices":[{"index":0,"delta":{"content":"t",`+members+`}}]}`, finish("function_call"), done))
		if d := cmp.Diff(want, streamed.Calls); d != "" {
			t.Errorf("streamed %s: %s", members, d)
		}
	}
	inParts := func(members string) string { return `{"choices":[{"index":0,"delta":{` + members + `}}]}` }
	streamed, _ := readStream(t, events(inParts(`"function_call":{"name":"one","arguments":""}`), inParts(`"function_call":{"arguments":"{\"x\""}`), inParts(other),
		inParts(`"function_call":{"arguments":":1}"}`), inParts(old), finish("function_call"), done))
	if d := cmp.Diff([]llm.Call{one, two}, streamed.Calls); d != "" {
		t.Error(d)
	}
}

// TestEachElementOfAWholeAnswerIsACall: whatever ids and indices the elements have, and also where a stream was asked for.
func TestEachElementOfAWholeAnswerIsACall(t *testing.T) {
	for list, want := range map[string][]llm.Call{
		`{"id":"mcp_request:0","function":{"name":"one","arguments":"{\"x\":1}"}},{"id":"mcp_request:0","function":{"name":"one","arguments":"{\"x\":2}"}}`: {
			{ID: "mcp_request:0", Name: "one", Arguments: `{"x":1}`}, {ID: "mcp_request:0", Name: "one", Arguments: `{"x":2}`},
		},
		`{"id":"a","index":0,"function":{"name":"one","arguments":""}},{"id":"a","index":0,"function":{"name":"two","arguments":""}}`: {{ID: "a", Name: "one"}, {ID: "a", Name: "two"}},
		`{"id":null,"function":{"name":"one","arguments":"{}"}},{"function":{"name":"one","arguments":"{}"}},{"id":{},"index":0,"function":{"name":"one","arguments":"{}"}}`: {
			{Name: "one", Arguments: "{}"}, {Name: "one", Arguments: "{}"}, {Name: "one", Arguments: "{}"},
		},
		`{"id":7,"function":{"name":"one","arguments":"{"}},{"id":7,"function":{"arguments":"}"}}`:       {{ID: "7", Name: "one", Arguments: "{"}, {ID: "7", Arguments: "}"}},
		`{"index":"0","function":{"name":"one","arguments":{}}},{"index":"0","function":{"name":"one"}}`: {{Name: "one", Arguments: "{}"}, {Name: "one"}},
	} {
		for _, sink := range []llm.Sink{nil, &page{}} {
			reply, err := provider(t, says(200, `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[`+list+`]}}]}`)).
				Complete(context.Background(), llm.Request{Model: "m", Sink: sink})
			if d := cmp.Diff(want, reply.Calls); d != "" || err != nil {
				t.Errorf("streamed: %v, %s\n%v %s", sink != nil, list, err, d)
			}
		}
	}
}

func TestAnAnswerThatTheProviderEndedIsCut(t *testing.T) {
	for reason, cut := range map[string]bool{"length": true, "content_filter": true, "stop": false, "eos": false} {
		reply, _ := readStream(t, events(delta("hola"), finish(reason), done))
		whole, err := provider(t, says(200, `{"choices":[{"finish_reason":"`+reason+`","message":{"content":"hola"}}]}`)).
			Complete(context.Background(), llm.Request{Model: "m"})
		if err != nil || reply.Cut != cut || whole.Cut != cut || reply.Length != (reason == "length") || whole.Length != reply.Length || reply.Text != "hola" || whole.Text != "hola" {
			t.Errorf("%s: %+v, %+v, %v", reason, reply, whole, err)
		}
	}
}

func TestAnAnswerMayBeEmpty(t *testing.T) {
	reply, _ := readStream(t, events(stop, usage, done))
	whole, err := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"content":" "}}]}`)).
		Complete(context.Background(), llm.Request{Model: "m"})
	if err != nil || reply.Text != "" || whole.Text != "" || reply.Usage.Output != 3 || whole.Usage.Output != 0 {
		t.Errorf("%+v, %+v, %v", reply, whole, err)
	}
}

func TestAModelsRefusalIsItsAnswer(t *testing.T) {
	reply, _ := readStream(t, events(`{"choices":[{"index":0,"delta":{"content":null,"refusal":"No puedo."}}]}`, stop, done))
	whole, err := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"No puedo."}}]}`)).
		Complete(context.Background(), llm.Request{Model: "m"})
	if err != nil || reply.Text != "No puedo." || whole.Text != "No puedo." {
		t.Errorf("%+v, %+v, %v", reply, whole, err)
	}
}

// TestMissingUsageIsEstimated: the estimate is never zero, and is marked as one.
func TestMissingUsageIsEstimated(t *testing.T) {
	ask := llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Content: strings.Repeat("palabra ", 50)}}}
	for told, want := range map[string]llm.Usage{
		`"usage":null`: {Input: ask.Estimate(), Output: llm.EstimateText("hola"), Estimated: true},
		`"usage":{"prompt_tokens":0,"completion_tokens":0}`:  {Input: ask.Estimate(), Output: llm.EstimateText("hola"), Estimated: true},
		`"usage":{"prompt_tokens":-4,"completion_tokens":2}`: {Input: ask.Estimate(), Output: 2, Estimated: true},
		`"usage":{"prompt_tokens":7}`:                        {Input: 7, Output: llm.EstimateText("hola"), Estimated: true},
		`"usage":{"prompt_tokens":7,"completion_tokens":2}`:  {Input: 7, Output: 2},

		`"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}`:   {Input: 7, Cached: 5, Output: 2},
		`"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}`:   {Input: 7, Cached: 7, Output: 2},
		`"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":-9}}`:  {Input: 7, Output: 2},
		`"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":null}`:                  {Input: 7, Output: 2},
		`"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":"5"}}`: {Input: 7, Output: 2},
	} {
		whole, err := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}],`+told+`}`)).
			Complete(context.Background(), ask)
		if d := cmp.Diff(want, whole.Usage); d != "" || err != nil {
			t.Errorf("whole, %s: %v %s", told, err, d)
		}
		r := ask
		r.Sink = &page{}
		stream, err := provider(t, events(delta("hola"), stop, `{"choices":[],`+told+`}`, done)).Complete(context.Background(), r)
		if d := cmp.Diff(want, stream.Usage); d != "" || err != nil {
			t.Errorf("streamed, %s: %v %s", told, err, d)
		}
	}
}

// TestAStoppedStreamReturnsItsText: when a person stops it, and when its deadline passes. An answer that was
// complete by then is not a failure.
func TestAStoppedStreamReturnsItsText(t *testing.T) {
	half := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		events(delta("medio "), delta("mensaje "))(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	t.Run("by a person", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		seen := stopper{after: "medio mensaje", stop: cancel}
		reply, err := plainClient(t, half).Complete(ctx, llm.Request{Model: "m", Sink: &seen})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, llm.ErrStopped) {
			t.Errorf("%v", err)
		}
		if reply.Text != "medio mensaje" || !reply.Cut || !reply.Usage.Estimated || reply.Usage.Output == 0 || reply.Provider != "test" {
			t.Errorf("%+v", reply)
		}
	})
	t.Run("by the deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		reply, err := plainClient(t, half).Complete(ctx, llm.Request{Model: "m", Sink: &page{}})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, llm.ErrUnreachable) || reply.Text != "medio mensaje" {
			t.Errorf("%+v, %v", reply, err)
		}
	})
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, sink := range []llm.Sink{nil, &page{}} {
			reply, err := plainClient(t, half).Complete(ctx, llm.Request{Model: "m", Sink: sink})
			if !errors.Is(err, context.Canceled) || reply.Text != "" || reply.Usage != (llm.Usage{}) {
				t.Errorf("%+v, %v", reply, err)
			}
		}
	})
}

// stopper is a sink that stops the answer after a certain text.
type stopper struct {
	page
	after string
	stop  func()
}

func (s *stopper) Text(delta string) {
	s.page.Text(delta)
	if s.text == s.after {
		s.stop()
	}
}

// TestARetriedStreamIsShownOnce combines the client and llm.Retry.
func TestARetriedStreamIsShownOnce(t *testing.T) {
	answers := []http.HandlerFunc{
		events(delta("una mitad")),
		says(429, `{"error":{"message":"slow down"}}`),
		events(delta("Hola"), delta(", entero."), stop, usage, done),
	}
	var n atomic.Int32
	client := provider(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		answers[n.Add(1)-1](w, r)
	})
	seen := &page{}
	var outcomes []string
	reply, err := llm.Retry{Most: 3, Now: time.Now}.Complete(context.Background(), client, llm.Request{Model: "m", Sink: seen},
		func(a llm.Attempt) { outcomes = append(outcomes, a.Provider+" "+a.Model+" "+a.Outcome) })
	if err != nil || reply.Text != "Hola, entero." || seen.text != reply.Text || reply.Usage.Estimated {
		t.Errorf("%+v, %v; the page shows %q", reply, err, seen.text)
	}
	if d := cmp.Diff([]string{"test m provider_unreachable", "test m rate_limited", "test m ok"}, outcomes); d != "" {
		t.Error(d)
	}
}

// wire answers every request with these bytes, so that a fuzzer needs no socket.
type wire string

func (w wire) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(w)))}, nil
}

// FuzzStream feeds random streams: the result is an answer or a known fault, the page shows the answer, and no text
// appears twice.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"data: " + delta("hola") + "\n\ndata: " + stop + "\n\ndata: [DONE]\n\n",
		"data: " + delta("a\u00f1") + "\r\n: x\r\ndata: " + part(`"id":"a","function":{"name":"n","arguments":{"x":1}}`) + "\n\ndata: " + finish("tool_calls"),
		"event: error\ndata: {\"message\":\"x\"}\n\n", "data: {\"error\":1}\n\n", "\uFEFF{\"choices\":[{\"message\":{\"content\":\"a\"}}]}",
		"data: {\ndata: }\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\"\xf0\x9f\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\x98\x80\"},\"finish_reason\":\"stop\"}]}",
		`data: {"choices":[{"delta":{"content":"\ud83d"}}]}`, "[[[[", "{}", "data",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		client := openai.New(openai.Endpoint{Provider: "test", BaseURL: "http://test", Key: "k"}, &http.Client{Transport: wire(s)}, time.Now)
		seen := &page{}
		reply, err := client.Complete(context.Background(), llm.Request{Model: "m", Sink: seen})
		if err != nil {
			for _, known := range []error{llm.ErrNoKey, llm.ErrLimited, llm.ErrRefused, llm.ErrUnreachable} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("an unknown fault: %v", err)
		}
		if seen.text != reply.Text || !utf8.ValidString(reply.Text) || strings.TrimSpace(reply.Text) != reply.Text {
			t.Errorf("%q, and the page shows %q", reply.Text, seen.text)
		}
		said := reply.Text != "" || len(reply.Calls) > 0 // it may also stop without text
		if reply.Usage.Input <= 0 || said && reply.Usage.Output <= 0 {
			t.Errorf("an answer of %+v", reply.Usage)
		}
		_, err = json.Marshal(reply)
		if err != nil {
			t.Error(fmt.Errorf("a reply that cannot be kept: %w", err))
		}
	})
}

// FuzzAnswer feeds random answers, read as a whole and as a stream: both readers must agree on answers that both
// can read.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"n","arguments":{"x":[1,"\u00f1"]}}}]}}]}`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"a"}]}}]}`, `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`, `{"choices":[{"message":{"content":" "}}]}`, `{"error":"x"}`, `{"error":{"code":429}}`, `[]`, `{"choices":null}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		client := openai.New(openai.Endpoint{Provider: "test", BaseURL: "http://test", Key: "k"}, &http.Client{Transport: wire(s)}, time.Now)
		whole, err := client.Complete(context.Background(), llm.Request{Model: "m"})
		if err != nil {
			return
		}
		said := whole.Text != "" || len(whole.Calls) > 0
		if !utf8.ValidString(whole.Text) || whole.Usage.Input <= 0 || said && whole.Usage.Output <= 0 {
			t.Errorf("%+v", whole)
		}
		if first := strings.TrimLeft(s, " \t\r\n"); first[0] != '{' {
			t.Skip("only an object is taken for a whole answer of a stream")
		}
		stream, err := client.Complete(context.Background(), llm.Request{Model: "m", Sink: &page{}})
		if d := cmp.Diff(whole, stream); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}
