package process

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func tcp(addr string) net.Addr {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		panic(err)
	}
	return at
}

// TestHostsIncludesOwnNames checks that no other Host passes the guard.
func TestHostsIncludesOwnNames(t *testing.T) {
	for _, x := range []struct {
		listens, asked, arrived string
		named                   string
		known, unknown          string
	}{
		{
			"127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080", "",
			"127.0.0.1:8080 localhost:8080 LocalHost:8080 [::1]:8080 127.0.0.2:8080",
			"evil.example evil.example:8080 localhost localhost:80 127.0.0.1 127.0.0.1:80 127.0.0.1:8081 localhost.evil.example:8080 evil.localhost:8080 " +
				"192.168.1.5:8080 0.0.0.0:8080 localhost@evil.example:8080 127.0.0.1.nip.io:8080 2130706433:8080 0x7f.1:8080 [::ffff:6.6.6.6]:8080 :8080",
		},
		{"127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:80", "", "localhost 127.0.0.1 [::1] localhost:80", "evil.example localhost:8080"},
		{"[::]:8080", "0.0.0.0:8080", "192.168.1.5:8080", "", "192.168.1.5:8080 localhost:8080", "0.0.0.0:8080 192.168.1.6:8080 evil.example:8080 nas.lan:8080 [::]:8080"},
		{"[::]:8080", ":8080", "[fd00::5]:8080", "", "[fd00::5]:8080", "[fd00::6]:8080"},
		{"192.168.1.5:8080", "nas.lan:8080", "192.168.1.5:8080", "", "nas.lan:8080 NAS.lan:8080 192.168.1.5:8080", "other.lan:8080 nas.lan nas.lan:80"},
		{
			"127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080", "piloto.example.org localhost:9000",
			"piloto.example.org PILOTO.example.org piloto.example.org:443 piloto.example.org:8443 localhost:9000 localhost:8080",
			"a.piloto.example.org piloto.example.org.evil.example localhost:9001 evil.example",
		},
	} {
		h := hostsOf(tcp(x.listens), x.asked, strings.Fields(x.named))
		for name, list := range map[bool]string{true: x.known, false: x.unknown} {
			for _, host := range strings.Fields(list) {
				if got := h.includes(host, tcp(x.arrived)); got != name {
					t.Errorf("-addr %s -host %q: %s is known: %v", x.asked, x.named, host, got)
				}
			}
		}
		if h.includes("", tcp(x.arrived)) {
			t.Errorf("-addr %s: a request without a name is known", x.asked)
		}
	}
}

// TestGuardRefusesUnknownHost tries page, API, demonstration, socket and health. The refusal is in
// the client's language.
func TestGuardRefusesUnknownHost(t *testing.T) {
	p, _, _, origin := deploy(t, Settings{Demo: true})
	handler, err := p.Handler()
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimPrefix(origin, "http://")
	guarded := hostsOf(tcp(addr), addr, nil).guard(handler)
	_, port, _ := net.SplitHostPort(addr)
	for _, target := range []string{
		"GET /", "GET /health", "GET /assets/app.js", "GET /api/chats", "POST /api/chats", "POST /signin", "GET /signin?code=x",
		"GET /demo/rooms/openapi.json", "POST /demo/model/v1/chat/completions", "GET /realtime", "OPTIONS /api/chats", "GET /nowhere",
	} {
		for lang, says := range map[string]string{"es": "-host NOMBRE", "en": "-host NAME"} {
			method, path, _ := strings.Cut(target, " ")
			r := httptest.NewRequest(method, "http://evil.example:"+port+path, strings.NewReader("{}"))
			r.Header.Set("Authorization", "Bearer "+testToken)
			r.Header.Set("Accept-Language", lang)
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
			w := httptest.NewRecorder()
			guarded.ServeHTTP(w, r)
			var problem struct{ Code, Detail, Action string }
			if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Code != http.StatusMisdirectedRequest ||
				problem.Code != "listener.host_unknown" || !strings.Contains(problem.Action, says) || !strings.Contains(problem.Detail, "localhost:"+port) {
				t.Errorf("%s: %d %s %v", target, w.Code, w.Body, err)
			}
		}
		r := httptest.NewRequest("GET", "http://localhost:"+port+"/health", nil)
		w := httptest.NewRecorder()
		if guarded.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("by its own name: %d", w.Code)
		}
	}
}

