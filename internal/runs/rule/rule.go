// Package rule owns what an account lets plans do: which calls may be proposed at
// all, which wait for an approval of their own although their plan was confirmed,
// and which need none.
//
// Rules only ever decide over calls that are allowed otherwise. Deny wins over ask,
// and ask over allow, whatever their order. Without a rule, a step that destroys
// something inside a plan of several steps asks.
package rule

import (
	"time"

	"piloto/internal/ground/fault"
)

// Limits.
const (
	MaxRules   = 100
	MaxMinutes = 24 * 60 // of waiting for an approval
	Minutes    = 24 * 60 // when a rule does not say
	MaxReason  = 200     // characters
	maxID      = 64      // bytes, as all below
	maxName    = 200     // of a glob of servers
	maxMethod  = 16
	maxPath    = 512
	maxAt      = 200
)

// What a caller may notice.
var (
	ErrRules  = fault.New(fault.Invalid, "rules.invalid") // Fields says where
	ErrMoved  = fault.New(fault.Conflict, "rules.moved")  // somebody else changed them meanwhile
	ErrDenied = fault.New(fault.Forbidden, "step.denied") // Args: "called", "reason"
)

// Effect is what a rule does.
type Effect string

// The effects.
const (
	Allow Effect = "allow" // asks for nothing, also where a step would by itself
	Ask   Effect = "ask"   // waits for an approval in the middle of the run
	Deny  Effect = "deny"  // can neither be proposed, nor confirmed, nor run
)

// Rule says what happens to the calls it matches. Server, Method and Path are globs
// (* is any characters of one path segment or name, ** any at all, ? one character;
// "/**" at the end is also nothing); absent means any. Server matches a server's
// name or its id; Path the concrete path of an operation below its base URL and
// without query, decoded, or a tool's name. The letter case of methods does not
// matter.
//
// A rule that asks or denies holds for whatever a receiver may take the path and the
// names for: decoded more than once, without what follows a ";", and folded (package
// fold), so in another letter case or width, with other accents, with characters that
// nobody sees, with dots and blanks at the end, and as another way to write a number
// ("012" and "12-lamps" are 12). One that allows holds for exactly what it says, and
// only if every receiver reads it so.
type Rule struct {
	ID      string `json:"id"`
	Effect  Effect `json:"effect"`
	Server  string `json:"server,omitempty"`
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"`
	Over    *Over  `json:"over,omitempty"`    // only above this
	Another bool   `json:"another,omitempty"` // of ask: not by whoever confirmed; needs the scope approve
	Minutes int    `json:"minutes,omitempty"` // of ask: how long it waits
	Reason  string `json:"reason"`            // a sentence for people
}

// Over is a price or a quantity: a number in the arguments. At is "body.total" or
// "query.quantity", with further members and [n] or [] (the sum of all elements).
// Amounts are absolute, each by itself: -1000 is over 500, and so are 400 and -400. A
// text that is a decimal counts as one, as the largest that it may be read as; an
// argument that is absent is not over, and one that is there and cannot be read as an
// amount is. So is one that stands twice, also under a name that folds to the same, and
// one that a form writes below it ("total[x]"), since receivers differ in what they take.
type Over struct {
	At   string `json:"at"`
	Most string `json:"most"` // decimal, exact, not negative
}

// Set is an account's rules. Version counts their changes.
type Set struct {
	Rules     []Rule
	Version   int
	By        string // the user of the last change
	UpdatedAt time.Time
}
