package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/ids"
)

// decodeLog decodes the log lines.
func decodeLog(t *testing.T, out *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

type secretive struct{ Token string }

func (s secretive) String() string { return "token=" + s.Token }

// TestNoCanaryReachesTheLog logs a secret in every kind of attribute.
func TestNoCanaryReachesTheLog(t *testing.T) {
	var out bytes.Buffer
	log := New(&out, slog.LevelDebug, "piloto.test")
	const bearer = "Bearer CANARYabcdef123456"
	log.Info("calling with " + bearer)
	log.Info("m", "authorization", "CANARY", "X-VX11-Token", "CANARY", "api_key", []byte("CANARY"), "cookie", http.Cookie{Value: "CANARY"}, "openai_api_key", 7)
	log.Info("m", "header", http.Header{"Authorization": {bearer}, "Cookie": {"a=CANARY", "CANARY2"}})
	log.Info("m", "error", fmt.Errorf("call: %w", errors.New("https://u:CANARY@h/?key=CANARY")))
	log.Info("m", "any", map[string]any{"password": "CANARY", "list": []string{bearer}}, "struct", struct{ Token string }{"CANARY"})
	log.Info("m", "bytes", []byte(bearer), "stringer", secretive{"CANARY"}, "pointer", &secretive{"CANARY"})
	log.Info("m", slog.Group("g", "token", "CANARY", slog.Group("h", "text", bearer)))
	log.With("secret", "CANARY", "text", bearer).WithGroup("g").Info("m", "text", bearer)
	log.Info("m", bearer, "a secret as the name")
	log.Info("m", "raw", json.RawMessage(`{"token":"CANARY"}`), "func", func() {}, "nil", nil)
	log.Info("m", slog.Any("v", slog.AnyValue(valuer{})))
	if strings.Contains(out.String(), "CANARY") {
		t.Error(out.String())
	}
	if n := len(decodeLog(t, &out)); n != 11 {
		t.Errorf("%d lines", n)
	}
}

type valuer struct{}

func (valuer) LogValue() slog.Value { return slog.StringValue("password=CANARY") }

func TestLinesCarryTraceAndAccount(t *testing.T) {
	var out bytes.Buffer
	ctx := auth.NewContext(WithTrace(context.Background(), "t-1"), auth.Principal{Account: "a", User: "u"})
	New(&out, slog.LevelInfo, "piloto.test").With("x", 1).InfoContext(ctx, "m", "took", 1500*time.Millisecond)
	m := decodeLog(t, &out)[0]
	if m["trace_id"] != "t-1" || m["account"] != "a" || m["x"] != 1.0 || m["took"] != 1500.0 || m["level"] != "INFO" || m["message"] != "m" {
		t.Errorf("%v", m)
	}
	if at, err := time.Parse(time.RFC3339Nano, m["timestamp"].(string)); err != nil || !at.Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("timestamp %v", m["timestamp"])
	}
}

// TestALineHasTheMembersOfDocument001, in their order.
func TestALineHasTheMembersOfDocument001(t *testing.T) {
	var out bytes.Buffer
	ctx := auth.NewContext(WithTrace(context.Background(), "t-1"), auth.Principal{Account: "a"})
	log := New(&out, slog.LevelInfo, "piloto.chat").With("turn_id", "x").WithGroup("g").With("n", 1)
	log.InfoContext(ctx, "turn.routed", "session_id", "user_123", "agent_to_invoke", "reserva")
	Named(log, "piloto.step").Log(ctx, slog.LevelWarn, "m")
	Named(New(&out, slog.LevelInfo, "x"), "piloto.sweep").InfoContext(ctx, "m", "account", "b", "trace_id", "of another")
	shape := regexp.MustCompile(`"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"`)
	got := shape.ReplaceAllString(out.String(), `"timestamp":"…"`)
	want := `{"timestamp":"…","level":"INFO","logger":"piloto.chat","message":"turn.routed","trace_id":"t-1","account":"a","turn_id":"x","g":{"n":1,"session_id":"user_123","agent_to_invoke":"reserva"}}
{"timestamp":"…","level":"WARN","logger":"piloto.step","message":"m","trace_id":"t-1","account":"a","turn_id":"x","g":{"n":1}}
{"timestamp":"…","level":"INFO","logger":"piloto.sweep","message":"m","account":"b","trace_id":"of another"}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if other := slog.New(slog.DiscardHandler); Named(other, "x") != other {
		t.Error("a logger that is not ours was named")
	}
}

// TestConcurrentLoggersWriteWholeLines: some of them under another name.
func TestConcurrentLoggersWriteWholeLines(t *testing.T) {
	var out bytes.Buffer // not safe for concurrent use: the race detector finds missing locks
	log := New(&out, slog.LevelInfo, "piloto")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			own := Named(log, fmt.Sprint("piloto.", i))
			for range 50 {
				own.With("i", i).Info("m")
			}
		})
	}
	all.Wait()
	for _, m := range decodeLog(t, &out) {
		if m["logger"] != fmt.Sprint("piloto.", m["i"]) {
			t.Fatalf("%v", m)
		}
	}
}

// clock advances one and a half seconds at every call.
func clock() func() time.Time {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { at = at.Add(1500 * time.Millisecond); return at }
}

func render(w http.ResponseWriter, _ *http.Request, err error) {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write([]byte(err.Error()))
}

func TestMiddlewareKeepsOrReplacesTheTrace(t *testing.T) {
	for _, c := range []struct {
		name string
		sent []string
		keep bool
	}{
		{"none", nil, false},
		{"hex", []string{"4bf92f3577b34da6a3ce929d0e0e4736"}, true},
		{"ours", []string{"req-123.a:b"}, true},
		{"empty", []string{""}, false},
		{"long", []string{strings.Repeat("a", 129)}, false},
		{"a space", []string{"a b"}, false},
		{"a line", []string{"a\nb"}, false},
		{"a quote", []string{`a"b`}, false},
		{"two", []string{"a", "b"}, false},
		{"a key", []string{"sk-abcdef1234567890"}, false},
		{"a token", []string{ids.Secret()}, false},
	} {
		var out bytes.Buffer
		r := httptest.NewRequest("GET", "/x", nil)
		if c.sent != nil {
			r.Header[TraceHeader] = c.sent
		}
		w := httptest.NewRecorder()
		seen := ""
		Middleware(New(&out, slog.LevelInfo, "piloto.test"), clock(), render, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			seen = Trace(r.Context())
		})).ServeHTTP(w, r)
		got := w.Header().Get(TraceHeader)
		if got != seen || !ids.ValidTrace(got) || (c.sent != nil && got == c.sent[0]) != c.keep {
			t.Errorf("%s: %q became %q, the handler saw %q", c.name, c.sent, got, seen)
		}
		for _, m := range decodeLog(t, &out) {
			if m["trace_id"] != got {
				t.Errorf("%s: logged %v", c.name, m)
			}
		}
	}
}

