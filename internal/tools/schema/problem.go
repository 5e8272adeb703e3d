package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
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

func (r *run) problem(typ string, why *fault.Error) tool.Problem {
	return tool.Problem{Loc: r.base + r.pointer(), Type: typ, Why: why}
}

// reason returns the reason of a problem, with arguments from name, value pairs.
func reason(code string, pairs []any) *fault.Error {
	said := slices.Clone(pairs)
	for i := 1; i < len(said); i += 2 {
		switch v := said[i].(type) {
		case kinds:
			said[i] = v.reason()
		case *limit:
			said[i] = inDecimals(v)
		}
	}
	return tool.Because(code, said...)
}

// reason names the types: one, or the first and the rest.
func (k kinds) reason() *fault.Error {
	var list []*fault.Error
	for _, name := range k.list() {
		list = append(list, tool.Because("problem.kind."+name))
	}
	return chain("problem.or", list)
}

// chain joins reasons: the first and the rest.
func chain(code string, list []*fault.Error) *fault.Error {
	if len(list) == 1 {
		return list[0]
	}
	return fault.Reason(code).WithFault("first", list[0]).WithFault("rest", chain(code, list[1:]))
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

// choices are values that a schema allows.
type choices []any

// String lists the first of them, as JSON.
func (c choices) String() string {
	const most = 20
	var texts []string
	for _, v := range c[:min(most, len(c))] {
		raw, err := json.Marshal(v)
		if err != nil {
			continue
		}
		texts = append(texts, short(string(raw)))
	}
	if len(c) > most {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// formatReason names a format.
func formatReason(name string) *fault.Error {
	switch name {
	case "ipv4", "ipv6":
		return tool.Because("problem.format.ip")
	case "int32", "int64":
		return tool.Because("problem.format.bits", "n", name[len("int"):])
	}
	return tool.Because("problem.format." + name)
}

// inDecimals writes a limit without a power of ten.
func inDecimals(l *limit) string {
	r := l.rational()
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(12), "0")
}

func short(s string) string { return clip.Bytes(s, 120) }
