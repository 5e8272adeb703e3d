package inproc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestCallerGetsResponseOfHandler(t *testing.T) {
	c := Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.Host+" "+r.RequestURI+" "+string(body))
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "not sent")
		_, _ = io.WriteString(w, "short and stout")
	})}
	req, _ := http.NewRequest(http.MethodPost, "http://engine.local/a%2Fb?q=1", strings.NewReader("hello"))
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusTeapot || string(body) != "short and stout" || res.ContentLength != 15 {
		t.Errorf("got %d %q", res.StatusCode, body)
	}
	if got := res.Header.Get("X-Seen"); got != "POST engine.local /a%2Fb?q=1 hello" {
		t.Errorf("handler saw %q", got)
	}
	if res.Header.Get("X-Late") != "" {
		t.Error("a header set after the status was sent")
	}
}

func TestSilentHandlerAnswers200(t *testing.T) {
	c := Transport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	req, _ := http.NewRequest(http.MethodGet, "http://engine.local/", nil)
	res, err := c.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
}

func TestPanicBecomesError(t *testing.T) {
	c := Transport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })}
	req, _ := http.NewRequest(http.MethodGet, "http://engine.local/", nil)
	if _, err := c.Do(req); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Fatalf("got %v", err)
	}
}

func TestEndedContextIsAnError(t *testing.T) {
	called := false
	c := Transport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true })}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine.local/", nil)
	if _, err := c.Do(req); !errors.Is(err, context.Canceled) || called {
		t.Fatalf("got %v, called %v", err, called)
	}
}
