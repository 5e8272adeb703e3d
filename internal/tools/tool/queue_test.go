package tool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// slowDiscoverer takes a second, and counts the concurrent calls.
type slowDiscoverer struct {
	mu        sync.Mutex
	now, most int
	asked     []string
}

func (d *slowDiscoverer) Discover(ctx context.Context, t Target) (Found, error) {
	d.mu.Lock()
	d.now++
	d.most = max(d.most, d.now)
	d.asked = append(d.asked, t.Base)
	d.mu.Unlock()
	defer func() { d.mu.Lock(); d.now--; d.mu.Unlock() }()
	select {
	case <-time.After(time.Second):
		return Found{BaseURL: t.Base}, nil
	case <-ctx.Done():
		return Found{}, ctx.Err()
	}
}

// ask runs n discoveries, the i-th for the account of(i), and returns their errors.
func ask(r Registry, n int, of func(int) ids.Account) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, errs[i] = r.discover(context.Background(), of(i), Server{Kind: KindOpenAPI, BaseURL: fmt.Sprintf("https://a%d.example", i)}, nil)
		})
	}
	all.Wait()
	return errs
}

func TestQueueLimitsDiscoveriesPerAccountAndProcess(t *testing.T) {
	for name, c := range map[string]struct {
		n, most, refused int
		of               func(int) ids.Account
	}{
		"one account":            {6, 1, 0, func(int) ids.Account { return "a" }},
		"many accounts":          {12, 3, 0, func(i int) ids.Account { return ids.Account(fmt.Sprint(i)) }},
		"two accounts":           {8, 2, 0, func(i int) ids.Account { return ids.Account(fmt.Sprint(i % 2)) }},
		"longer than one waits":  {15, 1, 5, func(int) ids.Account { return "a" }},
		"more than may wait":     {40, 3, 17, func(i int) ids.Account { return ids.Account(fmt.Sprint(i)) }},
		"one waits for no other": {2, 2, 0, func(i int) ids.Account { return ids.Account(fmt.Sprint(i)) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &slowDiscoverer{}
				r := Registry{
					Discover: map[Kind]Discoverer{KindOpenAPI: d},
					Queue:    &Queue{Most: 3, Waiting: 20, Wait: 9500 * time.Millisecond},
				}
				refused := 0
				for _, err := range ask(r, c.n, c.of) {
					switch {
					case err == nil:
					case errors.Is(err, ErrBusy) && fault.KindOf(err) == fault.Unavailable && fault.Of(err).Args["retry_after"] != "":
						refused++
					default:
						t.Error(err)
					}
				}
				if d.most != c.most || refused != c.refused || len(d.asked) != c.n-refused {
					t.Errorf("%d at once, want %d; %d refused, want %d; %d asked", d.most, c.most, refused, c.refused, len(d.asked))
				}
				if len(r.Queue.busy) != 0 || len(r.Queue.waiting) != 0 {
					t.Errorf("left behind: %v %v", r.Queue.busy, r.Queue.waiting)
				}
			})
		})
	}
}

func TestQueueSkipsWaiterThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := &Queue{Most: 1, Waiting: 20, Wait: time.Minute}
		end, err := turns.take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := turns.take(ctx, "b"); left <- err }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		end()
		next, err := turns.take(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		next()
	})
}
