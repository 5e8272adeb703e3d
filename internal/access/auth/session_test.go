package auth_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// signIn returns the secret of a new session.
func signIn(t rapid.TB, store auth.Store) string {
	t.Helper()
	if err := store.PutToken(ctx, auth.Token{Hash: ids.Hash("owner"), Kind: auth.KindToken, Account: "acme", User: "ana", CreatedAt: now}); err != nil {
		t.Fatal(err)
	}
	session, err := auth.SessionFor(ctx, store, "owner", auth.KindToken, now, auth.SessionIdle)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// isValid reports whether a session is valid at a time.
func isValid(t rapid.TB, store auth.Store, session string, at time.Time) bool {
	t.Helper()
	p, err := auth.Authenticate(ctx, store, session, at, auth.KindSession)
	if err != nil && !errors.Is(err, auth.ErrRequired) || err == nil && p.User != "ana" {
		t.Fatal(p, err)
	}
	return err == nil
}

// TestSessionEndsWithoutUse, and at its maximum age in any case.
func TestSessionEndsWithoutUse(t *testing.T) {
	for name, c := range map[string]struct {
		used  []time.Duration // since its start, in order
		in    time.Duration   // at which it is valid
		ended time.Duration   // at which it is not valid
	}{
		"never used":           {nil, 12*time.Hour - time.Millisecond, 12 * time.Hour},
		"used late":            {[]time.Duration{11 * time.Hour}, 23*time.Hour - time.Millisecond, 23 * time.Hour},
		"used when it was new": {[]time.Duration{59 * time.Minute}, 12*time.Hour - time.Millisecond, 12 * time.Hour},
		"used an hour later":   {[]time.Duration{time.Hour}, 13*time.Hour - time.Millisecond, 13 * time.Hour},
		"used too late":        {[]time.Duration{12 * time.Hour}, 12*time.Hour - time.Millisecond, 12 * time.Hour},
		"used all the time":    {timesUntil(6*time.Hour, 168*time.Hour), 168*time.Hour - time.Millisecond, 168 * time.Hour},
		"used very often":      {timesUntil(29*time.Minute, 168*time.Hour), 167 * time.Hour, 168 * time.Hour},
		"used on an early clock": {
			[]time.Duration{-time.Hour, -48 * time.Hour},
			12*time.Hour - time.Millisecond,
			12 * time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for after, want := range map[time.Duration]bool{c.in: true, c.ended: false, c.ended + 1000*time.Hour: false} {
				store := &countingStore{Store: fixture.Table(t).Access}
				session := signIn(t, store)
				for _, at := range c.used {
					isValid(t, store, session, now.Add(at))
				}
				if got := isValid(t, store, session, now.Add(after)); got != want {
					t.Errorf("after %s it is good: %v", after, got)
				}
				if hours := int(c.ended / time.Hour); store.renewals > hours {
					t.Errorf("written %d times in %d hours", store.renewals, hours)
				}
			}
		})
	}
}

// timesUntil lists the times from one step to until, at each step.
func timesUntil(step, until time.Duration) (list []time.Duration) {
	for at := step; at < until; at += step {
		list = append(list, at)
	}
	return list
}

// countingStore counts the renewals.
type countingStore struct {
	auth.Store
	renewals int
}

func (w *countingStore) RenewToken(ctx context.Context, hash string, until time.Time) error {
	w.renewals++
	return w.Store.RenewToken(ctx, hash, until)
}

// TestSessionValidityFollowsUseAndAge: it is valid while its last use is at most eleven hours
// ago, within seven days. It is not valid after twelve hours without use, or after seven days.
func TestSessionValidityFollowsUseAndAge(t *testing.T) {
	store := memoryStore{}
	rapid.Check(t, func(r *rapid.T) {
		session := signIn(t, store)
		at, used := now, now
		for range rapid.IntRange(1, 60).Draw(r, "uses") {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(13*time.Hour)).Draw(r, "pause")))
			idle, age := at.Sub(used), at.Sub(now)
			good := isValid(r, store, session, at)
			if good && (idle >= auth.SessionIdle || age >= auth.SessionLife) {
				r.Fatalf("good after %s without use, %s old", idle, age)
			}
			if !good && idle < auth.SessionIdle-time.Hour && age < auth.SessionLife-time.Hour {
				r.Fatalf("over after %s without use, %s old", idle, age)
			}
			if !good {
				return
			}
			used = at
		}
	})
}

