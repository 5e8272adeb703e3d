package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture"
	"piloto/internal/access/replay"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

var (
	ctx = context.Background()
	key = replay.Key{Scope: "chat", Value: "k"}
)

// setup serves requests at a time that the test sets.
type setup struct {
	replay.Once
	at   atomic.Int64 // milliseconds after the epoch of tests
	logs bytes.Buffer
}

func newSetup(store replay.Store) *setup {
	d := &setup{}
	d.Once = replay.Once{
		Store: store, NewID: ids.NewSource(nil).New, Log: slog.New(slog.NewTextHandler(&d.logs, nil)),
		Now: func() time.Time { return fixture.Epoch.Add(time.Duration(d.at.Load()) * time.Millisecond) },
	}
	return d
}

func (d *setup) pass(by time.Duration) { d.at.Add(by.Milliseconds()) }

// answerWith returns a handler that answers with a text.
func answerWith(text string) func(context.Context, replay.Ticket) ([]byte, error) {
	return func(context.Context, replay.Ticket) ([]byte, error) { return []byte(text), nil }
}

// mustNotServe returns a handler that must not be called.
func mustNotServe(t *testing.T) func(context.Context, replay.Ticket) ([]byte, error) {
	return func(context.Context, replay.Ticket) ([]byte, error) {
		t.Error("it was served again")
		return nil, nil
	}
}

func TestReplayReturnsAnswerByteForByte(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	for _, text := range []string{`{"a": 1,"b":"ñ\u0000"}` + "\n", "", "\xff\x00", strings.Repeat("x", replay.MaxAnswer)} {
		key := replay.Key{Scope: "chat", Value: strconv.Itoa(len(text))}
		got, replayed, err := d.Do(ctx, "a", key, "f", answerWith(text))
		if err != nil || replayed || string(got) != text {
			t.Fatalf("%.20q: %.20q %v %v", text, got, replayed, err)
		}
		d.pass(24*time.Hour - time.Millisecond)
		got, replayed, err = d.Do(ctx, "a", key, "f", mustNotServe(t))
		if err != nil || !replayed || string(got) != text {
			t.Errorf("%.20q: again %.20q %v %v", text, got, replayed, err)
		}
	}
}

func TestAnswerExpiresBeforeItsRowIsDeleted(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	_, _, _ = d.Do(ctx, "a", key, "f", answerWith("one"))
	d.pass(24 * time.Hour)
	if got, replayed, err := d.Do(ctx, "a", key, "other", answerWith("two")); err != nil || replayed || string(got) != "two" {
		t.Errorf("%s %v %v", got, replayed, err)
	}
}

func TestKeyBelongsToAccountAndScope(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	for i, one := range []struct {
		account ids.Account
		key     replay.Key
	}{
		{"a", key},
		{"b", key},
		{"a", replay.Key{Scope: "chat2", Value: "k"}},
		{"a", replay.Key{Scope: "cha", Value: "tk"}},
		{"a", replay.Key{Scope: "chatk"}},
		{"a#Q", key},
	} {
		text := strconv.Itoa(i)
		if got, replayed, err := d.Do(ctx, one.account, one.key, "f"+text, answerWith(text)); err != nil || replayed || string(got) != text {
			t.Errorf("%v: %s %v %v", one, got, replayed, err)
		}
	}
}

func TestReusedKeyIsRefused(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	_, _, err := d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
		if _, _, err := d.Do(ctx, "a", key, "g", mustNotServe(t)); !errors.Is(err, replay.ErrReused) {
			t.Errorf("while it is served: %v", err)
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Do(ctx, "a", key, "g", mustNotServe(t)); !errors.Is(err, replay.ErrReused) {
		t.Errorf("once it is: %v", err)
	}
}

func TestServedRequestIsBusyWithRetryTime(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	_, _, _ = d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
		for _, c := range []struct {
			after time.Duration
			want  string
		}{{0, "5"}, {11 * time.Second, "4"}, {3500 * time.Millisecond, "1"}} {
			d.pass(c.after)
			_, _, err := d.Do(ctx, "a", key, "f", mustNotServe(t))
			if got := fault.Of(err).Args["retry_after"]; !errors.Is(err, replay.ErrBusy) || got != c.want {
				t.Errorf("after %s: %v, want %s", c.after, err, c.want)
			}
		}
		return nil, nil
	})
}

