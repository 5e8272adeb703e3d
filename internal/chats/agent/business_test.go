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
	"piloto/internal/ground/fault"
)

// ledger is a store of business contexts that several processes share.
type ledger struct {
	mu   sync.Mutex
	kept map[string]agent.Business
	down bool
	slow time.Duration // to read
}

var errLedger = errors.New("the store does not answer")

func subject(account string, company int64, url string) string {
	return fmt.Sprint(account, " ", company, " ", url)
}

func (l *ledger) Business(_ context.Context, account string, company int64, url string) (agent.Business, error) {
	l.mu.Lock()
	b, down, slow := l.kept[subject(account, company, url)], l.down, l.slow
	l.mu.Unlock()
	if down {
		return agent.Business{}, errLedger
	}
	time.Sleep(slow)
	return b, nil
}

func (l *ledger) PutBusiness(_ context.Context, account string, company int64, url string, seen, next agent.Business) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return errLedger
	}
	if !l.kept[subject(account, company, url)].TriedAt.Equal(seen.TriedAt) {
		return agent.ErrBusinessMoved
	}
	l.kept[subject(account, company, url)] = next
	return nil
}

// office tells what there is to know, as slowly as it is told to.
type office struct {
	mu    sync.Mutex
	text  string
	err   error
	takes time.Duration
	asked []string
}

func (o *office) set(text string, err error, takes time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.err, o.takes = text, err, takes
}

func (o *office) times() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked)
}

func (o *office) Context(ctx context.Context, url string, company int64) (string, error) {
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

type street struct {
	*office
	*ledger
}

func newStreet() street {
	return street{&office{text: "Somos un spa"}, &ledger{kept: map[string]agent.Business{}}}
}

// process is one of the processes that answer messages.
func (s street) process() *agent.Businesses {
	return &agent.Businesses{Store: s.ledger, Source: s.office, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// reads holds what a message learns, and how long it waits for that.
func reads(t *testing.T, b *agent.Businesses, want string, takes time.Duration) {
	t.Helper()
	began := time.Now()
	if got := b.Read(t.Context(), "acme", 7, url); got != want || time.Since(began) != takes {
		t.Errorf("%q after %v, want %q after %v", got, time.Since(began), want, takes)
	}
}

func TestABusinessIsAskedForOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		a, b := s.process(), s.process()
		s.set("Somos un spa", nil, 3*time.Second)
		reads(t, a, "Somos un spa", 3*time.Second)
		s.set("Somos dos", nil, 0)
		reads(t, a, "Somos un spa", 0)
		reads(t, b, "Somos un spa", 0) // from the store
		s.down = true
		reads(t, b, "Somos un spa", 0) // and kept
		s.down = false
		time.Sleep(5*time.Minute - time.Second)
		reads(t, a, "Somos un spa", 0)
		time.Sleep(time.Second)
		reads(t, a, "Somos dos", 0)
		reads(t, b, "Somos dos", 0)
		if s.times() != 2 {
			t.Errorf("asked %d times", s.times())
		}
		if got := a.Read(t.Context(), "acme", 7, ""); got != "" || s.times() != 2 {
			t.Errorf("%q from nowhere", got)
		}
	})
}

func TestABusinessIsOfItsAccountCompanyAndURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		b := s.process()
		for i, of := range []struct {
			account string
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

func TestAHundredMessagesAtOnceAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		b := s.process()
		s.set("Somos un spa", nil, 2*time.Second)
		var done sync.WaitGroup
		for range 100 {
			done.Go(func() { reads(t, b, "Somos un spa", 2*time.Second) })
		}
		done.Wait()
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
	})
}

func TestADeadServiceCostsOneMessageAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		a, b := s.process(), s.process()
		s.set("", nil, time.Hour)
		reads(t, a, "", 10*time.Second)
		for range 59 { // less than a minute since it failed
			reads(t, a, "", 0)
			reads(t, b, "", 0)
			time.Sleep(time.Second)
		}
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
		time.Sleep(time.Second)
		var done sync.WaitGroup
		done.Go(func() { reads(t, a, "", 10*time.Second) })
		synctest.Wait()
		reads(t, s.process(), "", 0) // somebody asks already, and it failed before
		done.Wait()
		if s.times() != 2 {
			t.Errorf("asked %d times", s.times())
		}
		s.set("Hemos vuelto", nil, 0)
		time.Sleep(time.Minute)
		reads(t, b, "Hemos vuelto", 0)
	})
}

