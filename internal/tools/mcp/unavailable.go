package mcp

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/tools/tool"
)

// unavailable returns the reason why a server cannot be used, from its last exchange: ErrTarget, ErrUnreachable,
// ErrUnauthorized, ErrSignIn, ErrProtocol, ErrRequest, or the context's own error. err is the error that the SDK or this package
// returned.
func unavailable(ctx context.Context, e *exchanges, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	x := e.last("")
	if x == nil {
		return speech(err).Because(e.clean(err))
	}
	reply := x.answer()
	switch status := x.status; {
	case errors.Is(x.err, tool.ErrTarget):
		return tool.ErrTarget.Because(e.clean(x.err))
	case errors.Is(x.err, tool.ErrRequest):
		return tool.ErrUnusableKey
	case errors.Is(x.err, errForeign):
		return tool.ErrProtocol.With("reason", "endpoint")
	case meaning.WantsKey(status):
		return e.unauthorized(x)
	case meaning.SignsIn(status, e.base, x.header.Get("Location")):
		return tool.ErrSignIn.With("status", strconv.Itoa(status))
	case status == 0:
		return tool.ErrUnreachable.With("reason", reason(x.err)).Because(e.clean(x.err))
	case meaning.Passes(status, false):
		return tool.ErrUnreachable.With("reason", "status").With("status", strconv.Itoa(status))
	case reply != nil && reply.Error != nil:
		return tool.ErrProtocol.With("reason", "refused").With("status", strconv.Itoa(status)).Because(e.clean(errors.New(reply.Error.Message)))
	case meaning.Of(status, false) != meaning.Done:
		return tool.ErrProtocol.With("reason", "status").With("status", strconv.Itoa(status))
	}
	for _, cause := range []error{x.err, err} { // the response began
		if r := reason(cause); cause != nil && (r == "timeout" || r == "reset") {
			return tool.ErrUnreachable.With("reason", r).Because(e.clean(cause))
		}
	}
	if x.err != nil {
		err = x.err
	}
	if errors.Is(x.err, noAnswer(tool.CamePage)) {
		return tool.ErrProtocol.With("reason", "page").Because(e.clean(err))
	}
	return speech(err).Because(e.clean(err))
}

// speech returns ErrProtocol with its reason: size, tools, version, endpoint, or answer.
func speech(err error) *fault.Error {
	why := "answer"
	switch {
	case err == nil:
	case errors.Is(err, errTooLarge):
		why = "size"
	case errors.Is(err, errNoTools):
		why = "tools"
	case errors.Is(err, errForeign), strings.Contains(err.Error(), errForeign.Error()):
		why = "endpoint"
	case strings.Contains(err.Error(), "unsupported protocol version"):
		why = "version"
	}
	return tool.ErrProtocol.With("reason", why)
}

// noStreamable reports whether a server does not accept messages at an address. A server of 2024-11-05 does not.
func noStreamable(err error) bool {
	f := fault.Of(err)
	switch f.Args["status"] {
	case "400", "404", "405":
		return errors.Is(err, tool.ErrProtocol) && f.Args["page"] == ""
	}
	return false
}

// speaksProtocol reports whether the error came from a server that speaks the protocol.
func speaksProtocol(err error) bool {
	switch fault.Of(err).Args["reason"] {
	case "refused", "tools", "version", "endpoint", "size", "page_of_list":
		return true
	}
	return false
}
