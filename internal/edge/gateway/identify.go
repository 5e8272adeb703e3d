package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
)

// RequestInfo holds the parts of a request from which Identify finds the caller.
type RequestInfo struct {
	Method  string
	Header  http.Header
	Host    string
	Address string // of the client: of the connection, or as the distribution says (Edge)
}

// Identify returns the principal of a request, by "Authorization: Bearer T", else by
// "X-VX11-Token: T", else by the page's cookie. Only the first of these that is
// present counts: if it is not valid, the next one is not tried. Otherwise it returns
// a refusal: auth.ErrRequired, auth.ErrCrossOrigin, or auth.ErrUndecided with its
// cause when the store failed.
//
// It counts the request for its user or, without a user, for its address. It returns
// rate.ErrTooMany together with the principal for a user who exceeds the limit, and
// without a principal for an address that exceeds it or that sent too many bad
// tokens. A valid token from such an address still passes. A bad cookie does not
// count as a bad token, because a browser sends an old cookie with every image.
// Requests that other pages make a browser send are counted separately, so that a
// malicious page does not use up the visitor's quota.
func Identify(ctx context.Context, store auth.Store, meter *rate.Meter, at time.Time, a RequestInfo) (auth.Principal, *fault.Error) {
	from := rate.Address(a.Address)
	nobody := func(why *fault.Error) (auth.Principal, *fault.Error) {
		who := from
		switch {
		case auth.FromAnotherPage(a.Header, a.Host):
			who = who.Pages()
		case auth.ByLink(a.Header):
			who = who.Links()
		}
		if _, err := meter.Take(ctx, rate.Requests, who, at); err != nil {
			return auth.Principal{}, fault.Of(err)
		}
		return auth.Principal{}, why
	}
	secrets, kind := credentials(a.Header, a.Host)
	if len(secrets) == 0 {
		return nobody(auth.ErrRequired)
	}
	if kind == auth.KindSession && (isSafe(a.Method) && auth.FromAnotherPage(a.Header, a.Host) || !isSafe(a.Method) && !auth.SameOrigin(a.Header, a.Host)) {
		return nobody(auth.ErrCrossOrigin)
	}
	p, err := authenticateFirst(ctx, store, secrets, at, kind)
	switch {
	case errors.Is(err, auth.ErrRequired) && kind == auth.KindSession:
		return nobody(auth.ErrRequired)
	case errors.Is(err, auth.ErrRequired):
		if err := meter.Bad(ctx, from, at); err != nil {
			return auth.Principal{}, fault.Of(err)
		}
		return auth.Principal{}, auth.ErrRequired
	case err != nil:
		return auth.Principal{}, auth.ErrUndecided.Because(err)
	}
	if _, err := meter.Take(ctx, rate.Requests, rate.User(p.Account, p.User), at); err != nil {
		return p, fault.Of(err)
	}
	return p, nil
}

// LogRenewals returns a store of tokens that logs when a session could not be renewed. The request goes on, but the
// user is signed out earlier than promised.
func LogRenewals(store auth.Store, log *slog.Logger) auth.Store { return renewalLogger{store, log} }

type renewalLogger struct {
	auth.Store
	log *slog.Logger
}

func (k renewalLogger) RenewToken(ctx context.Context, hash string, until time.Time) error {
	err := k.Store.RenewToken(ctx, hash, until)
	if err != nil && !errors.Is(err, fault.ErrStorage) { // the store logs that itself
		k.log.WarnContext(ctx, "session.not_kept", "error", err)
	}
	return err
}

// WithIdentity returns a context with the result of Identify: a principal, or the refusal, and whether the request
// exceeded its limit.
func WithIdentity(ctx context.Context, p auth.Principal, refusal *fault.Error) context.Context {
	if refusal != nil && errors.Is(refusal, rate.ErrTooMany) {
		ctx = rate.WithExceeded(ctx, refusal)
	}
	if p.Account == "" && refusal != nil {
		return auth.WithRefusal(ctx, refusal)
	}
	return auth.NewContext(ctx, p)
}

// authenticateFirst authenticates with the first secret that is valid.
func authenticateFirst(ctx context.Context, store auth.Store, secrets []string, at time.Time, kind auth.Kind) (p auth.Principal, err error) {
	for _, secret := range secrets {
		if p, err = auth.Authenticate(ctx, store, secret, at, kind); !errors.Is(err, auth.ErrRequired) {
			return p, err
		}
	}
	return p, err
}

// credentials returns the secrets of a request and the kind of token that they may be. A header counts once: one
// that is repeated is joined to a text that equals no token. The secure cookie counts always, because no other site
// can set it. The other cookie counts only when the client is not known to use TLS.
func credentials(h http.Header, host string) ([]string, auth.Kind) {
	scheme, secret, _ := strings.Cut(strings.TrimSpace(strings.Join(h.Values("Authorization"), ",")), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return secretList(secret), auth.KindToken
	}
	if values := h.Values("X-Vx11-Token"); len(values) > 0 {
		return secretList(strings.Join(values, ",")), auth.KindToken
	}
	if secrets := auth.Sessions(cookies(h, auth.SecureCookie)); len(secrets) > 0 || auth.ByTLS(h.Get("X-Forwarded-Proto")) {
		return secrets, auth.KindSession
	}
	return auth.Sessions(cookies(h, auth.SessionCookie(false, host))), auth.KindSession
}

// cookies returns the raw values of the cookies with a name.
func cookies(h http.Header, name string) []string {
	var values []string
	for _, c := range (&http.Request{Header: h}).CookiesNamed(name) {
		values = append(values, c.Value)
	}
	return values
}

// secretList returns the secret of a header as a list; nil when it is empty.
func secretList(secret string) []string {
	if secret = strings.TrimSpace(secret); secret != "" {
		return []string{secret}
	}
	return nil
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// Authorizer answers API Gateway's REQUEST authorizer events (format 2.0, simple
// responses). It puts the caller into the context that Handler reads: account, user,
// scopes (space separated) and token_id; or the code of a refusal as refused, with
// refused_NAME for each argument of its message. It always authorizes (see the
// package), also when the store fails: an error would become API Gateway's 500,
// which has no message for the client.
//
// API Gateway must not cache the response (the refusal of a cookie depends on the
// method and the origin), nor require an identity source (it would refuse a request
// without one itself).
func (edge Edge) Authorizer(store auth.Store, meter *rate.Meter, now func() time.Time, log *slog.Logger) func(context.Context, events.APIGatewayV2CustomAuthorizerV2Request) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2CustomAuthorizerV2Request) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error) {
		header := headers(e.Headers, e.Cookies)
		host := header.Get("Host")
		if host == "" {
			host = e.RequestContext.DomainName
		}
		host, address := edge.sender(header, host, e.RequestContext.HTTP.SourceIP)
		p, refusal := Identify(ctx, store, meter, now(), RequestInfo{
			Method: e.RequestContext.HTTP.Method, Header: header, Host: host, Address: address,
		})
		said := map[string]any{}
		if refusal != nil {
			if refusal.Cause != nil {
				log.ErrorContext(ctx, "authorize.undecided", "error", refusal.Cause)
			}
			said["refused"] = refusal.Code
			for name, value := range refusal.Args {
				said["refused_"+name] = value
			}
		}
		if p.Account != "" {
			said["account"], said["user"], said["token_id"] = string(p.Account), p.User, p.TokenID
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
