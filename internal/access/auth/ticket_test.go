package auth_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// principalOf returns the principal of a new token or session.
func principalOf(t *testing.T, store auth.Store, secret string, kind auth.Kind) auth.Principal {
	t.Helper()
	p, err := auth.Authenticate(ctx, store, secret, now, kind)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newTicket(t *testing.T, store auth.Store, p auth.Principal) string {
	t.Helper()
	secret, until, err := auth.NewTicket(ctx, store, p, now)
	if err != nil || !until.Equal(now.Add(auth.TicketLife)) {
		t.Fatal(until, err)
	}
	return secret
}

func TestTicketIsTakenOnceAndNamesItsParent(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "token", auth.KindToken, time.Time{})
	session, err := auth.SessionFor(ctx, store.Access, "token", auth.KindToken, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for secret, kind := range map[string]auth.Kind{"token": auth.KindToken, session: auth.KindSession} {
		ticket := newTicket(t, store.Access, principalOf(t, store.Access, secret, kind))
		p, err := auth.TakeTicket(ctx, store.Access, ticket, now)
		if err != nil || p.Account != "acme" || p.User != "ana" || !p.Allows(auth.ScopeChat) || p.Allows(auth.ScopeAdmin) || p.TokenID != ids.Hash(secret) {
			t.Errorf("%s: %+v, %v", kind, p, err)
		}
		if _, err := auth.TakeTicket(ctx, store.Access, ticket, now); !errors.Is(err, auth.ErrRequired) {
			t.Errorf("%s: taken twice: %v", kind, err)
		}
	}
}

func TestTicketRefusesEveryFaultAlike(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "token", auth.KindToken, time.Time{})
	for secret, kind := range map[string]auth.Kind{"session": auth.KindSession, "code": auth.KindCode, "child": auth.KindToken} {
		if err := store.Access.PutToken(ctx, auth.Token{
			Hash: ids.Hash(secret), Kind: kind, Account: "acme", User: "ana", Parent: ids.Hash("token"), ExpiresAt: now.Add(time.Hour),
		}); err != nil {
			t.Fatal(err)
		}
	}
	putToken(t, store.Access, "revoked", auth.KindToken, time.Time{})
	putToken(t, store.Access, "dated", auth.KindToken, now.Add(time.Second))
	good := newTicket(t, store.Access, principalOf(t, store.Access, "token", auth.KindToken))
	orphan := newTicket(t, store.Access, principalOf(t, store.Access, "revoked", auth.KindToken))
	if err := store.Access.DeleteToken(ctx, ids.Hash("revoked")); err != nil {
		t.Fatal(err)
	}
	outlived := newTicket(t, store.Access, principalOf(t, store.Access, "dated", auth.KindToken))
	nobodys := newTicket(t, store.Access, auth.Principal{Account: "acme", User: "ana"})
	for name, c := range map[string]struct {
		secret string
		at     time.Time
	}{
		"none":                      {"", now},
		"unknown":                   {"nothing", now},
		"truncated":                 {good[:len(good)-1], now},
		"one character more":        {good + "A", now},
		"its hash":                  {ids.Hash(good), now},
		"very long":                 {string(make([]byte, 600)), now},
		"a token":                   {"token", now},
		"a token of another":        {"child", now},
		"a session":                 {"session", now},
		"a code":                    {"code", now},
		"at its end":                {good, now.Add(auth.TicketLife)},
		"of a token that was ended": {orphan, now},
		"of a token that is over":   {outlived, now.Add(time.Second)},
		"of nobody":                 {nobodys, now},
	} {
		if p, err := auth.TakeTicket(ctx, store.Access, c.secret, c.at); !errors.Is(err, auth.ErrRequired) || p.Account != "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for _, kept := range []string{"token", "session", "code"} { // other tokens are not used up
		if _, err := store.Access.Token(ctx, ids.Hash(kept)); err != nil {
			t.Errorf("%s: %v", kept, err)
		}
	}
	if _, err := auth.TakeTicket(ctx, store.Access, good, now.Add(auth.TicketLife-1)); err != nil {
		t.Errorf("before its end: %v", err)
	}
}

