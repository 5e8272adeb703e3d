// Package credit owns what answers cost and what pays for them.
//
// Three measures that never mix: tokens, which a provider counts; money, in
// micro-USD, which the price of a model makes of them; and credits, whole
// numbers, which an account buys sessions with. A session is a paid window of
// tokens; the wallet's balance is the sum of its ledger, always.
//
// Nothing is spent by looking first and writing later. A session is opened, a
// grant is made, and tokens and money are held by one transaction each, whose
// conditions are the rules: a balance never goes below zero, a session never
// holds more than it has, and what an account may spend in a day or a month is
// never exceeded by turns that run at once. What a turn holds it settles: what
// was used is charged and the rest goes back. A hold whose turn was cut off is
// given back by the sweep, once.
//
// Days and months are those of UTC.
package credit

import (
	"time"

	"piloto/internal/ground/fault"
)

// What a caller may notice.
var (
	ErrInsufficient  = fault.New(fault.Conflict, "credit.insufficient")    // the balance does not cover it
	ErrEntryNotFound = fault.New(fault.NotFound, "credit.entry_not_found") // no such ledger entry
	ErrNotRefundable = fault.New(fault.Conflict, "credit.not_refundable")  // it paid for nothing, or was refunded before
	ErrOther         = fault.New(fault.Conflict, "credit.idempotency")     // the key was used for another movement
	ErrMovement      = fault.New(fault.Invalid, "credit.movement")         // what was asked for is none
	ErrSession       = fault.New(fault.Conflict, "credit.session_over")    // expired, refunded, or without room
	ErrBudget        = fault.New(fault.Conflict, "credit.budget_exceeded") // the day's or the month's
	ErrBusy          = fault.New(fault.Conflict, "credit.busy")            // other turns hold the room that there is, and gave none back in time
	ErrSettled       = fault.New(fault.Conflict, "credit.hold_settled")    // or given back: the hold is gone
)

// Policy says what a session costs and holds.
type Policy struct {
	SessionCost    int64 `json:"session_cost" doc:"credits that one session costs"`
	SessionTokens  int   `json:"session_tokens" doc:"tokens it holds"`
	SessionMinutes int   `json:"session_minutes" doc:"how long it is good for"`
}

// DefaultPolicy is in force until an account has its own.
func DefaultPolicy() Policy {
	return Policy{SessionCost: 1, SessionTokens: 100_000, SessionMinutes: 24 * 60}
}

// Bounds of a policy and of a movement.
const (
	MaxCredits = 1_000_000_000
	MaxTokens  = 100_000_000
	MaxMinutes = 366 * 24 * 60
	MaxMicros  = 1_000_000_000_000 // a million USD
	MaxReason  = 300               // characters
)

// Valid reports what is wrong with a policy, by the name of its member.
func (p Policy) Valid() []fault.Field {
	return out(
		within("session_cost", p.SessionCost, 1, MaxCredits),
		within("session_tokens", int64(p.SessionTokens), 1, MaxTokens),
		within("session_minutes", int64(p.SessionMinutes), 1, MaxMinutes),
	)
}

// Limits are what an account may spend, in micro-USD; 0 means no limit. Run is
// for the model calls of one turn or agent run together.
type Limits struct {
	Day   int64 `json:"day_micros" doc:"micro-USD a day (UTC); 0: no limit"`
	Month int64 `json:"month_micros" doc:"micro-USD a month (UTC); 0: no limit"`
	Run   int64 `json:"run_micros" doc:"micro-USD for all model calls of one turn or agent run; 0: no limit"`
}

// Valid reports what is wrong with limits, by the name of its member.
func (l Limits) Valid() []fault.Field {
	return out(
		within("day_micros", l.Day, 0, MaxMicros), within("month_micros", l.Month, 0, MaxMicros), within("run_micros", l.Run, 0, MaxMicros),
	)
}

func within(name string, n, least, most int64) *fault.Field {
	if n >= least && n <= most {
		return nil
	}
	return &fault.Field{Loc: []any{"body", name}, Msg: "must be from " + itoa(least) + " to " + itoa(most), Type: "out_of_range"}
}

