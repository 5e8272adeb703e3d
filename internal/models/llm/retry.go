package llm

import (
	"context"
	"errors"
	"strconv"
	"time"

	"piloto/internal/ground/fault"
)

// MostAsked bounds what a provider may ask us to wait; what is longer counts as
// this long.
const MostAsked = 5 * time.Minute

// asked is the cause of a failure whose provider said when to come back.
type asked struct {
	cause error
	after time.Duration
}

func (a *asked) Error() string {
	if a.cause == nil {
		return "asked to wait " + a.after.String()
	}
	return a.cause.Error() + " (asked to wait " + a.after.String() + ")"
}

func (a *asked) Unwrap() error { return a.cause }

// Later returns f with the wait that the provider asked for: RetryAfter reads it,
// and f's sentence may name it as {retry_after}, in whole seconds, rounded up. A
// negative wait is none, and one over MostAsked is MostAsked.
func Later(f *fault.Error, after time.Duration) *fault.Error {
	if after < 0 {
		return f
	}
	after = min(after, MostAsked)
	seconds := (after + time.Second - 1) / time.Second
	return f.With("retry_after", strconv.FormatInt(int64(seconds), 10)).Because(&asked{cause: f.Cause, after: after})
}

// RetryAfter returns how long the provider asked to be left alone, from 0 to
// MostAsked, and false when it asked for nothing.
func RetryAfter(err error) (time.Duration, bool) {
	var a *asked
	if !errors.As(err, &a) {
		return 0, false
	}
	return a.after, true
}

// OK is the outcome of an attempt that was answered.
const OK = "ok"

// Attempt is one call of a provider, as it went. Outcome is OK or the code of the
// fault. Usage is zero unless something was answered.
type Attempt struct {
	At              time.Time // of its end
	Provider, Model string    // Provider is empty when the model does not say
	Outcome         string
	Latency         time.Duration
	Usage           Usage
}

// Retry is how often, and after what waits, a provider is asked again: up to Most
// attempts (at least one), the wait before the second drawn from [0, Base), and
// twice that before each further one, up to Cap (full jitter). Now reads the
// clock that the contexts' deadlines are on. Rand draws from [0, d).
type Retry struct {
	Most      int
	Base, Cap time.Duration
	Now       func() time.Time
	Rand      func(time.Duration) time.Duration
}

// Complete asks m until it answers. Only ErrLimited and ErrUnreachable are worth
// another attempt, and only while ctx lives. When the provider said how long to
// wait, the wait is that and the jitter; when that does not fit before ctx's
// deadline, the failure is returned at once, with the wait in it (RetryAfter).
// watch, when there is one, is told of each attempt as it ends.
//
// When ctx ends during an attempt the reply holds what was said until then, its
// Usage estimated, and the error is ErrStopped or ErrUnreachable with ctx's error
// as its cause. With every other error the reply is empty and r.Sink was reset.
func (p Retry) Complete(ctx context.Context, m Model, r Request, watch func(Attempt)) (Reply, error) {
	told := &teller{sink: r.Sink}
	if r.Sink != nil {
		r.Sink = told
	}
	for n := 1; ; n++ {
		began := p.Now()
		reply, err := m.Complete(ctx, r)
		if watch != nil {
			watch(attempt(began, p.Now(), r, reply, err))
		}
		if err == nil {
			return reply, nil
		}
		if ctx.Err() != nil {
			if reply.Text == "" {
				told.forget()
			}
			return reply, withEnd(ctx, err)
		}
		told.forget()
		if n >= p.Most || !errors.Is(err, ErrLimited) && !errors.Is(err, ErrUnreachable) {
			return Reply{}, err
		}
		wait, fits := p.wait(ctx, n, err)
		if !fits {
			return Reply{}, err
		}
		if !sleep(ctx, wait) {
			return Reply{}, withEnd(ctx, err)
		}
	}
}

// withEnd makes sure that an error which came while ctx was ending says so.
func withEnd(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fault.Of(Stopped(ctx)).Because(errors.Join(ctx.Err(), err))
}

func attempt(began, ended time.Time, r Request, reply Reply, err error) Attempt {
	a := Attempt{
		At: ended, Latency: ended.Sub(began), Provider: reply.Provider, Model: reply.Model,
		Outcome: OK, Usage: reply.Usage,
	}
	if a.Model == "" {
		a.Model = r.Model
	}
	if err != nil {
		a.Outcome = fault.Of(err).Code
	}
	return a
}

// wait returns how long to wait after the nth attempt failed with err, and
// whether the next one could begin before the deadline. The jitter takes at most
// half of the time that is left, so that the attempt has the other half.
func (p Retry) wait(ctx context.Context, n int, err error) (time.Duration, bool) {
	after, _ := RetryAfter(err)
	jitter := p.ceiling(n)
	if deadline, has := ctx.Deadline(); has {
		left := deadline.Sub(p.Now()) - after
		if left <= 0 {
			return 0, false
		}
		jitter = min(jitter, left/2)
	}
	if jitter <= 0 {
		return after, true
	}
	return after + p.Rand(jitter), true
}

// ceiling is the most that is waited after the nth attempt: Base, doubled each
// time, up to Cap.
func (p Retry) ceiling(n int) time.Duration {
	d := p.Base
	for i := 1; i < n && d < p.Cap; i++ {
		d *= 2
	}
	return min(d, p.Cap)
}

// sleep reports whether d went by before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// teller passes an answer on and remembers whether there is something to take
// back.
type teller struct {
	sink Sink
	said bool
}

// Text implements Sink.
func (t *teller) Text(delta string) {
	t.said = true
	t.sink.Text(delta)
}

// Reset implements Sink.
func (t *teller) Reset() { t.forget() }

func (t *teller) forget() {
	if t.said {
		t.said = false
		t.sink.Reset()
	}
}
