package outbound

import (
	"bytes"
	"context"
	"errors"
	"net/url"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/neterr"
	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// failure turns an error into a fault: ErrNotSent when no connection was handed to the request, else ErrLost.
// Args["reason"] is one of target, dns, refused, tls, timeout, cancelled, reset, protocol.
func failure(err error, handed bool, secret string) error {
	kind := tool.ErrNotSent
	if handed {
		kind = tool.ErrLost
	}
	return kind.With("reason", reason(err)).Because(clean(err, secret))
}

func reason(err error) string {
	if errors.Is(err, tool.ErrTarget) {
		return "target"
	}
	return neterr.Reason(err)
}

// cleanedError is an error without the key, and without the URL that net/http adds. It unwraps only to the cause.
type cleanedError struct {
	text  string
	cause error
}

func (c cleanedError) Error() string { return c.text }
func (c cleanedError) Unwrap() error { return c.cause }

func clean(err error, secret string) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	c := cleanedError{text: redact.Text(string(redact.Known([]byte(err.Error()), secret)))}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			c.cause = cause
		}
	}
	var target *fault.Error
	if errors.As(err, &target) {
		c.cause = target
	}
	return c
}

// trimBeginning removes the beginning of a secret from the end of a text that was cut.
func trimBeginning(text []byte, secret string) []byte {
	if len(secret) < redact.MinSecret {
		return text
	}
	for n := min(len(secret)-1, len(text)); n >= redact.MinSecret/2; n-- {
		if bytes.HasSuffix(text, []byte(secret[:n])) {
			return text[:len(text)-n]
		}
	}
	return text
}
