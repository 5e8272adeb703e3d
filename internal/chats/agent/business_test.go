package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// businessStore is a store of business contexts that several processes share.
type businessStore struct {
	mu   sync.Mutex
	kept map[string]agent.Business
	down bool
	slow time.Duration // to read
}

var errLedger = errors.New("the store does not answer")

func businessKey(account ids.Account, company int64, url string) string {
	return fmt.Sprint(account, " ", company, " ", url)
}

func (l *businessStore) Business(_ context.Context, account ids.Account, company int64, url string) (agent.Business, error) {
	l.mu.Lock()
	b, down, slow := l.kept[businessKey(account, company, url)], l.down, l.slow
	l.mu.Unlock()
	if down {
		return agent.Business{}, errLedger
	}
	time.Sleep(slow)
	return b, nil
}

func (l *businessStore) PutBusiness(_ context.Context, account ids.Account, company int64, url string, seen, next agent.Business) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return errLedger
	}
	if !l.kept[businessKey(account, company, url)].TriedAt.Equal(seen.TriedAt) {
		return agent.ErrBusinessMoved
	}
	l.kept[businessKey(account, company, url)] = next
	return nil
}

// fakeSource returns its text, after its delay.
type fakeSource struct {
	mu    sync.Mutex
	text  string
	err   error
	takes time.Duration
	asked []string
}

func (o *fakeSource) set(text string, err error, takes time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.err, o.takes = text, err, takes
}

func (o *fakeSource) times() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked)
}

func (o *fakeSource) Context(ctx context.Context, url string, company int64) (string, error) {
	o.mu.Lock()
	text, err, takes := o.text, o.err, o.takes
	o.asked = append(o.asked, fmt.Sprint(company, " ", url))
	o.mu.Unlock()
	select {
	case <-ctx.Done():
		return "", errUnread.With("reason", "timeout").Because(ctx.Err())
	case <-time.After(takes):
		return text, err
	}
}

const url = "https://negocio.example/ws.php"

var (
	errUnread = fault.New(fault.Upstream, "business.unread")
	errOffice = errUnread.With("reason", "status")
)

type setup struct {
	*fakeSource
	*businessStore
}

func newSetup() setup {
	return setup{&fakeSource{text: "Somos un spa"}, &businessStore{kept: map[string]agent.Business{}}}
}

// process returns the Businesses of one process.
func (s setup) process() *agent.Businesses {
	return &agent.Businesses{Store: s.businessStore, Source: s.fakeSource, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// checkRead checks the text that a message gets, and its wait.
func checkRead(t *testing.T, b *agent.Businesses, want string, takes time.Duration) {
	t.Helper()
	began := time.Now()
	if got := b.Read(t.Context(), "acme", 7, url); got != want || time.Since(began) != takes {
		t.Errorf("%q after %v, want %q after %v", got, time.Since(began), want, takes)
	}
}

func TestBusinessIsReadOncePerFreshPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		a, b := s.process(), s.process()
		s.set("Somos un spa", nil, 3*time.Second)
		checkRead(t, a, "Somos un spa", 3*time.Second)
		s.set("Somos dos", nil, 0)
		checkRead(t, a, "Somos un spa", 0)
		checkRead(t, b, "Somos un spa", 0) // from the store
		s.down = true
		checkRead(t, b, "Somos un spa", 0) // and cached
		s.down = false
		time.Sleep(5*time.Minute - time.Second)
		checkRead(t, a, "Somos un spa", 0)
		time.Sleep(time.Second)
		checkRead(t, a, "Somos dos", 0)
		checkRead(t, b, "Somos dos", 0)
		if s.times() != 2 {
			t.Errorf("asked %d times", s.times())
		}
		if got := a.Read(t.Context(), "acme", 7, ""); got != "" || s.times() != 2 {
			t.Errorf("%q from nowhere", got)
		}
	})
}

func TestBusinessBelongsToAccountCompanyAndURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		b := s.process()
		for i, of := range []struct {
			account ids.Account
			company int64
			url     string
		}{{"acme", 7, url}, {"acme2", 7, url}, {"acme", 8, url}, {"acme", 7, url + "2"}} {
			text := fmt.Sprint("texto ", i)
			s.set(text, nil, 0)
			if got := b.Read(t.Context(), of.account, of.company, of.url); got != text {
				t.Errorf("%v: %q", of, got)
			}
		}
	})
}

func TestConcurrentMessagesShareOneLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		b := s.process()
		s.set("Somos un spa", nil, 2*time.Second)
		var done sync.WaitGroup
		for range 100 {
			done.Go(func() { checkRead(t, b, "Somos un spa", 2*time.Second) })
		}
		done.Wait()
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
	})
}

func TestDeadSourceDelaysOneMessageAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		a, b := s.process(), s.process()
		s.set("", nil, time.Hour)
		checkRead(t, a, "", 10*time.Second)
		for range 59 { // less than a minute after the failure
			checkRead(t, a, "", 0)
			checkRead(t, b, "", 0)
			time.Sleep(time.Second)
		}
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
		time.Sleep(time.Second)
		var done sync.WaitGroup
		done.Go(func() { checkRead(t, a, "", 10*time.Second) })
		synctest.Wait()
		checkRead(t, s.process(), "", 0) // another process asks already, and it failed before
		done.Wait()
		if s.times() != 2 {
			t.Errorf("asked %d times", s.times())
		}
		s.set("Hemos vuelto", nil, 0)
		time.Sleep(time.Minute)
		checkRead(t, b, "Hemos vuelto", 0)
	})
}

