package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
)

// counted is a store that counts its reads.
type counted struct {
	auth.Store
	asked int
}

func (c *counted) Token(ctx context.Context, hash string) (auth.Token, error) {
	c.asked++
	return c.Store.Token(ctx, hash)
}

// door identifies requests as the authorizer does.
type door struct {
	*counted
	meter *rate.Meter
	at    time.Time
}

func newDoor(l rate.Limits) *door {
	return &door{&counted{Store: tokens()}, &rate.Meter{Limits: l, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}, noon}
}

// knock returns the user, or the code of the refusal; both, with a space, for a user who exceeds the limit.
func (d *door) knock(method, address string, headers ...string) string {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	p, refusal := Identify(context.Background(), d, d.meter, d.at, RequestInfo{Method: method, Header: h, Host: "h", Address: address})
	switch {
	case refusal == nil:
		return p.User
	case p.Account != "":
		return p.User + " " + refusal.Code
	}
	return refusal.Code
}

const tooMany = "request.too_many"

// TestBadTokensOfAnAddressAreCounted: guesses are refused, but a valid token of the same address always passes.
func TestBadTokensOfAnAddressAreCounted(t *testing.T) {
	d := newDoor(rate.Limits{BadTokens: 20, Requests: 100_000})
	guess := func(i int) string {
		return d.knock("GET", "192.0.2.1:9", "Authorization", fmt.Sprint("Bearer guess-", i))
	}
	good := func(address string) string { return d.knock("POST", address, "Authorization", "Bearer token") }
	for i := range 20 {
		if got := guess(i); got != "auth_required" {
			t.Fatalf("guess %d: %s", i, got)
		}
	}
	for i := range 1000 {
		if got := guess(i); got != tooMany {
			t.Fatalf("guess %d more: %s", i, got)
		}
		if got := good("192.0.2.1:10"); got != "token" {
			t.Fatalf("a neighbour's guess %d locks out a good token: %s", i, got)
		}
	}
	d.at = noon.Add(time.Minute)
	if got := good("192.0.2.1:10"); got != "token" {
		t.Errorf("a minute later: %s", got)
	}
	if got := guess(2); got != "auth_required" {
		t.Errorf("a minute later: %s", got)
	}
}

// TestNoHeaderChangesTheAddressOfARequest: another address in a header, another header for the token or another
// method does not begin a new count.
func TestNoHeaderChangesTheAddressOfARequest(t *testing.T) {
	d := newDoor(rate.Limits{BadTokens: 5, Requests: 3})
	ways := [][]string{
		{"Authorization", "Bearer nope"},
		{"X-VX11-Token", "nope"},
		{"Authorization", "bearer nope", "X-Forwarded-For", "203.0.113.1"},
		{"X-Vx11-Token", "nope", "Forwarded", "for=203.0.113.2", "X-Real-Ip", "203.0.113.3"},
		{"Authorization", "Bearer " + "token" + "x", "True-Client-Ip", "203.0.113.4", "CF-Connecting-IP", "203.0.113.5"},
	}
	for i, way := range ways {
		if got := d.knock("GET", fmt.Sprint("[2001:db8::", i, "]:80"), way...); got != "auth_required" {
			t.Fatalf("%v: %s", way, got)
		}
	}
	for i, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "get", "TRACE", ""} {
		for _, way := range ways {
			if got := d.knock(method, fmt.Sprintf("[2001:db8::%x:%x]:80", i, i+9), way...); got != tooMany {
				t.Errorf("%s %v: %s", method, way, got)
			}
		}
	}
}

func TestEveryRequestOfAUserIsCounted(t *testing.T) {
	d := newDoor(rate.Limits{Requests: 7})
	for i, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PROPFIND"} {
		if got := d.knock(method, fmt.Sprint("192.0.2.", i, ":1"), "Authorization", "Bearer token"); got != "token" {
			t.Fatalf("%s: %s", method, got)
		}
	}
	if got := d.knock("GET", "192.0.2.99:1", "X-VX11-Token", "token"); got != "token "+tooMany {
		t.Errorf("number 8, from anywhere: %s", got)
	}
	if got := d.knock("GET", "192.0.2.99:1", "Authorization", "Bearer later"); got != "later" {
		t.Errorf("another user: %s", got)
	}
}

