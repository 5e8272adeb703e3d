package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
)

func messageEvent(id string) realtime.Event {
	return realtime.Message("c1", conversation.Message{ID: id, Role: conversation.RoleUser, Kind: conversation.KindText, Content: id, At: now})
}

func TestNotifyReachesOnlyConnectionsOfAccount(t *testing.T) {
	store, o := fixture.Table(t), newFakePoster("a", "b", "theirs", "over")
	connect(t, store.Access, "acme", "a")
	connect(t, store.Access, "acme", "b")
	connect(t, store.Access, "acme2", "theirs")
	if err := store.Access.AddConnection(ctx, realtime.Connection{Account: "acme", ID: "over", ConnectedAt: now.Add(-time.Hour), ExpiresAt: now}); err != nil {
		t.Fatal(err)
	}
	h := hub(store.Access, o, now)
	h.Notify(ctx, "acme", messageEvent("m1"), realtime.Answer{ChatID: "c1", Turn: "t"}.Text(0, "Ho"), messageEvent("m2"))
	h.Notify(ctx, "acme", messageEvent("m3"))
	h.Notify(ctx, "acme", realtime.Answer{ChatID: "c1", Turn: "t"}.End())
	h.Notify(ctx, "acme")
	h.Notify(ctx, "", messageEvent("m4"))
	for id, want := range map[string][]int64{"a": {1, 0, 2, 3, 0}, "b": {1, 0, 2, 3, 0}, "theirs": nil, "over": nil} {
		if got := seqs(o.box(t, id)); !slices.Equal(got, want) {
			t.Errorf("%s was told %v, want %v", id, got, want)
		}
	}
}

// TestNobodyIsLookedForWhileNobodyIsConnected: the store would not answer.
func TestNobodyIsLookedForWhileNobodyIsConnected(t *testing.T) {
	store, o := fixture.Table(t), newFakePoster("a")
	connect(t, store.Access, "acme", "a")
	idle := true
	h := hub(store.Access, o, now)
	h.Idle = func() bool { return idle }
	h.Notify(ctx, "acme", messageEvent("m1"))
	if h.Watched(ctx, "acme") || len(o.box(t, "a")) != 0 {
		t.Error("the connections were read")
	}
	idle = false
	h.Notify(ctx, "acme", messageEvent("m2"))
	if got := seqs(o.box(t, "a")); !h.Watched(ctx, "acme") || !slices.Equal(got, []int64{1}) {
		t.Errorf("told %v", got)
	}
}

