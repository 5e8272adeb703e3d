package httpapi

import (
	"net/http"
	"testing"

	"piloto/internal/access/auth"
)

func TestUnknownRoutesAndMethodsAreProblems(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/nothing", 404, ""},
		{"GET", "/api/mcps/", 404, ""},
		{"GET", "//api/mcps", 404, ""},
		{"GET", "/api/../health", 404, ""},
		{"GET", "/API/MCPS", 404, ""},
		{"GET", "/api/runs//events", 404, ""},
		{"POST", "/health", 405, "GET, HEAD"},
		{"GET", "/api/send", 405, "POST"},
		{"HEAD", "/api/send", 405, "POST"},
		{"PATCH", "/api/mcps/" + serverID + "/active", 405, "POST, PUT"},
		{"DELETE", "/api/chats", 405, "GET, HEAD, POST"},
		{"OPTIONS", "/api/chats", 405, "GET, HEAD, POST"},
		{"TRACE", "/api/runs/" + runID, 405, "GET, HEAD"},
		{"BREW", "/docs", 405, "GET, HEAD"},
	} {
		for _, who := range []auth.Principal{{}, boss} {
			s := newSite()
			w := s.do(ask(who, c.method, c.path, ""))
			if w.Code != c.status || w.Header().Get("Allow") != c.allow || s.count() != 0 {
				t.Errorf("%s %s: %d, Allow %q", c.method, c.path, w.Code, w.Header().Get("Allow"))
			}
			if w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: %s", c.method, c.path, w.Header().Get("Content-Type"))
			}
		}
	}
}

func TestDotSegmentsAreNoValues(t *testing.T) {
	for _, path := range []string{"/operator/session/.", "/operator/session/.."} {
		if w := newSite().do(ask(boss, "GET", path, "")); decode(t, w)["code"] != "route.not_found" {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	w := newSite().do(ask(auth.Principal{}, http.MethodHead, "/health", ""))
	if w.Code != 200 {
		t.Errorf("%d", w.Code)
	}
}
