package outbound

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"piloto/internal/tools/tool"
)

func TestResponsesAreLimited(t *testing.T) {
	const limit = 64 << 10
	bomb := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		zeros := make([]byte, 1<<20)
		for range 20 {
			_, _ = z.Write(zeros)
		}
		_ = z.Close()
		return b.Bytes()
	}()
	forever := func(head, piece string, every time.Duration) func(net.Conn) {
		return func(c net.Conn) {
			if _, err := io.WriteString(c, head); err != nil {
				return
			}
			for {
				if _, err := io.WriteString(c, piece); err != nil || t.Context().Err() != nil {
					return
				}
				if every > 0 {
					time.Sleep(every) // the test needs a slow server
				}
			}
		}
	}
	page := strings.Repeat("x", 4096)
	cases := []struct {
		name      string
		answer    func(net.Conn)
		get, post error // nil: an answer
		truncated bool
	}{
		{"gzip bomb", func(c net.Conn) {
			say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", len(bomb)))(c)
			_, _ = c.Write(bomb)
		}, nil, nil, true},
		{"endless body", forever("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", page, 0), nil, nil, true},
		{"a byte at a time", forever("HTTP/1.1 200 OK\r\n\r\n", "x", 20*time.Millisecond), tool.ErrLost, nil, true},
		{"endless events", forever("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: x\n\n", 20*time.Millisecond), tool.ErrLost, nil, true},
		{"slow headers", forever("HTTP/1.1 200 OK\r\n", "X", 20*time.Millisecond), tool.ErrLost, tool.ErrLost, false},
		{"huge headers", forever("HTTP/1.1 200 OK\r\n", "X-A: "+page+"\r\n", 0), tool.ErrLost, tool.ErrLost, false},
		{"1xx flood", forever("", "HTTP/1.1 102 Processing\r\n\r\n", 0), tool.ErrLost, tool.ErrLost, false},
		{"length too long", func(c net.Conn) { say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")(c); _ = c.Close() }, tool.ErrLost, nil, true},
		{"length too short", say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nlonger"), nil, nil, false},
		{"two lengths", say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), tool.ErrLost, tool.ErrLost, false},
		{"broken chunks", func(c net.Conn) {
			say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz")(c)
			_ = c.Close()
		}, tool.ErrLost, nil, true},
		{"broken gzip", say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), tool.ErrLost, nil, true},
		{"an upgrade", forever("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", page, 0), tool.ErrLost, tool.ErrLost, false},
		{"invalid UTF-8", say("HTTP/1.1 200 OK\r\nContent-Type: \xff\xfe\r\nContent-Length: 2\r\n\r\n\xff\xfe"), nil, nil, false},
		{"exactly the limit", say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", limit, strings.Repeat("x", limit))), nil, nil, false},
		{"one byte more", say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", limit+1, strings.Repeat("x", limit+1))), nil, nil, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := serveRaw(t, c.answer)
			for method, want := range map[string]error{"GET": c.get, "POST": c.post} {
				a, err := sender(800*time.Millisecond).Send(t.Context(), to(r.url, method), nil, limit)
				if want != nil {
					if !errors.Is(err, want) {
						t.Errorf("%s: %v, want %v", method, err, want)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", method, err)
				} else if a.Truncated != c.truncated || len(a.Body) > limit || a.Bytes < len(a.Body) {
					t.Errorf("%s: %d bytes of %d, truncated %v", method, len(a.Body), a.Bytes, a.Truncated)
				}
				for name, value := range a.Headers {
					if strings.ToValidUTF8(value, "") != value {
						t.Errorf("header %s is %q", name, value)
					}
				}
			}
		})
	}
}

// TestGzipBombIsNotUnpacked (guarantee I19): 200 MB in 200 KB cost only the memory of the kept part.
func TestGzipBombIsNotUnpacked(t *testing.T) {
	if testing.Short() {
		t.Skip("200 MB")
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 200 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	bomb := b.Bytes()
	r := serveRaw(t, func(c net.Conn) {
		say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", len(bomb)))(c)
		_, _ = c.Write(bomb)
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := sender(5*time.Second).Send(t.Context(), to(r.url, "GET"), nil, 2<<20)
	runtime.ReadMemStats(&after)
	if err != nil || !a.Truncated || len(a.Body) > 2<<20 {
		t.Errorf("%d bytes, truncated %v, %v", len(a.Body), a.Truncated, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
		t.Errorf("it took %d MB", used>>20)
	}
}

func TestEchoedKeyIsRedacted(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/y?k="+r.URL.Query().Get("k"))
		w.Header().Set("Link", r.URL.String())
		_, _ = fmt.Fprintf(w, `{"raw":%q,"url":%q}`+strings.Repeat(" ", 20)+"%s", r.URL.Query().Get("k"), r.URL.RawQuery, r.URL.Query().Get("k"))
	}))
	defer echo.Close()
	key := tool.Keys{{Place: tool.KeyPlace{In: "query", Name: "k"}, Secret: secret}}
	many := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat(r.URL.Query().Get("k")+" ", 500))
	}))
	defer many.Close()
	if a, err := sender(2*time.Second).Send(t.Context(), to(many.URL, "GET"), key, 1000); err != nil || strings.Contains(string(a.Body), "s3cr") || !a.Truncated {
		t.Errorf("%v %s", err, a.Body)
	}
	cut := serveRaw(t, func(c net.Conn) {
		say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nkey: " + secret[:9])(c)
		_ = c.Close()
	})
	if a, err := sender(2*time.Second).Send(t.Context(), to(cut.url, "POST"), key, 1000); err != nil || string(a.Body) != "key: " || !a.Truncated {
		t.Errorf("%v %s", err, a.Body)
	}
	for limit := range int64(200) { // the response is cut at every place
		a, err := sender(2*time.Second).Send(t.Context(), to(echo.URL, "GET"), key, limit)
		if err != nil {
			t.Fatal(err)
		}
		if all := fmt.Sprint(string(a.Body), a.Headers); strings.Contains(all, "s3cr") {
			t.Fatalf("limit %d: %s", limit, all)
		}
	}
}

