package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"piloto/internal/tools/tool"
)

// pointer returns the JSON Pointer from the value to the part that is checked.
func (r *run) pointer() string {
	var b strings.Builder
	for _, s := range r.path {
		b.WriteByte('/')
		if s.element {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(tool.Token(s.name))
		}
	}
	return b.String()
}

func (r *run) problem(typ, format string, args ...any) tool.Problem {
	return tool.Problem{Loc: r.base + r.pointer(), Message: fmt.Sprintf(format, args...), Type: typ}
}

// hasReference reports whether a reference stands at or below the part that is checked.
func (r *run) hasReference() bool {
	if len(r.refs) == 0 {
		return false
	}
	at := r.pointer()
	for ref := range r.refs {
		if ref == at || strings.HasPrefix(ref, at+"/") {
			return true
		}
	}
	return false
}

func withArticle(types []string) []string {
	out := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "integer", "object", "array":
			out[i] = "an " + t
		case "null":
			out[i] = t
		default:
			out[i] = "a " + t
		}
	}
	return out
}

func choices(values []any) string {
	var texts []string
	for _, v := range values[:min(20, len(values))] {
		raw, err := json.Marshal(v)
		if err != nil {
			continue
		}
		texts = append(texts, short(string(raw)))
	}
	if len(values) > 20 {
		texts = append(texts, "…")
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

func formatName(name string) string {
	switch name {
	case "date":
		return "a date as 2026-01-31"
	case "date-time":
		return "a time as 2026-01-31T15:04:05Z"
	case "uuid":
		return "a UUID"
	case "email":
		return "an e-mail address"
	case "ipv4", "ipv6":
		return "an IP address"
	}
	return "an integer of " + name[len("int"):] + " bits"
}

// inDecimals writes a limit without a power of ten.
func inDecimals(l *limit) string {
	r := l.rational()
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(12), "0")
}

func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}
