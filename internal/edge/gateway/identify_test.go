package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shelf is a store of tokens in memory.
type shelf map[string]auth.Token

var errMissing = fault.New(fault.NotFound, "token.not_found")

func (s shelf) Token(_ context.Context, hash string) (auth.Token, error) {
	t, ok := s[hash]
	if !ok {
		return auth.Token{}, errMissing
	}
	return t, nil
}

func (s shelf) TakeToken(ctx context.Context, hash string) (auth.Token, error) {
	defer delete(s, hash)
	return s.Token(ctx, hash)
}

func (s shelf) PutToken(_ context.Context, t auth.Token) error { s[t.Hash] = t; return nil }

func (s shelf) RenewToken(_ context.Context, hash string, until time.Time) error {
	t := s[hash]
	t.ExpiresAt = until
	s[hash] = t
	return nil
}

func (s shelf) DeleteToken(_ context.Context, hash string) error { delete(s, hash); return nil }

// down is a store that fails.
type down struct{ shelf }

func (down) Token(context.Context, string) (auth.Token, error) {
	return auth.Token{}, errors.New("table: timeout")
}

func tokens() shelf {
	s := shelf{}
	for secret, t := range map[string]auth.Token{
		"token": {Kind: auth.KindToken}, "session": {Kind: auth.KindSession, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour)}, "code": {Kind: auth.KindCode},
		"expired": {Kind: auth.KindToken, ExpiresAt: noon}, "later": {Kind: auth.KindToken, ExpiresAt: noon.Add(time.Second)},
	} {
		t.Hash, t.Account, t.User, t.Scopes = ids.Hash(secret), "a", secret, []auth.Scope{auth.ScopeChat, auth.ScopeAdmin}
		s[t.Hash] = t
	}
	return s
}

// guesses returns n different session cookies.
func guesses(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "piloto_session_80=guess-%d; ", i)
	}
	return all.String()
}