func TestTicketAuthenticatesNothingElse(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "token", auth.KindToken, time.Time{})
	ticket := newTicket(t, store.Access, principalOf(t, store.Access, "token", auth.KindToken))
	for _, kind := range []auth.Kind{auth.KindToken, auth.KindSession, auth.KindCode} {
		if _, err := auth.Authenticate(ctx, store.Access, ticket, now, kind); !errors.Is(err, auth.ErrRequired) {
			t.Errorf("as a %s: %v", kind, err)
		}
		if _, err := auth.SessionFor(ctx, store.Access, ticket, kind, now, time.Hour); !errors.Is(err, auth.ErrRequired) {
			t.Errorf("for a session, as a %s: %v", kind, err)
		}
	}
}

func TestConcurrentHoldersTakeTicketOnce(t *testing.T) {
	store := fixture.Table(t)
	putToken(t, store.Access, "token", auth.KindToken, time.Time{})
	ticket := newTicket(t, store.Access, principalOf(t, store.Access, "token", auth.KindToken))
	var got atomic.Int32
	var start, done sync.WaitGroup
	start.Add(1)
	for range 50 {
		done.Go(func() {
			start.Wait()
			if _, err := auth.TakeTicket(ctx, store.Access, ticket, now); err == nil {
				got.Add(1)
			} else if !errors.Is(err, auth.ErrRequired) {
				t.Error(err)
			}
		})
	}
	start.Done()
	done.Wait()
	if got.Load() != 1 {
		t.Errorf("%d got it", got.Load())
	}
}

func TestValidUntilFollowsTokenAndParent(t *testing.T) {
	store := fixture.Table(t)
	never := time.Time{}
	for _, c := range []struct {
		name           string
		token, session time.Duration // life; 0: without expiry, or no session
		revoke         string        // "token", "session"
		at             time.Duration
		until          time.Duration // -1: not valid
	}{
		{"a token", 0, 0, "", 0, 0},
		{"a token that ends", time.Hour, 0, "", time.Minute, time.Hour},
		{"at its end", time.Hour, 0, "", time.Hour, -1},
		{"a revoked one", 0, 0, "token", 0, -1},
		{"a session", 0, time.Hour, "", time.Minute, time.Hour},
		{"a session of a token that ends first", time.Minute, time.Hour, "", 0, time.Minute},
		{"that has ended", time.Minute, time.Hour, "", time.Minute, -1},
		{"after signing out", 0, time.Hour, "session", 0, -1},
		{"a session of a revoked token", 0, time.Hour, "token", 0, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ends := never
			if c.token > 0 {
				ends = now.Add(c.token)
			}
			putToken(t, store.Access, c.name, auth.KindToken, ends)
			hashes := map[string]string{"token": ids.Hash(c.name)}
			asked := hashes["token"]
			if c.session > 0 {
				session, err := auth.SessionFor(ctx, store.Access, c.name, auth.KindToken, now, c.session)
				if err != nil {
					t.Fatal(err)
				}
				asked = ids.Hash(session)
				hashes["session"] = asked
			}
			if c.revoke != "" {
				if err := store.Access.DeleteToken(ctx, hashes[c.revoke]); err != nil {
					t.Fatal(err)
				}
			}
			want := never
			if c.until > 0 {
				want = now.Add(c.until)
			}
			until, err := auth.ValidUntil(ctx, store.Access, asked, now.Add(c.at))
			if over := errors.Is(err, auth.ErrRequired); over != (c.until < 0) || !over && err != nil || !until.Equal(want) {
				t.Errorf("until %v, %v", until, err)
			}
		})
	}
	for _, secret := range []string{"", "never stored"} {
		if _, err := auth.ValidUntil(ctx, store.Access, ids.Hash(secret), now); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("%q: %v", secret, err)
		}
	}
	putToken(t, store.Access, "a code", auth.KindCode, now.Add(time.Hour))
	if _, err := auth.ValidUntil(ctx, store.Access, ids.Hash("a code"), now); !errors.Is(err, auth.ErrRequired) {
		t.Errorf("a code: %v", err)
	}
}