func TestAccountIsWatchedWhileClientIsConnected(t *testing.T) {
	c := open("a")
	h := hub(newMemoryConnections(c), newFakePoster("a"), now)
	if !h.Watched(ctx, "acme") || h.Watched(ctx, "other") || realtime.Nobody.Watched(ctx, "acme") {
		t.Error("who watches is not seen")
	}
	h.Now = func() time.Time { return c.ExpiresAt }
	if h.Watched(ctx, "acme") {
		t.Error("one that is over watches")
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	h.Now = func() time.Time { return now }
	if h.Watched(canceled, "acme") {
		t.Error("a store that does not answer says that somebody watches")
	}
}

// TestEventsGoToWhoHasTheChatOpen: of another chat a client is told once that it changed, and nothing of its text. A
// client that never said which chat it has open gets everything.
func TestEventsGoToWhoHasTheChatOpen(t *testing.T) {
	store, o := fixture.Table(t), newFakePoster("here", "elsewhere", "nowhere", "silent")
	for id, chat := range map[string]string{"here": "c1", "elsewhere": "c2", "nowhere": "", "silent": "-"} {
		connect(t, store.Access, "acme", id)
		if chat != "-" {
			if err := store.Access.SetOpen(ctx, id, conversation.Key{Account: "acme", ChatID: chat}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.Access.SetOpen(ctx, "gone", conversation.Key{Account: "acme", ChatID: "c1"}); !errors.Is(err, realtime.ErrGone) {
		t.Errorf("a connection that does not exist looks: %v", err)
	}
	hub(store.Access, o, now).Notify(ctx, "acme", messageEvent("m1"), realtime.Answer{ChatID: "c1", Turn: "t"}.Text(0, "Ho"), messageEvent("m2"))
	for id, want := range map[string][]string{
		"here": {"message", "ai:text", "message"}, "silent": {"message", "ai:text", "message"}, "elsewhere": {"chat"}, "nowhere": {"chat"},
	} {
		var got []string
		for _, f := range o.box(t, id) {
			if got = append(got, f.Type); f.Data["conversationId"] != "c1" {
				t.Errorf("%s: %v", id, f.Data)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s was told %v, want %v", id, got, want)
		}
	}
}

// TestConnectionsAreRememberedForNumberedPushes: the store is read once in that time, but for each text that has no
// number, because the store refuses a number to a connection that is over.
func TestConnectionsAreRememberedForNumberedPushes(t *testing.T) {
	store, o, at := &reads{memoryConnections: newMemoryConnections(open("a"))}, newFakePoster("a"), now
	h := hub(store, o, at)
	h.Now, h.Remember = func() time.Time { return at }, realtime.Remember
	for range 3 {
		h.Notify(ctx, "acme", messageEvent("m"))
	}
	if !h.Watched(ctx, "acme") || store.n != 1 {
		t.Errorf("%d reads", store.n)
	}
	h.Notify(ctx, "acme", realtime.Answer{ChatID: "c1", Turn: "t"}.End())
	if store.n != 2 {
		t.Errorf("%d reads after a text", store.n)
	}
	at = at.Add(realtime.Remember)
	h.Notify(ctx, "acme", messageEvent("m"))
	if got := seqs(o.box(t, "a")); store.n != 3 || !slices.Equal(got, []int64{1, 2, 3, 0, 4}) {
		t.Errorf("%d reads, told %v", store.n, got)
	}
}

// reads counts how often connections are listed.
type reads struct {
	*memoryConnections
	n int
}

func (r *reads) Connections(ctx context.Context, account ids.Account) ([]realtime.Connection, error) {
	r.n++
	return r.memoryConnections.Connections(ctx, account)
}

func TestConcurrentNotifiesLeaveNoGapInNumbers(t *testing.T) {
	store, o := fixture.Table(t), newFakePoster("a", "b")
	connect(t, store.Access, "acme", "a")
	connect(t, store.Access, "acme", "b")
	h := hub(store.Access, o, now)
	const tellers, each = 20, 6
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range tellers {
		done.Go(func() {
			start.Wait()
			for k := range each {
				h.Notify(ctx, "acme", messageEvent(fmt.Sprintf("%d-%d", i, k)))
			}
		})
	}
	start.Done()
	done.Wait()
	for _, id := range []string{"a", "b"} {
		got := seqs(o.box(t, id))
		slices.Sort(got)
		for i := range tellers * each {
			if i >= len(got) || got[i] != int64(i+1) {
				t.Fatalf("%s: %v", id, got)
			}
		}
	}
}

// memoryConnections stores connections in memory, for a test whose clock stands still.
type memoryConnections struct {
	mu   sync.Mutex
	rows map[string]realtime.Connection
	slow time.Duration // delay of every call
}

func newMemoryConnections(list ...realtime.Connection) *memoryConnections {
	s := &memoryConnections{rows: map[string]realtime.Connection{}}
	for _, c := range list {
		s.rows[c.ID] = c
	}
	return s
}

func (s *memoryConnections) wait(ctx context.Context) error {
	if s.slow == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.slow):
		return nil
	}
}

func (s *memoryConnections) AddConnection(_ context.Context, c realtime.Connection) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[c.ID] = c
	return nil
}

func (s *memoryConnections) Connections(ctx context.Context, account ids.Account) ([]realtime.Connection, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(s.rows)), func(c realtime.Connection) bool { return c.Account != account }), nil
}

func (s *memoryConnections) Connection(_ context.Context, id string) (realtime.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.rows[id]
	if !ok {
		return c, realtime.ErrGone
	}
	return c, nil
}

func (s *memoryConnections) Advance(ctx context.Context, _ ids.Account, id string, n int, at time.Time) (int64, error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.rows[id]
	if !ok || !c.Live(at) {
		return 0, realtime.ErrGone
	}
	c.Seq += int64(n)
	s.rows[id] = c
	return c.Seq, nil
}

func (s *memoryConnections) Renew(_ context.Context, _ ids.Account, id string, at, until time.Time, skip int) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.rows[id]
	if !ok {
		return 0, realtime.ErrGone
	}
	c.PingedAt, c.ExpiresAt, c.Seq = at, until, c.Seq+int64(skip)
	s.rows[id] = c
	return c.Seq, nil
}

func (s *memoryConnections) SetOpen(_ context.Context, id string, chat conversation.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.rows[id]
	if !ok {
		return realtime.ErrGone
	}
	c.Says, c.ChatID = true, chat.ChatID
	s.rows[id] = c
	return nil
}

func (s *memoryConnections) RemoveConnection(_ context.Context, _ ids.Account, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, id)
	return nil
}

func open(id string) realtime.Connection {
	return realtime.Connection{Account: "acme", ID: id, User: "ana", ConnectedAt: now.Add(-time.Minute), ExpiresAt: now.Add(time.Hour)}
}