func TestIdentify(t *testing.T) {
	const host = "piloto.example"
	same := "origin: https://" + host
	for _, c := range []struct {
		name, method, headers string // one header per line
		want                  string // the user, or the code of the refusal
	}{
		{"nothing", "GET", "", "auth_required"},
		{"bearer", "POST", "authorization: Bearer token", "token"},
		{"bearer in lower case", "POST", "authorization: bearer  token ", "token"},
		{"vx11", "POST", "x-vx11-token: token", "token"},
		{"vx11 beside another scheme", "POST", "authorization: Basic eA==\nx-vx11-token: token", "token"},
		{"not yet expired", "GET", "authorization: Bearer later", "later"},
		{"expired", "GET", "authorization: Bearer expired", "auth_required"},
		{"unknown", "GET", "authorization: Bearer nope", "auth_required"},
		{"truncated", "GET", "authorization: Bearer toke", "auth_required"},
		{"empty", "GET", "authorization: Bearer", "auth_required"},
		{"empty vx11", "GET", "x-vx11-token: ", "auth_required"},
		{"too long", "GET", "authorization: Bearer " + strings.Repeat("a", 600), "auth_required"},
		{"unsigned jwt", "GET", "authorization: Bearer eyJhbGciOiJub25lIn0.e30.", "auth_required"},
		{"basic", "GET", "authorization: Basic dG9rZW46", "auth_required"},
		{"two of them", "GET", "authorization: Bearer token\nauthorization: Bearer token", "auth_required"},
		{"joined by the gateway", "GET", "authorization: Bearer token,Bearer token", "auth_required"},
		{"a bad one hides the next", "GET", "authorization: Bearer nope\nx-vx11-token: token\ncookie: __Host-piloto_session=session", "auth_required"},
		{"a session in a header", "GET", "authorization: Bearer session", "auth_required"},
		{"a code in a header", "GET", "authorization: Bearer code", "auth_required"},
		{"a token in the cookie", "GET", "cookie: __Host-piloto_session=token", "auth_required"},
		{"a code in the cookie", "GET", "cookie: __Host-piloto_session=code", "auth_required"},
		{"the stored hash", "GET", "authorization: Bearer " + ids.Hash("token"), "auth_required"},

		{"cookie reads", "GET", "cookie: a=b; __Host-piloto_session=session", "session"},
		{"cookie reads from afar", "GET", "cookie: __Host-piloto_session=session\norigin: https://evil.example", "auth.cross_origin"},
		{"cookie reads from another port", "GET", "cookie: __Host-piloto_session=session\nsec-fetch-site: same-site\nsec-fetch-mode: no-cors", "auth.cross_origin"},
		{"cookie reads by a script of elsewhere", "GET", "cookie: __Host-piloto_session=session\nsec-fetch-site: cross-site\nsec-fetch-mode: cors", "auth.cross_origin"},
		{"cookie reads into a frame", "GET", "cookie: __Host-piloto_session=session\nsec-fetch-site: same-site\nsec-fetch-mode: navigate\nsec-fetch-dest: iframe", "auth.cross_origin"},
		{"cookie follows a link", "GET", "cookie: __Host-piloto_session=session\nsec-fetch-site: cross-site\nsec-fetch-mode: navigate\nsec-fetch-dest: document", "session"},
		{"cookie reads on the page", "GET", "cookie: __Host-piloto_session=session\nsec-fetch-site: same-origin\nsec-fetch-mode: cors", "session"},
		{"cookie is typed in", "GET", "cookie: __Host-piloto_session=session\nsec-fetch-site: none\nsec-fetch-mode: navigate", "session"},
		{"cookie of this port", "GET", "cookie: piloto_session_80=session", "session"},
		{"cookie of another port", "GET", "cookie: piloto_session_8080=session", "auth_required"},
		{"a bad cookie of a longer path", "GET", "cookie: piloto_session_80=nope; piloto_session_80=session", "session"},
		{"a bad cookie after it", "GET", "cookie: piloto_session_80=session; piloto_session_80=nope; piloto_session_80=", "session"},
		{"more cookies than are looked at", "GET", "cookie: " + strings.Repeat("piloto_session_80=nope; ", 100) + "piloto_session_80=session", "session"},
		{"many other cookies than are looked at", "GET", "cookie: " + guesses(100) + "piloto_session_80=session", "session"},
		{"only bad cookies", "GET", "cookie: " + guesses(100) + "piloto_session_80=nope", "auth_required"},
		{"cookie of no port", "GET", "cookie: piloto_session=session", "auth_required"},
		{"plain cookie by TLS", "GET", "cookie: piloto_session_80=session\nx-forwarded-proto: https", "auth_required"},
		{"plain cookie by TLS and two proxies", "GET", "cookie: piloto_session_80=session\nx-forwarded-proto: https, http", "auth_required"},
		{"cookie of TLS hides the plain one", "GET", "cookie: piloto_session_80=session; __Host-piloto_session=nope", "auth_required"},
		{"cookie heads", "HEAD", "cookie: __Host-piloto_session=session", "session"},
		{"cookie writes", "POST", "cookie: __Host-piloto_session=session\n" + same, "session"},
		{"cookie writes, both signs", "PUT", "cookie: __Host-piloto_session=session\n" + same + "\nsec-fetch-site: same-origin", "session"},
		{"cookie writes, fetch sign", "DELETE", "cookie: __Host-piloto_session=session\nsec-fetch-site: same-origin", "session"},
		{"cookie writes, own port", "POST", "cookie: __Host-piloto_session=session\norigin: https://piloto.example:443", "session"},
		{"cookie writes, upper case", "POST", "cookie: __Host-piloto_session=session\norigin: https://PILOTO.example", "session"},
		{"no sign", "POST", "cookie: __Host-piloto_session=session", "auth.cross_origin"},
		{"options", "OPTIONS", "cookie: __Host-piloto_session=session", "auth.cross_origin"},
		{"no method", "", "cookie: __Host-piloto_session=session", "auth.cross_origin"},
		{"another origin", "POST", "cookie: __Host-piloto_session=session\norigin: https://evil.example", "auth.cross_origin"},
		{"a subdomain", "POST", "cookie: __Host-piloto_session=session\norigin: https://a.piloto.example", "auth.cross_origin"},
		{"a suffix", "POST", "cookie: __Host-piloto_session=session\norigin: https://piloto.example.evil.example", "auth.cross_origin"},
		{"another port", "POST", "cookie: __Host-piloto_session=session\norigin: https://piloto.example:8443", "auth.cross_origin"},
		{"null", "POST", "cookie: __Host-piloto_session=session\norigin: null", "auth.cross_origin"},
		{"credentials", "POST", "cookie: __Host-piloto_session=session\norigin: https://piloto.example@evil.example", "auth.cross_origin"},
		{"user", "POST", "cookie: __Host-piloto_session=session\norigin: https://x@piloto.example", "auth.cross_origin"},
		{"a path", "POST", "cookie: __Host-piloto_session=session\norigin: https://piloto.example/x", "auth.cross_origin"},
		{"another scheme", "POST", "cookie: __Host-piloto_session=session\norigin: ftp://piloto.example", "auth.cross_origin"},
		{"two origins", "POST", "cookie: __Host-piloto_session=session\n" + same + "\norigin: https://evil.example", "auth.cross_origin"},
		{"same-site only", "POST", "cookie: __Host-piloto_session=session\nsec-fetch-site: same-site", "auth.cross_origin"},
		{"same-site against origin", "POST", "cookie: __Host-piloto_session=session\n" + same + "\nsec-fetch-site: same-site", "auth.cross_origin"},
		{"no site against origin", "POST", "cookie: __Host-piloto_session=session\n" + same + "\nsec-fetch-site: none", "auth.cross_origin"},
		{"fetch sign against origin", "POST", "cookie: __Host-piloto_session=session\n" + same + "\nsec-fetch-site: cross-site", "auth.cross_origin"},
		{"origin against fetch sign", "POST", "cookie: __Host-piloto_session=session\norigin: https://evil.example\nsec-fetch-site: same-origin", "auth.cross_origin"},
		{"plain page of a secure site", "POST", "cookie: __Host-piloto_session=session\norigin: http://piloto.example\nx-forwarded-proto: https", "auth.cross_origin"},
		{"a forwarded host", "POST", "cookie: __Host-piloto_session=session\norigin: https://evil.example\nx-forwarded-host: evil.example", "auth.cross_origin"},
		{"a bad session from afar", "POST", "cookie: __Host-piloto_session=nope", "auth.cross_origin"},
		{"a bad session", "GET", "cookie: __Host-piloto_session=nope", "auth_required"},
		{"a token needs no origin", "POST", "authorization: Bearer token\norigin: https://evil.example", "token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			header, flat := http.Header{}, map[string]string{}
			for line := range strings.Lines(c.headers) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				header.Add(name, value)
				flat[name] = strings.Join(header.Values(name), ",")
			}
			p, refusal := Identify(t.Context(), tokens(), nil, noon, RequestInfo{Method: c.method, Header: header, Host: host})
			got := p.User
			if refusal != nil {
				got = refusal.Code
			}
			if got != c.want {
				t.Errorf("Identify: %q, want %q", got, c.want)
			}
			if through := throughLambda(t, c.method, flat, host); through != c.want {
				t.Errorf("through the authorizer: %q, want %q", through, c.want)
			}
		})
	}
}

