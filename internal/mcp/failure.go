package mcp

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

// reason says in a word why an exchange failed: one of target, key, dns, refused,
// tls, timeout, cancelled, reset, size, protocol.
func reason(err error) string {
	var dns *net.DNSError
	var netErr net.Error
	switch {
	case errors.Is(err, tool.ErrTarget):
		return "target"
	case errors.Is(err, tool.ErrRequest):
		return "key"
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
	case errors.Is(err, errTooLarge):
		return "size"
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
	text := redact(strings.ToValidUTF8(err.Error(), "?"), e.secret())
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

// minSecret is the length from which a secret is looked for in what others say;
// a shorter one would take ordinary text with it.
const minSecret = 6

const redacted = "[redacted]"

// redact takes a secret out of a text, as it is and as URLs and JSON write it.
func redact(text, secret string) string {
	if len(secret) < minSecret || text == "" {
		return text
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, string(bytes.Trim(quoted, `"`)))
	}
	for _, form := range forms {
		text = strings.ReplaceAll(text, form, redacted)
	}
	return text
}

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
