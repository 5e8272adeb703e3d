package outbound

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

func TestContextSendsRequestOfDocument001(t *testing.T) {
	body := `{"success":true,"contexto_negocio":"Somos un spa","x":[1]}`
	r := serveRaw(t, say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)))
	text, err := NewBusinesses(Options{AllowLoopback: true}).Context(t.Context(), r.url+"/servicio/ws.php", 9007199254740993)
	if err != nil || text != "Somos un spa" {
		t.Errorf("%q %v", text, err)
	}
	got, _ := r.last.Load().(string)
	if !strings.HasPrefix(got, "POST /servicio/ws.php\n") || !strings.HasSuffix(got, "\n\n"+`{"codOpe":"OBTENER_CONTEXTO_NEGOCIO","id_empresa":9007199254740993}`) ||
		!strings.Contains(got, "Content-Type: application/json\r\n") || strings.Contains(got, "Authorization") || strings.Contains(got, "Cookie") {
		t.Errorf("asked as %q", got)
	}
}

func TestContextReadsVariantsOfResponse(t *testing.T) {
	for _, c := range []struct{ answer, text, reason string }{
		{`{"success":true,"contexto_negocio":"Somos un spa"}`, "Somos un spa", ""},
		{"\xef\xbb\xbf" + ` {"success":"true","contexto_negocio":" Somos "} `, "Somos", ""},
		{`{"success":1,"contexto_negocio":"a\nb"}`, "a\nb", ""},
		{`{"success":"1","contexto_negocio":{ "horario": [ 9, 18.50 ], "web":"<a>" }}`, `{"horario":[9,18.50],"web":"<a>"}`, ""},
		{`{"success":true,"contexto_negocio":[ "a", "b" ]}`, `["a","b"]`, ""},
		{`{"success":true,"contexto_negocio":""}`, "", ""},
		{`{"success":true,"contexto_negocio":null}`, "", ""},
		{`{"success":true,"contexto_negocio":{}}`, "", ""},
		{`{"success":true,"contexto_negocio":[]}`, "", ""},
		{`{"success":true,"contexto_negocio":7}`, "", ""},
		{`{"success":true}`, "", ""},
		{`{"success":false,"contexto_negocio":"x"}`, "", "declined"},
		{`{"success":"false","contexto_negocio":"x"}`, "", "declined"},
		{`{"success":0,"contexto_negocio":"x"}`, "", "declined"},
		{`{"success":null,"contexto_negocio":"x"}`, "", "declined"},
		{`{"success":{},"contexto_negocio":"x"}`, "", "declined"},
		{`{"contexto_negocio":"x"}`, "", "declined"},
		{`null`, "", "declined"},
		{`[]`, "", "unreadable"},
		{`"x"`, "", "unreadable"},
		{``, "", "unreadable"},
		{`<br /><b>Warning</b>: mysqli_connect() {"success":true}`, "", "unreadable"},
		{`{"success":true,"contexto_negocio":"x"`, "", "unreadable"},
		{`{"success":true,"contexto_negocio":"` + strings.Repeat("x", 300<<10) + `"}`, "", "too_large"},
		{`{"success":true,"contexto_negocio":"x"}` + strings.Repeat(" ", 256<<10), "", "too_large"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.answer) }))
		text, err := NewBusinesses(Options{AllowLoopback: true}).Context(t.Context(), s.URL, 1)
		s.Close()
		if text != c.text || (err == nil) != (c.reason == "") || err != nil && fault.Of(err).Args["reason"] != c.reason {
			t.Errorf("%.60s: %q %v, want %q %s", c.answer, text, err, c.text, c.reason)
		}
	}
}

func TestContextReturnsReasonOfFailure(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	var elsewhere int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	answers := func(status int, location string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"success":true,"contexto_negocio":"x"}`)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	loopback := Options{AllowLoopback: true}
	for _, c := range []struct {
		name, url string
		opts      Options
		reason    string
	}{
		{"refused", closed.URL, loopback, "refused"},
		{"guarded", closed.URL, Options{}, "target"},
		{"metadata", "http://169.254.169.254/latest", Options{AllowLoopback: true, Private: tool.AnyNetwork()}, "target"},
		{"unknown name", "http://nowhere.invalid", Options{Resolver: (&fakeDNS{}).serve(t)}, "dns"},
		{"silent", serveRaw(t, func(net.Conn) { <-t.Context().Done() }).url, Options{AllowLoopback: true, Timeout: 500 * time.Millisecond}, "timeout"},
		{"redirect", answers(302, other.URL), loopback, "status"},
		{"redirect that keeps the method", answers(307, other.URL), loopback, "status"},
		{"error", answers(500, ""), loopback, "status"},
		{"nothing", answers(204, ""), loopback, "unreadable"},
		{"cut", serveRaw(t, func(c net.Conn) {
			say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"success\":true")(c)
			_ = c.Close()
		}).url, loopback, "protocol"},
		{"no URL", "ftp://127.0.0.1/", loopback, "protocol"},
		{"credentials", strings.Replace(closed.URL, "://", "://user:pass@", 1), loopback, "target"},
	} {
		text, err := NewBusinesses(c.opts).Context(t.Context(), c.url, 1)
		if text != "" || fault.Of(err).Code != ErrBusiness.Code || fault.Of(err).Args["reason"] != c.reason {
			t.Errorf("%s: %q %v, want %s", c.name, text, err, c.reason)
		}
		if err != nil && strings.Contains(err.Error(), c.url) {
			t.Errorf("%s: the error tells the address: %v", c.name, err)
		}
	}
	if elsewhere != 0 {
		t.Error("a redirect was followed")
	}
}

func TestContextRefusesLargeResponse(t *testing.T) {
	r := serveRaw(t, func(c net.Conn) {
		if say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"success\":true,\"contexto_negocio\":\"")(c); t.Context().Err() == nil {
			for {
				if _, err := io.WriteString(c, strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		}
	})
	if _, err := NewBusinesses(Options{AllowLoopback: true}).Context(t.Context(), r.url, 1); fault.Of(err).Args["reason"] != "too_large" {
		t.Error(err)
	}
}

// FuzzBusinessContext: every response gives a text or a reason, and the text is never longer than the response.
func FuzzBusinessContext(f *testing.F) {
	for _, s := range []string{
		`{"success":true,"contexto_negocio":"x"}`, `{"success":"1","contexto_negocio":{"a":[1,{}]}}`, `{"SUCCESS":true}`, "\xef\xbb\xbf{}",
		`{"success":true,"contexto_negocio":"\ud800"}`, "{\"success\":true,\"contexto_negocio\":[\"\xff\"]}", `{"success":true,"success":false}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		text, err := businessContext(answer)
		if err != nil && (text != "" || err != errUnreadable && err != errDeclined) {
			t.Errorf("%q %v", text, err)
		}
		if len(text) > 3*len(answer) { // a broken byte becomes a replacement character of three bytes
			t.Errorf("%d bytes of %d", len(text), len(answer))
		}
		if kept := agent.BusinessText(text); !utf8.ValidString(kept) || len(kept) > clip.Instructions || strings.ContainsRune(kept, 0) {
			t.Errorf("%q", fmt.Sprintf("%.80s", kept))
		}
	})
}