func TestPostIsRetriedOnlyWhenItMayHelp(t *testing.T) {
	busy := errors.New("429")
	refused := fmt.Errorf("%w: 403", realtime.ErrRefused)
	for name, c := range map[string]struct {
		event   realtime.Event
		fault   func(string, int) error
		after   func(string, int) error
		posts   int
		arrived []int64
		left    bool // the connection is still stored
	}{
		"at once":               {messageEvent("m"), nil, nil, 1, []int64{1}, true},
		"busy twice":            {messageEvent("m"), func(_ string, n int) error { return []error{busy, busy, nil}[min(n, 3)-1] }, nil, 3, []int64{1}, true},
		"busy for ever":         {messageEvent("m"), func(string, int) error { return busy }, nil, 4, nil, true},
		"refused":               {messageEvent("m"), func(string, int) error { return refused }, nil, 1, nil, true},
		"gone":                  {messageEvent("m"), func(string, int) error { return realtime.ErrGone }, nil, 1, nil, false},
		"arrived, not answered": {messageEvent("m"), nil, func(_ string, n int) error { return []error{errLost, nil}[min(n, 2)-1] }, 2, []int64{1, 1}, true},
		"text, busy":            {realtime.Answer{ChatID: "c", Turn: "t"}.Text(0, "x"), func(string, int) error { return busy }, nil, 1, nil, true},
		"text, gone":            {realtime.Answer{ChatID: "c", Turn: "t"}.Text(0, "x"), func(string, int) error { return realtime.ErrGone }, nil, 1, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, o := newMemoryConnections(open("a")), newFakePoster("a")
				o.fault, o.after = c.fault, c.after
				hub(store, o, now).Notify(ctx, "acme", c.event)
				if _, err := store.Connection(ctx, "a"); (err == nil) != c.left {
					t.Errorf("the connection: %v", err)
				}
				if got := seqs(o.box(t, "a")); o.posts != c.posts || !slices.Equal(got, c.arrived) {
					t.Errorf("%d posts, %v arrived; want %d, %v", o.posts, got, c.posts, c.arrived)
				}
			})
		})
	}
}

// TestOpeningConnectionIsNotRemoved: API Gateway returns 410 for a connection whose
// $connect has no response yet. The missed pushes are a gap.
func TestOpeningConnectionIsNotRemoved(t *testing.T) {
	for age, kept := range map[time.Duration]bool{0: true, 5 * time.Second: true, 15 * time.Second: false} {
		c := open("a")
		c.ConnectedAt = now.Add(-age)
		store, o := newMemoryConnections(c), newFakePoster()
		h := hub(store, o, now)
		h.Notify(ctx, "acme", messageEvent("m1"))
		if _, err := store.Connection(ctx, "a"); (err == nil) != kept {
			t.Errorf("after %s: %v", age, err)
		}
		if !kept {
			continue
		}
		o.boxes["a"] = nil // now it is open
		h.Notify(ctx, "acme", messageEvent("m2"))
		if got := seqs(o.box(t, "a")); !slices.Equal(got, []int64{2}) {
			t.Errorf("after %s: %v", age, got)
		}
	}
}

// TestNotifyIsBoundedAndConnectionsAreIndependent: a client or a store that does not
// answer delays the caller at most by the limit.
func TestNotifyIsBoundedAndConnectionsAreIndependent(t *testing.T) {
	const bound = 1500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryConnections(open("a"), open("dead"))
		o := newFakePoster("a", "dead")
		began := time.Now()
		arrived := make(chan time.Duration, 2)
		slow := guardedPoster{o, func(ctx context.Context, id string) error {
			if id == "dead" {
				<-ctx.Done()
				return ctx.Err()
			}
			arrived <- time.Since(began)
			return nil
		}}
		canceled, cancel := context.WithCancel(ctx)
		cancel() // the caller has disconnected: the push is sent all the same
		usual := func(p realtime.Poster) *realtime.Hub {
			h := hub(store, p, now)
			h.Limit = 0
			return h
		}
		usual(slow).Notify(canceled, "acme", messageEvent("m1"), messageEvent("m2"))
		if took := time.Since(began); took > bound {
			t.Errorf("it took %s", took)
		}
		if after := <-arrived; after != 0 {
			t.Errorf("a waited %s", after)
		}
		if got := seqs(o.box(t, "a")); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("a was told %v", got)
		}
		store.slow, began = time.Hour, time.Now()
		usual(o).Notify(ctx, "acme", messageEvent("m3"))
		if took := time.Since(began); took > bound {
			t.Errorf("with a store that does not answer it took %s", took)
		}
	})
}

// guardedPoster checks first whether a post may pass.
type guardedPoster struct {
	*fakePoster
	pass func(context.Context, string) error
}

func (p guardedPoster) Post(ctx context.Context, id string, frame []byte) error {
	if err := p.pass(ctx, id); err != nil {
		return err
	}
	return p.fakePoster.Post(ctx, id, frame)
}

