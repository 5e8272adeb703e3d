// Package credit records the cost of answers and the credit that pays for them.
//
// It keeps three measures that never mix: tokens, which a provider counts; money
// in micro-USD, which is tokens times the price of the model; and credits, whole
// numbers with which an account buys sessions. A session is a paid window of
// tokens. The balance of a wallet is always the sum of its ledger.
//
// Nothing is spent by a read followed by a write. Granting credit and opening a
// session are one transaction each, and holding tokens and money is one conditional
// write. The conditions are the rules: a balance never goes below zero, a session
// never holds more than it has, and concurrent turns never exceed the limit of a
// day or a month. At its end a turn settles its hold in two writes: its record has
// the usage, and then the used part is charged and the rest is returned. A hold whose
// turn has a record is always charged by that record. When a turn is cut off before
// its record, the sweep releases its hold, once.
//
// Days and months are in UTC.
package credit

import (
	"time"

	"piloto/internal/ground/fault"
)

// Errors of this package.
var (
	ErrInsufficient  = fault.New(fault.Conflict, "credit.insufficient")    // the balance is too low
	ErrEntryNotFound = fault.New(fault.NotFound, "credit.entry_not_found") // there is no such ledger entry
	ErrNotRefundable = fault.New(fault.Conflict, "credit.not_refundable")  // it paid for no session, or was refunded before
	ErrOther         = fault.New(fault.Conflict, "credit.idempotency")     // the key was used for another movement
	ErrMovement      = fault.New(fault.Invalid, "credit.movement")         // not valid; the fields name the faults
	ErrSession       = fault.New(fault.Conflict, "credit.session_over")    // the session is expired, refunded or full
	ErrBudget        = fault.New(fault.Conflict, "credit.budget_exceeded") // the limit of the day or of the month
	ErrBusy          = fault.New(fault.Conflict, "credit.busy")            // other turns hold the room, or too many hold something, and did not release it in time
	ErrSettled       = fault.New(fault.Conflict, "credit.hold_settled")    // the hold was settled or released
)

// Policy is the price, size and life of a session.
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

// MaxHolds is the most holds that an account has at once. They are in one row, and each write of the row costs its
// size. MaxSessions is about as many sessions as that row has: when another is bought, the fullest that nothing
// holds is closed, and its tokens go on in the session that ends last.
const (
	MaxHolds    = 100
	MaxSessions = 50
)

// leastAnswer is the tokens that a first answer holds when no assistant says otherwise. A policy under which no grant
// pays for it pays for nothing.
const leastAnswer = 8_000

// Valid returns one field for each fault of the policy, by the JSON name of the member.
func (p Policy) Valid() []fault.Field {
	wrong := nonNil(
		within("session_cost", p.SessionCost, 1, MaxCredits),
		within("session_tokens", int64(p.SessionTokens), 1, MaxTokens),
		within("session_minutes", int64(p.SessionMinutes), 1, MaxMinutes),
	)
	if len(wrong) == 0 && p.Missing(0, leastAnswer) > MaxCredits {
		wrong = append(wrong, fault.Field{Loc: []any{"body", "session_cost"}, Msg: "one answer costs more than " + itoa(MaxCredits) + " credits", Type: "answer_unpayable"})
	}
	return wrong
}

// Limits are the most that an account may spend, in micro-USD; 0 means no limit. Run covers all model calls of one
// turn or of one agent run.
type Limits struct {
	Day   int64 `json:"day_micros" doc:"micro-USD a day (UTC); 0: no limit"`
	Month int64 `json:"month_micros" doc:"micro-USD a month (UTC); 0: no limit"`
	Run   int64 `json:"run_micros" doc:"micro-USD for all model calls of one turn or agent run; 0: no limit"`
}

// Valid returns one field for each fault of the limits, by the JSON name of the member.
func (l Limits) Valid() []fault.Field {
	return nonNil(
		within("day_micros", l.Day, 0, MaxMicros), within("month_micros", l.Month, 0, MaxMicros), within("run_micros", l.Run, 0, MaxMicros),
	)
}

func within(name string, n, least, most int64) *fault.Field {
	if n >= least && n <= most {
		return nil
	}
	return &fault.Field{Loc: []any{"body", name}, Msg: "must be from " + itoa(least) + " to " + itoa(most), Type: "out_of_range"}
}

func nonNil(fields ...*fault.Field) []fault.Field {
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

// Has reports whether the session can hold that many tokens at the given time. An expired session cannot, even if
// it was not deleted yet.
func (s Session) Has(tokens int, at time.Time) bool {
	return !s.Closed && at.Before(s.ExpiresAt) && s.Free >= tokens
}

// Held returns the tokens that running turns hold of the session.
func (s Session) Held() int { return max(0, s.Tokens-s.Used-s.Free) }

// Standing is the credit and the spending of an account, from one consistent read.
type Standing struct {
	Balance  int64     // credits
	Entries  int64     // number of ledger entries
	Sessions []Session // sessions that have not expired, the first to expire first
	Day      int64     // micro-USD spent and held today
	Month    int64     // micro-USD spent and held this month
	Last     string    // id of the newest session, expired or not
}

// Best returns the session that can hold the tokens and has the least free room, so that larger rooms stay
// available.
func Best(sessions []Session, tokens int, at time.Time) (Session, bool) {
	best, ok := Session{}, false
	for _, s := range sessions {
		if s.Has(tokens, at) && (!ok || s.Free < best.Free) {
			best, ok = s, true
		}
	}
	return best, ok
}

// Awaited returns a session that could hold the tokens if other turns released their unused tokens. own is the hold
// of the caller; its tokens are not released.
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

// Units returns the number of session prices to pay at once to have room for the tokens: 1, unless one session is
// smaller than that.
func (p Policy) Units(tokens int) int64 {
	if p.SessionTokens <= 0 || tokens <= p.SessionTokens {
		return 1
	}
	return int64((tokens + p.SessionTokens - 1) / p.SessionTokens)
}

// Missing returns the credits that a balance lacks to open a session with room for the tokens; 0: none.
func (p Policy) Missing(balance int64, tokens int) int64 {
	return max(0, p.SessionCost*p.Units(tokens)-balance)
}

// Kind is the reason for a ledger entry.
type Kind string

// The kinds of ledger entry.
const (
	KindGrant      Kind = "grant"      // credit given or bought
	KindAdjustment Kind = "adjustment" // a correction, up or down
	KindRefund     Kind = "refund"     // the price of a session, given back
	KindSession    Kind = "session"    // the price of a session
)

// Entry is one movement of credit. It never changes.
type Entry struct {
	ID        string    `json:"entry_id"`
	Kind      Kind      `json:"kind" enum:"grant,adjustment,refund,session"`
	Amount    int64     `json:"amount" doc:"credits; below zero when they were taken"`
	Actor     string    `json:"actor" doc:"who did it"`
	Reason    string    `json:"reason"`
	SessionID string    `json:"session_id,omitempty"`
	Of        string    `json:"of,omitempty" doc:"the entry that a refund gives back"`
	At        time.Time `json:"at"`
	// Until is the end of the entry's session.
	Until time.Time `json:"-"`
	// Key is the client's idempotency key, if any: one key makes one movement.
	Key string `json:"-"`
}

// Same reports whether the other entry is a repetition of the same movement.
func (e Entry) Same(other Entry) bool {
	return e.Kind == other.Kind && e.Amount == other.Amount && e.Reason == other.Reason && e.Of == other.Of
}

// Day returns the UTC day in which spending at that time is counted.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Month returns the UTC month in which spending at that time is counted.
func Month(at time.Time) string { return at.UTC().Format("2006-01") }
