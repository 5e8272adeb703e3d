package outbound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/openapi"
	"piloto/internal/tools/tool"
)

// vectors returns every code path that sends a request to an address from a person, with its key where there is
// one. A service's key is tried in every place.
func vectors(opts Options) map[string]func(ctx context.Context, url string, key tool.Keys) error {
	tokens := func() *Tokens { return NewTokens(opts, time.Now) }
	send := func(method string) func(context.Context, string, tool.Keys) error {
		return func(ctx context.Context, url string, key tool.Keys) error {
			header := map[string]string{"Accept": "application/json", "Host": "other.example.test"}
			_, err := NewSender(opts, time.Now).With(tokens()).Send(ctx, tool.Request{Origin: url, URL: url, Method: method, Header: header}, key, 1000)
			return err
		}
	}
	protocol := func(ctx context.Context, url string, key tool.Keys, via tool.Transport) error {
		c := mcp.NewClient(mcp.Options{HTTP: NewClient(opts), Bearer: tokens(), Now: time.Now, Timeout: 2 * time.Second})
		_, err := c.CallTool(ctx, tool.Call{
			Server: tool.Server{ID: "s", Kind: tool.KindMCP, BaseURL: url, Transport: via}, Tool: "do", Fingerprint: "f",
			Arguments: json.RawMessage(`{}`), Keys: key, Limit: 1000,
		})
		return errors.Join(err, c.Close())
	}
	return map[string]func(context.Context, string, tool.Keys) error{
		"a read": send("GET"), "a write": send("POST"),
		"a document": func(ctx context.Context, url string, key tool.Keys) error {
			_, err := openapi.Discoverer{Client: NewClient(opts)}.Discover(ctx, tool.Target{Base: url, Known: url + "/known.json", Keys: key})
			return err
		},
		"a list of tools": func(ctx context.Context, url string, key tool.Keys) error {
			_, err := mcp.Discoverer{Client: NewClient(opts), Bearer: tokens(), Each: 2 * time.Second, Total: 5 * time.Second}.Discover(ctx, tool.Target{Base: url, Keys: key})
			return err
		},
		"a tool": func(ctx context.Context, url string, key tool.Keys) error {
			return protocol(ctx, url, key, tool.TransportStreamable)
		},
		"a tool over events": func(ctx context.Context, url string, key tool.Keys) error {
			return protocol(ctx, url, key, tool.TransportSSE)
		},
		"a token": func(ctx context.Context, url string, _ tool.Keys) error {
			_, err := tokens().Exchange(ctx, tool.Credential{Place: tool.KeyPlace{In: "oauth", Name: "client", TokenURL: url}, Secret: secret})
			return err
		},
		"a business": func(ctx context.Context, url string, _ tool.Keys) error {
			_, err := NewBusinesses(opts).Context(ctx, url, 7)
			return err
		},
		"a hook": func(ctx context.Context, url string, _ tool.Keys) error {
			status, _, _, err := NewHooks(opts).Post(ctx, url, map[string]string{"Content-Type": "application/json"}, []byte(`{}`))
			if err == nil && status != http.StatusOK {
				err = errors.New(http.StatusText(status))
			}
			return err
		},
		"a provider": func(ctx context.Context, url string, _ tool.Keys) error {
			c := openai.New(openai.Endpoint{Provider: "x", BaseURL: url, Key: secret}, NewClient(opts), time.Now)
			_, err := c.Complete(ctx, llm.Request{Model: "m", MaxTokens: 5, Messages: []llm.Message{{Role: llm.User, Content: "u"}}})
			return errors.Join(err, c.Probe(ctx))
		},
	}
}

// dials records the connections.
type dials struct {
	mu      sync.Mutex
	passed  []string // addresses that the guard let pass, even when no server was there
	refused int
}

func (d *dials) record(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{ConnectDone: func(_, address string, err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if errors.Is(err, tool.ErrTarget) {
			d.refused++
			return
		}
		d.passed = append(d.passed, address)
	}})
}

// astray returns the connections to other machines.
func (d *dials) astray() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.passed), func(address string) bool {
		at, err := netip.ParseAddrPort(address)
		return err == nil && at.Addr().IsLoopback() && !at.Addr().Is4In6()
	})
}

