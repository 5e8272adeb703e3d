package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
)

// newLimitedSite returns a site with limits.
func newLimitedSite(l rate.Limits) *site {
	s := newSite()
	s.config.Meter = &rate.Meter{Limits: l, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
	return s
}

// withExceeded returns a request that the authorizer marked as too many.
func withExceeded(r *http.Request) *http.Request {
	why := rate.ErrTooMany.With("reason", "requests").With("limit", "3").With("retry_after", "20")
	return r.WithContext(rate.WithExceeded(r.Context(), why))
}

// TestEveryRouteIsLimited: a route that changes something serves as many requests as its class allows. A request
// beyond the limit is refused by every route except decisions, and reaches no service.
func TestEveryRouteIsLimited(t *testing.T) {
	eachRoute(t, func(t *testing.T, r *route, id, body string) {
		s := newLimitedSite(rate.Limits{Turns: 1, Writes: 1, Requests: 1, BadTokens: 1})
		first := s.do(ask(boss, r.method, pathOf(r, ownID(r.pattern)), body))
		if first.Code == http.StatusTooManyRequests {
			t.Fatalf("the first: %s", first.Body)
		}
		calls := s.world.calls
		again := s.do(ask(boss, r.method, pathOf(r, ownID(r.pattern)), body))
		if (again.Code == http.StatusTooManyRequests) != (r.method != "GET") {
			t.Fatalf("the second: %d", again.Code)
		}
		if r.method != "GET" {
			wantTooMany(t, again.Result(), string(r.class), "1", "60")
			if s.world.calls != calls {
				t.Errorf("what was refused reached something")
			}
		}
		if w := newSite().do(withExceeded(ask(boss, r.method, pathOf(r, ownID(r.pattern)), body))); (w.Code == http.StatusTooManyRequests) == (r.class == rate.Decisions) {
			t.Errorf("%d to who came too often, for a route of %s", w.Code, r.class)
		}
		nobody := newSite().do(withExceeded(ask(scopeNo, r.method, pathOf(r, ownID(r.pattern)), body)))
		if r.class != rate.Decisions && nobody.Code != http.StatusTooManyRequests {
			t.Errorf("%d to who may not use it", nobody.Code)
		}
	})
}

// wantTooMany checks the header fields of a refusal.
func wantTooMany(t *testing.T, r *http.Response, class, limit, after string) {
	t.Helper()
	want := map[string]string{
		"Retry-After": after, "RateLimit-Policy": fmt.Sprintf(`"%s";q=%s;w=60`, class, limit), "RateLimit": fmt.Sprintf(`"%s";r=0;t=%s`, class, after),
		"Content-Type": "application/problem+json",
	}
	for name, value := range want {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

func TestARequestWithoutAUserBeyondTheLimitIsRefused(t *testing.T) {
	for _, r := range []*http.Request{
		ask(scopeNo, "GET", "/health", ""), ask(talker, "OPTIONS", "/api/chats", ""), ask(talker, "GET", "/API/chats", ""),
		ask(talker, "POST", "/api/chats/", "{}"), ask(talker, "HEAD", "/api/chats", ""), ask(talker, "GET", "/nothing", ""),
		ask(talker, "POST", "/api//send", "{}"), ask(talker, "PUT", "/api/runs/"+runID+"/confirm", "{}"),
	} {
		w := newSite().do(withExceeded(r))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "20" {
			t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		}
	}
}

// TestARefusalHasTheFormOfItsContract: every refusal has a stable code, a time to retry and a message for a person.
// On the Operator routes the code is in detail.
func TestARefusalHasTheFormOfItsContract(t *testing.T) {
	for _, c := range []struct{ path, body, lang, detail, message string }{
		{"/api/send", bodies["send"], "es", "Llegan demasiadas peticiones seguidas. Esta no se ha atendido. El límite es de 1 mensaje por minuto; los botones de los planes siguen sirviendo.", "<nil>"},
		{"/api/send", bodies["send"], "en", "Too many requests in a row. This one was not served. The limit is 1 message per minute; the buttons of plans still work.", "<nil>"},
		{"/operator/chat", bodies["operatorChat"], "es", "request.too_many", "Llegan demasiadas peticiones seguidas. Esta no se ha atendido. El límite es de 1 mensaje por minuto; los botones de los planes siguen sirviendo."},
	} {
		s := newLimitedSite(rate.Limits{Turns: 1})
		s.do(ask(talker, "POST", c.path, c.body))
		r := ask(talker, "POST", c.path, c.body, "Accept-Language", c.lang)
		w := s.do(r)
		checkDocumented(t, r, w.Code, w.Body.Bytes())
		got := decode(t, w)
		action := map[string]string{"es": "Inténtalo de nuevo dentro de 60 s.", "en": "Try again in 60 s."}[c.lang]
		if w.Code != 429 || got["code"] != "request.too_many" || got["detail"] != c.detail || fmt.Sprint(got["message"]) != c.message || got["action"] != action || got["trace_id"] == "" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		wantTooMany(t, w.Result(), "turns", "1", "60")
		if len(s.world.turns) != 1 {
			t.Errorf("%d turns", len(s.world.turns))
		}
	}
}

func TestAnAnswerHasTheRemainingQuota(t *testing.T) {
	s := newLimitedSite(rate.Limits{Turns: 3, Writes: 2})
	for left := 2; left >= 0; left-- {
		w := s.do(ask(talker, "POST", "/api/send", bodies["send"]))
		if got, want := w.Header().Get("RateLimit"), fmt.Sprintf(`"turns";r=%d;t=%d`, left, 20*(3-left)); w.Code != 200 || got != want || w.Header().Get("RateLimit-Policy") != `"turns";q=3;w=60` {
			t.Errorf("%d %s, want %s", w.Code, got, want)
		}
	}
	if w := s.do(ask(talker, "POST", "/api/chats", "{}")); w.Header().Get("RateLimit") != `"writes";r=1;t=30` {
		t.Errorf("%v", w.Header())
	}
	for _, none := range []*http.Request{ask(talker, "GET", "/api/chats", ""), ask(scopeNo, "GET", "/health", "")} {
		if w := s.do(none); w.Header().Get("RateLimit") != "" || w.Header().Get("RateLimit-Policy") != "" {
			t.Errorf("%s: %v", none.URL, w.Header())
		}
	}
}

// TestAReplayedAnswerDoesNotCount: and a refused request may be sent again under its key.
func TestAReplayedAnswerDoesNotCount(t *testing.T) {
	s := newLimitedSite(rate.Limits{Turns: 2})
	send := func(key string) int {
		return s.do(ask(talker, "POST", "/api/send", bodies["send"], "Idempotency-Key", key)).Code
	}
	for range 20 {
		if got := send("one"); got != 200 {
			t.Fatalf("the first again: %d", got)
		}
	}
	if got := send("two"); got != 200 {
		t.Errorf("the second: %d", got)
	}
	if got := send("three"); got != 429 {
		t.Errorf("the third: %d", got)
	}
	if got := send("one"); got != 200 {
		t.Errorf("the first, over the limit: %d", got)
	}
	now := noon.Add(30 * time.Second)
	s.config.Now = func() time.Time { return now }
	clear(s.made)
	if got := send("three"); got != 200 || len(s.world.turns) != 3 {
		t.Errorf("the third, when it said so: %d after %d turns", got, len(s.world.turns))
	}
}

// TestAWebhookHasItsOwnQuota: a webhook and its owner do not use each other's quota, and a repeated delivery counts
// once.
func TestAWebhookHasItsOwnQuota(t *testing.T) {
	s := newLimitedSite(rate.Limits{Turns: 2, BadTokens: 3})
	deliver := func(id string) int {
		return s.do(sign(t, noon, hookID, id, "/api/agent/chat", bodies["agentChat"])).Code
	}
	person := func() int { return s.do(ask(boss, "POST", "/api/agent/chat", bodies["agentChat"])).Code }
	for i, want := range []int{200, 200, 429} {
		if got := person(); got != want {
			t.Errorf("person %d: %d", i, got)
		}
	}
	for i, want := range []int{200, 200, 200, 200, 429} {
		if got := deliver([]string{"d1", "d1", "d1", "d2", "d3"}[i]); got != want {
			t.Errorf("delivery %d: %d", i, got)
		}
	}
	forged := func(address string) *http.Request {
		r := sign(t, noon, hookID, "d9", "/api/agent/chat", bodies["agentChat"], set(headerSignature, "v1,AAAA"))
		r.RemoteAddr = address
		return r
	}
	for i := range 5 {
		if w := s.do(forged("192.0.2.7:" + strconv.Itoa(i))); w.Code != map[bool]int{true: 401, false: 429}[i < 3] {
			t.Errorf("forged %d: %d", i, w.Code)
		}
	}
	if w := s.do(forged("192.0.2.8:1")); w.Code != 401 {
		t.Errorf("forged elsewhere: %d", w.Code)
	}
}

// TestForgedSignaturesDoNotBlockDeliveries of the same address, however many they are.
func TestForgedSignaturesDoNotBlockDeliveries(t *testing.T) {
	s := newLimitedSite(rate.Limits{BadTokens: 1})
	for range 300 {
		s.do(sign(t, noon, hookID, "d9", "/api/agent/chat", bodies["agentChat"], set(headerSignature, "v1,AAAA")))
	}
	if w := s.do(sign(t, noon, hookID, "d1", "/api/agent/chat", bodies["agentChat"])); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestRefusalsAreInTheMetrics(t *testing.T) {
	s := newLimitedSite(rate.Limits{Turns: 1})
	for range 4 {
		s.do(ask(talker, "POST", "/api/send", bodies["send"]))
		s.do(ask(other, "POST", "/api/send", bodies["send"]))
	}
	s.do(ask(talker, "POST", "/api/send", bodies["send"]))
	text := s.do(ask(talker, "GET", "/metrics", "")).Body.String()
	if !strings.Contains(text, "\npiloto_requests_refused_total{class=\"turns\"} 4\n") {
		t.Error(text)
	}
	counts := decode(t, s.do(ask(talker, "GET", "/metrics?format=json", "")))["refused"]
	if fmt.Sprint(counts) != "map[turns:4]" {
		t.Error(counts)
	}
}

// TestEveryRetryTimeIsInRetryAfter: every failure with a time to retry has the header.
func TestEveryRetryTimeIsInRetryAfter(t *testing.T) {
	s := newSite()
	s.world.refusal = fault.New(fault.Conflict, "request.in_progress").With("retry_after", "3")
	w := s.do(ask(talker, "POST", "/api/runs/"+runID+"/confirm", bodies["confirmRun"]))
	if w.Code != 409 || w.Header().Get("Retry-After") != "3" || w.Header().Get("RateLimit") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestBytesOfFilesAreCounted of every route that writes them, before they are stored.
func TestBytesOfFilesAreCounted(t *testing.T) {
	s := newLimitedSite(rate.Limits{Writes: 100, FileMB: 3})
	half := strings.Repeat("x", 3<<19)
	w := s.put("b", half, "If-None-Match", "*")
	left := w.Header().Values("RateLimit")
	if w.Code != 201 || len(left) != 2 || left[1] != `"file_bytes";r=1572864;t=30` || w.Header().Values("RateLimit-Policy")[1] != `"file_bytes";q=3145728;w=60;qu="content-bytes"` {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	version := fmt.Sprint(decode(t, w)["version"])
	if w := s.put("c?upload=u", half, "If-None-Match", "*", "Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(half)-1, 2*len(half))); w.Code != 202 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for name, r := range map[string]*http.Request{
		"a file":    ask(talker, "PUT", filesPath+"/d", "x", "If-None-Match", "*"),
		"a piece":   ask(talker, "PUT", filesPath+"/d?upload=v", half, "If-None-Match", "*", "Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(half)-1, 2*len(half))),
		"a form":    attachRequest(t, filesPath, formPart{"d", "x"}),
		"a version": ask(talker, "POST", "/api/projects/"+projectID+"/restore", `{"path":"b","version":"`+version+`","if_match":"`+version+`"}`),
	} {
		w := s.do(r)
		if w.Code != 429 || code(t, w) != "request.too_many" || w.Header().Get("Retry-After") == "" || w.Header().Get("RateLimit-Policy") != `"file_bytes";q=3145728;w=60;qu="content-bytes"` || !strings.Contains(w.Body.String(), "3 MB") {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
	}
	if w := s.do(ask(talker, "DELETE", filesPath+"/b", "", "If-Match", `"`+version+`"`)); w.Code != 204 {
		t.Errorf("a delete: %d", w.Code)
	}
}

// TestOtherBytesAreCounted with those of files: of a branch, by both of its routes, and of the allowlist of a service.
func TestOtherBytesAreCounted(t *testing.T) {
	for path, body := range map[string]string{
		"/api/chats/" + chatID + "/branch": bodies["branchChat"], "/operator/session/" + chatID + "/branch": bodies["branchChat"],
		"/api/mcps": bodies["registerServer"],
	} {
		s := newLimitedSite(rate.Limits{Writes: 100, FileMB: 3})
		post := func() *httptest.ResponseRecorder { return s.do(ask(boss, "POST", path, body)) }
		if w := post(); w.Code != 201 || len(w.Header().Values("RateLimit")) != 2 {
			t.Fatalf("%s: %d %s %v", path, w.Code, w.Body, w.Header())
		}
		if w := post(); w.Code != 429 || code(t, w) != "request.too_many" || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "3 MB") {
			t.Errorf("%s: %d %s %v", path, w.Code, w.Body, w.Header())
		}
		if w := s.do(ask(boss, "PUT", filesPath+"/a", strings.Repeat("x", 2<<20), "If-None-Match", "*")); w.Code != 429 {
			t.Errorf("a file has another quota: %d", w.Code)
		}
	}
}
