// Package rate limits requests: the messages to a model, writes, decisions and requests of a
// user or a webhook per minute, and the bad tokens of an address per minute.
//
// Each subject has a quota for one minute. Each request takes a part of it, a 30th where 30 are
// allowed. The quota refills as time passes. So the requests of a whole minute may come at once,
// and then one more for each refilled part: in any span of S seconds at most N + N·S/60. The
// stored state is one time: the time at which the quota is full again.
//
// Invariants:
//
//   - Of concurrent requests no more pass than there is room for: the time changes by one
//     conditional write, or under a lock.
//   - Times are compared. A row or an entry with a past time is ignored, whether or not it was
//     deleted. A time further ahead than a quota can reach comes from a wrong clock, and is
//     ignored, too.
//   - A refused request takes nothing, so that further attempts do not extend the wait.
//   - A refusal has the time of the next attempt. It succeeds then, unless other requests were
//     earlier.
//   - The memory for counting is bounded for any input.
//   - A store that does not answer causes no refusal: the process then counts alone.
package rate

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"piloto/internal/ground/fault"
)

// ErrTooMany refuses a request above the limit. Args: reason (the class), limit (per minute; of files in MB),
// retry_after (seconds).
var ErrTooMany = fault.New(fault.Throttled, "request.too_many")

// Class groups the requests that are counted together.
type Class string

// The classes. Turns, writes and decisions count as requests too.
const (
	Turns     Class = "turns"      // messages to a model
	Writes    Class = "writes"     // all other changes
	Decisions Class = "decisions"  // confirm, stop, approve: a quota that no other request uses up
	Requests  Class = "requests"   // all requests, also reads
	Messages  Class = "messages"   // messages of one socket
	BadTokens Class = "bad_tokens" // invalid tokens, codes and signatures
	FileBytes Class = "file_bytes" // stored files, copies of chats and allowlists, in units of 1,024 bytes
)

// Classes lists the classes as strings.
func Classes() []string {
	return []string{string(Turns), string(Writes), string(Decisions), string(Requests), string(Messages), string(BadTokens), string(FileBytes)}
}

// maxMessages bounds the messages of a socket per minute, where requests have a limit. A client
// pings every other minute.
const maxMessages = 60

// Limits holds the allowed requests of each class per minute; 0: no limit.
type Limits struct {
	Turns     int
	Writes    int
	Requests  int // and as many decisions
	BadTokens int // of an address
	FileMB    int // megabytes that are written to files, and stored at once elsewhere
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
	case FileBytes:
		return l.FileMB << 10
	}
	return 0
}

// localShare returns how many of n requests a process counts without the store: all for classes
// that must not cause a write, and a quarter of the bad tokens, so that an address with only a
// few leaves no row.
func (c Class) localShare(n int) int {
	switch c {
	case Turns, Writes, FileBytes:
		return 0
	case BadTokens:
		return n / 4
	}
	return n
}

// Quota is a limit per minute.
type Quota struct {
	Part time.Duration // for one request; whole microseconds
	Room time.Duration // for all requests
}

// QuotaOf returns the quota of n requests per minute.
func QuotaOf(n int) Quota {
	part := max((time.Minute / time.Duration(n)).Truncate(time.Microsecond), time.Microsecond)
	return Quota{part, part * time.Duration(n)}
}

// Absurd bounds how far ahead a quota's time can be. A later time was written by a wrong clock.
const Absurd = 2 * time.Minute

// Take takes one part at a time, from a quota that is full again at whole. It returns the new
// time; false when there is no room.
func (q Quota) Take(whole, at time.Time) (time.Time, bool) {
	if whole.Before(at) || whole.Sub(at) > Absurd {
		whole = at
	}
	next := whole.Add(q.Part)
	return next, next.Sub(at) <= q.Room
}

// Store stores the times at which quotas are full again, for all processes.
type Store interface {
	// Charge takes one part of the quota of a key. It returns when the quota is full again, and
	// whether there was room. known is the time that the caller read last; it may be outdated,
	// and only decides which write is tried first.
	Charge(ctx context.Context, key string, at time.Time, q Quota, known time.Time) (whole time.Time, ok bool, err error)
}

// Meter counts requests. A nil Meter refuses none.
type Meter struct {
	Limits    Limits
	Own       *Memory // of this process
	Shared    Store   // nil: there is no other process
	Log       *slog.Logger
	OnRefusal func(context.Context, Class) // called for each refusal; may be nil
}

// Standing describes the rest of a quota.
type Standing struct {
	Limit int // 0: no limit
	Left  int
	Reset int // seconds until it is full again
}

// Take counts one request. Its error is ErrTooMany.
func (m *Meter) Take(ctx context.Context, c Class, who Subject, at time.Time) (Standing, error) {
	return m.TakeMany(ctx, c, who, 1, at)
}

// TakeMany counts so many parts of a quota together: all of them, or none. More than the limit count as the limit.
func (m *Meter) TakeMany(ctx context.Context, c Class, who Subject, parts int, at time.Time) (Standing, error) {
	if m == nil || m.Limits.limit(c) <= 0 {
		return Standing{}, nil
	}
	n := m.Limits.limit(c)
	q := QuotaOf(n)
	one := q.Part
	q.Part *= time.Duration(min(max(parts, 1), n))
	known := m.Own.wholeAt(c, who)
	whole, ok := m.Own.charge(c, who, at, q)
	if ok && m.Shared != nil && whole.Sub(at) > one*time.Duration(c.localShare(n)) {
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
		return Standing{Limit: n}, m.refuse(ctx, c, who, at, whole, q)
	}
	return Standing{Limit: n, Left: int((q.Room - whole.Sub(at)) / one), Reset: seconds(whole.Sub(at))}, nil
}

// Bad counts a bad token of an address, and returns ErrTooMany after too many of them. A valid
// token is never counted, and passes after any number of bad ones from its address.
func (m *Meter) Bad(ctx context.Context, who Subject, at time.Time) error {
	_, err := m.Take(ctx, BadTokens, who, at)
	return err
}

// refuse returns ErrTooMany with the time of the next attempt to take a part of q.
func (m *Meter) refuse(ctx context.Context, c Class, who Subject, at, whole time.Time, q Quota) error {
	m.Own.countRefusal(c, who)
	if m.OnRefusal != nil {
		m.OnRefusal(ctx, c)
	}
	n := m.Limits.limit(c)
	if c == FileBytes {
		n >>= 10
	}
	wait := max(1, seconds(whole.Add(q.Part).Sub(at)-q.Room))
	return ErrTooMany.With("reason", string(c)).With("limit", strconv.Itoa(n)).With("retry_after", strconv.Itoa(wait))
}

// seconds rounds a duration up to whole seconds.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

type exceededKey struct{}

// WithExceeded returns a context with the error of a request above the limit. Its route refuses
// it, unless the route serves every request.
func WithExceeded(ctx context.Context, why *fault.Error) context.Context {
	return context.WithValue(ctx, exceededKey{}, why)
}

// Exceeded returns the error of WithExceeded; nil without one.
func Exceeded(ctx context.Context) error {
	if why, ok := ctx.Value(exceededKey{}).(*fault.Error); ok && why != nil {
		return why
	}
	return nil
}