func TestAnOlderTextIsToldWhileThereIsNoNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		a, b := s.process(), s.process()
		reads(t, a, "Somos un spa", 0)
		told := time.Now()

		time.Sleep(6 * time.Minute)
		s.set("", nil, time.Hour) // silent
		var done sync.WaitGroup
		done.Go(func() { reads(t, a, "Somos un spa", time.Second) })
		synctest.Wait()
		reads(t, b, "Somos un spa", 0) // it does not ask too
		done.Wait()
		reads(t, a, "Somos un spa", time.Second) // still asking: no message waits long
		time.Sleep(10 * time.Second)
		reads(t, a, "Somos un spa", 0) // it failed
		reads(t, b, "Somos un spa", 0)
		if s.times() != 2 {
			t.Errorf("asked %d times", s.times())
		}

		s.set("", errOffice, 0) // refusing
		time.Sleep(2 * time.Minute)
		reads(t, b, "Somos un spa", 0)
		if s.times() != 3 {
			t.Errorf("asked %d times", s.times())
		}

		time.Sleep(24*time.Hour - time.Since(told)) // too old to be told
		reads(t, b, "", 0)
		reads(t, a, "", 0)

		s.set("", nil, 0) // a company that has none from now on
		time.Sleep(2 * time.Minute)
		reads(t, a, "", 0)
		n := s.times()
		time.Sleep(4 * time.Minute)
		reads(t, a, "", 0)
		if s.times() != n {
			t.Error("what has no context is asked for each time")
		}
	})
}

// TestOfManyProcessesOneAsks: all of them find that the text is no longer fresh at
// the same moment. The others tell the older one, and learn of the newer one at once.
func TestOfManyProcessesOneAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		reads(t, s.process(), "Somos un spa", 0)
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
		reads(t, late, "Somos un spa", 10*time.Millisecond)
		done.Wait()
		if s.times() != 2 || told["Somos dos"] != 1 || told["Somos un spa"] != 9 {
			t.Errorf("asked %d times: %v", s.times(), told)
		}
		s.slow = 0
		for _, b := range append(processes, late) {
			reads(t, b, "Somos dos", 0)
		}
	})
}

func TestASlowServiceIsHeardInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		b := s.process()
		reads(t, b, "Somos un spa", 0)
		time.Sleep(6 * time.Minute)
		s.set("Somos dos", nil, 3*time.Second)
		reads(t, b, "Somos un spa", time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		reads(t, b, "Somos dos", 0)
	})
}

func TestAProcessThatDiesAskingHoldsNobodyUpForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		claim := agent.Business{TriedAt: time.Now(), Failed: "asked"}
		s.kept[subject("acme", 7, url)] = claim
		reads(t, s.process(), "Somos un spa", 0) // nobody knows anything yet: it asks as well

		claim.Text, claim.At = "antes", time.Now().Add(-time.Hour)
		s.kept[subject("acme", 7, url)] = claim
		b := s.process()
		reads(t, b, "antes", 0)
		time.Sleep(time.Minute)
		reads(t, b, "Somos un spa", 0)
	})
}

func TestAStoreThatIsDownKeepsNobodyFromAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		s.down = true
		b := s.process()
		reads(t, b, "Somos un spa", 0)
		reads(t, b, "Somos un spa", 0)
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
	})
}

func TestWhoeverCannotWaitIsToldWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		b := s.process()
		s.set("Somos un spa", nil, 5*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if got := b.Read(ctx, "acme", 7, url); got != "" {
			t.Errorf("%q", got)
		}
		reads(t, b, "Somos un spa", 3*time.Second) // the asking went on
		if s.times() != 1 {
			t.Errorf("asked %d times", s.times())
		}
	})
}

func TestABusinessTextIsReadableAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		s.set("Somos\x00 un\x1b spa\xff\r\nde "+strings.Repeat("ñ", 20<<10), nil, 0)
		got := s.process().Read(t.Context(), "acme", 7, url)
		if !strings.HasPrefix(got, "Somos un spa\nde ñ") || !strings.HasSuffix(got, "ñ…") || len(got) > agent.MaxBusiness || !utf8.ValidString(got) {
			t.Errorf("%.40q… %d bytes", got, len(got))
		}
	})
}

// TestWhatIsHeldIsBounded: however many companies there are, a process holds some.
func TestWhatIsHeldIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
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
