package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"piloto/internal/access/auth"
)

// documentedBodies returns, from the served document, the operations with a body and whether it is required.
func documentedBodies(t *testing.T) map[string]bool {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody *struct{ Required bool }
		}
	}
	if err := json.Unmarshal(Document(), &doc); err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			if op.RequestBody != nil {
				required[op.OperationID] = op.RequestBody.Required
			}
		}
	}
	return required
}

// TestARequiredBodyMustBeAnObject: a body that was lost on the way carries no intent. Read as an empty object, it
// once reset the router and a provider, and approved a step. Only bodies that the document marks as optional may be
// absent.
func TestARequiredBodyMustBeAnObject(t *testing.T) {
	documented := documentedBodies(t)
	optional, swept := 0, 0
	eachRoute(t, func(t *testing.T, r *route, id, good string) {
		required, has := documented[id]
		if has != (r.bound().body || r.bytes > 0) {
			t.Fatalf("reads a body: %v, documented: %v", r.bound().body, has)
		}
		if !has || r.bytes > 0 {
			return
		}
		swept++
		refused := func(name string, w *http.Request) {
			t.Helper()
			s := newSite()
			got := s.do(w)
			told := decode(t, got)
			if got.Code != http.StatusUnprocessableEntity || told["code"] != "request.invalid" ||
				got.Header().Get("Content-Type") != "application/problem+json" || told["trace_id"] != "trace-1" {
				t.Errorf("%s: %d %.300s", name, got.Code, got.Body)
			}
			if s.count()+s.companyStore.writes != 0 {
				t.Errorf("%s: refused, and yet %d calls", name, s.count()+s.companyStore.writes)
			}
		}
		request := func(body io.Reader) *http.Request {
			w := ask(boss, r.method, pathOf(r, ownID(r.pattern))+withoutBody(id), "")
			w.Body, w.ContentLength = io.NopCloser(body), -1
			return w
		}
		for _, body := range []string{"null", "[]", "[{}]", "[" + good + "]", `""`, `"` + strings.ReplaceAll(good, `"`, "'") + `"`, "0", "true", "false"} {
			refused(body, request(strings.NewReader(body)))
		}
		absent := map[string]*http.Request{
			"no body": request(http.NoBody), "an empty body": request(strings.NewReader("")),
			"an empty body of a length": ask(boss, r.method, pathOf(r, ownID(r.pattern))+withoutBody(id), ""),
		}
		for name, w := range absent {
			if required {
				refused(name, w)
				continue
			}
			if got := newSite().do(w); got.Code/100 != 2 {
				t.Errorf("%s may be left out: %d %s", name, got.Code, got.Body)
			}
		}
		if !required {
			optional++
		}
	})
	if swept < 25 || optional == 0 || optional > swept/4 {
		t.Errorf("%d bodies, %d of them optional", swept, optional)
	}
}

// TestAnAbsentBodyIsReported: either its required members are missing, or the body itself.
func TestAnAbsentBodyIsReported(t *testing.T) {
	for path, want := range map[string]string{
		"POST /operator/chat": "[body message] value_error.missing", "PUT /api/router": "[body] missing", "PATCH /api/chats/" + chatID: "[body] missing",
	} {
		method, path, _ := strings.Cut(path, " ")
		if got := wrong(t, newSite().do(ask(boss, method, path, ""))); got != want {
			t.Errorf("%s %s: %s, want %s", method, path, got, want)
		}
	}
}

// TestALostBodyLeavesTheRouterUnchanged: an empty PUT once reset it.
func TestALostBodyLeavesTheRouterUnchanged(t *testing.T) {
	s := newSite()
	for _, path := range []string{"/api/router", "/api/router/7"} {
		read := func(who auth.Principal) string { return s.do(ask(who, http.MethodGet, path, "")).Body.String() }
		s.do(ask(boss, http.MethodPut, path, `{"context":"Un spa.","prompts":{"identity":"Eres Sol."}}`))
		before := read(boss)
		if w := s.do(ask(boss, http.MethodPut, path, "")); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if after := read(boss); after != before || !strings.Contains(before, "Un spa.") {
			t.Errorf("%s: was %s, is %s", path, before, after)
		}
	}
}

// TestABodyIsReadOnce: a signature covers the body, so that it is read before the request is admitted.
func TestABodyIsReadOnce(t *testing.T) {
	r, body := httptest.NewRequest(http.MethodPost, "/", nil), []byte(`{"message":"hola"}`)
	receive(r, body)
	for range 2 {
		if got, err := readBody(httptest.NewRecorder(), r, MaxBody); err != nil || &got[0] != &body[0] || r.ContentLength != int64(len(body)) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if text, err := io.ReadAll(r.Body); err != nil || string(text) != string(body) {
		t.Errorf("the decoder reads %q, %v", text, err)
	}
}
