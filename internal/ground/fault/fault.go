// Package fault classifies failures. A fault has a kind (how the caller can react), a stable code (which a program
// can match) and the arguments of a sentence about it. Package locale holds the sentence, under the code. The HTTP
// adapter alone decides the HTTP status. The cause is logged and never sent to a client.
//
// The zero Kind is Internal: an unclassified error is a fault of this program.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
)

// Kind says how the caller can react to a failure.
type Kind int

// The kinds. A caller corrects and repeats an Invalid request, repeats an Unavailable one later, and cannot react
// to an Internal one.
const (
	Internal        Kind = iota
	Malformed            // the bytes are no readable request
	Invalid              // readable but wrong: Fields lists the faults
	Unauthenticated      // no token, or an unknown one
	Forbidden            // known, but not allowed
	NotFound             // missing, or of another account: no answer distinguishes them
	NotAllowed           // the route exists, but not with this method
	Conflict             // the state changed first
	Gone                 // it existed, and expired
	TooLarge             // more bytes than the limit
	Unsupported          // an unsupported media type
	Throttled            // too many requests
	Upstream             // another system returned a bad response
	Unavailable          // another system, or this one, did not respond
	Outdated             // the condition of the request does not hold any more
	Unconditional        // the request needs a condition, and has none
	OutOfRange           // it asks for a part that does not exist
)

// ErrStorage means that stored data can be read but not written at the moment. The adapter of the store returns it
// for every write.
var ErrStorage = New(Unavailable, "storage_unwritable")

// ErrMoved means that a stored value changed after it was read. The caller reads it again and
// decides again (package retry). Errors with a code of their own wrap it when a client has
// to see that code.
var ErrMoved = New(Conflict, "plan.moved")

// Field is one fault of a request: its path (["body","message"]), a plain sentence, and a stable type such as
// "missing". Why has the sentence as a code with arguments: a renderer writes it in the language of the reader, instead of
// Msg.
type Field struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
	Why  *Error `json:"-"`
}

// TooLong returns the error of a text of more than most bytes.
func TooLong(text string, most int, loc ...any) Field {
	why := New(Invalid, "text.too_long").With("given", strconv.Itoa(len(text))).With("most", strconv.Itoa(most))
	return Field{Loc: loc, Type: "string_too_long", Why: why}
}

// Error is a classified failure. Two errors are the same (errors.Is) when their codes are.
type Error struct {
	Kind   Kind
	Code   string            // stable, dotted: "plan.stale"
	Args   map[string]string // the arguments of the localised sentence
	Inner  map[string]*Error // arguments that are sentences themselves: those of these faults
	Fields []Field           // for Invalid
	Cause  error             // for the log only
}

// New returns an error of a kind with a stable code. It is meant for package-level sentinels. With and Because
// refine a sentinel without changing its identity.
func New(kind Kind, code string) *Error { return &Error{Kind: kind, Code: code} }

// Reason returns a fault for WithFault only. It has the code of a sentence, and never stands alone.
func Reason(code string) *Error { return &Error{Kind: Conflict, Code: code} }

// Error returns the code with the cause or the arguments, for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Cause.Error()
	}
	text := e.Code
	if len(e.Args) > 0 {
		text += fmt.Sprintf(" %v", e.Args)
	}
	if len(e.Inner) > 0 {
		text += fmt.Sprintf(" %v", e.Inner)
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is a fault with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// With returns a copy with one more argument for its sentence.
func (e *Error) With(name, value string) *Error {
	c := *e
	c.Args = maps.Clone(e.Args)
	if c.Args == nil {
		c.Args = map[string]string{}
	}
	c.Args[name] = value
	return &c
}

// WithFault returns a copy with one more argument: the sentence of another fault.
func (e *Error) WithFault(name string, inner *Error) *Error {
	c := *e
	c.Inner = maps.Clone(e.Inner)
	if c.Inner == nil {
		c.Inner = map[string]*Error{}
	}
	c.Inner[name] = inner
	return &c
}

// Because returns a copy with a cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// At returns a copy that lists the faults of the request.
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

// KindOf returns the kind of err, and Internal for an unclassified error.
func KindOf(err error) Kind { return Of(err).Kind }
