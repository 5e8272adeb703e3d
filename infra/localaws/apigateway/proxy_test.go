package apigateway_test

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
)

// TestEventKeepsProxyProtocol: a proxy before the listener names the protocol of the client, but a
// listener with TLS uses its own.
func TestEventKeepsProxyProtocol(t *testing.T) {
	g, f := newGateway(map[string]string{"f": `{"statusCode":200}`}, nil)
	for name, c := range map[string]struct {
		headers     []string
		tls         bool
		proto, port string
	}{
		"no proxy":                   {nil, false, "http", "8080"},
		"a proxy":                    {[]string{"X-Forwarded-Proto", "https"}, false, "https", "8080"},
		"a proxy that says its port": {[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Port", "443"}, false, "https", "443"},
		"TLS of its own":             {[]string{"X-Forwarded-Proto", "http", "X-Forwarded-Port", "80"}, true, "https", "8080"},
	} {
		r := request("GET", "http://things.example:8080/", "", c.headers...)
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		g.ServeHTTP(httptest.NewRecorder(), r)
		h := f.last("f")["headers"].(map[string]any)
		if h["x-forwarded-proto"] != c.proto || h["x-forwarded-port"] != c.port {
			t.Errorf("%s: %v, port %v", name, h["x-forwarded-proto"], h["x-forwarded-port"])
		}
	}
}
