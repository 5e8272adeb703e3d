package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"piloto/internal/auth"
)

// New returns a logger that writes one JSON object per line to w: time (RFC
// 3339, UTC), level, msg, trace_id and account of the context, then the
// attributes. Secrets are redacted in all of them.
func New(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(handler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: clean})})
}

// handler adds what the context knows to every record.
type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := Trace(ctx); id != "" {
		r.AddAttrs(slog.String("trace_id", id))
	}
	if p, ok := auth.FromContext(ctx); ok {
		r.AddAttrs(slog.String("account", p.Account))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

// clean redacts one attribute. It sees every leaf, with groups resolved. A name
// that is itself a secret is cleaned too: a map may have been logged by key.
func clean(_ []string, a slog.Attr) slog.Attr {
	if secretName(a.Key) {
		return slog.String(a.Key, redacted)
	}
	a.Key = Redact(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(Redact(a.Value.String()))
	case slog.KindTime:
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	case slog.KindDuration:
		a.Value = slog.Int64Value(a.Value.Duration().Milliseconds())
	case slog.KindAny:
		a.Value = cleanAny(a.Value.Any())
	}
	return a
}

func cleanAny(v any) slog.Value {
	switch v := v.(type) {
	case nil:
		return slog.AnyValue(nil)
	case slog.Level, *slog.Source:
		return slog.AnyValue(v)
	case error:
		return slog.StringValue(Redact(v.Error()))
	case []byte:
		return slog.StringValue(Redact(string(v)))
	case fmt.Stringer:
		return slog.StringValue(Redact(v.String()))
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return slog.StringValue(Redact(fmt.Sprintf("%+v", v)))
	}
	var tree any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return slog.StringValue(Redact(string(raw)))
	}
	return slog.AnyValue(cleanTree(tree))
}

// cleanTree redacts a decoded JSON value: what has a secret's name as a whole,
// and every string.
func cleanTree(v any) any {
	switch v := v.(type) {
	case string:
		return Redact(v)
	case []any:
		for i := range v {
			v[i] = cleanTree(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			if secretName(name) {
				out[name] = redacted
				continue
			}
			out[Redact(name)] = cleanTree(inner)
		}
		return out
	}
	return v
}
