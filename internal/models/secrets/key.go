package secrets

import (
	"fmt"
	"io"
	"log/slog"
)

// Key is a value of a secret outside of the call that uses it. However it is
// printed, logged or encoded, it is "[key]"; only Reveal shows it. It belongs in
// values and exported fields: in other fields fmt cannot call its methods, and as
// the key of a map JSON does not.
type Key string

const printed = "[key]"

// Reveal returns the key itself.
func (k Key) Reveal() string { return string(k) }

// Format implements fmt.Formatter, for every verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, printed) }

// LogValue implements slog.LogValuer.
func (Key) LogValue() slog.Value { return slog.StringValue(printed) }

// MarshalText implements encoding.TextMarshaler, and so JSON's.
func (Key) MarshalText() ([]byte, error) { return []byte(printed), nil }
