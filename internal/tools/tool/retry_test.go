package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeServers answer, refuse or hang, by their address.
type fakeServers struct {
	mu    sync.Mutex
	found Found
	does  map[string]string // "hangs", "refuses", "breaks"; any other answers
	asked map[string]int
}

func (a *fakeServers) Discover(ctx context.Context, t Target) (Found, error) {
	a.mu.Lock()
	a.asked[t.Base]++
	does, found := a.does[t.Base], a.found
	a.mu.Unlock()
	found.BaseURL = t.Base
	switch does {
	case "hangs":
		<-ctx.Done()
		return Found{}, ErrUnreachable.Because(ctx.Err())
	case "refuses":
		return Found{}, ErrUnreachable
	case "breaks":
		return Found{}, errors.New("a mistake of ours")
	}
	return found, nil
}

func (a *fakeServers) now(does string, bases ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, base := range bases {
		a.does[base] = does
	}
}

// registryWithAbsent returns a registry with n servers that could not be reached.
func registryWithAbsent(t *testing.T, n int) (Registry, *fakeServers, *memoryStore, []Server) {
	t.Helper()
	r, w, s := registry()
	a := &fakeServers{found: w.found, does: map[string]string{}, asked: map[string]int{}}
	r.Discover = map[Kind]Discoverer{KindOpenAPI: a}
	var list []Server
	for i := range n {
		base := fmt.Sprintf("https://s%d.example", i)
		a.now("refuses", base)
		one, _, err := r.Register(t.Context(), "acc", Registration{URL: base, AllowOffline: true}, time.Now())
		if err != nil || one.Status != Offline {
			t.Fatalf("%+v %v", one, err)
		}
		list = append(list, one)
	}
	return r, a, s, list
}

func TestLookFindsServerThatIsReachableAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, a, s, list := registryWithAbsent(t, 3)
		if n, err := r.Retry(t.Context(), time.Now, slog.New(slog.DiscardHandler)); n != 0 || err != nil {
			t.Errorf("while they are away: %d, %v", n, err)
		}
		a.now("", list[0].BaseURL, list[1].BaseURL)
		if err := r.Delete(t.Context(), "acc", list[1].ID); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Retry(t.Context(), time.Now, slog.New(slog.DiscardHandler)); n != 0 || err != nil || a.asked[list[0].BaseURL] != 2 {
			t.Errorf("asked again at once: %d, %v, %v", n, err, a.asked)
		}
		time.Sleep(time.Minute)
		if n, err := r.Retry(t.Context(), time.Now, slog.New(slog.DiscardHandler)); n != 1 || err != nil {
			t.Errorf("once it is there: %d, %v", n, err)
		}
		found, err := s.Server(t.Context(), "acc", list[0].ID)
		if err != nil || found.Status != Online || found.Operations != 3 || found.Catalogue == "" {
			t.Errorf("%+v %v", found, err)
		}
		before := a.asked[list[0].BaseURL]
		time.Sleep(time.Hour)
		if _, err := r.Retry(t.Context(), time.Now, slog.New(slog.DiscardHandler)); err != nil || a.asked[list[0].BaseURL] != before {
			t.Errorf("what was found is looked for: %v %v", err, a.asked)
		}
		if a.asked[list[1].BaseURL] != 2 {
			t.Errorf("what was deleted is looked for: %v", a.asked)
		}
	})
}

func TestLookBacksOffFromMissingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, a, _, list := registryWithAbsent(t, 1)
		count := func(hours int) int {
			before := a.asked[list[0].BaseURL]
			for range hours * 30 {
				if _, err := r.Retry(t.Context(), time.Now, slog.New(slog.DiscardHandler)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
			}
			return a.asked[list[0].BaseURL] - before
		}
		if first, day, later := count(1), count(23), count(48); first < 6 || first > 12 || day < 100 || day > 160 || later > 60 || later < 40 {
			t.Errorf("asked %d times in an hour, %d in the day, %d in two more", first, day, later)
		}
	})
}

// TestLookIsNotBlockedByHangingServer also covers a server that causes an internal error.
func TestLookIsNotBlockedByHangingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, a, s, list := registryWithAbsent(t, 20)
		for i, one := range list {
			a.now([]string{"", "hangs", "breaks", "hangs"}[i%4], one.BaseURL)
		}
		for range 6 {
			began := time.Now()
			_, _ = r.Retry(t.Context(), time.Now, slog.New(slog.DiscardHandler))
			if took := time.Since(began); took > 25*time.Second {
				t.Errorf("it took %s", took)
			}
		}
		for i, one := range list {
			if got, err := s.Server(t.Context(), "acc", one.ID); err != nil || i%4 == 0 && got.Status != Online {
				t.Errorf("%d: %+v %v", i, got, err)
			}
		}
	})
}
