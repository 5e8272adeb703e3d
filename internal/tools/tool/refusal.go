package tool

import (
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

// ErrRefused is the error of a call of an operation that is listed, and cannot be called: Args["reason"] and Args["what"] are
// those of its Refusal.
var ErrRefused = fault.New(fault.Invalid, "tool.refused")

// Refusal says why a listed operation cannot be called. Reason is a code. What is the part of the document that causes it,
// such as the name of a cookie.
type Refusal struct {
	Reason string `json:"reason"`
	What   string `json:"what,omitempty"`
}

// The reasons why an operation cannot be called. Their sentences are below "fault.tool.refused." in the locale files.
const (
	RefusedCookie  = "cookie"  // it requires a cookie that is no key
	RefusedHeader  = "header"  // it requires a header that no call may set
	RefusedValue   = "value"   // it requires a header with a value that cannot be written: its name
	RefusedKey     = "key"     // it requires an Idempotency-Key of a form that keys are not written in: the name of the header
	RefusedServer  = "server"  // the document sends it to another origin
	RefusedAddress = "address" // the document sends it to an address that cannot be read: the address
	RefusedScheme  = "scheme"  // it requires a proof of identity that is not supported
	RefusedBody    = "body"    // it takes a body of a type that cannot be written: the type
	RefusedMedia   = "media"   // it takes a body whose media type is malformed: the type
	RefusedNoType  = "untyped" // it takes a body, and the document names no type for it
	RefusedStyle   = "style"   // it has a parameter in a style that is not supported: its name, and the style
	RefusedPart    = "part"    // it takes a form with a member that cannot be written: its name, and why
	RefusedFile    = "file"    // it takes a file: its name in the form
	RefusedUnread  = "unread"  // a part of it cannot be read, and may be required: the place
)

// Phrase returns the sentence of the refusal.
func (r *Refusal) Phrase() locale.Phrase {
	return locale.Say("fault.tool.refused."+r.Reason, "what", r.What)
}

// Fault returns the refusal as an error.
func (r *Refusal) Fault(e Entry) *fault.Error {
	return ErrRefused.With("operation", e.String()).With("reason", r.Reason).With("what", r.What)
}
