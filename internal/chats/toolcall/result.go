package toolcall

import (
	"fmt"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/visible"
)

// Types of errors after which a model does not call again.
const (
	Denied  = "denied"  // a rule of the account denies the call
	Refused = "refused" // a person refused the plan
)

// Error returns a tool result with one error. With a location the model is asked to mend that and to call again; without
// one the error itself names the next step.
func Error(where, what string) string {
	if where == "" {
		return Encode(map[string]string{"error": what})
	}
	return Errors([]fault.Field{{Loc: []any{where}, Msg: what, Type: "error"}})
}

// Errors returns a tool result that lists every error.
func Errors(wrong []fault.Field) string {
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
		case Denied:
			out.Error = "nothing was done: a rule of the account denies it; do not call it again, and tell the person"
		case Refused:
			out.Error = "nothing was proposed: the person refused it before"
		}
		out.Problems = append(out.Problems, line{Where: Location(f.Loc), What: f.Msg})
	}
	return Encode(out)
}

// Location joins the parts of a field's location with dots.
func Location(loc []any) string {
	var parts []string
	for _, l := range loc {
		if s := fmt.Sprint(l); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ".")
}

// Encode returns a value as JSON in its shortest form. It is for values that always have one.
func Encode(v any) string {
	text, err := jcs.Marshal(v)
	if err != nil {
		return `{"error":"the answer cannot be shown"}`
	}
	return string(text)
}

// OneLine makes text of a document safe inside the prompt: one line of at most 200 characters.
func OneLine(s string) string { return Line(s, 200) }

// Line makes text of a document safe inside the prompt: one line of at most so many characters, without a tag and
// without a character that nobody sees.
func Line(s string, most int) string {
	return clip.Runes(clip.LineWithout(s, func(r rune) bool { return r == '<' || r == '>' || visible.Invisible(r) }), most)
}
