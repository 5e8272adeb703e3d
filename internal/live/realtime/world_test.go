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
	"piloto/internal/live/realtime"
)

var (
	ctx     = context.Background()
	now     = fixture.Epoch
	discard = slog.New(slog.DiscardHandler)
)

// shown is a frame as a client reads it.
type shown struct {
	Type string         `json:"type"`
	Seq  *int64         `json:"seq"`
	At   string         `json:"at"`
	Data map[string]any `json:"data"`
}

func read(t testing.TB, text []byte) shown {
	t.Helper()
	var s shown
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// office is the management API with the connections behind it: each has a mailbox,
// and the way to it fails as it is told.
type office struct {
	mu     sync.Mutex
	boxes  map[string][][]byte // of who is connected
	closed []string
	words  map[string]string // the last frame before it was closed
	posts  int
	fault  func(id string, attempt int) error // before it arrives; nil: it does
	after  func(id string, attempt int) error // once it has arrived
	tries  map[string]int
}

var errLost = errors.New("nobody answered")

func newOffice(ids ...string) *office {
	o := &office{boxes: map[string][][]byte{}, tries: map[string]int{}, words: map[string]string{}}
	for _, id := range ids {
		o.boxes[id] = nil
	}
	return o
}

func (o *office) Post(ctx context.Context, id string, frame []byte) error {
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

func (o *office) Close(_ context.Context, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if box := o.boxes[id]; len(box) > 0 {
		o.words[id] = string(box[len(box)-1])
	}
	delete(o.boxes, id)
	o.closed = append(o.closed, id)
	return nil
}

// box empties a mailbox.
func (o *office) box(t testing.TB, id string) []shown {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []shown
	for _, text := range o.boxes[id] {
		list = append(list, read(t, text))
	}
	if _, ok := o.boxes[id]; ok {
		o.boxes[id] = nil
	}
	return list
}

// hub is a hub over a store, at a time that stands.
func hub(store realtime.Connections, o realtime.Poster, at time.Time) *realtime.Hub {
	return &realtime.Hub{Connections: store, Poster: o, Now: func() time.Time { return at }, Log: discard}
}

func connect(t testing.TB, store realtime.Connections, account, id string) {
	t.Helper()
	if err := store.AddConnection(ctx, realtime.Connection{
		Account: account, ID: id, User: "ana", Parent: "p", ConnectedAt: now.Add(-time.Minute), ExpiresAt: now.Add(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
}

// seqs are the numbers of frames, 0 for one without.
func seqs(list []shown) []int64 {
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

// shuffled is a copy in another order.
func shuffled[T any](list []T, r *rand.Rand) []T {
	c := slices.Clone(list)
	r.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	return c
}
