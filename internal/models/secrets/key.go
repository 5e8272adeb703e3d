package secrets

import (
	"fmt"
	"io"
	"log/slog"
)

// Key is the value of a secret outside of the call that uses it. It is printed, logged and encoded as "[key]"; only
// Reveal returns the value. Store it in values and exported fields: fmt cannot call the methods of other fields,
// and JSON does not for the keys of a map.
type Key string

const printed = "[key]"

// Reveal returns the value of the key.
func (k Key) Reveal() string { return string(k) }

// Format implements fmt.Formatter, for every verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, printed) }

// LogValue implements slog.LogValuer.
func (Key) LogValue() slog.Value { return slog.StringValue(printed) }

// MarshalText implements encoding.TextMarshaler, and so JSON's.
func (Key) MarshalText() ([]byte, error) { return []byte(printed), nil }