// memoryStore stores tokens in memory, and never expires one.
type memoryStore map[string]auth.Token

func (s memoryStore) Token(_ context.Context, hash string) (auth.Token, error) {
	t, ok := s[hash]
	if !ok {
		return t, fault.New(fault.NotFound, "token.not_found")
	}
	return t, nil
}

func (s memoryStore) PutToken(_ context.Context, t auth.Token) error { s[t.Hash] = t; return nil }

func (s memoryStore) TakeToken(ctx context.Context, hash string) (auth.Token, error) {
	defer delete(s, hash)
	return s.Token(ctx, hash)
}

func (s memoryStore) DeleteToken(_ context.Context, hash string) error { delete(s, hash); return nil }

func (s memoryStore) RenewToken(_ context.Context, hash string, until time.Time) error {
	t := s[hash]
	t.ExpiresAt = until
	s[hash] = t
	return nil
}

// TestStoredRowDoesNotMakeOldSessionValid: neither a late expiry, nor a missing one, nor a row
// that was not deleted makes an old session valid.
func TestStoredRowDoesNotMakeOldSessionValid(t *testing.T) {
	store := fixture.Table(t)
	for name, ends := range map[string]time.Time{"none": {}, "late": now.Add(30 * 24 * time.Hour), "over": now.Add(time.Hour)} {
		putToken(t, store.Access, name, auth.KindSession, ends)
		at := now.Add(auth.SessionLife)
		if name == "over" {
			at = ends
		}
		if isValid(t, store.Access, name, at) {
			t.Errorf("end %s: good at %s", name, at)
		}
		if until, err := auth.ValidUntil(ctx, store.Access, ids.Hash(name), at); !errors.Is(err, auth.ErrRequired) {
			t.Errorf("end %s: a socket of it lives until %s, %v", name, until, err)
		}
		if _, err := store.Access.Token(ctx, ids.Hash(name)); err != nil {
			t.Errorf("end %s: its row is gone, so this showed nothing: %v", name, err)
		}
	}
}

// TestRowExpiresAfterSession, also after a renewal.
func TestRowExpiresAfterSession(t *testing.T) {
	store, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	session := signIn(t, store.Access)
	client := dynamodb.NewFromConfig(config)
	for at := now; at.Before(now.Add(auth.SessionLife)); at = at.Add(5 * time.Hour) {
		if !isValid(t, store.Access, session, at) {
			t.Fatalf("over at %s", at)
		}
		out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "TOKEN#" + ids.Hash(session)}, "SK": &types.AttributeValueMemberS{Value: "TOKEN"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		row, err := store.Access.Token(ctx, ids.Hash(session))
		if ttl := number(t, out.Item["ttl"]); err != nil || ttl < row.ExpiresAt.Unix() {
			t.Errorf("at %s it is cleaned up at %d, and good until %d; %v", at, ttl, row.ExpiresAt.Unix(), err)
		}
	}
}

func number(t *testing.T, v types.AttributeValue) int64 {
	t.Helper()
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("%T is no number", v)
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// interruptedStore calls a function after a token was read, and before it is renewed.
type interruptedStore struct {
	auth.Store
	do func()
}

func (b interruptedStore) RenewToken(ctx context.Context, hash string, until time.Time) error {
	b.do()
	return b.Store.RenewToken(ctx, hash, until)
}

// TestSignOutIsNeverUndone by a concurrent request.
func TestSignOutIsNeverUndone(t *testing.T) {
	store := fixture.Table(t)
	later := now.Add(6 * time.Hour)
	session, asked := signIn(t, store.Access), false
	out := func() {
		asked = true
		if err := store.Access.DeleteToken(ctx, ids.Hash(session)); err != nil {
			t.Fatal(err)
		}
	}
	if !isValid(t, interruptedStore{store.Access, out}, session, later) || !asked {
		t.Fatal("the session was not to be renewed, so this showed nothing")
	}
	if isValid(t, store.Access, session, later) {
		t.Error("the renewal brought the session back")
	}
	for range 20 { // in any order
		session = signIn(t, store.Access)
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if i == 2 {
					if err := store.Access.DeleteToken(ctx, ids.Hash(session)); err != nil {
						t.Error(err)
					}
					return
				}
				_, _ = auth.Authenticate(ctx, store.Access, session, later, auth.KindSession)
			})
		}
		all.Wait()
		if isValid(t, store.Access, session, later) {
			t.Fatal("a renewal brought the session back")
		}
	}
}