func TestMiddlewareLogsStartAndEnd(t *testing.T) {
	for _, c := range []struct {
		serve  http.HandlerFunc
		status float64
	}{
		{func(w http.ResponseWriter, r *http.Request) { r.Pattern = "GET /x/{id}"; w.WriteHeader(404) }, 404},
		{func(w http.ResponseWriter, r *http.Request) { r.Pattern = "GET /x/{id}"; _, _ = w.Write([]byte("x")) }, 200},
		{func(_ http.ResponseWriter, r *http.Request) { r.Pattern = "GET /x/{id}" }, 200},
		{func(w http.ResponseWriter, r *http.Request) {
			r.Pattern = "GET /x/{id}"
			w.WriteHeader(103)
			w.WriteHeader(201)
		}, 201},
		{func(_ http.ResponseWriter, r *http.Request) {
			r.Pattern = "GET /x/{id}"
			panic("CANARY password=CANARY")
		}, 500},
	} {
		var out bytes.Buffer
		w := httptest.NewRecorder()
		Middleware(New(&out, slog.LevelInfo, "piloto.test"), clock(), render, c.serve).ServeHTTP(w, httptest.NewRequest("GET", "/x/secret-in-path", nil))
		all := decodeLog(t, &out)
		start, end := all[0], all[len(all)-1]
		if start["message"] != "request.start" || start["method"] != "GET" {
			t.Errorf("start %v", start)
		}
		if end["message"] != "request.end" || end["status"] != c.status || end["route"] != "GET /x/{id}" || end["duration_ms"] != 1500.0 {
			t.Errorf("end %v", end)
		}
		if strings.Contains(out.String(), "secret-in-path") {
			t.Error("the path was logged")
		}
		if w.Header().Get(TraceHeader) == "" || float64(w.Code) != c.status && c.status != 201 {
			t.Errorf("answered %d %v", w.Code, w.Header())
		}
	}
}

// TestRefusedRequestsAreLoggedOnceAMinute: with their number. Requests that are served are logged as usual.
func TestRefusedRequestsAreLoggedOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	h := Middleware(New(&out, slog.LevelInfo, "piloto.test"), clock(), render, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rate.Exceeded(r.Context()) != nil && r.Method != "POST" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	ask := func(method string) {
		r := httptest.NewRequest(method, "/x", nil)
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(rate.WithExceeded(r.Context(), rate.ErrTooMany)))
	}
	const sent = 10_000
	for range sent {
		ask("GET")
	}
	lines, counted := decodeLog(t, &out), 0.0
	for _, line := range lines {
		if line["message"] != "request.refused" {
			t.Fatalf("%v", line)
		}
		counted += line["requests"].(float64)
	}
	if minutes := sent*1500/60_000 + 1; len(lines) > minutes || counted < sent-100 || counted > sent {
		t.Errorf("%d lines that count %v", len(lines), counted)
	}
	out.Reset()
	ask("POST")
	if lines := decodeLog(t, &out); len(lines) != 1 || lines[0]["message"] != "request.end" {
		t.Errorf("%v", lines)
	}
}

func TestPanicAfterTheStatusKeepsIt(t *testing.T) {
	var out bytes.Buffer
	w := httptest.NewRecorder()
	Middleware(New(&out, slog.LevelInfo, "piloto.test"), clock(), render, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(202)
		panic(errors.New("late"))
	})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 202 || w.Body.String() != "" || !strings.Contains(out.String(), "request.panic") {
		t.Errorf("%d %s %s", w.Code, w.Body, &out)
	}
}

func TestLongMethodsAreCut(t *testing.T) {
	var out bytes.Buffer
	r := httptest.NewRequest("GET", "/", nil)
	r.Method = strings.Repeat("A", 5000)
	Middleware(New(&out, slog.LevelInfo, "piloto.test"), clock(), render, http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
	if out.Len() > 1000 {
		t.Errorf("%d bytes", out.Len())
	}
}
