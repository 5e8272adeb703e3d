package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"piloto/internal/tools/tool"
)

func TestGuardDecidesByAddress(t *testing.T) {
	const (
		never    = ""
		public   = "public"
		loopback = "loopback"
		private  = "private"
	)
	cases := []struct{ address, class string }{
		{"8.8.8.8", public},
		{"172.32.0.1", public},
		{"2606:4700::1111", public},
		{"127.0.0.1", loopback},
		{"127.255.255.254", loopback},
		{"::1", loopback},
		{"10.0.0.1", private},
		{"172.16.0.1", private},
		{"172.31.255.255", private},
		{"192.168.1.1", private},
		{"fd12:3456::1", private},
		{"0.0.0.0", never},
		{"0.1.2.3", never},
		{"100.64.0.1", private},
		{"100.100.100.200", never},
		{"169.254.0.1", never},
		{"169.254.169.254", never},
		{"169.254.170.2", never},
		{"168.63.129.16", never},
		{"192.0.0.192", never},
		{"192.0.2.1", never},
		{"192.88.99.1", never},
		{"198.18.0.1", never},
		{"198.51.100.1", never},
		{"203.0.113.1", never},
		{"224.0.0.1", never},
		{"240.0.0.1", never},
		{"255.255.255.255", never},
		{"::", never},
		{"::ffff:127.0.0.1", never},
		{"::ffff:10.0.0.1", never},
		{"::ffff:169.254.169.254", never},
		{"::127.0.0.1", never},
		{"64:ff9b::7f00:1", never},
		{"64:ff9b::a9fe:a9fe", never},
		{"64:ff9b:1::1", never},
		{"100::1", never},
		{"2001::1", never},
		{"2001:db8::1", never},
		{"2002:7f00:1::", never},
		{"3fff::1", never},
		{"fe80::1", never},
		{"fe80::1%eth0", never},
		{"fec0::1", never},
		{"fd00:ec2::254", never},
		{"fd20:ce::254", never},
		{"ff02::1", never},
	}
	for _, c := range cases {
		for _, g := range []struct {
			loopback, private bool
		}{{false, false}, {true, false}, {false, true}, {true, true}} {
			want := c.class == public || c.class == loopback && g.loopback || c.class == private && g.private
			network := "tcp4"
			if netip.MustParseAddr(c.address).Is6() {
				network = "tcp6"
			}
			var private tool.Networks
			if g.private {
				private = tool.AnyNetwork()
			}
			err := newGuard(g.loopback, private).control(network, net.JoinHostPort(c.address, "8080"), nil)
			if (err == nil) != want || err != nil && !errors.Is(err, tool.ErrTarget) {
				t.Errorf("%s with %+v: %v, want allowed = %v", c.address, g, err, want)
			}
		}
	}
	for _, odd := range []string{"", "example.com:80", "127.0.0.1", "1.2.3.4:99999"} {
		if newGuard(true, tool.AnyNetwork()).control("tcp4", odd, nil) == nil {
			t.Errorf("%q is allowed", odd)
		}
	}
	if newGuard(true, tool.AnyNetwork()).control("udp4", "8.8.8.8:53", nil) == nil {
		t.Error("udp is allowed")
	}
}

// fakeDNS is a DNS server with configured answers, which counts the questions.
type fakeDNS struct {
	mu      sync.Mutex
	answers map[string][]string // addresses by name, one for each question; the last one is repeated
	asked   int
}

func (n *fakeDNS) next(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[strings.TrimSuffix(name, ".")]
	if len(list) == 0 {
		return ""
	}
	n.asked++
	if len(list) > 1 {
		n.answers[strings.TrimSuffix(name, ".")] = list[1:]
	}
	return list[0]
}

func (n *fakeDNS) serve(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			reply := dnsmessage.Message{
				Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true},
				Questions: m.Questions,
			}
			if q.Type == dnsmessage.TypeA {
				if a := n.next(q.Name.String()); a != "" {
					reply.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
					}}
				}
			}
			if raw, err := reply.Pack(); err == nil {
				_, _ = conn.WriteTo(raw, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func get(t *testing.T, c *http.Client, url string) error {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func TestClientChecksResolvedAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dns := &fakeDNS{answers: map[string][]string{
		"good.example.test": {"127.0.0.1"}, "inner.example.test": {"10.0.0.1"}, "meta.example.test": {"169.254.169.254"},
		"flip.example.test": {"127.0.0.1", "10.0.0.1"},
	}}
	resolver := dns.serve(t)
	client := NewClient(Options{AllowLoopback: true, Resolver: resolver, Timeout: 5 * time.Second})
	at := func(name string) string { return fmt.Sprintf("http://%s.example.test.:%s/", name, port) }

	if err := get(t, client, at("good")); err != nil {
		t.Errorf("an allowed address: %v", err)
	}
	for _, name := range []string{"inner", "meta"} {
		if err := get(t, client, at(name)); !errors.Is(err, tool.ErrTarget) {
			t.Errorf("%s: %v, want ErrTarget", name, err)
		}
	}
	strict := NewClient(Options{Resolver: resolver, Timeout: 5 * time.Second})
	if err := get(t, strict, at("good")); !errors.Is(err, tool.ErrTarget) {
		t.Errorf("loopback where it is not allowed: %v, want ErrTarget", err)
	}

	// A connection made before the name moved may be used again. A new connection to the new address is refused.
	for range 3 {
		if err := get(t, client, at("flip")); err != nil {
			t.Fatalf("kept connection: %v", err)
		}
	}
	client.CloseIdleConnections()
	if err := get(t, client, at("flip")); !errors.Is(err, tool.ErrTarget) {
		t.Errorf("after the flip: %v, want ErrTarget", err)
	}
}

func TestClientIgnoresProxiesRedirectsAndCookies(t *testing.T) {
	var elsewhere, cookies int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies += len(r.Cookies())
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	defer server.Close()
	client := NewClient(Options{AllowLoopback: true})
	if client.Transport.(*http.Transport).Proxy != nil { // loopback is never proxied: the test cannot observe it
		t.Error("a proxy would connect past the guard")
	}
	for range 2 {
		res, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusFound {
			t.Errorf("status %d, want the redirect itself", res.StatusCode)
		}
	}
	if elsewhere+cookies != 0 {
		t.Errorf("%d requests went elsewhere, %d cookies came back", elsewhere, cookies)
	}
}