// TestRenewOnlyMovesExistingExpiryLater, and changes no other attribute of a token.
func TestRenewOnlyMovesExistingExpiryLater(t *testing.T) {
	store := fixture.Table(t)
	for name, c := range map[string]struct{ ends, until, want time.Time }{
		"later":      {now.Add(time.Hour), now.Add(2 * time.Hour), now.Add(2 * time.Hour)},
		"the same":   {now.Add(time.Hour), now.Add(time.Hour), now.Add(time.Hour)},
		"earlier":    {now.Add(time.Hour), now.Add(time.Minute), now.Add(time.Hour)},
		"never ends": {time.Time{}, now.Add(time.Hour), time.Time{}},
	} {
		putToken(t, store.Access, name, auth.KindSession, c.ends)
		before, err := store.Access.Token(ctx, ids.Hash(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Access.RenewToken(ctx, ids.Hash(name), c.until); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		after, err := store.Access.Token(ctx, ids.Hash(name))
		if err != nil || !after.ExpiresAt.Equal(c.want) {
			t.Errorf("%s: until %s, %v", name, after.ExpiresAt, err)
		}
		if after.Kind != before.Kind || after.User != before.User || after.Account != before.Account || len(after.Scopes) != 1 || !after.CreatedAt.Equal(before.CreatedAt) {
			t.Errorf("%s: %+v was %+v", name, after, before)
		}
	}
	if err := store.Access.RenewToken(ctx, ids.Hash("nothing"), now.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if _, err := store.Access.Token(ctx, ids.Hash("nothing")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("renewing made a token: %v", err)
	}
}

// readOnlyStore is a store whose writes fail.
type readOnlyStore struct{ auth.Store }

func (readOnlyStore) RenewToken(context.Context, string, time.Time) error {
	return errors.New("the disk is full")
}

// TestOnlySessionsAreRenewed, and a failed renewal does not prevent a read.
func TestOnlySessionsAreRenewed(t *testing.T) {
	store := &countingStore{Store: fixture.Table(t).Access}
	putToken(t, store, "token", auth.KindToken, now.Add(time.Hour))
	putToken(t, store, "code", auth.KindCode, now.Add(time.Hour))
	for _, kind := range []auth.Kind{auth.KindToken, auth.KindCode} {
		if _, err := auth.Authenticate(ctx, store, string(kind), now, kind); err != nil || store.renewals != 0 {
			t.Errorf("%s: %d renewals, %v", kind, store.renewals, err)
		}
	}
	if session := signIn(t, store); !isValid(t, readOnlyStore{store}, session, now.Add(11*time.Hour)) {
		t.Error("kept out by a store that takes no writes")
	}
	session := signIn(t, store)
	if err := store.DeleteToken(ctx, ids.Hash("owner")); err != nil {
		t.Fatal(err)
	}
	if isValid(t, store, session, now.Add(2*time.Hour)) || store.renewals != 0 {
		t.Errorf("a session of a revoked token is kept: %d renewals", store.renewals)
	}
}

func TestSessionCookieBelongsToDeployment(t *testing.T) {
	for _, c := range []struct {
		secure     bool
		host, name string
	}{
		{true, "piloto.example.org", "__Host-piloto_session"},
		{true, "localhost:8080", "__Host-piloto_session"},
		{false, "localhost:8080", "piloto_session_8080"},
		{false, "127.0.0.1:9000", "piloto_session_9000"},
		{false, "[::1]:8080", "piloto_session_8080"},
		{false, "[::1]", "piloto_session_80"},
		{false, "localhost", "piloto_session_80"},
		{false, "localhost:", "piloto_session_80"},
		{false, "", "piloto_session_80"},
		{false, "localhost:8080;x", "piloto_session_80"},
	} {
		if got := auth.SessionCookie(c.secure, c.host); got != c.name {
			t.Errorf("%v %q: %s", c.secure, c.host, got)
		}
	}
	for said, want := range map[string]bool{"https": true, "HTTPS": true, "https, http": true, " https ,http": true, "": false, "http": false, "http, https": false, "httpss": false} {
		if auth.ByTLS(said) != want {
			t.Errorf("X-Forwarded-Proto %q: %v", said, !want)
		}
	}
}
