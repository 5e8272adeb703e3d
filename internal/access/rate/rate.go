// Package rate owns how often somebody may ask: how many messages to a model, writes,
// decisions and requests a user or a webhook may send in a minute, and how many bad
// tokens an address may.
//
// Who asks has a quota of a minute. Each time takes a part of it, a 30th where 30 are
// allowed; what was taken comes back as time passes. So a whole minute's worth may come
// at once, and after that one more for each part that came back: in any span of S seconds
// at most N + N·S/60, wherever the span begins. All that is kept for this is one time: the
// one at which the quota is whole again.
//
// What must stay true:
//
//   - Of many that come at once no more pass than there is room for: the time moves by one
//     conditional write, or under a lock.
//   - Times are compared. A row or an entry whose time is over means nothing, whether or
//     not it was cleaned up; one that is further ahead than a quota can reach is a clock's
//     mistake, and means nothing either.
//   - What is refused takes nothing: who keeps asking waits no longer than who does not.
//   - A refusal says when to try again, and then it is so unless others were quicker.
//   - What is counted is bounded in size, whatever was sent.
//   - A store that does not answer refuses nobody: the process then counts alone.
package rate

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"piloto/internal/ground/fault"
)

// ErrTooMany refuses a request that came too often. Args: reason (the class), limit (per
// minute), retry_after (seconds).
var ErrTooMany = fault.New(fault.Throttled, "request.too_many")

// Class names the requests that are counted together.
type Class string

// The classes. Turns, writes and decisions count as requests too.
const (
	Turns     Class = "turns"      // messages to a model
	Writes    Class = "writes"     // all else that changes something
	Decisions Class = "decisions"  // confirm, stop, approve: what nothing else may use up
	Requests  Class = "requests"   // whatever came, reads among them
	Messages  Class = "messages"   // what comes over one socket
	BadTokens Class = "bad_tokens" // tokens, codes and signatures that are none
)

// Classes lists the classes, as text.
func Classes() []string {
	return []string{string(Turns), string(Writes), string(Decisions), string(Requests), string(Messages), string(BadTokens)}
}

// maxMessages is how many messages a socket may bring in a minute, where requests have a
// limit: a client pings every other minute.
const maxMessages = 60

// Limits are the requests of each class in a minute; 0: no limit.
type Limits struct {
	Turns     int
	Writes    int
	Requests  int // and as many decisions
	BadTokens int // of an address
}

func (l Limits) limit(c Class) int {
	switch c {
	case Turns:
		return l.Turns
	case Writes:
		return l.Writes
	case Decisions, Requests:
		return l.Requests
	case Messages:
		return min(l.Requests, maxMessages)
	case BadTokens:
		return l.BadTokens
	}
	return 0
}

// localShare is how many of n a process counts by itself before it asks the store. All of what
// must cost no write; and of bad tokens a few, so that an address that sends no more of them
// leaves no row.
func (c Class) localShare(n int) int {
	switch c {
	case Turns, Writes:
		return 0
	case BadTokens:
		return n / 4
	}
	return n
}

// Quota is a limit per minute.
type Quota struct {
	Part time.Duration // by one; whole microseconds
	Room time.Duration // by all
}

// QuotaOf is the quota of n in a minute.
func QuotaOf(n int) Quota {
	part := max((time.Minute / time.Duration(n)).Truncate(time.Microsecond), time.Microsecond)
	return Quota{part, part * time.Duration(n)}
}

// Absurd is further ahead than a quota can be whole again. Such a time was written by a wrong
// clock.
const Absurd = 2 * time.Minute

// Take takes one part at a time, of a quota that is whole again at a known time. It returns
// the new time; false when there is no room.
func (q Quota) Take(whole, at time.Time) (time.Time, bool) {
	if whole.Before(at) || whole.Sub(at) > Absurd {
		whole = at
	}
	next := whole.Add(q.Part)
	return next, next.Sub(at) <= q.Room
}

// Store keeps the times at which quotas are whole again, for all processes.
type Store interface {
	// Charge takes one part of the quota of a key. It returns when the quota is whole again,
	// and whether there was room. known is the time that the caller saw last; it may be wrong,
	// and only decides which write is tried first.
	Charge(ctx context.Context, key string, at time.Time, q Quota, known time.Time) (whole time.Time, ok bool, err error)
}

// Meter counts. A nil Meter refuses nobody.
type Meter struct {
	Limits    Limits
	Own       *Memory // of this process
	Shared    Store   // nil: there is no other process
	Log       *slog.Logger
	OnRefusal func(context.Context, Class) // of each refusal; nil: nobody is
}

// Standing is what is left of a quota.
type Standing struct {
	Class Class
	Limit int // 0: there is none
	Left  int
	Reset int // seconds until it is whole again
}

// Take counts one. The error is ErrTooMany.
func (m *Meter) Take(ctx context.Context, c Class, who Subject, at time.Time) (Standing, error) {
	if m == nil || m.Limits.limit(c) <= 0 {
		return Standing{}, nil
	}
	n := m.Limits.limit(c)
	q := QuotaOf(n)
	known := m.Own.wholeAt(c, who)
	whole, ok := m.Own.charge(c, who, at, q)
	if ok && m.Shared != nil && whole.Sub(at) > q.Part*time.Duration(c.localShare(n)) {
		there, room, err := m.Shared.Charge(ctx, who.key(c), at, q, known)
		switch {
		case err != nil:
			m.Log.WarnContext(ctx, "rate.uncounted", "class", string(c), "error", err)
		case !room:
			m.Own.set(c, who, there)
			whole, ok = there, false
		case there.After(whole):
			m.Own.set(c, who, there)
			whole = there
		}
	}
	if !ok {
		return Standing{Class: c, Limit: n}, m.refuse(ctx, c, who, at, whole)
	}
	return Standing{Class: c, Limit: n, Left: int((q.Room - whole.Sub(at)) / q.Part), Reset: seconds(whole.Sub(at))}, nil
}

// Bad counts a bad token of an address, and returns ErrTooMany after too many of them. A good
// one is never counted, and passes however many bad ones come from its address.
func (m *Meter) Bad(ctx context.Context, who Subject, at time.Time) error {
	_, err := m.Take(ctx, BadTokens, who, at)
	return err
}

// refuse says when to try again.
func (m *Meter) refuse(ctx context.Context, c Class, who Subject, at, whole time.Time) error {
	m.Own.countRefusal(c, who)
	if m.OnRefusal != nil {
		m.OnRefusal(ctx, c)
	}
	n := m.Limits.limit(c)
	q := QuotaOf(n)
	wait := max(1, seconds(whole.Add(q.Part).Sub(at)-q.Room))
	return ErrTooMany.With("reason", string(c)).With("limit", strconv.Itoa(n)).With("retry_after", strconv.Itoa(wait))
}

// seconds rounds a duration up to whole seconds.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

type exceededKey struct{}

// WithExceeded returns a context whose request came too often. Its route refuses it, unless
// the route serves every request.
func WithExceeded(ctx context.Context, why *fault.Error) context.Context {
	return context.WithValue(ctx, exceededKey{}, why)
}

// Exceeded returns the error of a request that came too often; nil for any other.
func Exceeded(ctx context.Context) error {
	if why, ok := ctx.Value(exceededKey{}).(*fault.Error); ok && why != nil {
		return why
	}
	return nil
}
