// Package rule decides which calls of an account's plans are denied, wait for an approval of their
// own, or need none.
//
// Rules only restrict calls that are otherwise allowed. Deny wins over ask, and ask over allow,
// independent of their order. Without a rule, a step that destroys something in a plan of several
// steps asks.
package rule

import (
	"time"

	"piloto/internal/ground/fault"
)

// Limits.
const (
	MaxRules   = 100
	MaxMinutes = 24 * 60 // of waiting for an approval
	Minutes    = 24 * 60 // default of a rule
	MaxReason  = 200     // characters
	maxID      = 64      // bytes, as are all below
	maxName    = 200     // of a glob of servers
	maxMethod  = 16
	maxPath    = 512
	maxAt      = 200
)

// The failures that callers can distinguish.
var (
	ErrRules = fault.New(fault.Invalid, "rules.invalid") // Fields lists the faulty fields
	ErrMoved = fault.New(fault.Conflict, "rules.moved")  // another user changed them at the same time
)

// Effect is the effect of a rule on a call.
type Effect string

// The effects.
const (
	Allow Effect = "allow" // no approval is needed, even where a step needs one by default
	Ask   Effect = "ask"   // the call waits for an approval during the run
	Deny  Effect = "deny"  // the call can be neither proposed, nor confirmed, nor sent
)

// Rule applies its effect to the calls that it matches. Server, Method and Path are globs (*
// matches any characters of one path segment or name, ** any characters at all, ? one character; a
// final "/**" also matches nothing); an absent one matches everything. Server matches the name or
// the id of a server. Path matches the decoded path of an operation below its base URL, without
// query, or the name of a tool. Methods are compared without letter case.
//
// A rule that asks or denies applies to every form in which a receiver may understand the path and
// the names: decoded more than once, without the text after a ";", and folded (package fold), that
// is, in another letter case or width, with other accents, with invisible characters, with dots and
// blanks at the end, and as another form of a number ("012" and "12-lamps" are 12). A rule that
// allows applies to the exact text only, and only if every receiver understands it so.
type Rule struct {
	ID      string `json:"id"`
	Effect  Effect `json:"effect"`
	Server  string `json:"server,omitempty"`
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"`
	Over    *Over  `json:"over,omitempty"`    // applies only above this limit
	Another bool   `json:"another,omitempty"` // of ask: the approval must come from a person who does not own the run; needs the scope approve
	Minutes int    `json:"minutes,omitempty"` // of ask: how long the approval stays open
	Reason  string `json:"reason"`            // a sentence for people
}

// Over is the limit of a price or a quantity in the arguments. At is "body.total",
// "query.quantity" or "headers.X-Amount", with further members and [n] or [] (the sum of all elements). Each amount is
// absolute: -1000 is over 500, and so are 400 and -400 together. A text that is a decimal counts as
// the largest number that a receiver may read in it. An absent argument is not over. An argument
// that cannot be read as an amount is over, and so is a duplicate one, also under a name that folds
// to the same, and one with form members below it ("total[x]"), because receivers differ in the
// value that they use.
type Over struct {
	At   string `json:"at"`
	Most string `json:"most"` // decimal, exact, not negative
}

// Set is an account's rules. Version counts their changes.
type Set struct {
	Rules     []Rule
	Version   int
	By        string // the user who made the last change
	UpdatedAt time.Time
}
