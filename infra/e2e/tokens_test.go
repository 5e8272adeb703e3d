package e2e

import (
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
)

// TestEveryRouteRefusesEveryBadToken (guarantee I14) drives the whole deployment. Every wrong token, in every
// header or cookie, gets the same 401.
func TestEveryRouteRefusesEveryBadToken(t *testing.T) {
	t.Parallel()
	clock := &manualClock{at: time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)}
	c, table := openHere(t, clock, "http://127.0.0.1:1/v1")
	put := func(secret string, kind auth.Kind, parent string, ends time.Time) {
		if err := table.Access.PutToken(t.Context(), auth.Token{
			Hash: ids.Hash(secret), Kind: kind, Account: "default", User: "local", Scopes: auth.Scopes(), Parent: parent, ExpiresAt: ends, CreatedAt: clock.now(),
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("expired", auth.KindToken, "", clock.now())
	put("expired-session", auth.KindSession, ids.Hash(testToken), clock.now())
	put("orphan", auth.KindSession, ids.Hash("revoked"), clock.now().Add(time.Hour))
	put("session", auth.KindSession, ids.Hash(testToken), clock.now().Add(time.Hour))
	put("code", auth.KindCode, ids.Hash(testToken), clock.now().Add(time.Hour))
	put("ticket", auth.KindTicket, ids.Hash(testToken), clock.now().Add(time.Hour))
	var ways [][]string
	for _, secret := range []string{
		"unknown", "", testToken[:len(testToken)-1], testToken + "x", strings.ToUpper(testToken), ids.Hash(testToken), testToken + "," + testToken,
		"expired", "revoked", "session", "code", "ticket", "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJsb2NhbCJ9.",
		"eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJvdGhlciJ9.AAAA",
	} {
		ways = append(ways, []string{"Authorization", "Bearer " + secret}, []string{"X-VX11-Token", secret})
	}
	cookies := [][]string{}
	for _, secret := range []string{"unknown", testToken, "expired-session", "orphan", "code", "ticket", ids.Hash("session")} {
		cookies = append(cookies, []string{"Cookie", auth.SecureCookie + "=" + secret})
	}
	nobody := newClient(c.base, "")
	told := func(method, path string, way []string) string {
		body := ""
		if method != "GET" && method != "DELETE" {
			body = "{}"
		}
		a, err := nobody.do(method, path, body, way...)
		if err != nil || a.status != 401 {
			t.Errorf("%s %s %v: %s, %v", method, path, way, a, err)
		}
		return strings.ReplaceAll(string(a.body), a.header.Get("X-Trace-Id"), "TRACE")
	}
	for i, r := range httpapi.Routes() {
		if r.Path == "/health" { // public
			continue
		}
		path := strings.NewReplacer("{id}", "01K0000000000000000000000A", "{step}", "s1", "{name}", "openai", "{session_id}", "s", "{id_empresa}", "7").Replace(r.Path)
		tries := ways
		if r.Method == "GET" { // a write with a cookie is refused because of its origin
			tries = append(tries[:len(tries):len(tries)], cookies...)
		}
		want := told(r.Method, path, nil)
		for j, way := range tries {
			if !every && (i+j)%6 != 0 { // each route with some, each way at some routes
				continue
			}
			if got := told(r.Method, path, way); got != want {
				t.Errorf("%s %s %v is told apart: %s", r.Method, path, way, got)
			}
		}
	}
	for _, path := range []string{"/ui/chats", "/ui/new", "/ui/webhooks"} {
		for _, way := range cookies {
			told("GET", path, way)
		}
	}
}
