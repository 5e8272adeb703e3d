package secrets

import "log/slog"

// Key is a value of a secret outside of the call that uses it. However it is
// printed, logged or encoded, it is "[key]"; only Reveal shows it.
type Key string

const printed = "[key]"

// Reveal returns the key itself.
func (k Key) Reveal() string { return string(k) }

// String implements fmt.Stringer.
func (Key) String() string { return printed }

// GoString implements fmt.GoStringer.
func (Key) GoString() string { return printed }

// LogValue implements slog.LogValuer.
func (Key) LogValue() slog.Value { return slog.StringValue(printed) }

// MarshalText implements encoding.TextMarshaler, and so JSON's.
func (Key) MarshalText() ([]byte, error) { return []byte(printed), nil }
