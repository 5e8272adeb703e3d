package llm

import (
	"context"
	"errors"
	"strconv"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/visible"
)

// MaxRetryAfter is the longest wait that a provider's request to wait can cause. A longer one is shortened to it.
const MaxRetryAfter = 5 * time.Minute

// waitError is the cause of a failure whose provider asked for a wait.
type waitError struct {
	cause error
	after time.Duration
}

func (a *waitError) Error() string {
	if a.cause == nil {
		return "asked to wait " + a.after.String()
	}
	return a.cause.Error() + " (asked to wait " + a.after.String() + ")"
}

func (a *waitError) Unwrap() error { return a.cause }

// WithRetryAfter returns f with the wait that the provider asked for. RetryAfter reads it, and the text of f may
// contain it as {retry_after}, in whole seconds, rounded up. A negative wait is ignored, and one over MaxRetryAfter
// is shortened to it.
func WithRetryAfter(f *fault.Error, after time.Duration) *fault.Error {
	if after < 0 {
		return f
	}
	after = min(after, MaxRetryAfter)
	seconds := (after + time.Second - 1) / time.Second
	return f.With("retry_after", strconv.FormatInt(int64(seconds), 10)).Because(&waitError{cause: f.Cause, after: after})
}

// RetryAfter returns the wait that the provider asked for, from 0 to MaxRetryAfter, and false when it asked for
// none.
func RetryAfter(err error) (time.Duration, bool) {
	var a *waitError
	if !errors.As(err, &a) {
		return 0, false
	}
	return a.after, true
}

// OK is the outcome of a successful attempt.
const OK = "ok"

// Attempt is the record of one provider call. Outcome is OK or the code of the fault. Usage is zero unless there
// was an answer.
type Attempt struct {
	At       time.Time     `json:"at"`       // time of its end
	Provider string        `json:"provider"` // empty when the model does not return it
	Model    string        `json:"model"`
	Outcome  string        `json:"outcome"`
	Latency  time.Duration `json:"latency_ns"`
	Usage    Usage         `json:"usage"`
}

// Retry is a retry policy: up to Most attempts (at least one). The wait before the second attempt is drawn from [0,
// Base), and the range doubles before each further one, up to Cap (full jitter). Now reads the clock of the
// contexts' deadlines. Rand draws from [0, d).
type Retry struct {
	Most      int
	Base, Cap time.Duration
	Now       func() time.Time
	Rand      func(time.Duration) time.Duration
}

// Complete calls m until it succeeds. It retries only ErrLimited and ErrUnreachable,
// and only while ctx is active. When the provider asked for a wait, the pause is
// that wait plus the jitter. When the pause does not fit before ctx's deadline, the
// failure is returned at once, with the wait in it (RetryAfter). watch, if not nil,
// is called after each attempt.
//
// When ctx ends during an attempt, the reply holds the text up to that moment, with
// estimated Usage, and the error is ErrStopped or ErrUnreachable with ctx's error as
// its cause. With any other error the reply is empty and r.Sink was reset. A text
// that shows nothing is empty.
func (p Retry) Complete(ctx context.Context, m Model, r Request, watch func(Attempt)) (Reply, error) {
	sink := &resettableSink{sink: r.Sink}
	if r.Sink != nil {
		r.Sink = sink
	}
	for n := 1; ; n++ {
		began := p.Now()
		reply, err := m.Complete(ctx, r)
		if visible.Blank(reply.Text) {
			reply.Text = ""
		}
		if watch != nil {
			watch(attempt(began, p.Now(), r, reply, err))
		}
		if reply.Text == "" || err != nil && ctx.Err() == nil {
			sink.reset()
		}
		if err == nil {
			return reply, nil
		}
		if ctx.Err() != nil {
			return reply, withEnd(ctx, err)
		}
		if n >= p.Most || !errors.Is(err, ErrLimited) && !errors.Is(err, ErrUnreachable) {
			return Reply{}, err
		}
		wait, fits := p.wait(ctx, n, err)
		if !fits {
			return Reply{}, err
		}
		if retry.Wait(ctx, wait) != nil {
			return Reply{}, withEnd(ctx, err)
		}
	}
}

// withEnd adds ctx's error to an error that came while ctx was ending.
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

// wait returns the pause after the nth attempt failed with err, and whether the next one could begin before the
// deadline. The jitter takes at most half of the time that is left, so that the attempt has the other half.
func (p Retry) wait(ctx context.Context, n int, err error) (time.Duration, bool) {
	after, _ := RetryAfter(err)
	jitter := p.maxWait(n)
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

// maxWait returns the longest jitter after the nth attempt: Base, doubled each time, up to Cap.
func (p Retry) maxWait(n int) time.Duration {
	d := p.Base
	for i := 1; i < n && d < p.Cap; i++ {
		d *= 2
	}
	return min(d, p.Cap)
}

// resettableSink forwards an answer and records whether there is text to reset.
type resettableSink struct {
	sink  Sink
	wrote bool
}

// Text implements Sink.
func (t *resettableSink) Text(delta string) {
	t.wrote = true
	t.sink.Text(delta)
}

// Reset implements Sink.
func (t *resettableSink) Reset() { t.reset() }

func (t *resettableSink) reset() {
	if t.wrote {
		t.wrote = false
		t.sink.Reset()
	}
}
