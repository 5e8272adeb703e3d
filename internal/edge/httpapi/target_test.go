package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// notText are encoded bytes that are not valid UTF-8.
var notText = []string{"%ff", "%c0%af", "a%80b", "%ED%A0%80", "%f5%80%80%80", "%e6%97"}

// refusedAsNoText checks that a request is refused as invalid UTF-8, and reaches no handler.
func refusedAsNoText(t *testing.T, method, target string) {
	t.Helper()
	s := newSite()
	w := httptest.NewRecorder()
	Texts(s.config, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s %s arrived", method, target) })).
		ServeHTTP(w, ask(boss, method, target, ""))
	told := decode(t, w)
	if w.Code != http.StatusBadRequest || told["code"] != "request.encoding" || told["trace_id"] != "trace-1" || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s: %d %s", method, target, w.Code, w.Body)
	}
}

// TestNoParameterIsReadAsAnother: bytes that are not valid UTF-8 were once read as U+FFFD, so the memory of one
// session was deleted for another. The test sends them in every path and query parameter of every documented route.
func TestNoParameterIsReadAsAnother(t *testing.T) {
	swept := 0
	for _, r := range described().router.routes {
		path := pathOf(r, ownID(r.pattern))
		for _, bytes := range notText {
			for _, segment := range r.segments {
				if strings.HasPrefix(segment, "{") {
					swept++
					refusedAsNoText(t, r.method, pathOf(&route{pattern: strings.Replace(r.pattern, segment, bytes, 1)}, ownID(r.pattern)))
				}
			}
			for _, p := range described().operation(r.method, r.pattern).Parameters {
				if p.In == "query" {
					swept++
					refusedAsNoText(t, r.method, path+"?"+p.Name+"="+bytes)
					refusedAsNoText(t, r.method, path+"?a=b&"+p.Name+bytes+"=1")
				}
			}
		}
	}
	if swept < 100 {
		t.Errorf("only %d parameters", swept)
	}
	refusedAsNoText(t, "GET", "/memory/%EF%BF%BD") // as an event has them
	refusedAsNoText(t, "GET", "/nothing?%ff")
	refusedAsNoText(t, "GET", "/nothing?a=%zz&b=%ff")
}

func TestValidUTF8Arrives(t *testing.T) {
	for _, target := range []string{
		"/", "/memory/whatsapp%2F51999", "/memory/%C3%B1", "/memory/%F0%9F%9A%80", "/memory/%25ff", "/memory/%EF%BF%BE", "/memory/a%00",
		"/api/chats?cursor=%C3%B1+a%2Bb%26c&limit=2", "/api/chats?cursor=%zz", "/api/chats?a=%25ff", "/api/chats?", "/api/chats?a=%EF%BF%BD", "/?a;b",
	} {
		var got *http.Request
		want := ask(boss, "GET", target, "")
		Texts(newSite().config, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })).ServeHTTP(httptest.NewRecorder(), want)
		if got != want {
			t.Errorf("%s did not arrive", target)
		}
	}
}