func TestFailedRequestIsRetriedWithItsTicket(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	broken := errors.New("broken")
	var tickets []replay.Ticket
	serve := func(err error) func(context.Context, replay.Ticket) ([]byte, error) {
		return func(_ context.Context, ticket replay.Ticket) ([]byte, error) {
			tickets = append(tickets, ticket)
			return []byte("done"), err
		}
	}
	for range 2 {
		if _, _, err := d.Do(ctx, "a", key, "f", serve(broken)); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		d.pass(time.Second)
	}
	if got, replayed, err := d.Do(ctx, "a", key, "f", serve(nil)); err != nil || replayed || string(got) != "done" {
		t.Errorf("%s %v %v", got, replayed, err)
	}
	if len(tickets) != 3 || tickets[1] != tickets[0] || tickets[2] != tickets[0] || !tickets[0].At.Equal(fixture.Epoch) || !ids.Valid(tickets[0].ID) {
		t.Errorf("%+v", tickets)
	}
}

func TestFailedKeyIsFreeForAnotherRequest(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	var first, second replay.Ticket
	_, _, _ = d.Do(ctx, "a", key, "f", func(_ context.Context, ticket replay.Ticket) ([]byte, error) {
		first = ticket
		return nil, errors.New("broken")
	})
	got, _, err := d.Do(ctx, "a", key, "g", func(_ context.Context, ticket replay.Ticket) ([]byte, error) {
		second = ticket
		return []byte("g"), nil
	})
	if err != nil || string(got) != "g" || first.ID == second.ID {
		t.Errorf("%s %v %v %v", got, err, first, second)
	}
	if _, _, err := d.Do(ctx, "a", key, "f", mustNotServe(t)); !errors.Is(err, replay.ErrReused) {
		t.Error(err)
	}
}

func TestPanicFreesKey(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	func() {
		defer func() { _ = recover() }()
		_, _, _ = d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) { panic("x") })
	}()
	if _, _, err := d.Do(ctx, "a", key, "f", answerWith("x")); err != nil {
		t.Error(err)
	}
}

func TestDisconnectedClientGetsAnswerOnRetry(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	leaving, leave := context.WithCancel(ctx)
	_, _, err := d.Do(leaving, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) { leave(); return []byte("x"), nil })
	if err != nil {
		t.Error(err)
	}
	if got, replayed, err := d.Do(ctx, "a", key, "f", mustNotServe(t)); err != nil || !replayed || string(got) != "x" {
		t.Errorf("%s %v %v", got, replayed, err)
	}
	leaving, leave = context.WithCancel(ctx)
	other := replay.Key{Scope: "chat", Value: "other"}
	_, _, _ = d.Do(leaving, "a", other, "f", func(context.Context, replay.Ticket) ([]byte, error) { leave(); return nil, leaving.Err() })
	if _, _, err := d.Do(ctx, "a", other, "f", answerWith("x")); err != nil {
		t.Errorf("who left in vain left it held: %v", err)
	}
}

func TestAnswerOverLimitIsRefused(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	got, _, err := d.Do(ctx, "a", key, "f", answerWith(strings.Repeat("x", replay.MaxAnswer+1)))
	if !errors.Is(err, replay.ErrTooLarge) || got != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// dyingStore is a store whose process dies before it stores an outcome.
type dyingStore struct{ replay.Store }

func (dyingStore) FinishReplay(context.Context, replay.Claim) (replay.Claim, error) {
	return replay.Claim{}, errors.New("the process died")
}

func (dyingStore) FreeReplay(context.Context, replay.Claim) error {
	return errors.New("the process died")
}

func TestEndedLeaseIsTakenOverWithFirstTicket(t *testing.T) {
	table := fixture.Table(t)
	d, dead := newSetup(table.Access), newSetup(dyingStore{table.Access})
	var first replay.Ticket
	_, _, err := dead.Do(ctx, "a", key, "f", func(_ context.Context, ticket replay.Ticket) ([]byte, error) {
		first = ticket
		return []byte("never told"), nil
	})
	if !errors.Is(err, replay.ErrAnswerLost) {
		t.Fatalf("it was acknowledged and not stored: %v", err)
	}
	d.pass(15*time.Second - time.Millisecond)
	if _, _, err := d.Do(ctx, "a", key, "f", mustNotServe(t)); !errors.Is(err, replay.ErrBusy) {
		t.Errorf("before the end: %v", err)
	}
	d.pass(time.Millisecond)
	if _, _, err := d.Do(ctx, "a", key, "g", mustNotServe(t)); !errors.Is(err, replay.ErrReused) {
		t.Errorf("by another request: %v", err)
	}
	got, replayed, err := d.Do(ctx, "a", key, "f", func(_ context.Context, ticket replay.Ticket) ([]byte, error) {
		if ticket != first {
			t.Errorf("ticket %v, first %v", ticket, first)
		}
		return []byte("told"), nil
	})
	if err != nil || replayed || string(got) != "told" {
		t.Errorf("%s %v %v", got, replayed, err)
	}
}

// TestLeaseIsRenewedWhileServing: a request that takes much longer than its lease is
// not taken over, and its key is free at once after an error.
func TestLeaseIsRenewedWhileServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSetup(newMemory())
		d.Now = time.Now
		_, _, err := d.Do(ctx, "a", key, "f", func(serving context.Context, _ replay.Ticket) ([]byte, error) {
			for range 100 {
				time.Sleep(7 * time.Second)
				if _, _, err := d.Do(ctx, "a", key, "f", mustNotServe(t)); !errors.Is(err, replay.ErrBusy) || serving.Err() != nil {
					t.Fatalf("%v, %v", err, serving.Err())
				}
			}
			return nil, errors.New("failed")
		})
		if err == nil {
			t.Error("it did not fail")
		}
		if got, _, err := d.Do(ctx, "a", key, "f", answerWith("told")); err != nil || string(got) != "told" {
			t.Errorf("%s %v", got, err)
		}
		time.Sleep(time.Minute)
		if got, replayed, err := d.Do(ctx, "a", key, "f", mustNotServe(t)); err != nil || !replayed || string(got) != "told" {
			t.Errorf("a renewal came after the end: %s %v %v", got, replayed, err)
		}
	})
}