// TestArrivingRequestMatchesTemplate sends the requests that tool.Build builds from hostile values to a server that
// reads bytes.
func TestArrivingRequestMatchesTemplate(t *testing.T) {
	r := serveRaw(t, say("HTTP/1.1 204 No Content\r\n\r\n"))
	s := tool.Server{BaseURL: r.url + "/v1"}
	op := tool.Operation{
		Entry:      tool.Entry{Method: "GET", Path: "/rooms/{id}/x"},
		Parameters: []tool.Parameter{{Name: "q", In: "query", Explode: true}},
	}
	sent := int32(0)
	for _, value := range []string{
		"12", "a b", "a%20b", "ñ", "a?b=c", "a#b", "a&b", "a@b", "a:80", "http:", "a;b", "...", "%", "%zz", "$", "{}", "a|b", "\"", "<script>",
		"..", "%2e%2e", "%252e%252e", "a/b", "a%2fb", "a%252fb", `a\b`, "a%5cb", "a\r\nX: y", "a%0d%0aX:%20y", "a%00b", "", "..;", "\u2028",
	} {
		req, err := tool.Build(s, op, tool.Arguments{Path: "/rooms/" + value + "/x", Query: []byte(`{"q":"x\r\nHost: evil & y=1#/../"}`)})
		if err != nil {
			continue
		}
		sent++
		if _, err := sender(2*time.Second).Send(t.Context(), req, nil, 10); err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		got, _ := r.last.Load().(string)
		line, headers, _ := strings.Cut(got, "\n")
		uri := strings.TrimPrefix(line, "GET ")
		path, query, _ := strings.Cut(uri, "?")
		parts := strings.Split(path, "/")
		if len(parts) != 5 || parts[1] != "v1" || parts[2] != "rooms" || parts[4] != "x" || strings.ContainsAny(uri, " \\#") || s.BaseURL+uri[len("/v1"):] != req.URL ||
			query != "q=x%0D%0AHost%3A%20evil%20%26%20y%3D1%23%2F..%2F" || strings.Contains(headers, "evil") || strings.Contains(headers, "X:") {
			t.Errorf("%q arrived as %q", value, got)
		}
	}
	if sent < 15 || r.requests.Load() != sent {
		t.Errorf("%d sent, %d arrived", sent, r.requests.Load())
	}
}
