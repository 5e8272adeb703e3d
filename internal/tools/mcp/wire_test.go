package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"piloto/internal/tools/tool"
)

func TestEventsFollowStandard(t *testing.T) {
	for stream, want := range map[string]string{
		"data: a\n\n": `""="a" `,
		"event: x\r\ndata: a\r\ndata:  b\r\n\r\n": `"x"="a\n b" `,
		"event: x\rdata: a\rdata:b\r\r":           `"x"="a\nb" `,
		"data: a\n\ndata: b\n\n":                  `""="a" ""="b" `,
		"event: x\n\ndata: a\n\n":                 `""="a" `,
		": a\nid: 1\nretry: 5\ndata\n\n":          ``,
		"data\ndata: a\n\n":                       `""="\na" `,
		"data: a\nevent: y":                       `"y"="a" `,
		"\ufeffdata: a\n\nDATA: b\n\n":            `""="a" `,
	} {
		var out strings.Builder
		s := events{each: func(name string, data []byte) { fmt.Fprintf(&out, "%q=%q ", name, data) }}
		s.feed([]byte(stream))
		s.end()
		if out.String() != want {
			t.Errorf("%q: %s, want %s", stream, out.String(), want)
		}
	}
}

func TestCallRequestCannotBeRepeated(t *testing.T) {
	var arrived atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer s.Close()
	w := newWire(s.Client(), 0)
	defer s.Client().CloseIdleConnections()
	send := func(e *exchanges, to, method string) error {
		body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`)
		req, err := http.NewRequestWithContext(e.in(t.Context()), http.MethodPost, to, body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := w.RoundTrip(req)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	e := newExchanges(s.URL, nil)
	if err := send(e, s.URL, methodCall); !errors.Is(err, errRepeated) {
		t.Errorf("exchanges without a call: %v", err)
	}
	e.call = &callHeaders{}
	for i, want := range []error{nil, errRepeated, errRepeated} {
		if err := send(e, s.URL, methodCall); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
	for _, to := range []string{strings.Replace(s.URL, "127.0.0.1", "localhost", 1), strings.Replace(s.URL, "http:", "https:", 1), strings.Replace(s.URL, "://", "://u:p@", 1)} {
		if err := send(e, to, methodList); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v, want that it is refused", to, err)
		}
	}
	if n := arrived.Load(); n != 1 {
		t.Errorf("%d requests arrived", n)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.outgoingRequest(t.Context(), req, []byte("{}"), newExchanges(s.URL, tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: "secret"}}))
	if err != nil || out.GetBody != nil || out.Body == nil || req.Header.Get("Authorization") != "" {
		t.Errorf("%+v %v: net/http could send it again", out, err)
	}
}