func out(fields ...*fault.Field) []fault.Field {
	var list []fault.Field
	for _, f := range fields {
		if f != nil {
			list = append(list, *f)
		}
	}
	return list
}

// Session is a paid window of tokens.
type Session struct {
	ID        string    `json:"session_id"`
	Cost      int64     `json:"cost" doc:"credits it cost"`
	Tokens    int       `json:"tokens" doc:"tokens it was opened with"`
	Free      int       `json:"free" doc:"tokens neither used nor held"`
	Used      int       `json:"used" doc:"tokens used"`
	Closed    bool      `json:"closed,omitempty" doc:"it was refunded"`
	OpenedAt  time.Time `json:"opened_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Has reports whether a session can hold tokens at a moment. A session whose
// time is over cannot, whether or not it was cleaned up.
func (s Session) Has(tokens int, at time.Time) bool {
	return !s.Closed && at.Before(s.ExpiresAt) && s.Free >= tokens
}

// Held is what turns that go on hold of a session, because they may use it.
func (s Session) Held() int { return max(0, s.Tokens-s.Used-s.Free) }

// Standing is what an account has and has spent, as one snapshot reads it.
type Standing struct {
	Balance  int64     // credits
	Entries  int64     // of the ledger
	Sessions []Session // whose time is not over, the first to end first
	Day      int64     // micro-USD spent and held today
	Month    int64     // and this month
	Last     string    // the session that was opened last, be it over or not
}

// Best returns the session that can hold tokens and has the least room to
// spare, so that what is left of others stays usable.
func Best(sessions []Session, tokens int, at time.Time) (Session, bool) {
	best, ok := Session{}, false
	for _, s := range sessions {
		if s.Has(tokens, at) && (!ok || s.Free < best.Free) {
			best, ok = s, true
		}
	}
	return best, ok
}

// Awaited reports whether a session could hold tokens once others have given back what they
// hold and do not use; of own is what the asker holds itself.
func Awaited(sessions []Session, tokens int, own Hold, at time.Time) (Session, bool) {
	for _, s := range sessions {
		others := s.Held()
		for _, p := range own.Parts {
			if p.SessionID == s.ID {
				others -= p.Tokens
			}
		}
		if s.Free += others; others > 0 && s.Has(tokens, at) {
			return s, true
		}
	}
	return Session{}, false
}

// Units is how many times a session's cost buys room for tokens at once: one,
// unless a single session is smaller than what is needed.
func (p Policy) Units(tokens int) int64 {
	if p.SessionTokens <= 0 || tokens <= p.SessionTokens {
		return 1
	}
	return int64((tokens + p.SessionTokens - 1) / p.SessionTokens)
}

// Kind says what moved credit.
type Kind string

// The kinds of ledger entry.
const (
	KindGrant      Kind = "grant"      // credit given or bought
	KindAdjustment Kind = "adjustment" // a correction, up or down
	KindRefund     Kind = "refund"     // of what a session cost
	KindSession    Kind = "session"    // what opening a session cost
)

// Entry is one movement of credit; it is never changed.
type Entry struct {
	ID        string    `json:"entry_id"`
	Kind      Kind      `json:"kind" enum:"grant,adjustment,refund,session"`
	Amount    int64     `json:"amount" doc:"credits; below zero when they were taken"`
	Actor     string    `json:"actor" doc:"who did it"`
	Reason    string    `json:"reason"`
	SessionID string    `json:"session_id,omitempty"`
	Of        string    `json:"of,omitempty" doc:"the entry that a refund gives back"`
	At        time.Time `json:"at"`
	// Until is when the session of the entry ends, which is how it is found.
	Until time.Time `json:"-"`
	// Key is the client's idempotency key, when it gave one: it moves once.
	Key string `json:"-"`
}

// Same reports whether two entries are the same movement, told again.
func (e Entry) Same(other Entry) bool {
	return e.Kind == other.Kind && e.Amount == other.Amount && e.Reason == other.Reason && e.Of == other.Of
}

// Day names a day that spending is counted in.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Month names a month that spending is counted in.
func Month(at time.Time) string { return at.UTC().Format("2006-01") }
