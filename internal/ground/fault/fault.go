// Package fault owns what a failure means to the one who caused it: a kind
// (what they can do about it), a stable code (what a program can match on) and
// the facts a sentence about it needs. The sentence itself is in locale, under
// the code; its HTTP status is decided in one place, by the adapter that speaks
// HTTP. The cause goes to the log and never to a client.
//
// The zero Kind is Internal: an error nobody classified is our mistake.
package fault

import (
	"errors"
	"fmt"
)

// Kind says what the caller can do about a failure.
type Kind int

// The kinds. A caller corrects and repeats an Invalid request; repeats an
// Unavailable one later; and can do nothing about an Internal one.
const (
	Internal        Kind = iota
	Malformed            // the bytes could not be read as a request at all
	Invalid              // readable, and wrong: Fields says where
	Unauthenticated      // no token, or one that is not known
	Forbidden            // known, and not allowed
	NotFound             // missing, or somebody else's: the two look the same
	NotAllowed           // the route exists, the method does not
	Conflict             // the state moved first
	Gone                 // it was there, and its time is over
	TooLarge             // more bytes than the limit
	Unsupported          // a media type we do not read
	Throttled            // too many, too fast
	Upstream             // another system answered, and badly
	Unavailable          // another system, or ours, did not answer
)

// ErrStorage says that what is stored can be read and not be written, for now. The
// adapter of the store returns it, whatever was to be written.
var ErrStorage = New(Unavailable, "storage_unwritable")

// ErrMoved says that a stored value changed after it was read. The caller reads it again and
// decides again (package retry). Errors with a code of their own wrap it when a client has
// to see that code.
var ErrMoved = New(Conflict, "plan.moved")

// Field is one thing wrong with a request: where it is (["body","message"]),
// a plain sentence, and a stable type such as "missing".
type Field struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// Error is a failure with a meaning. Two are the same (errors.Is) when their
// codes are.
type Error struct {
	Kind   Kind
	Code   string            // stable, dotted: "plan.stale"
	Args   map[string]string // what the localised sentence names
	Fields []Field           // for Invalid
	Cause  error             // for the log only
}

// New returns an error of a kind with a stable code. It is meant for package
// level sentinels, which With and Because refine without changing identity.
func New(kind Kind, code string) *Error { return &Error{Kind: kind, Code: code} }

// Error names the code and the cause; it is for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Cause.Error()
	}
	if len(e.Args) > 0 {
		return fmt.Sprintf("%s %v", e.Code, e.Args)
	}
	return e.Code
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is a fault with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// With returns a copy that names one more fact for its sentence.
func (e *Error) With(name, value string) *Error {
	c := *e
	c.Args = make(map[string]string, len(e.Args)+1)
	for k, v := range e.Args {
		c.Args[k] = v
	}
	c.Args[name] = value
	return &c
}

// Because returns a copy that carries a cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// At returns a copy that lists what is wrong with the request.
func (e *Error) At(fields ...Field) *Error {
	c := *e
	c.Fields = append(append([]Field(nil), e.Fields...), fields...)
	return &c
}

// Of returns the fault in err's chain, or an internal one caused by err.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Code: "internal_error", Cause: err}
}

// KindOf returns the kind of err; anything unclassified is Internal.
func KindOf(err error) Kind { return Of(err).Kind }