// TestLostLeaseStopsServing: because the key was taken over, or because it cannot be renewed.
func TestLostLeaseStopsServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		d := newSetup(store)
		d.Now = time.Now
		_, _, err := d.Do(ctx, "a", key, "f", func(serving context.Context, _ replay.Ticket) ([]byte, error) {
			store.move(func(c *replay.Claim) { c.Holder = "another" })
			<-serving.Done()
			return nil, context.Cause(serving)
		})
		if err == nil {
			t.Error("it went on though its key was another's")
		}
		began := time.Now()
		_, _, err = d.Do(ctx, "b", key, "f", func(serving context.Context, _ replay.Ticket) ([]byte, error) {
			store.setFailing(true)
			<-serving.Done()
			store.setFailing(false)
			return nil, context.Cause(serving)
		})
		if took := time.Since(began); err == nil || took < 15*time.Second || took > 25*time.Second {
			t.Errorf("it was stopped after %s: %v", took, err)
		}
	})
}

// memory is a store of claims in memory, for tests in a synctest bubble.
type memory struct {
	replay.Store
	mu     sync.Mutex
	claims map[string]replay.Claim
	fails  bool // every renewal fails
}

func newMemory() *memory { return &memory{claims: map[string]replay.Claim{}} }

func (m *memory) move(change func(*replay.Claim)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, c := range m.claims {
		change(&c)
		m.claims[id] = c
	}
}

func (m *memory) setFailing(fails bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = fails
}

func (m *memory) ClaimReplay(_ context.Context, c replay.Claim, at time.Time) (replay.Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if there, ok := m.claims[string(c.Account)+c.Key]; ok && at.Before(there.ExpiresAt) {
		return there, nil
	}
	m.claims[string(c.Account)+c.Key] = c
	return c, nil
}

func (m *memory) TakeReplay(_ context.Context, c replay.Claim, holder string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.claims[string(c.Account)+c.Key]
	switch {
	case m.fails:
		return false, errors.New("it cannot be written")
	case there.Holder != holder || there.Done:
		return false, nil
	}
	m.claims[string(c.Account)+c.Key] = c
	return true, nil
}

func (m *memory) FinishReplay(_ context.Context, c replay.Claim) (replay.Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.claims[string(c.Account)+c.Key]
	if there.Ticket != c.Ticket || there.Done {
		return there, nil
	}
	c.Done = true
	m.claims[string(c.Account)+c.Key] = c
	return c, nil
}

func (m *memory) FreeReplay(ctx context.Context, c replay.Claim) error {
	c.Until = time.Time{}
	_, err := m.TakeReplay(ctx, c, c.Holder)
	return err
}