func TestOlderTextIsUsedWhileThereIsNoNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		a, b := s.process(), s.process()
		checkRead(t, a, "Somos un spa", 0)
		told := time.Now()

		time.Sleep(6 * time.Minute)
		s.set("", nil, time.Hour) // the source does not answer
		var done sync.WaitGroup
		done.Go(func() { checkRead(t, a, "Somos un spa", time.Second) })
		synctest.Wait()
		checkRead(t, b, "Somos un spa", 0) // it does not ask as well
		done.Wait()
		checkRead(t, a, "Somos un spa", time.Second) // still asking: no message waits long
		time.Sleep(10 * time.Second)
		checkRead(t, a, "Somos un spa", 0) // it failed
		checkRead(t, b, "Somos un spa", 0)
		if s.times() != 2 {
			t.Errorf("asked %d times", s.times())
		}

		s.set("", errOffice, 0) // the source refuses
		time.Sleep(2 * time.Minute)
		checkRead(t, b, "Somos un spa", 0)
		if s.times() != 3 {
			t.Errorf("asked %d times", s.times())
		}

		time.Sleep(24*time.Hour - time.Since(told)) // too old to be used
		checkRead(t, b, "", 0)
		checkRead(t, a, "", 0)

		s.set("", nil, 0) // the company has no context from now on
		time.Sleep(2 * time.Minute)
		checkRead(t, a, "", 0)
		n := s.times()
		time.Sleep(4 * time.Minute)
		checkRead(t, a, "", 0)
		if s.times() != n {
			t.Error("what has no context is asked for each time")
		}
	})
}

// TestOneOfManyProcessesReadsTheSource: all of them find at the same moment that the text is no longer
// fresh. The others use the older one, and get the newer one at once.
func TestOneOfManyProcessesReadsTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		checkRead(t, s.process(), "Somos un spa", 0)
		time.Sleep(6 * time.Minute)
		s.set("Somos dos", nil, 500*time.Millisecond)
		s.slow = 10 * time.Millisecond
		var done sync.WaitGroup
		var mu sync.Mutex
		told := map[string]int{}
		processes := make([]*agent.Businesses, 10)
		for i := range processes {
			processes[i] = s.process()
			done.Go(func() {
				text := processes[i].Read(t.Context(), "acme", 7, url)
				mu.Lock()
				defer mu.Unlock()
				told[text]++
			})
		}
		time.Sleep(100 * time.Millisecond)
		late := s.process()
		checkRead(t, late, "Somos un spa", 10*time.Millisecond)
		done.Wait()
		if s.times() != 2 || told["Somos dos"] != 1 || told["Somos un spa"] != 9 {
			t.Errorf("asked %d times: %v", s.times(), told)
		}
		s.slow = 0
		for _, b := range append(processes, late) {
			checkRead(t, b, "Somos dos", 0)
		}
	})
}

func TestSlowSourceIsReadInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		b := s.process()
		checkRead(t, b, "Somos un spa", 0)
		time.Sleep(6 * time.Minute)
		s.set("Somos dos", nil, 3*time.Second)
		checkRead(t, b, "Somos un spa", time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkRead(t, b, "Somos dos", 0)
	})
}

func TestDeadProcessDelaysLookupOnlyBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		claim := agent.Business{TriedAt: time.Now(), Failed: "asked"}
		s.kept[businessKey("acme", 7, url)] = claim
		checkRead(t, s.process(), "Somos un spa", 0) // there is no text yet: it asks as well

		claim.Text, claim.At = "antes", time.Now().Add(-time.Hour)
		s.kept[businessKey("acme", 7, url)] = claim
		b := s.process()
		checkRead(t, b, "antes", 0)
		time.Sleep(time.Minute)
		checkRead(t, b, "Somos un spa", 0)
	})
}

func TestSourceIsReadWhileStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		s.down = true
		b := s.process()
		checkRead(t, b, "Somos un spa", 0)
		checkRead(t, b, "Somos un spa", 0)
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
	})
}

func TestCancelledReadReturnsOlderText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		b := s.process()
		s.set("Somos un spa", nil, 5*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if got := b.Read(ctx, "acme", 7, url); got != "" {
			t.Errorf("%q", got)
		}
		checkRead(t, b, "Somos un spa", 3*time.Second) // the lookup continued
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
	})
}

func TestBusinessTextIsReadableAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		s.set("Somos\x00 un\x1b spa\xff\r\nde "+strings.Repeat("ñ", 20<<10), nil, 0)
		got := s.process().Read(t.Context(), "acme", 7, url)
		if !strings.HasPrefix(got, "Somos un spa\nde ñ") || !strings.HasSuffix(got, "ñ…") || len(got) > clip.Instructions || !utf8.ValidString(got) {
			t.Errorf("%.40q… %d bytes", got, len(got))
		}
	})
}

// TestBusinessCacheIsBounded: a process caches a bounded number of companies.
func TestBusinessCacheIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup()
		b := s.process()
		for company := range int64(1000) {
			b.Read(t.Context(), "acme", company+1, url)
		}
		if s.times() != 1000 {
			t.Errorf("asked %d times", s.times())
		}
		s.down, s.err = true, errOffice
		kept := 0
		for company := int64(1000); company > 0; company-- { // the newest first
			if b.Read(t.Context(), "acme", company, url) != "" {
				kept++
			}
		}
		if kept == 0 || kept > 256 {
			t.Errorf("%d are held", kept)
		}
	})
}