// forbidden lists hosts that are, are written as, or resolve to a forbidden address.
var forbidden = []string{
	"10.0.0.1", "172.16.5.5", "192.168.1.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "100.64.0.1", "0.0.0.0", "0.1.2.3",
	"198.18.0.1", "224.0.0.1", "255.255.255.255", "[::]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a00:1]", "[64:ff9b::a9fe:a9fe]",
	"[fd00:ec2::254]", "[fe80::1]", "[fc00::1]", "[2002:a00:1::]", "[::127.0.0.1]", "10.1", "0x0a000001", "167772161", "012.0.0.1", "0", "2852039166", "0xa9fea9fe",
	"inner.example.test.", "meta.example.test.", "zero.example.test.", "user:pass@inner.example.test.", "INNER.example.test.", "inner.example.test..",
}

func stub(t *testing.T) *net.Resolver {
	inner, meta := []string{"10.0.0.1"}, []string{"169.254.169.254"}
	return (&fakeDNS{answers: map[string][]string{
		"inner.example.test": inner, "INNER.example.test": inner, "meta.example.test": meta, "zero.example.test": {"0.0.0.0"},
	}}).serve(t)
}

// TestNoVectorReachesAForbiddenAddress: no code path connects to another machine; the test allows only this one.
func TestNoVectorReachesAForbiddenAddress(t *testing.T) {
	for name, ask := range vectors(Options{AllowLoopback: true, Resolver: stub(t), Timeout: 2 * time.Second}) {
		t.Run(name, func(t *testing.T) {
			d := &dials{}
			for _, host := range forbidden {
				for _, scheme := range []string{"http", "https"} {
					ctx, cancel := context.WithTimeout(d.record(t.Context()), 5*time.Second)
					if err := ask(ctx, scheme+"://"+host+":8080/v1", nil); err == nil {
						t.Errorf("%s://%s answers", scheme, host)
					}
					cancel()
				}
			}
			if list := d.astray(); len(list) > 0 || d.refused < 20 {
				t.Errorf("connected to %v; %d were refused", list, d.refused)
			}
		})
	}
}

// TestNoVectorFollowsRebindingName: the name first resolves to this machine, and then to a forbidden address.
func TestNoVectorFollowsRebindingName(t *testing.T) {
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // each response ends its connection
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer home.Close()
	_, port, _ := net.SplitHostPort(home.Listener.Addr().String())
	d, calls := &dials{}, 0
	for _, inside := range []string{"10.0.0.1", "169.254.169.254"} {
		dns := &fakeDNS{answers: map[string][]string{}}
		opts := Options{AllowLoopback: true, Resolver: dns.serve(t), Timeout: 2 * time.Second}
		for name, ask := range vectors(opts) {
			host := fmt.Sprintf("flip%d.example.test", calls)
			dns.mu.Lock()
			dns.answers[host] = []string{"127.0.0.1", inside}
			dns.mu.Unlock()
			for range 3 {
				ctx, cancel := context.WithTimeout(d.record(t.Context()), 5*time.Second)
				if err := ask(ctx, "http://"+host+".:"+port, nil); err == nil && !strings.HasPrefix(name, "a read") && !strings.HasPrefix(name, "a write") {
					t.Errorf("%s: it answers", name)
				}
				cancel()
			}
			calls++
		}
	}
	if list := d.astray(); len(list) > 0 || d.refused < calls {
		t.Errorf("connected to %v; %d were refused in %d", list, d.refused, calls)
	}
}