// testClient is a client as documented: a push with the next number is one event, and any other
// number makes it read everything.
type testClient struct {
	last    int64
	known   map[string]bool
	fetches int
}

func (r *testClient) fetch(truth map[string]bool) {
	r.fetches++
	r.known = maps.Clone(truth)
}

// take reads one push. A read that it needs returns the current state.
func (r *testClient) take(s receivedFrame, truth map[string]bool) {
	switch {
	case s.Seq == nil:
	case s.Type == realtime.TypePong:
		if *s.Seq > r.last {
			r.last = *s.Seq
			r.fetch(truth)
		}
	case *s.Seq <= r.last: // repeated or late: the client has read it already
	case *s.Seq > r.last+1:
		r.last = *s.Seq
		r.fetch(truth)
	default:
		r.last++
		if m, ok := s.Data["message"].(map[string]any); ok {
			r.known[m["id"].(string)] = true
		} else {
			r.fetch(truth)
		}
	}
}

// TestClientConvergesToStoreUnderPushFaults: every push may be lost, repeated,
// late or out of order, or find the connection gone. After the next pong, or after a new
// connection, the client has the same state as the store, and it never has any other data
// before.
func TestClientConvergesToStoreUnderPushFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		r := rand.New(rand.NewPCG(seed, 1))
		store, o := newMemoryConnections(), newFakePoster()
		truth := map[string]bool{}
		client := &testClient{known: map[string]bool{}}
		var delayed []receivedFrame
		id, connects := "", 0
		reconnect := func() {
			connects++
			id = fmt.Sprint("c", connects)
			c := open(id)
			if err := store.AddConnection(ctx, c); err != nil {
				rt.Fatal(err)
			}
			o.boxes[id] = nil
			delayed, client.last = nil, 0
			client.fetch(truth)
		}
		reconnect()
		o.fault = func(string, int) error { // a fault of the network for a post
			switch rapid.IntRange(0, 5).Draw(rt, "post") {
			case 0:
				return fmt.Errorf("%w: lost", realtime.ErrRefused) // and not retried
			default:
				return nil
			}
		}
		deliver := func(all bool) { // a fault of the network for the delivered frames
			delayed = append(delayed, o.box(t, id)...)
			delayed = shuffle(delayed, r)
			for len(delayed) > 0 {
				s := delayed[0]
				switch rapid.IntRange(0, 4).Draw(rt, "arrival") {
				case 0:
					if !all {
						return // deliver the rest later
					}
				case 1:
					client.take(s, truth) // deliver it once more
				}
				client.take(s, truth)
				delayed = delayed[1:]
			}
		}
		h := hub(store, o, now)
		sent := 0
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 6).Draw(rt, "step") {
			case 0:
				deliver(false)
			case 1: // a push that is lost on its way to the client
				if list := o.box(t, id); len(list) > 0 {
					delayed = append(delayed, list[1:]...)
				}
			case 2:
				delete(o.boxes, id) // the connection is gone, and its row is not
				network := o.fault
				o.fault = nil
				truth["unseen"] = true
				h.Notify(ctx, "acme", messageEvent("unseen"))
				o.fault = network
				if _, err := store.Connection(ctx, id); err == nil {
					rt.Fatal("a connection that is gone is kept")
				}
				reconnect()
			default:
				sent++
				m := fmt.Sprint("m", sent)
				truth[m] = true
				h.Notify(ctx, "acme", messageEvent(m))
			}
			for m := range client.known {
				if !truth[m] {
					rt.Fatalf("the client knows of %s, which is not stored", m)
				}
			}
		}
		deliver(true)
		c, err := store.Connection(ctx, id)
		if err != nil {
			rt.Fatal(err)
		}
		client.take(receivedFrame{Type: realtime.TypePong, Seq: &c.Seq}, truth)
		if !maps.Equal(client.known, truth) {
			rt.Fatalf("the client has %v and the store %v", client.known, truth)
		}
	})
}

// TestClientWithoutFaultsDoesNotRead: the client of the test above does not simply read
// everything always.
func TestClientWithoutFaultsDoesNotRead(t *testing.T) {
	store, o := newMemoryConnections(open("a")), newFakePoster("a")
	h, client, truth := hub(store, o, now), &testClient{known: map[string]bool{}}, map[string]bool{}
	for i := range 20 {
		truth[fmt.Sprint(i)] = true
		h.Notify(ctx, "acme", messageEvent(fmt.Sprint(i)))
		for _, s := range o.box(t, "a") {
			client.take(s, truth)
		}
	}
	if client.fetches != 0 || !maps.Equal(client.known, truth) {
		t.Errorf("it asked %d times and knows %v", client.fetches, client.known)
	}
}
