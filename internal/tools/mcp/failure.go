package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/neterr"
	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// reason names the cause of a failed exchange in one word: target, key, size, or a word of neterr.
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

// cleanedError is an error without the key and without the URL. It unwraps only to an error of the context.
type cleanedError struct {
	text  string
	cause error
}

func (c cleanedError) Error() string { return c.text }
func (c cleanedError) Unwrap() error { return c.cause }

// maxCause is the maximum length of foreign text in an error, in bytes.
const maxCause = 300

func (e *exchanges) clean(err error) error {
	if err == nil {
		return nil
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	text := redact.Text(redactSecrets(strings.ToValidUTF8(err.Error(), "?"), e.keys.Secrets()))
	c := cleanedError{text: clip.Bytes(text, maxCause)}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			c.cause = cause
		}
	}
	return c
}

// redactSecrets removes keys from a text.
func redactSecrets(text string, secrets []string) string {
	return string(redact.Known([]byte(text), secrets...))
}

// causeOf returns the cause of a failure that is already a fault.
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
