package auth_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

var (
	ctx = context.Background()
	now = fixture.Epoch
)

func putToken(t *testing.T, store auth.Store, secret string, kind auth.Kind, expires time.Time) {
	t.Helper()
	err := store.PutToken(ctx, auth.Token{
		Hash: ids.Hash(secret), Kind: kind, Account: "acme", User: "ana", Scopes: []auth.Scope{auth.ScopeChat}, ExpiresAt: expires, CreatedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAuthenticateRefusesEveryFaultAlike(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "good-token", auth.KindToken, time.Time{})
	putToken(t, store.Access, "dated-token", auth.KindToken, now.Add(time.Hour))
	putToken(t, store.Access, "session", auth.KindSession, now.Add(time.Hour))
	putToken(t, store.Access, "revoked", auth.KindToken, time.Time{})
	if err := store.Access.DeleteToken(ctx, ids.Hash("revoked")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		secret string
		at     time.Time
		kinds  []auth.Kind
		ok     bool
	}{
		"a live token":                    {"good-token", now, []auth.Kind{auth.KindToken}, true},
		"before its end":                  {"dated-token", now.Add(time.Hour - 1), []auth.Kind{auth.KindToken}, true},
		"at its end":                      {"dated-token", now.Add(time.Hour), []auth.Kind{auth.KindToken}, false},
		"a clock that went backwards":     {"dated-token", now.Add(-time.Hour), []auth.Kind{auth.KindToken}, true},
		"none":                            {"", now, []auth.Kind{auth.KindToken}, false},
		"unknown":                         {"bad-token", now, []auth.Kind{auth.KindToken}, false},
		"truncated":                       {"good-toke", now, []auth.Kind{auth.KindToken}, false},
		"in capitals":                     {"GOOD-TOKEN", now, []auth.Kind{auth.KindToken}, false},
		"its hash":                        {ids.Hash("good-token"), now, []auth.Kind{auth.KindToken}, false},
		"very long":                       {string(make([]byte, 600)), now, []auth.Kind{auth.KindToken}, false},
		"revoked":                         {"revoked", now, []auth.Kind{auth.KindToken}, false},
		"a session where a token belongs": {"session", now, []auth.Kind{auth.KindToken}, false},
		"a session where one belongs":     {"session", now, []auth.Kind{auth.KindSession}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := auth.Authenticate(ctx, store.Access, c.secret, c.at, c.kinds...)
			switch {
			case c.ok && (err != nil || p.Account != "acme" || p.User != "ana" || !p.Allows(auth.ScopeChat) || p.Allows(auth.ScopeAdmin)):
				t.Errorf("%+v, %v", p, err)
			case !c.ok && (!errors.Is(err, auth.ErrRequired) || p.Account != ""):
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func TestCodeSignsInOnce(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "code", auth.KindCode, now.Add(time.Hour))
	session, err := auth.SessionFor(ctx, store.Access, "code", auth.KindCode, now, auth.SessionIdle)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := auth.Authenticate(ctx, store.Access, session, now, auth.KindSession); err != nil || p.Account != "acme" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := auth.Authenticate(ctx, store.Access, session, now.Add(auth.SessionIdle), auth.KindSession); err == nil {
		t.Error("the session outlived its end")
	}
	if _, err := auth.SessionFor(ctx, store.Access, "code", auth.KindCode, now, time.Hour); !errors.Is(err, auth.ErrRequired) {
		t.Errorf("a second time: %v", err)
	}
}

func TestTokenUsedAsCodeStaysValid(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "token", auth.KindToken, time.Time{})
	if _, err := auth.SessionFor(ctx, store.Access, "token", auth.KindCode, now, time.Hour); !errors.Is(err, auth.ErrRequired) {
		t.Errorf("%v", err)
	}
	if _, err := auth.SessionFor(ctx, store.Access, "token", auth.KindToken, now, time.Hour); err != nil {
		t.Errorf("the token is gone: %v", err)
	}
}

func TestSessionsAndCodesEndWithTheirToken(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "token", auth.KindToken, time.Time{})
	code := func(secret string) {
		err := store.Access.PutToken(ctx, auth.Token{
			Hash: ids.Hash(secret), Kind: auth.KindCode, Account: "acme", User: "ana", Parent: ids.Hash("token"), ExpiresAt: now.Add(time.Hour), CreatedAt: now,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	code("used")
	code("unused")
	typed, err := auth.SessionFor(ctx, store.Access, "token", auth.KindToken, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	clicked, err := auth.SessionFor(ctx, store.Access, "used", auth.KindCode, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{typed, clicked} {
		if _, err := auth.Authenticate(ctx, store.Access, session, now, auth.KindSession); err != nil {
			t.Errorf("while the token lives: %v", err)
		}
	}
	if err := store.Access.DeleteToken(ctx, ids.Hash("token")); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{typed, clicked} {
		if p, err := auth.Authenticate(ctx, store.Access, session, now, auth.KindSession); !errors.Is(err, auth.ErrRequired) || p.Account != "" {
			t.Errorf("after it was revoked: %+v, %v", p, err)
		}
	}
	if _, err := auth.SessionFor(ctx, store.Access, "unused", auth.KindCode, now, time.Hour); !errors.Is(err, auth.ErrRequired) {
		t.Errorf("a code of a revoked token: %v", err)
	}
}

// brokenStore is a store that cannot answer.
type brokenStore struct{ auth.Store }

func (brokenStore) Token(context.Context, string) (auth.Token, error) {
	return auth.Token{}, errors.New("throttled")
}

func TestStoreErrorIsNotReportedAsRefusal(t *testing.T) {
	if _, err := auth.Authenticate(ctx, brokenStore{}, "token", now, auth.KindToken); err == nil || fault.KindOf(err) == fault.Unauthenticated {
		t.Errorf("%v", err)
	}
}

func TestAdminIncludesChatAndNothingIncludesBilling(t *testing.T) {
	for _, has := range auth.Scopes() {
		for _, asked := range auth.Scopes() {
			p := auth.Principal{Scopes: []auth.Scope{has}}
			if want := has == asked || has == auth.ScopeAdmin && asked == auth.ScopeChat; p.Allows(asked) != want {
				t.Errorf("%s allows %s: %v", has, asked, !want)
			}
		}
	}
}
