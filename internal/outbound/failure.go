package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"

	"piloto/internal/fault"
	"piloto/internal/tool"
)

// failure says what an error means for the request: NotSent while no connection
// was handed to it, Lost from then on. Args["reason"] is one of target, dns,
// refused, tls, timeout, cancelled, reset, protocol.
func failure(err error, handed bool, secret string) error {
	kind := tool.ErrNotSent
	if handed {
		kind = tool.ErrLost
	}
	return kind.With("reason", reason(err)).Because(clean(err, secret))
}

func reason(err error) string {
	var dns *net.DNSError
	var netErr net.Error
	switch {
	case errors.Is(err, tool.ErrTarget):
		return "target"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &dns):
		return "dns"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case isTLS(err):
		return "tls"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	}
	return "protocol"
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &alert)
}

// cleaned is an error without the URL net/http puts into its own, and without
// the key. It unwraps only to what says why.
type cleaned struct {
	text  string
	cause error
}

func (c cleaned) Error() string { return c.text }
func (c cleaned) Unwrap() error { return c.cause }

func clean(err error, secret string) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	c := cleaned{text: string(redact([]byte(err.Error()), secret))}
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

// minSecret is the length from which a secret is looked for in what others say;
// a shorter one would take ordinary text with it.
const minSecret = 6

// redact takes a secret out of a text, as it is and as JSON and URLs write it.
func redact(text []byte, secret string) []byte {
	if len(secret) < minSecret || len(text) == 0 {
		return text
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	for _, form := range forms {
		text = bytes.ReplaceAll(text, []byte(form), []byte("[redacted]"))
	}
	return text
}

// trimBeginning takes the beginning of a secret off the end of a text that was cut.
func trimBeginning(text []byte, secret string) []byte {
	if len(secret) < minSecret {
		return text
	}
	for n := min(len(secret)-1, len(text)); n >= minSecret/2; n-- {
		if bytes.HasSuffix(text, []byte(secret[:n])) {
			return text[:len(text)-n]
		}
	}
	return text
}
