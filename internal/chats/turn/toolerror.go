package turn

import (
	"encoding/json"
	"fmt"
	"strings"

	"piloto/internal/ground/fault"
)

// toolError returns a tool result with one error and its location.
func toolError(where, what string) string {
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
	}{Error: "nothing was proposed: mend this and call again"}
	for _, f := range wrong {
		out.Problems = append(out.Problems, line{Where: location(f.Loc), What: f.Msg})
	}
	text, err := json.Marshal(out)
	if err != nil {
		return `{"error":"nothing was proposed"}`
	}
	return string(text)
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
