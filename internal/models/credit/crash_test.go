package credit_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture/table"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// How a write is cut off.
const (
	diesBefore = "the process dies before the write"
	diesAfter  = "the process dies after the write"
	isSlow     = "the process stops after the write, and settles when its holds are released"
	stops      = "the process stops after the write, and settles while they may be being released"
	losesOne   = "the response of the write is lost"
)

// cutting is an HTTP client of the table that cuts the process off at its write number at, counted from 1.
type cutting struct {
	aws.HTTPClient
	mu     sync.Mutex
	how    string
	at     int // 0: never
	writes int
	dead   bool
}

var errCut = errors.New("the process is cut off")

func (c *cutting) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil, errCut
	}
	if !table.IsWrite(r) {
		return c.HTTPClient.Do(r)
	}
	if c.writes++; c.writes != c.at {
		return c.HTTPClient.Do(r)
	}
	c.dead = c.how != losesOne
	if c.how == diesBefore {
		return nil, errCut
	}
	res, err := c.HTTPClient.Do(r)
	if err == nil {
		_ = res.Body.Close()
	}
	return nil, errCut
}

// isDead reports whether the process is cut off.
func (c *cutting) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// revive lets the process go on.
func (c *cutting) revive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead, c.at = false, 0
}

// story is turns of an account, with the holds that their process knows.
type story struct {
	*bank
	holds map[string]credit.Hold
	used  map[string]credit.Turn // usage that a call had, because it was covered
}

func turnID(n int) string { return fmt.Sprintf("01KJPWD6M0000000000000%04d", n) }

// covers takes room for a call of a turn, and makes the call when it has it.
func (s *story) covers(n, tokens int, micros int64, charged int, costs int64) {
	id := turnID(n)
	h, known := s.holds[id]
	if !known {
		h = credit.Hold{ID: id, Account: account, For: credit.Turn{ID: id, At: s.clock(), User: "ana"}}
	}
	h, err := s.Cover(ctx, h, credit.Need{Tokens: tokens, Micros: micros, Policy: policy, Limits: credit.Limits{Day: 1_000_000}, Actor: "ana", Reason: "turn"})
	s.holds[id] = h
	if err == nil {
		u := s.used[id]
		u.Charged, u.Micros = u.Charged+charged, u.Micros+costs
		s.used[id] = u
	}
}

func (s *story) settles(n int) error {
	id := turnID(n)
	h, known := s.holds[id]
	if !known {
		h = credit.Hold{Account: account}
	}
	turn := s.used[id]
	turn.ID, turn.At, turn.Outcome = id, s.clock(), "message"
	return s.Settle(ctx, h, turn)
}

// steps are what the process does, one after another.
func (s *story) steps() []func() {
	return []func(){
		func() { s.covers(1, 400, 7_000, 100, 1_000) }, // buys a session
		func() { s.covers(1, 200, 1_000, 50, 500) },    // a second call
		func() { s.covers(2, 300, 3_000, 80, 700) },
		func() { s.covers(2, 800, 3_000, 90, 800) }, // buys another session
		func() { _ = s.settles(1) },
		func() { s.used[turnID(3)] = credit.Turn{Micros: 400} }, // a turn without limits holds nothing
		func() { _ = s.settles(3) },
		func() { s.covers(4, 100, 900, 0, 0) }, // a hold that is dropped, and taken again by the same turn
		func() { _ = s.Drop(ctx, s.holds[turnID(4)]); delete(s.holds, turnID(4)) },
		func() { s.covers(4, 100, 900, 70, 600) },
		func() { _ = s.settles(4) },
		func() { delete(s.holds, turnID(4)); s.covers(4, 100, 900, 0, 0) }, // it was done already: the hold is dropped
		func() { _ = s.Drop(ctx, s.holds[turnID(4)]) },
		func() { s.pass(10 * time.Minute); _, _ = s.Sweep(ctx) }, // releases the hold of turn 2
		func() { _ = s.settles(2) },                              // late
	}
}

// TestEveryCutOffWriteAddsUp cuts the process off at each of its writes. After the sweep, the balance is the sum of
// the ledger, and every turn is charged what its record says, once.
func TestEveryCutOffWriteAddsUp(t *testing.T) {
	for _, how := range []string{diesBefore, diesAfter, isSlow, stops, losesOne} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			most := cutOff(t, how, 0)
			if most < 15 {
				t.Fatalf("the story has %d writes", most)
			}
			every := 1
			if testing.Short() {
				every = 9
			}
			for at := 1; at <= most; at += every {
				if cutOff(t, how, at); t.Failed() {
					t.Fatalf("at write %d of %d", at, most)
				}
			}
		})
	}
}

