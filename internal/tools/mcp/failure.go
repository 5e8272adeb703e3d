package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/neterr"
	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// reason says in a word why an exchange failed: target, key, size, or netfail's.
func reason(err error) string {
	switch {
	case errors.Is(err, tool.ErrTarget):
		return "target"
	case errors.Is(err, tool.ErrRequest):
		return "key"
	case errors.Is(err, errTooLarge):
		return "size"
	}
	return neterr.Reason(err)
}

// cleaned is an error without the key and without what only says where it arose.
// It unwraps to a context's error and nothing else.
type cleaned struct {
	text  string
	cause error
}

func (c cleaned) Error() string { return c.text }
func (c cleaned) Unwrap() error { return c.cause }

// maxCause is how much of a stranger's words an error holds, in bytes.
const maxCause = 300

func (e *errand) clean(err error) error {
	if err == nil {
		return nil
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	text := redact.Text(known(strings.ToValidUTF8(err.Error(), "?"), e.secret()))
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause], "")
	}
	c := cleaned{text: text}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			c.cause = cause
		}
	}
	return c
}

func (e *errand) secret() string {
	if e.key == nil {
		return ""
	}
	return e.key.Secret
}

// known takes the key out of a text.
func known(text, secret string) string { return string(redact.Known([]byte(text), secret)) }

// causeOf is the reason of a failure that is a fault by now.
func causeOf(err error) string {
	f := fault.Of(err)
	switch {
	case errors.Is(err, tool.ErrTarget):
		return "target"
	case errors.Is(err, tool.ErrUnreachable) && f.Args["status"] != "":
		return "status"
	case errors.Is(err, tool.ErrUnreachable):
		return f.Args["reason"]
	}
	return "protocol"
}
