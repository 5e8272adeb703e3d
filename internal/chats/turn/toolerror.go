package turn

import (
	"fmt"
	"strings"

	"piloto/internal/ground/fault"
)

// typeDenied is the type of the error of a call that a rule denies.
const typeDenied = "denied"

// toolError returns a tool result with one error. With a location the model is asked to mend that and to call again;
// without one the error says itself what to do.
func toolError(where, what string) string {
	if where == "" {
		return encode(map[string]string{"error": what})
	}
	return toolErrors([]fault.Field{{Loc: []any{where}, Msg: what, Type: "error"}})
}

// toolErrors returns a tool result that lists every error.
func toolErrors(wrong []fault.Field) string {
	type line struct {
		Where string `json:"where,omitempty"`
		What  string `json:"what"`
	}
	out := struct {
		Error    string `json:"error"`
		Problems []line `json:"problems"`
	}{Error: "nothing was done: mend this and call again"}
	for _, f := range wrong {
		switch f.Type {
		case typeDenied:
			out.Error = "nothing was done: a rule of the account denies it; do not call it again, and tell the person"
		case typeRefused:
			out.Error = "nothing was proposed: the person refused it before"
		}
		out.Problems = append(out.Problems, line{Where: location(f.Loc), What: f.Msg})
	}
	return encode(out)
}

// location joins the parts of a field's location with dots.
func location(loc []any) string {
	var parts []string
	for _, l := range loc {
		if s := fmt.Sprint(l); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ".")
}