// cutOff tells the story with a write cut off. It returns the number of its writes.
func cutOff(t *testing.T, how string, at int) int {
	t.Helper()
	_, config, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	cut := &cutting{HTTPClient: config.HTTPClient, how: how}
	config.HTTPClient, config.RetryMaxAttempts = cut, 1
	s := &story{bank: newBank(kv.New(kv.Dial(config), name)), holds: map[string]credit.Hold{}, used: map[string]credit.Turn{}}
	s.Patience = 50 * time.Millisecond
	s.grant(t, 5)
	cut.mu.Lock()
	cut.at, cut.writes = at, 0
	cut.mu.Unlock()
	for _, step := range s.steps() {
		if step(); cut.isDead() {
			break
		}
	}
	writes := cut.writes
	cut.revive()
	sweep := func() {
		t.Helper()
		for range 3 {
			s.pass(10 * time.Minute)
			if _, err := s.Sweep(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	if how != stops {
		sweep()
	}
	if how == isSlow || how == stops {
		for n := range 5 {
			if _, began := s.holds[turnID(n)]; began {
				if err := errors.Join(s.settles(n), s.settles(n)); err != nil {
					t.Error(err)
				}
			}
		}
		sweep()
	}
	if charged, micros := s.addsUp(t); at == 0 && (charged != 390 || micros != 4_000) {
		t.Errorf("charged %d tokens and %d micro-USD", charged, micros)
	}
	return writes
}

// addsUp fails unless nothing is held, and every record is charged once. It returns what the records say.
func (b *bank) addsUp(t *testing.T) (charged int, micros int64) {
	t.Helper()
	seen := map[string]bool{}
	err := b.Store.Turns(ctx, account, table.Epoch.AddDate(-1, 0, 0), b.clock().AddDate(1, 0, 0), func(turn credit.Turn) bool {
		if seen[turn.ID] {
			t.Errorf("turn %s has two records", turn.ID)
		}
		seen[turn.ID] = true
		charged, micros = charged+turn.Charged, micros+turn.Micros
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Store.Standing(ctx, account, table.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, session := range s.Sessions {
		used += session.Used
		if session.Held() != 0 || session.Free+session.Used != session.Tokens {
			t.Errorf("%+v", session)
		}
	}
	if used != charged || s.Day != micros || s.Month != micros {
		t.Errorf("used %d of %d, spent %d and %d of %d", used, charged, s.Day, s.Month, micros)
	}
	visit, err := b.Store.Visit(ctx, account, b.clock())
	if err != nil || len(visit.Holds) != 0 || visit.Audited != visit.Entries {
		t.Errorf("%+v, %v", visit, err)
	}
	entries, _, err := b.Store.Ledger(ctx, account, "", 100)
	paid := len(slices.DeleteFunc(entries, func(e credit.Entry) bool { return e.Kind != credit.KindSession }))
	if err != nil || paid != len(s.Sessions) {
		t.Errorf("%d sessions were paid for, there are %d; %v", paid, len(s.Sessions), err)
	}
	b.even(t, 5-int64(paid))
	return charged, micros
}

// TestTurnsThatLoseResponsesAddUp has turns of one account run at once, whose writes meet transactions and whose
// responses are lost.
func TestTurnsThatLoseResponsesAddUp(t *testing.T) {
	rows, _, _ := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return &table.Faults{HTTPClient: c, Conflicts: 0.1, Lost: 0.1} })
	b := newBank(rows)
	b.Patience = time.Second // for what turns hold whose process dies
	b.grant(t, 5)
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			s := &story{bank: b, holds: map[string]credit.Hold{}, used: map[string]credit.Turn{}}
			s.covers(n, 100, 1_000, 40, 300)
			s.covers(n, 50, 1_000, 20, 200)
			if n%4 > 0 { // else its process dies
				_ = s.settles(n)
			}
		})
	}
	all.Wait()
	for range 5 {
		b.pass(10 * time.Minute)
		_, _ = b.Sweep(ctx) // what fails is tried at the next one
	}
	b.addsUp(t)
}