// TestClaimOfDeadProcessIsTakenOverAtOnce: on one machine, a process knows at its start that the
// holders of older claims are dead, and only those.
func TestClaimOfDeadProcessIsTakenOverAtOnce(t *testing.T) {
	table := fixture.Table(t)
	dead := newSetup(dyingStore{table.Access})
	if _, _, err := dead.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) { return nil, nil }); !errors.Is(err, replay.ErrAnswerLost) {
		t.Fatal(err)
	}
	next := newSetup(table.Access)
	next.AloneSince = next.Now() // it started in the same millisecond: the claim may be its own
	if _, _, err := next.Do(ctx, "a", key, "f", mustNotServe(t)); !errors.Is(err, replay.ErrBusy) {
		t.Errorf("held by this process: %v", err)
	}
	next.AloneSince = next.Now().Add(time.Millisecond)
	next.pass(time.Millisecond)
	if _, _, err := next.Do(ctx, "a", key, "g", mustNotServe(t)); !errors.Is(err, replay.ErrReused) {
		t.Errorf("another request: %v", err)
	}
	got, replayed, err := next.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) { return []byte("told"), nil })
	if err != nil || replayed || string(got) != "told" {
		t.Errorf("%s %v %v", got, replayed, err)
	}
}

// TestFirstStoredAnswerWins: an attempt continues after its lease, while another took the
// request over.
func TestFirstStoredAnswerWins(t *testing.T) {
	for name, c := range map[string]struct {
		fails    bool // the attempt that took over
		slow     string
		replayed bool
	}{
		"the other was first": {false, "other", true},
		"the other failed":    {true, "slow", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newSetup(fixture.Table(t).Access)
			got, replayed, err := d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
				d.pass(time.Minute)
				_, _, _ = d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
					if c.fails {
						return nil, errors.New("failed")
					}
					return []byte("other"), nil
				})
				return []byte("slow"), nil
			})
			if err != nil || string(got) != c.slow || replayed != c.replayed {
				t.Errorf("the slow one: %s %v %v", got, replayed, err)
			}
			if got, _, err := d.Do(ctx, "a", key, "f", mustNotServe(t)); err != nil || string(got) != c.slow {
				t.Errorf("asked again: %s %v", got, err)
			}
		})
	}
}

// interruptedStore returns another claim when an attempt ends.
type interruptedStore struct {
	replay.Store
	there func(replay.Claim) replay.Claim
}

func (e interruptedStore) FinishReplay(_ context.Context, c replay.Claim) (replay.Claim, error) {
	return e.there(c), nil
}

// TestDoReturnsOnlyStoredAnswerOfItsRequest: neither the answer of another request, nor an answer
// that is not stored, when the claim at the end is no longer the one that was served.
func TestDoReturnsOnlyStoredAnswerOfItsRequest(t *testing.T) {
	other := replay.Ticket{ID: "another"}
	for name, there := range map[string]func(replay.Claim) replay.Claim{
		"it was forgotten":          func(replay.Claim) replay.Claim { return replay.Claim{} },
		"nobody finished it":        func(c replay.Claim) replay.Claim { c.Done, c.Answer = false, []byte("theirs"); return c },
		"another request is served": func(c replay.Claim) replay.Claim { c.Ticket, c.Answer = other, []byte("theirs"); return c },
		"another request was answered": func(c replay.Claim) replay.Claim {
			c.Ticket, c.Done, c.Answer = other, true, []byte("theirs")
			return c
		},
		"a claim without a ticket, done": func(c replay.Claim) replay.Claim { c.Ticket, c.Done = replay.Ticket{}, true; return c },
	} {
		d := newSetup(interruptedStore{fixture.Table(t).Access, there})
		if got, replayed, err := d.Do(ctx, "a", key, "f", answerWith("mine")); !errors.Is(err, replay.ErrBusy) || got != nil || replayed {
			t.Errorf("%s: %q %v %v", name, got, replayed, err)
		}
	}
	// In the table: a request takes so long that its claim expires, and the key is used again.
	for name, answered := range map[string]bool{"answered": true, "being served": false} {
		d := newSetup(fixture.Table(t).Access)
		finish := make(chan struct{})
		var theirs sync.WaitGroup
		got, _, err := d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
			d.pass(25 * time.Hour)
			begun := make(chan struct{})
			theirs.Go(func() {
				_, _, _ = d.Do(ctx, "a", key, "g", func(context.Context, replay.Ticket) ([]byte, error) {
					close(begun)
					if !answered {
						<-finish
					}
					return []byte("theirs"), nil
				})
			})
			<-begun
			if answered {
				theirs.Wait()
			}
			return []byte("mine"), nil
		})
		if !errors.Is(err, replay.ErrBusy) || got != nil {
			t.Errorf("another request under the key, %s: %q %v", name, got, err)
		}
		close(finish)
		theirs.Wait()
		if got, replayed, err := d.Do(ctx, "a", key, "g", mustNotServe(t)); err != nil || !replayed || string(got) != "theirs" {
			t.Errorf("the other one, %s: %q %v %v", name, got, replayed, err)
		}
	}
}