// TestRequestsWithoutAUserAreCountedByAddress: also a request with the cookie of an expired session, which a
// browser sends with every image and which is not a guess.
func TestRequestsWithoutAUserAreCountedByAddress(t *testing.T) {
	for name, headers := range map[string][]string{
		"nothing": nil, "a session that ended": {"Cookie", auth.SecureCookie + "=old"}, "basic": {"Authorization", "Basic eA=="},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(rate.Limits{Requests: 30, BadTokens: 1})
			for i := range 30 {
				if got := d.knock("GET", "192.0.2.1:1", headers...); got != "auth_required" {
					t.Fatalf("%d: %s", i, got)
				}
			}
			if got := d.knock("GET", "192.0.2.1:2", headers...); got != tooMany {
				t.Errorf("then: %s", got)
			}
			if got := d.knock("GET", "192.0.2.2:2", headers...); got != "auth_required" {
				t.Errorf("from elsewhere: %s", got)
			}
		})
	}
}

// TestAForeignPageDoesNotUseTheVisitorsQuota: requests that another site's page makes the browser send are counted,
// but not for the visitor.
func TestAForeignPageDoesNotUseTheVisitorsQuota(t *testing.T) {
	for _, page := range [][]string{
		{"Origin", "http://evil.example"},
		{"Origin", "null"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
		{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
	} {
		d := newDoor(rate.Limits{Requests: 3})
		for i, want := range []string{"auth_required", "auth_required", "auth_required", tooMany, tooMany} {
			if got := d.knock("GET", "192.0.2.1:9", page...); got != want {
				t.Errorf("%v, request %d: %s", page, i, got)
			}
		}
		if got := d.knock("GET", "192.0.2.1:9", "Sec-Fetch-Site", "none"); got != "auth_required" {
			t.Errorf("%v: who visits it may not ask any more: %s", page, got)
		}
	}
}

func TestAFailingStoreCountsNoBadTokens(t *testing.T) {
	d := newDoor(rate.Limits{BadTokens: 1})
	d.Store = down{}
	for range 50 {
		if got := d.knock("GET", "192.0.2.1:1", "Authorization", "Bearer token"); got != auth.ErrUndecided.Code {
			t.Fatal(got)
		}
	}
}

// TestARefusalPassesTheAuthorizer with its principal and all arguments of its message.
func TestARefusalPassesTheAuthorizer(t *testing.T) {
	meter := &rate.Meter{Limits: rate.Limits{Requests: 1, BadTokens: 1}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
	authorize := Edge{}.Authorizer(tokens(), meter, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	through := func(token string) (user string, exceeded *fault.Error) {
		e := events.APIGatewayV2CustomAuthorizerV2Request{Headers: map[string]string{"authorization": "Bearer " + token, "x-forwarded-for": forgedAddress(token)}}
		e.RequestContext.HTTP.SourceIP = "192.0.2.1"
		said, err := authorize(t.Context(), e)
		if err != nil || !said.IsAuthorized {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(said.Context)
		var context map[string]any
		_ = json.Unmarshal(raw, &context)
		in := events.APIGatewayV2HTTPRequest{RawPath: "/"}
		in.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: context}
		_, _ = Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			p, _ := auth.FromContext(r.Context())
			user = p.User
			if err := rate.Exceeded(r.Context()); err != nil {
				exceeded = fault.Of(err)
			}
			if p.Account == "" && exceeded != nil && auth.Refusal(r.Context()).Code != tooMany {
				t.Errorf("nobody is refused with %v", auth.Refusal(r.Context()))
			}
		}))(t.Context(), in)
		return user, exceeded
	}
	if user, exceeded := through("token"); user != "token" || exceeded != nil {
		t.Errorf("%s, %v", user, exceeded)
	}
	user, exceeded := through("token")
	if user != "token" || exceeded == nil || exceeded.Args["retry_after"] != "60" || exceeded.Args["limit"] != "1" || exceeded.Args["reason"] != "requests" {
		t.Errorf("%s, %v", user, exceeded)
	}
	if user, exceeded := through("nope"); user != "" || exceeded != nil {
		t.Errorf("%s, %v", user, exceeded)
	}
	user, exceeded = through("nope")
	if user != "" || exceeded == nil || exceeded.Args["reason"] != "bad_tokens" || exceeded.Args["retry_after"] != "60" {
		t.Errorf("%s, %v", user, exceeded)
	}
}

func forgedAddress(s string) string { return "203.0.113." + fmt.Sprint(len(s)) }
