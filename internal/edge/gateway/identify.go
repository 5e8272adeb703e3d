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

// Asking is what is known of a request before it is known who sent it.
type Asking struct {
	Method  string
	Header  http.Header
	Host    string
	Address string // that it came from, as the connection has it and no header says
}

// Identify says who is asking: by "Authorization: Bearer T", else by
// "X-VX11-Token: T", else by the page's cookie. The first of these that is
// there decides; a bad one does not fall back on the next. It returns a
// principal or a refusal: auth.ErrRequired, auth.ErrCrossOrigin, or
// auth.ErrUndecided with its cause when the store could not say.
//
// It counts what comes, by user, and of whom nobody knows by address. rate.ErrTooMany
// stands beside a principal who asked too often, and alone for an address that did, or
// that sent too many bad tokens: a good one from there passes all the same. A bad cookie
// is no bad token: a browser sends an old one with every image. What other pages have a browser send is
// counted apart, so that a page that is visited takes nothing from who visits it.
func Identify(ctx context.Context, store auth.Store, meter *rate.Meter, at time.Time, a Asking) (auth.Principal, *fault.Error) {
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
	if kind == auth.KindSession && (safe(a.Method) && auth.FromAnotherPage(a.Header, a.Host) || !safe(a.Method) && !auth.SameOrigin(a.Header, a.Host)) {
		return nobody(auth.ErrCrossOrigin)
	}
	p, err := firstGood(ctx, store, secrets, at, kind)
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

// Kept is a store of tokens that says in the log when a session could not be kept: who has it
// goes on, and is signed out sooner than they were promised.
func Kept(store auth.Store, log *slog.Logger) auth.Store { return kept{store, log} }

type kept struct {
	auth.Store
	log *slog.Logger
}

func (k kept) RenewToken(ctx context.Context, hash string, until time.Time) error {
	err := k.Store.RenewToken(ctx, hash, until)
	if err != nil && !errors.Is(err, fault.ErrStorage) { // which the store says
		k.log.WarnContext(ctx, "session.not_kept", "error", err)
	}
	return err
}

// WithIdentity returns a context with what Identify said: a principal, or why
// there is none; and that the request came too often.
func WithIdentity(ctx context.Context, p auth.Principal, refusal *fault.Error) context.Context {
	if refusal != nil && errors.Is(refusal, rate.ErrTooMany) {
		ctx = rate.WithExceeded(ctx, refusal)
	}
	if p.Account == "" && refusal != nil {
		return auth.WithRefusal(ctx, refusal)
	}
	return auth.NewContext(ctx, p)
}

// firstGood authenticates by the first secret that is good.
func firstGood(ctx context.Context, store auth.Store, secrets []string, at time.Time, kind auth.Kind) (p auth.Principal, err error) {
	for _, secret := range secrets {
		if p, err = auth.Authenticate(ctx, store, secret, at, kind); !errors.Is(err, auth.ErrRequired) {
			return p, err
		}
	}
	return p, err
}

// credentials returns the secrets that were presented, and where they may be used. Of a
// header there is one: one that stands twice is a text that no token equals. The cookie of
// TLS counts wherever it is, because no other site can set it; the other one where it is
// not known that the client came by TLS.
func credentials(h http.Header, host string) ([]string, auth.Kind) {
	scheme, secret, _ := strings.Cut(strings.TrimSpace(strings.Join(h.Values("Authorization"), ",")), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return presented(secret), auth.KindToken
	}
	if values := h.Values("X-Vx11-Token"); len(values) > 0 {
		return presented(strings.Join(values, ",")), auth.KindToken
	}
	if secrets := auth.Sessions(cookies(h, auth.SecureCookie)); len(secrets) > 0 || auth.ByTLS(h.Get("X-Forwarded-Proto")) {
		return secrets, auth.KindSession
	}
	return auth.Sessions(cookies(h, auth.SessionCookie(false, host))), auth.KindSession
}

// cookies are the values of the cookies of a name, as they were sent.
func cookies(h http.Header, name string) []string {
	var values []string
	for _, c := range (&http.Request{Header: h}).CookiesNamed(name) {
		values = append(values, c.Value)
	}
	return values
}

// presented is the secret of a header; none when it is empty.
func presented(secret string) []string {
	if secret = strings.TrimSpace(secret); secret != "" {
		return []string{secret}
	}
	return nil
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// Authorizer answers API Gateway's REQUEST authorizer events (format 2.0, simple
// answers) with who is asking, in the context that Handler reads: account, user,
// scopes (space separated) and token_id; and refused, a code, with refused_NAME for what
// its sentence names. It always
// authorizes: see the package. Also when the store cannot say: an error would be
// API Gateway's 500, and nobody would be told that nothing was done.
//
// API Gateway must not cache the answer (the refusal of a cookie depends on the
// method and the origin), nor require an identity source (it would answer a
// request without one itself).
func Authorizer(store auth.Store, meter *rate.Meter, now func() time.Time, log *slog.Logger) func(context.Context, events.APIGatewayV2CustomAuthorizerV2Request) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2CustomAuthorizerV2Request) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error) {
		header := headers(e.Headers, e.Cookies)
		host := header.Get("Host")
		if host == "" {
			host = e.RequestContext.DomainName
		}
		p, refusal := Identify(ctx, store, meter, now(), Asking{
			Method: e.RequestContext.HTTP.Method, Header: header, Host: host, Address: e.RequestContext.HTTP.SourceIP,
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