func TestLateFailureDoesNotEndLeaseOfOther(t *testing.T) {
	d := newSetup(fixture.Table(t).Access)
	_, _, _ = d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
		d.pass(time.Minute)
		_, _, _ = d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
			late, _, err := d.Do(ctx, "a", key, "f", mustNotServe(t))
			if !errors.Is(err, replay.ErrBusy) {
				t.Errorf("%s %v", late, err)
			}
			return []byte("x"), nil
		})
		return nil, errors.New("late")
	})
	if got, replayed, err := d.Do(ctx, "a", key, "f", mustNotServe(t)); err != nil || !replayed || string(got) != "x" {
		t.Errorf("%s %v %v", got, replayed, err)
	}
}

func TestStoreErrorServesNothing(t *testing.T) {
	var down atomic.Bool
	table, _, _ := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return &faultyClient{HTTPClient: c, down: &down} })
	down.Store(true)
	if _, _, err := newSetup(table.Access).Do(ctx, "a", key, "f", mustNotServe(t)); err == nil {
		t.Error("it was served without a claim")
	}
}

// faultyClient is a client of the table that is down, or loses responses.
type faultyClient struct {
	aws.HTTPClient
	down *atomic.Bool
	lose atomic.Int32 // number of responses to lose
}

func (c *faultyClient) Do(r *http.Request) (*http.Response, error) {
	if c.down.Load() {
		return nil, errors.New("the way is cut")
	}
	res, err := c.HTTPClient.Do(r)
	if err == nil && c.lose.Add(-1) >= 0 {
		_ = res.Body.Close()
		return nil, errors.New("the answer was lost")
	}
	return res, err
}

// TestLostResponseOfTableIsResolved: the client retries by itself, and finds its own
// write.
func TestLostResponseOfTableIsResolved(t *testing.T) {
	way := &faultyClient{down: &atomic.Bool{}}
	table, _, _ := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { way.HTTPClient = c; return way })
	d := newSetup(table.Access)
	way.lose.Store(1) // of the claim
	got, replayed, err := d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
		way.lose.Store(1) // of the end
		return []byte("x"), nil
	})
	if err != nil || replayed || string(got) != "x" {
		t.Errorf("%s %v %v", got, replayed, err)
	}
	other := replay.Key{Scope: "chat", Value: "other"}
	_, _, _ = d.Do(ctx, "a", other, "f", func(context.Context, replay.Ticket) ([]byte, error) { return nil, errors.New("failed") })
	looks := 0
	d.Store = losingStore{table.Access, func() { looks++; way.lose.Store(1) }}
	if got, _, err := d.Do(ctx, "a", other, "f", answerWith("y")); err != nil || string(got) != "y" || looks == 0 {
		t.Errorf("taken over: %s %v", got, err)
	}
}

// losingStore loses the response of a take-over.
type losingStore struct {
	replay.Store
	arm func()
}

func (a losingStore) TakeReplay(ctx context.Context, c replay.Claim, holder string) (bool, error) {
	if c.Holder != holder {
		a.arm()
	}
	return a.Store.TakeReplay(ctx, c, holder)
}

// TestConcurrentRequestsAreServedOnce: I23. Also of requests that find an ended lease.
func TestConcurrentRequestsAreServedOnce(t *testing.T) {
	for _, abandoned := range []bool{false, true} {
		t.Run(fmt.Sprintf("abandoned %v", abandoned), func(t *testing.T) {
			table := fixture.Table(t)
			d := newSetup(table.Access)
			if abandoned {
				_, _, _ = newSetup(dyingStore{table.Access}).Do(ctx, "a", key, "f", answerWith("lost"))
				d.pass(time.Minute)
			}
			var served, answered, busy atomic.Int32
			var start, done sync.WaitGroup
			start.Add(1)
			for range 100 {
				done.Go(func() {
					start.Wait()
					got, replayed, err := d.Do(ctx, "a", key, "f", func(context.Context, replay.Ticket) ([]byte, error) {
						return []byte("answer " + strconv.Itoa(int(served.Add(1)))), nil
					})
					switch {
					case errors.Is(err, replay.ErrBusy):
						busy.Add(1)
					case err != nil || string(got) != "answer 1":
						t.Errorf("%s %v", got, err)
					case !replayed:
						answered.Add(1)
					}
				})
			}
			start.Done()
			done.Wait()
			if served.Load() != 1 || answered.Load() != 1 {
				t.Errorf("served %d times, answered %d first times, %d busy", served.Load(), answered.Load(), busy.Load())
			}
		})
	}
}