// TestServeRefusesUnknownHost uses a real listener, with all handlers of Serve.
func TestServeRefusesUnknownHost(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.origin, p.Addr, p.log = "http://"+listener.Addr().String(), listener.Addr().String(), slog.New(slog.DiscardHandler)
	p.Settings.Token = testToken
	ready := make(chan string, 1)
	go func() { _ = p.serve(t.Context(), listener, firstWrite(ready)) }()
	<-ready
	for asked, want := range map[string]int{"GET ": http.StatusOK, "GET evil.example": http.StatusMisdirectedRequest, "OPTIONS evil.example": http.StatusMisdirectedRequest} {
		method, host, _ := strings.Cut(asked, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, p.origin+"/health", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodOptions {
			r.URL.Opaque = "*" // net/http answers OPTIONS * itself unless this is disabled
		}
		r.Host = host
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%q: %d, want %d", host, res.StatusCode, want)
		}
	}
}

// firstWrite is a writer that passes on the first write.
type firstWrite chan string

func (c firstWrite) Write(b []byte) (int, error) {
	select {
	case c <- string(b):
	default:
	}
	return len(b), nil
}

// TestAnAddressHasAPort: one without a port is no reason to expose anything.
func TestAnAddressHasAPort(t *testing.T) {
	for _, addr := range []string{"8080", "127.0.0.1", "http://127.0.0.1:8080", "127.0.0.1:", ""} {
		for _, expose := range []bool{false, true} {
			if err := (Options{Addr: addr, Expose: expose}).checkAddress(t.Context()); err == nil || strings.Contains(said(err), "expose") || !strings.Contains(said(err), "127.0.0.1:8080") {
				t.Errorf("%q, exposed %t: %v", addr, expose, err)
			}
		}
	}
}

// TestAnAddressAtWhichNothingCanListenIsNamed: what is wrong with it is said before anybody is told to expose it.
func TestAnAddressAtWhichNothingCanListenIsNamed(t *testing.T) {
	for addr, want := range map[string]string{
		"nope.invalid:9618": "does not find “nope.invalid”", ":99999": "“99999” is no port", "127.0.0.1:99999": "“99999” is no port",
		"127.0.0.1:-1": "“-1” is no port", "127.0.0.1:abcde": "“abcde” is no port", "[::1:80": "127.0.0.1:8080", "xyz": "127.0.0.1:8080",
	} {
		err := Serve(t.Context(), Options{Addr: addr}, Settings{}, io.Discard)
		if err == nil || !IsMiswritten(err) || !strings.Contains(said(err), want) || strings.Contains(said(err), "expose") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:80", "[::1]:80", ":8080", "0.0.0.0:8080", "127.0.0.1:http"} {
		if err := (Options{Addr: addr}).checkAddress(t.Context()); err != nil {
			t.Error(addr, said(err))
		}
	}
	for _, code := range []string{"up.taken", "up.held", "up.wrong.start"} { // of the machine, not of the command
		if IsMiswritten(refusal(code)) {
			t.Error(code)
		}
	}
}

func TestCheckReachRequiresExpose(t *testing.T) {
	for addr, here := range map[string]bool{
		"127.0.0.1:8080": true, "localhost:8080": true, "[::1]:8080": true, "127.8.8.8:1": true,
		"0.0.0.0:8080": false, ":8080": false, "[::]:8080": false, "192.168.1.5:8080": false, "nas.lan:8080": false, "localhost.evil.example:80": false,
	} {
		err := Options{Addr: addr}.checkReach()
		if (err == nil) != here || err != nil && !strings.Contains(said(err), "-expose") {
			t.Errorf("%s: %v", addr, err)
		}
		if err := (Options{Addr: addr, Expose: true}).checkReach(); err != nil {
			t.Errorf("%s, exposed: %v", addr, err)
		}
	}
	for _, name := range []string{"", "https://a.example", "a.example/x", "*.example", "a b", "a.example:x", "a.example:0", "a.example:99999", "u@a.example"} {
		if (Options{Addr: "localhost:1", Hosts: []string{name}}).checkReach() == nil {
			t.Errorf("-host %q is taken", name)
		}
	}
	for _, name := range []string{"a.example", "a.example:8443", "192.168.1.5", "[fd00::5]:80", "localhost:9000"} {
		if err := (Options{Addr: "localhost:1", Hosts: []string{name}}).checkReach(); err != nil {
			t.Error(err)
		}
	}
}
