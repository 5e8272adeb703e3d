package mcp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

const fine = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`

func TestCallToolReportsExactOutcome(t *testing.T) {
	nothing := func() {}
	slowly := func() { time.Sleep(20 * time.Millisecond) } // the test needs a slow server
	huge := strings.Repeat("x", 10<<20)
	type answers = func(http.ResponseWriter, *http.Request, string)
	rpcError := func(code int, rpc string) func(*faultyServer) answers {
		return func(*faultyServer) answers {
			return status(code, `{"jsonrpc":"2.0","id":ID,"error":{"code":`+rpc+`,"message":"no"}}`, "Content-Type", "application/json")
		}
	}
	cases := []struct {
		name   string
		answer func(c *faultyServer) answers
		err    error
		reason string // of err
		status int
		failed bool
		calls  int32 // 0: one

		code    string        // of an error of JSON-RPC
		unknown bool          // that says nothing of the effect
		wait    time.Duration // that the answer asks for
	}{
		{name: "plain", answer: func(*faultyServer) answers {
			return status(200, fine, "Content-Type", "application/json; charset=utf-8")
		}, status: 200},
		{name: "stream", answer: func(*faultyServer) answers { return stream("event: message\r\ndata: " + fine + "\r\n\r\n") }, status: 200},
		{name: "stream in lines", answer: func(*faultyServer) answers {
			return stream(": hello\nid: 7\nretry: 1\ndata:\n\nevent: other\ndata: x\n\n" + `data: {"jsonrpc":"2.0",` + "\ndata: " + `"id":ID,"result":{"content":[]}}` + "\n\n")
		}, status: 200},
		{name: "stream without its last line", answer: func(*faultyServer) answers { return stream("data: " + fine) }, status: 200},
		{name: "list of messages", answer: func(*faultyServer) answers {
			return status(200, `[{"jsonrpc":"2.0","method":"notifications/message","params":{}},`+fine+`]`, "Content-Type", "application/json")
		}, status: 200},
		{name: "id as a text", answer: func(*faultyServer) answers {
			return status(200, strings.Replace(fine, "ID", `"ID"`, 1), "Content-Type", "application/json")
		}, status: 200},
		{name: "id as a text in a stream", answer: func(*faultyServer) answers {
			return stream("data: " + strings.Replace(fine, "ID", `"ID"`, 1) + "\n\n")
		}, status: 200},
		{name: "another id as a text", answer: func(*faultyServer) answers {
			return status(200, strings.Replace(fine, "ID", `"9ID"`, 1), "Content-Type", "application/json")
		}, err: tool.ErrLost},
		{name: "after a byte order mark", answer: func(*faultyServer) answers {
			return status(200, "\ufeff \n"+fine, "Content-Type", "application/json")
		}, status: 200},
		{name: "stream after a byte order mark", answer: func(*faultyServer) answers {
			return stream("\ufeff: hello\n\n: \ufeff\n\nevent: message\ndata: \ufeff" + fine + "\n\n")
		}, status: 200},
		{name: "without content", answer: func(*faultyServer) answers { return result(`{}`) }, status: 200},
		{name: "with structure only", answer: func(*faultyServer) answers { return result(`{"structuredContent":{"id":7},"isError":null}`) }, status: 200},
		{name: "not failed, in words", answer: func(*faultyServer) answers { return result(`{"content":[],"isError":"false"}`) }, status: 200},
		{name: "failed, in words", answer: func(*faultyServer) answers { return result(`{"content":[],"isError":"true"}`) }, status: 200, failed: true},
		{name: "failed, as a number", answer: func(*faultyServer) answers { return result(`{"content":[],"isError":1}`) }, status: 200, failed: true},
		{name: "failed, as it seems", answer: func(*faultyServer) answers { return result(`{"content":[],"isError":{"code":7}}`) }, status: 200, failed: true},
		{name: "another session", answer: func(*faultyServer) answers {
			return status(200, fine, "Content-Type", "application/json", "Mcp-Session-Id", "stolen")
		}, status: 200},
		{name: "failed", answer: func(*faultyServer) answers { return result(`{"content":[],"isError":true}`) }, status: 200, failed: true},
		{name: "wants input", answer: func(*faultyServer) answers {
			return result(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"x"}}}}`)
		}, status: 200, failed: true},
		{name: "error", answer: rpcError(200, "-32602"), status: 200, failed: true, code: "-32602"},
		{name: "error with a status", answer: rpcError(400, "-32020"), status: 400, failed: true, code: "-32020"},
		{name: "error with 500", answer: rpcError(500, "-32603"), status: 500, failed: true, code: "-32603", unknown: true},
		{name: "unknown tool with 502", answer: rpcError(502, "-32602"), status: 502, failed: true, code: "-32602", unknown: true},
		{name: "error with 408", answer: rpcError(408, "-32600"), status: 408, failed: true, code: "-32600", unknown: true},
		{name: "timeout of a server behind it", answer: rpcError(200, "-32001"), status: 200, failed: true, code: "-32001", unknown: true},
		{name: "timeout with 400", answer: rpcError(400, "-32000"), status: 400, failed: true, code: "-32000", unknown: true},
		{name: "an internal error", answer: rpcError(200, "-32603"), status: 200, failed: true, code: "-32603", unknown: true},
		{name: "a code of its own", answer: rpcError(200, "7"), status: 200, failed: true, code: "7", unknown: true},
		{name: "a code in words", answer: rpcError(200, `"-32601"`), status: 200, failed: true, code: "-32601"},
		{name: "an error without a code", answer: rpcError(200, "null"), status: 200, failed: true, code: "0", unknown: true},
		{name: "an error in a stream", answer: func(*faultyServer) answers {
			return stream(`data: {"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"closed"}}` + "\n\n")
		}, status: 200, failed: true, code: "-32000", unknown: true},

		{name: "throttled", answer: func(*faultyServer) answers { return status(429, "slow", "Retry-After", "7") }, status: 429, failed: true, wait: 7 * time.Second},
		{name: "throttled, without a time", answer: func(*faultyServer) answers { return status(429, "slow") }, status: 429, failed: true},
		{name: "unavailable until", answer: func(*faultyServer) answers { return status(503, "", "Retry-After", "7") }, status: 503, failed: true, wait: 7 * time.Second},
		{name: "throttled for milliseconds", answer: func(*faultyServer) answers { return status(429, "", "Retry-After-Ms", "7000") }, status: 429, failed: true, wait: 7 * time.Second},
		{name: "unavailable for milliseconds", answer: func(*faultyServer) answers { return status(503, "", "Retry-After-Ms", "7000") }, status: 503, failed: true, wait: 7 * time.Second},
		{name: "overloaded by a slow clock", answer: func(*faultyServer) answers {
			return status(529, "", "Date", "Sun, 01 Jan 2006 00:00:00 GMT", "Retry-After", "Sun, 01 Jan 2006 00:00:07 GMT")
		}, status: 529, failed: true, wait: 7 * time.Second},
		{name: "too large for it", answer: func(*faultyServer) answers { return status(413, "") }, status: 413, failed: true},
		{name: "redirect", answer: func(*faultyServer) answers { return status(307, "", "Location", "http://127.0.0.1:1/elsewhere?key=x") }, status: 307, failed: true},

		{name: "401", answer: func(*faultyServer) answers { return status(401, "") }, err: tool.ErrUnauthorized},
		{name: "403", answer: func(*faultyServer) answers { return status(403, fine, "Content-Type", "application/json") }, err: tool.ErrUnauthorized},
		{name: "session forgotten for ever", answer: func(*faultyServer) answers { return status(404, "session not found") }, status: 404, failed: true, calls: 2},
		{name: "session gone for ever", answer: func(*faultyServer) answers { return status(410, "") }, status: 410, failed: true, calls: 2},
		{name: "session forgotten, as some say", answer: func(*faultyServer) answers {
			return status(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no valid session"}}`, "Content-Type", "application/json")
		}, status: 400, failed: true, calls: 2},
		{name: "session forgotten, in an answer to the call", answer: rpcError(404, "-32001"), status: 404, failed: true, calls: 2, code: "-32001", unknown: true},

		{name: "never", answer: func(c *faultyServer) answers { return func(http.ResponseWriter, *http.Request, string) { <-c.done } }, err: tool.ErrLost, reason: "timeout"},
		{name: "garbage", answer: func(*faultyServer) answers { return status(200, "}{", "Content-Type", "application/json") }, err: tool.ErrLost},
		{name: "page", answer: func(*faultyServer) answers { return status(200, fine, "Content-Type", "text/html") }, err: tool.ErrLost},
		{name: "nothing", answer: func(*faultyServer) answers { return status(200, "", "Content-Type", "application/json") }, err: tool.ErrLost},
		{name: "accepted", answer: func(*faultyServer) answers { return status(202, "") }, err: tool.ErrLost},
		{name: "wrong id", answer: func(*faultyServer) answers {
			return status(200, `{"jsonrpc":"2.0","id":9ID,"result":{"content":[]}}`, "Content-Type", "application/json")
		}, err: tool.ErrLost},
		{name: "wrong id in a stream", answer: func(*faultyServer) answers { return stream(`data: {"jsonrpc":"2.0","id":9ID,"result":{}}` + "\n\n") }, err: tool.ErrLost},
		{name: "result and error", answer: func(*faultyServer) answers {
			return status(200, `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":""}}`, "Content-Type", "application/json")
		}, err: tool.ErrLost},
		{name: "result is a list", answer: func(*faultyServer) answers { return result(`[]`) }, err: tool.ErrLost},
		{name: "content is a text", answer: func(*faultyServer) answers { return result(`{"content":"x"}`) }, err: tool.ErrLost},
		{name: "deep", answer: func(*faultyServer) answers {
			return result(`{"content":[],"structuredContent":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`)
		}, err: tool.ErrLost},
		{name: "stream ends", answer: func(*faultyServer) answers { return stream("id: 1\ndata:\n\n") }, err: tool.ErrLost},
		{name: "stream ends in the middle", answer: func(*faultyServer) answers { return stream("id: 1\nretry: 1\ndata: " + fine[:40]) }, err: tool.ErrLost},
		{name: "more than is read", answer: func(*faultyServer) answers {
			return result(`{"content":[{"type":"text","text":"` + huge + huge + `"}]}`)
		}, err: tool.ErrLost, reason: "size"},
		{name: "stream of more than is read", answer: func(c *faultyServer) answers {
			return c.forever("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: "+huge, nothing)
		}, err: tool.ErrLost, reason: "size"},
		{name: "endless stream", answer: func(c *faultyServer) answers {
			return c.forever("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", ": ping\n\n", slowly)
		}, err: tool.ErrLost, reason: "timeout"},
		{name: "a byte at a time", answer: func(c *faultyServer) answers {
			return c.forever("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", "x", slowly)
		}, err: tool.ErrLost, reason: "timeout"},
		{name: "slow headers", answer: func(c *faultyServer) answers { return c.forever("HTTP/1.1 200 OK\r\n", "X", slowly) }, err: tool.ErrLost, reason: "timeout"},
		{name: "1xx flood", answer: func(c *faultyServer) answers { return c.forever("", "HTTP/1.1 102 Processing\r\n\r\n", nothing) }, err: tool.ErrLost},
		{name: "upgrade", answer: func(*faultyServer) answers {
			return bytesOf("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		}, err: tool.ErrLost},
		{name: "hung up", answer: func(*faultyServer) answers { return bytesOf("") }, err: tool.ErrLost},
		{name: "half the status", answer: func(*faultyServer) answers { return bytesOf("HTTP/1.1 20") }, err: tool.ErrLost},
		{name: "half the body", answer: func(*faultyServer) answers {
			return bytesOf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + fine)
		}, err: tool.ErrLost},
		{name: "500", answer: func(*faultyServer) answers { return status(500, "oh") }, status: 500, failed: true},
		{name: "502", answer: func(*faultyServer) answers { return status(502, "<html>") }, status: 502, failed: true},
		{name: "502 of a gateway that speaks the protocol", answer: func(*faultyServer) answers {
			return bytesOf("HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"upstream"}}`)
		}, status: 502, failed: true},
		{name: "408", answer: func(*faultyServer) answers { return status(408, "") }, status: 408, failed: true},
		{name: "425", answer: func(*faultyServer) answers { return status(425, "") }, status: 425, failed: true},
		{name: "503 at a date", answer: func(*faultyServer) answers { return status(503, "", "Retry-After", "Sun, 01 Jan 2040 00:00:00 GMT") }, status: 503, failed: true, wait: tool.MostWait},
		{name: "503", answer: func(*faultyServer) answers { return status(503, "") }, status: 503, failed: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newFaultyServer(t, nil)
			server.answers = c.answer(server)
			call := server.do(t)
			patience := time.Second
			if c.reason != "timeout" {
				patience = time.Minute // no case waits that long
			}
			a, err := client(t, func(o *mcp.Options) { o.Timeout = patience }).CallTool(t.Context(), call)
			if n := server.calls.Load(); n != max(1, c.calls) {
				t.Errorf("%d calls arrived, want %d", n, max(1, c.calls))
			}
			if c.err != nil {
				if f := fault.Of(err); !errors.Is(err, c.err) || c.reason != "" && f.Args["reason"] != c.reason || c.reason == "" && f.Args["reason"] == "timeout" {
					t.Errorf("%+v %v, want %v %s", a, err, c.err, c.reason)
				}
				return
			}
			if err != nil || a.Status != c.status || a.Failed != c.failed || a.Code != c.code || !json.Valid(a.Body) {
				t.Errorf("%v: %+v %s", err, a, a.Body)
			}
			if m, _ := a.Meaning(); c.code != "" && (m == meaning.Unknown) != c.unknown || c.code != "" && m == meaning.Done {
				t.Errorf("it means %v", m)
			}
			if m, wait := a.Meaning(); wait != c.wait || c.wait > 0 && m != meaning.Later {
				t.Errorf("it means %v after %s, want %s", m, wait, c.wait)
			}
			if to := a.Headers["Location"]; (to == "http://127.0.0.1:1") != (c.name == "redirect") {
				t.Errorf("Location is %q", to)
			}
		})
	}
}
