package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/redact"
)

// timeFormat is RFC 3339 with microseconds and the offset.
const timeFormat = "2006-01-02T15:04:05.000000-07:00"

// New returns a logger that writes one JSON object per line to w, with the members of document 001: timestamp (RFC
// 3339 with microseconds and offset, in UTC), level, logger (name) and message, then trace_id and account from the
// context, then the attributes. It redacts secrets in all of them.
func New(w io.Writer, level slog.Leveler, name string) *slog.Logger {
	return slog.New(newHandler(&lineWriter{w: w}, level, name))
}

// Named returns a logger with another name that writes to the same output as log, one line at a time. A logger that
// New did not make is returned unchanged.
func Named(log *slog.Logger, name string) *slog.Logger {
	h, ok := log.Handler().(handler)
	if !ok {
		return log
	}
	next := newHandler(h.lines, h.level, name)
	next.scopes = h.scopes
	return slog.New(next)
}

// lineWriter writes whole lines; it is safe for concurrent use.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// handler adds the trace and the account of the context to every record, before the record's own attributes. It
// handles attributes and groups itself, so that the trace and the account are outside of every group.
type handler struct {
	slog.Handler
	lines  *lineWriter
	level  slog.Leveler
	scopes []scope // added by With and WithGroup, in order
}

// scope is an open group ("" for none) with its attributes.
type scope struct {
	group string
	attrs []slog.Attr
}

func newHandler(w *lineWriter, level slog.Leveler, name string) handler {
	options := &slog.HandlerOptions{
		Level: level,
		// The source location of slog's records is replaced by the logger's name.
		AddSource: true,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 {
				if renamed, ok := renameBuiltin(a, name); ok {
					return renamed
				}
			}
			return clean(groups, a)
		},
	}
	return handler{Handler: slog.NewJSONHandler(w, options), lines: w, level: level}
}

// renameBuiltin replaces the names of slog's own attributes by those of document 001.
func renameBuiltin(a slog.Attr, name string) (slog.Attr, bool) {
	switch a.Key {
	case slog.TimeKey:
		if a.Value.Kind() == slog.KindTime {
			return slog.String("timestamp", a.Value.Time().UTC().Format(timeFormat)), true
		}
	case slog.SourceKey:
		if _, ok := a.Value.Any().(*slog.Source); ok {
			return slog.String("logger", name), true
		}
	case slog.MessageKey:
		if a.Value.Kind() == slog.KindString {
			return slog.String("message", redact.Text(a.Value.String())), true
		}
	}
	return a, false
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, s := range slices.Backward(h.scopes) {
		attrs = slices.Concat(s.attrs, attrs)
		if s.group != "" {
			attrs = []slog.Attr{{Key: s.group, Value: slog.GroupValue(attrs...)}}
		}
	}
	out := slog.NewRecord(r.Time, r.Level, r.Message, 0)
	said := func(name string) bool { // an account in the record itself comes first
		return slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == name })
	}
	if id := Trace(ctx); id != "" && !said("trace_id") {
		out.AddAttrs(slog.String("trace_id", id))
	}
	if p, ok := auth.FromContext(ctx); ok && !said("account") {
		out.AddAttrs(slog.String("account", string(p.Account)))
	}
	out.AddAttrs(attrs...)
	return h.Handler.Handle(ctx, out)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.scopes = append(slices.Clip(h.scopes), scope{attrs: slices.Clone(attrs)})
	return h
}

func (h handler) WithGroup(name string) slog.Handler {
	h.scopes = append(slices.Clip(h.scopes), scope{group: name})
	return h
}

// clean redacts one attribute. slog calls it for every leaf, with groups resolved. It also redacts the name,
// because a map may have been logged with secrets as keys.
func clean(_ []string, a slog.Attr) slog.Attr {
	if redact.Name(a.Key) {
		return slog.String(a.Key, redact.Mark)
	}
	a.Key = redact.Text(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(redact.Text(a.Value.String()))
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
		return slog.StringValue(redact.Text(v.Error()))
	case []byte:
		return slog.StringValue(redact.Text(string(v)))
	case fmt.Stringer:
		return slog.StringValue(redact.Text(v.String()))
	case ids.Account:
		return slog.StringValue(redact.Text(string(v)))
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return slog.StringValue(redact.Text(fmt.Sprintf("%+v", v)))
	}
	var tree any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return slog.StringValue(redact.Text(string(raw)))
	}
	return slog.AnyValue(cleanTree(tree))
}

// cleanTree redacts a decoded JSON value: the whole value under a secret's name, and every string.
func cleanTree(v any) any {
	switch v := v.(type) {
	case string:
		return redact.Text(v)
	case []any:
		for i := range v {
			v[i] = cleanTree(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			if redact.Name(name) {
				out[name] = redact.Mark
				continue
			}
			out[redact.Text(name)] = cleanTree(inner)
		}
		return out
	}
	return v
}
