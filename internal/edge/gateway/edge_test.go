package gateway

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
)

// TestOnlyTheDistributionSaysWhoSentARequest checks that the headers of a request are believed when the secret is
// there, and that the secret goes no further.
func TestOnlyTheDistributionSaysWhoSentARequest(t *testing.T) {
	const secret = "s3cr3t"
	edge := Edge{Domain: "page.example", Secret: secret}
	for name, c := range map[string]struct {
		edge          Edge
		header        map[string]string
		host, address string
	}{
		"straight to the API":           {edge, map[string]string{"x-forwarded-for": "198.51.100.9"}, "api.example", "203.0.113.1:0"},
		"with another secret":           {edge, map[string]string{"x-edge-secret": "guess", "x-forwarded-for": "198.51.100.9"}, "api.example", "203.0.113.1:0"},
		"with a part of the secret":     {edge, map[string]string{"x-edge-secret": "s3cr3", "x-forwarded-for": "198.51.100.9"}, "api.example", "203.0.113.1:0"},
		"with the secret twice":         {edge, map[string]string{"x-edge-secret": secret + "," + secret}, "api.example", "203.0.113.1:0"},
		"there is no distribution":      {Edge{}, map[string]string{"x-edge-secret": "", "x-forwarded-for": "198.51.100.9"}, "api.example", "203.0.113.1:0"},
		"through it":                    {edge, map[string]string{"x-edge-secret": secret, "x-forwarded-for": "198.51.100.9, 203.0.113.1"}, "page.example", "198.51.100.9:0"},
		"API Gateway added nothing":     {edge, map[string]string{"x-edge-secret": secret, "x-forwarded-for": "198.51.100.9"}, "page.example", "198.51.100.9:0"},
		"the client claims an address":  {edge, map[string]string{"x-edge-secret": secret, "x-forwarded-for": "192.0.2.7, 198.51.100.9, 203.0.113.1"}, "page.example", "198.51.100.9:0"},
		"it names nobody":               {edge, map[string]string{"x-edge-secret": secret}, "page.example", "203.0.113.1:0"},
		"only the distribution's is in": {edge, map[string]string{"x-edge-secret": secret, "x-forwarded-for": "203.0.113.1"}, "page.example", "203.0.113.1:0"},
		"version 6":                     {edge, map[string]string{"x-edge-secret": secret, "x-forwarded-for": "2001:db8::1, 203.0.113.1"}, "page.example", "[2001:db8::1]:0"},
	} {
		t.Run(name, func(t *testing.T) {
			e := events.APIGatewayV2HTTPRequest{RawPath: "/", Headers: map[string]string{"host": "api.example"}}
			for k, v := range c.header {
				e.Headers[k] = v
			}
			e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = "GET", "203.0.113.1"
			_, err := c.edge.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Host != c.host || r.RemoteAddr != c.address || r.Header.Get(SecretHeader) != "" {
					t.Errorf("%s asked for %s, with %v", r.RemoteAddr, r.Host, r.Header)
				}
			}))(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestTheAuthorizerKnowsThePageBehindADistribution checks that a cookie counts for the page's own origin, and that bad
// tokens are counted for the client's address. The address of the connection is that of many clients.
func TestTheAuthorizerKnowsThePageBehindADistribution(t *testing.T) {
	meter := &rate.Meter{Limits: rate.Limits{BadTokens: 2, Requests: 1000}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
	authorize := Edge{Domain: "page.example", Secret: "s"}.Authorizer(tokens(), meter, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	ask := func(client, name, value, origin string) any {
		t.Helper()
		e := events.APIGatewayV2CustomAuthorizerV2Request{Headers: map[string]string{
			"host": "api.example", "x-edge-secret": "s", "x-forwarded-for": client + ", 203.0.113.1", "x-forwarded-proto": "https", name: value,
		}}
		if origin != "" {
			e.Headers["origin"] = origin
		}
		e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = "POST", "203.0.113.1"
		said, err := authorize(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if user := said.Context["user"]; user != nil {
			return user
		}
		return said.Context["refused"]
	}
	const cookie = auth.SecureCookie + "=session"
	for origin, want := range map[string]string{
		"https://page.example": "session", "https://api.example": auth.ErrCrossOrigin.Code, "https://other.example": auth.ErrCrossOrigin.Code, "": auth.ErrCrossOrigin.Code,
	} {
		if got := ask("198.51.100.1", "cookie", cookie, origin); got != want {
			t.Errorf("a page of %q: %v, want %s", origin, got, want)
		}
	}
	var last any
	for range 4 {
		last = ask("198.51.100.2", "authorization", "Bearer guess", "")
	}
	if last != tooMany {
		t.Errorf("a guesser hears %v", last)
	}
	if got := ask("198.51.100.3", "authorization", "Bearer guess", ""); got != auth.ErrRequired.Code {
		t.Errorf("another client of the same edge hears %v", got)
	}
}
