package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/auth"
	"piloto/internal/fault"
)

// SessionCookie is the name of the page's cookie.
const SessionCookie = "piloto_session"

// Identify says who is asking: by "Authorization: Bearer T", else by
// "X-VX11-Token: T", else by the page's cookie. The first of these that is
// there decides; a bad one does not fall back on the next. It returns a
// principal or a refusal: auth.ErrRequired, auth.ErrCrossOrigin, or
// auth.ErrUndecided with its cause when the store could not say.
func Identify(ctx context.Context, store auth.Store, at time.Time, method string, header http.Header, host string) (auth.Principal, *fault.Error) {
	secret, kind := credential(header)
	if secret == "" {
		return auth.Principal{}, auth.ErrRequired
	}
	if kind == auth.KindSession && !safe(method) && !sameOrigin(header, host) {
		return auth.Principal{}, auth.ErrCrossOrigin
	}
	p, err := auth.Authenticate(ctx, store, secret, at, kind)
	switch {
	case errors.Is(err, auth.ErrRequired):
		return auth.Principal{}, auth.ErrRequired
	case err != nil:
		return auth.Principal{}, auth.ErrUndecided.Because(err)
	}
	return p, nil
}

// WithIdentity returns a context with what Identify said: a principal, or why
// there is none.
func WithIdentity(ctx context.Context, p auth.Principal, refusal *fault.Error) context.Context {
	if refusal != nil {
		return auth.Refuse(ctx, refusal)
	}
	return auth.NewContext(ctx, p)
}

// credential returns the secret that was presented and where it may be used. A
// header that stands twice is one text that no token equals.
func credential(h http.Header) (string, auth.Kind) {
	scheme, secret, _ := strings.Cut(strings.TrimSpace(strings.Join(h.Values("Authorization"), ",")), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(secret), auth.KindToken
	}
	if values := h.Values("X-Vx11-Token"); len(values) > 0 {
		return strings.TrimSpace(strings.Join(values, ",")), auth.KindToken
	}
	r := http.Request{Header: h}
	if c, err := r.Cookie(SessionCookie); err == nil {
		return c.Value, auth.KindSession
	}
	return "", ""
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// sameOrigin reports whether a browser sent the request from a page of the host
// it went to. Every browser says so on a write: with Origin, with
// Sec-Fetch-Site, or both; what says neither is not the page. X-Forwarded-Host
// does not count, and X-Forwarded-Proto can only make the answer no.
func sameOrigin(h http.Header, host string) bool {
	site := strings.Join(h.Values("Sec-Fetch-Site"), ",")
	if site != "" && site != "same-origin" {
		return false
	}
	origins := h.Values("Origin")
	if len(origins) == 0 {
		return site == "same-origin"
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if proto := h.Get("X-Forwarded-Proto"); proto != "" && proto != u.Scheme {
		return false
	}
	return host != "" && strings.EqualFold(hostOf(u.Host, u.Scheme), hostOf(host, u.Scheme))
}

// hostOf drops the scheme's own port, which some clients write and some do not.
func hostOf(host, scheme string) string {
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// Authorizer answers API Gateway's REQUEST authorizer events (format 2.0, simple
// answers) with who is asking, in the context that Handler reads: account, user,
// scopes (space separated) and token_id; or refused, a code. It always
// authorizes: see the package. Also when the store cannot say: an error would be
// API Gateway's 500, and nobody would be told that nothing was done.
//
// API Gateway must not cache the answer (the refusal of a cookie depends on the
// method and the origin), nor require an identity source (it would answer a
// request without one itself).
func Authorizer(store auth.Store, now func() time.Time, log *slog.Logger) func(context.Context, events.APIGatewayV2CustomAuthorizerV2Request) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2CustomAuthorizerV2Request) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error) {
		header := headers(e.Headers, e.Cookies)
		host := header.Get("Host")
		if host == "" {
			host = e.RequestContext.DomainName
		}
		p, refusal := Identify(ctx, store, now(), e.RequestContext.HTTP.Method, header, host)
		said := map[string]any{}
		if refusal != nil {
			if refusal.Cause != nil {
				log.ErrorContext(ctx, "authorize.undecided", "error", refusal.Cause)
			}
			said["refused"] = refusal.Code
		} else {
			said["account"], said["user"], said["token_id"] = p.Account, p.User, p.TokenID
			said["scopes"] = scopes(p.Scopes)
		}
		return events.APIGatewayV2CustomAuthorizerSimpleResponse{IsAuthorized: true, Context: said}, nil
	}
}

func scopes(list []auth.Scope) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, " ")
}
