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
func failure(err error, handed bool, secrets ...string) error {
	kind := tool.ErrNotSent
	if handed {
		kind = tool.ErrLost
	}
	return kind.With("reason", reason(err)).Because(clean(err, secrets...))
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

func clean(err error, secrets ...string) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	c := cleanedError{text: redact.Text(string(redact.Known([]byte(err.Error()), secrets...)))}
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

// trimBeginning removes the beginning of a secret from the end of a text that was cut: the longest one of all secrets.
func trimBeginning(text []byte, secrets []string) []byte {
	cut := 0
	for _, secret := range secrets {
		if len(secret) < redact.MinSecret {
			continue
		}
		for n := min(len(secret)-1, len(text)); n >= redact.MinSecret/2; n-- {
			if bytes.HasSuffix(text, []byte(secret[:n])) {
				cut = max(cut, n)
				break
			}
		}
	}
	return text[:len(text)-cut]
}
