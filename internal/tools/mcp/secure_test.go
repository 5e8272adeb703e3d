package mcp_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// secureClient returns a client that prefers HTTP/2 over TLS.
func secureClient(t *testing.T, s *httptest.Server) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}
}

func TestTLSServerIsDiscoveredAndCalled(t *testing.T) {
	for _, v := range versions {
		var two, one atomic.Int32
		handler := mount("/", v.via, v.only == nil, echo(v.only...))
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 {
				two.Add(1)
			}
			if isCall(r) && r.ProtoMajor == 1 {
				one.Add(1)
			}
			handler.ServeHTTP(w, r)
		}))
		s.EnableHTTP2 = true
		s.StartTLS()
		t.Cleanup(s.Close)
		with := secureClient(t, s)
		found, err := mcp.Discoverer{Client: with}.Discover(t.Context(), tool.Target{Base: s.URL})
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		call := callOf(asServer(found), byName(found)["echo"], `{"text":"x"}`)
		call.Idempotency = "run-1"
		c := client(t, func(o *mcp.Options) { o.HTTP = with })
		for range 2 {
			if a, err := c.CallTool(t.Context(), call); err != nil || a.Failed {
				t.Errorf("%s: %+v %v", v.name, a, err)
			}
		}
		if two.Load() == 0 || one.Load() != 2 {
			t.Errorf("%s: %d requests over HTTP/2, %d calls over HTTP/1.1", v.name, two.Load(), one.Load())
		}
		_ = c.Close()
	}
}

func TestUnverifiedTLSServerGetsNoRequest(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
	if !errors.Is(err, tool.ErrUnreachable) || fault.Of(err).Args["reason"] != "tls" {
		t.Errorf("%v", err)
	}
}

func TestMalformedHandshakeDoesNotPanic(t *testing.T) {
	for _, answer := range []string{
		`null`, `7`, `[]`, `"x"`, `{}`, `{"protocolVersion":7}`, `{"protocolVersion":"2025-06-18"}`, `{"protocolVersion":"2025-06-18","capabilities":null,"serverInfo":null}`,
		`{"protocolVersion":"2025-06-18","capabilities":7}`, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"\u0000\u202e"}}`,
		`{"supportedVersions":["2026-07-28"]}`, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}},"_meta":7}`,
		`{"supportedVersions":["2026-07-28"],"_meta":{"io.modelcontextprotocol/serverInfo":[]}}`, `{"supportedVersions":null}`, `{"supportedVersions":["1"]}`,
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		s := newFaultyServer(t, nil)
		s.handshake = answer
		found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
		if err != nil && !errors.Is(err, tool.ErrProtocol) || err == nil && len(found.Operations) != 1 || strings.ContainsAny(found.Title, "\x00\u202e") {
			t.Errorf("%.60s: %+v %v", answer, found, err)
		}
	}
}
