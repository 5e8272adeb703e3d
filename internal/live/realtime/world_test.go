package realtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
)

var (
	ctx     = context.Background()
	now     = fixture.Epoch
	discard = slog.New(slog.DiscardHandler)
)

// receivedFrame is a frame as a client decodes it.
type receivedFrame struct {
	Type string         `json:"type"`
	Seq  *int64         `json:"seq"`
	At   string         `json:"at"`
	Data map[string]any `json:"data"`
}

func read(t testing.TB, text []byte) receivedFrame {
	t.Helper()
	var s receivedFrame
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// fakePoster is a management API with connections. Each connection has a mailbox, and posts fail
// as the test sets.
type fakePoster struct {
	mu     sync.Mutex
	boxes  map[string][][]byte // of the connected clients
	closed []string
	words  map[string]string // the last frame before it was closed
	posts  int
	fault  func(id string, attempt int) error // before a frame arrives; nil: no fault
	after  func(id string, attempt int) error // after a frame has arrived
	tries  map[string]int
}

var errLost = errors.New("nobody answered")

func newFakePoster(ids ...string) *fakePoster {
	o := &fakePoster{boxes: map[string][][]byte{}, tries: map[string]int{}, words: map[string]string{}}
	for _, id := range ids {
		o.boxes[id] = nil
	}
	return o
}

func (o *fakePoster) Post(ctx context.Context, id string, frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	o.posts++
	o.tries[id]++
	if o.fault != nil {
		if err := o.fault(id, o.tries[id]); err != nil {
			return err
		}
	}
	if _, ok := o.boxes[id]; !ok {
		return realtime.ErrGone
	}
	o.boxes[id] = append(o.boxes[id], slices.Clone(frame))
	if o.after != nil {
		return o.after(id, o.tries[id])
	}
	return nil
}

func (o *fakePoster) Close(_ context.Context, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if box := o.boxes[id]; len(box) > 0 {
		o.words[id] = string(box[len(box)-1])
	}
	delete(o.boxes, id)
	o.closed = append(o.closed, id)
	return nil
}

// box empties a mailbox and returns its frames.
func (o *fakePoster) box(t testing.TB, id string) []receivedFrame {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []receivedFrame
	for _, text := range o.boxes[id] {
		list = append(list, read(t, text))
	}
	if _, ok := o.boxes[id]; ok {
		o.boxes[id] = nil
	}
	return list
}

// hub returns a Hub over a store, with a clock that stands still.
func hub(store realtime.Connections, o realtime.Poster, at time.Time) *realtime.Hub {
	return &realtime.Hub{Connections: store, Poster: o, Now: func() time.Time { return at }, Log: discard, Limit: time.Minute}
}

func connect(t testing.TB, store realtime.Connections, account ids.Account, id string) {
	t.Helper()
	if err := store.AddConnection(ctx, realtime.Connection{
		Account: account, ID: id, User: "ana", Parent: "p", ConnectedAt: now.Add(-time.Minute), ExpiresAt: now.Add(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
}

// seqs returns the numbers of frames, 0 for a frame without one.
func seqs(list []receivedFrame) []int64 {
	var all []int64
	for _, s := range list {
		n := int64(0)
		if s.Seq != nil {
			n = *s.Seq
		}
		all = append(all, n)
	}
	return all
}

// shuffle returns a copy in another order.
func shuffle[T any](list []T, r *rand.Rand) []T {
	c := slices.Clone(list)
	r.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	return c
}