// throughLambda sends the request through Authorizer, API Gateway's JSON, and Handler, and returns the principal
// that the handler gets.
func throughLambda(t *testing.T, method string, headers map[string]string, host string) string {
	t.Helper()
	e := events.APIGatewayV2CustomAuthorizerV2Request{Headers: map[string]string{"host": host}}
	for name, value := range headers {
		if name == "cookie" {
			e.Cookies = strings.Split(value, "; ")
			continue
		}
		e.Headers[name] = value
	}
	e.RequestContext.HTTP.Method = method
	said, err := Edge{}.Authorizer(tokens(), nil, func() time.Time { return noon }, slog.New(slog.DiscardHandler))(t.Context(), e)
	if err != nil || !said.IsAuthorized {
		t.Fatalf("%v %+v", err, said)
	}
	raw, _ := json.Marshal(said.Context)
	var context map[string]any
	_ = json.Unmarshal(raw, &context)
	in := events.APIGatewayV2HTTPRequest{RawPath: "/"}
	in.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: context}
	user := ""
	_, _ = Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, ok := auth.FromContext(r.Context())
		if user = p.User; !ok {
			user = auth.Refusal(r.Context()).Code
			return
		}
		if !p.Allows(auth.ScopeAdmin) || p.Account != "a" || p.TokenID != ids.Hash(p.User) {
			t.Errorf("%+v", p)
		}
	}))(t.Context(), in)
	return user
}

// unkept is a store that cannot renew tokens.
type unkept struct {
	shelf
	err error
}

func (u unkept) RenewToken(context.Context, string, time.Time) error { return u.err }

// TestAFailedRenewalIsLogged: the request is served, and the failure is logged unless the store has logged it
// itself.
func TestAFailedRenewalIsLogged(t *testing.T) {
	for _, c := range []struct {
		err  error
		told bool
	}{{nil, false}, {errors.New("table: throttled"), true}, {fault.ErrStorage.Because(errors.New("disk full")), false}} {
		var out bytes.Buffer
		h := http.Header{"Cookie": {"__Host-piloto_session=session"}}
		p, refusal := Identify(t.Context(), LogRenewals(unkept{tokens(), c.err}, slog.New(slog.NewTextHandler(&out, nil))), nil, noon, RequestInfo{Method: "GET", Header: h, Host: "h"})
		if refusal != nil || p.User != "session" {
			t.Errorf("%v: %v %v", c.err, p, refusal)
		}
		if told := strings.Contains(out.String(), "session.not_kept"); told != c.told || told && !strings.Contains(out.String(), "throttled") || strings.Contains(out.String(), ids.Hash("session")) {
			t.Errorf("%v: %q", c.err, out.String())
		}
	}
}

func TestAFailingStoreIsUndecidedAndNotARefusal(t *testing.T) {
	header := http.Header{"Authorization": {"Bearer token"}}
	if _, refusal := Identify(t.Context(), down{}, nil, noon, RequestInfo{Method: "GET", Header: header, Host: "h"}); !errors.Is(refusal, auth.ErrUndecided) || refusal.Cause == nil {
		t.Errorf("%v", refusal)
	}
	e := events.APIGatewayV2CustomAuthorizerV2Request{Headers: map[string]string{"authorization": "Bearer token"}}
	said, err := Edge{}.Authorizer(down{}, nil, time.Now, slog.New(slog.DiscardHandler))(t.Context(), e)
	if err != nil || !said.IsAuthorized || said.Context["refused"] != auth.ErrUndecided.Code || said.Context["account"] != nil {
		t.Errorf("%+v %v", said, err)
	}
}