// lures returns responses of a service that try to send the client to another host.
func lures(elsewhere string) map[string]http.HandlerFunc {
	document := fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"x","version":"1","termsOfService":%[1]q,"contact":{"url":%[1]q}},"servers":[{"url":%[1]q}],"externalDocs":{"url":%[1]q},
		"components":{"securitySchemes":{"o":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"%[1]s/token","scopes":{}}}}},"schemas":{"a":{"$ref":"%[1]s/s.json"}}},
		"paths":{"/x":{"$ref":"%[1]s/x.json","servers":[{"url":%[1]q}],"get":{"servers":[{"url":%[1]q}],"responses":{"200":{"description":"ok","links":{"n":{"operationRef":"%[1]s/y"}}}}}}}}`, elsewhere)
	list := map[string]http.HandlerFunc{
		"a document": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, document)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, `<base href="%[1]s"><meta http-equiv="refresh" content="0;url=%[1]s"><redoc spec-url="%[1]s/o.json"></redoc><script>SwaggerUIBundle({url: "%[1]s/o.json"})</script>`, elsewhere)
		},
		"an endpoint": func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s/message\n\n", elsewhere)
		},
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Location", "Content-Location", "Link", "Refresh", "Alt-Svc"} {
				w.Header().Set(name, map[string]string{
					"Link": "<" + elsewhere + ">; rel=\"service-desc\"", "Refresh": "0; url=" + elsewhere, "Alt-Svc": `h2="` + strings.TrimPrefix(elsewhere, "http://") + `"`,
				}[name]+map[bool]string{true: elsewhere}[strings.HasSuffix(name, "ocation")])
			}
			_, _ = io.WriteString(w, "{}")
		},
	}
	for _, status := range []int{301, 302, 303, 307, 308, 401, 403} {
		list[fmt.Sprint(status)] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%[1]q, resource_metadata="%[1]s/.well-known/oauth-protected-resource"`, elsewhere))
			w.Header().Set("Location", elsewhere+r.URL.RequestURI())
			w.Header().Set("Set-Cookie", "a=b")
			w.WriteHeader(status)
		}
	}
	list["401, then 307"] = func(w http.ResponseWriter, r *http.Request) { // to a request with a key
		if r.Header.Get("Authorization")+r.Header.Get("X-Key") == "" && !strings.Contains(r.URL.RawQuery, "key=") {
			list["401"](w, r)
			return
		}
		list["307"](w, r)
	}
	return list
}

// TestNoKeyGoesElsewhere: no request, key, cookie or referrer arrives at another host, whatever the service
// responds. Host is always the registered name.
func TestNoKeyGoesElsewhere(t *testing.T) {
	type arrived struct{ host, keys, trail string }
	var mu sync.Mutex
	var here, there []arrived
	note := func(list *[]arrived, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys := r.Header.Get("Authorization") + r.Header.Get("X-Key") + r.URL.RawQuery
		*list = append(*list, arrived{r.Host, keys, r.Header.Get("Cookie") + r.Header.Get("Referer")})
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note(&there, r) }))
	defer other.Close()
	keys := map[string]tool.Keys{
		"bearer": {{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}, "header": {{Place: tool.KeyPlace{In: "header", Name: "X-Key"}, Secret: secret}},
		"query": {{Place: tool.KeyPlace{In: "query", Name: "key"}, Secret: secret}},
	}
	opts := Options{AllowLoopback: true, Timeout: 2 * time.Second}
	for _, elsewhere := range []string{other.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), strings.TrimPrefix(other.URL, "http:"), "http://10.0.0.1", "http://169.254.169.254/latest"} {
		for lure, answer := range lures(elsewhere) {
			home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				note(&here, r)
				answer(w, r)
			}))
			own := strings.TrimPrefix(home.URL, "http://")
			d := &dials{}
			for name, ask := range vectors(opts) {
				here = nil
				for _, key := range keys {
					ctx, cancel := context.WithTimeout(d.record(t.Context()), 5*time.Second)
					_ = ask(ctx, home.URL, key)
					cancel()
				}
				mu.Lock()
				shown := false
				for _, a := range here {
					shown = shown || a.keys != ""
					if a.host != own || a.trail != "" {
						t.Errorf("%s, %s: its own host was sent %+v", name, lure, a)
					}
				}
				if len(here) == 0 || !shown && name != "a document" && name != "a business" && name != "a hook" && name != "a token" {
					t.Errorf("%s, %s: no key was sent to its own host: %+v", name, lure, here)
				}
				if len(there) > 0 {
					t.Errorf("%s, %s: %s was sent %+v", name, lure, elsewhere, there)
				}
				there = nil
				mu.Unlock()
			}
			for _, address := range d.passed {
				if address != own {
					t.Errorf("%s: connected to %s", lure, address)
				}
			}
			if d.refused > 0 {
				t.Errorf("%s: %d connections were tried to %s", lure, d.refused, elsewhere)
			}
			home.Close()
		}
	}
}
