package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
)

// Check lists all faults of the rules, each with its path in {"rules": […]}. The caller creates the ids before.
func (s Set) Check() []fault.Field {
	if len(s.Rules) > MaxRules {
		return []fault.Field{{Loc: []any{"body", "rules"}, Type: "too_long", Msg: fmt.Sprintf("at most %d rules", MaxRules)}}
	}
	var wrong []fault.Field
	ids := map[string]bool{}
	for i, r := range s.Rules {
		add := func(typ string, place ...any) {
			wrong = append(wrong, fault.Field{Loc: append([]any{"body", "rules", i}, place...), Type: typ})
		}
		switch {
		case r.ID == "":
			add("missing", "id")
		case len(r.ID) > maxID || strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c > '~' }):
			add("string_pattern_mismatch", "id")
		case ids[r.ID]:
			add("duplicate", "id")
		}
		ids[r.ID] = true
		r.check(add)
	}
	return wrong
}

func (r Rule) check(add func(typ string, place ...any)) {
	if !slices.Contains([]Effect{Allow, Ask, Deny}, r.Effect) {
		add("enum", "effect")
	}
	for _, g := range []struct {
		member, text string
		most         int
	}{{"server", r.Server, maxName}, {"method", r.Method, maxMethod}, {"path", r.Path, maxPath}} {
		switch {
		case len(g.text) > g.most:
			add("string_too_long", g.member)
		case !isPlainGlob(g.text), g.member == "path" && slices.ContainsFunc(strings.Split(g.text, "/"), isDots):
			add("glob", g.member)
		}
	}
	r.checkOver(add)
	if r.Effect != Ask && r.Another {
		add("only_ask", "another")
	}
	if r.Effect != Ask && r.Minutes != 0 {
		add("only_ask", "minutes")
	} else if r.Minutes < 0 || r.Minutes > MaxMinutes {
		add("out_of_range", "minutes")
	}
	switch reason := clip.Line(r.Reason); {
	case reason == "":
		add("missing", "reason")
	case reason != r.Reason:
		add("string_pattern_mismatch", "reason")
	case utf8.RuneCountInString(reason) > MaxReason:
		add("string_too_long", "reason")
	}
}

// checkOver checks the limit of a price or a quantity. A rule that allows has none, because it
// would allow the expensive calls and not the cheap ones.
func (r Rule) checkOver(add func(typ string, place ...any)) {
	if r.Over == nil {
		return
	}
	if r.Effect == Allow {
		add("not_allow", "over")
		return
	}
	if _, err := r.Over.argPath(); err != nil {
		add("place", "over", "at")
	}
	if _, err := r.Over.limit(); err != nil {
		add("decimal", "over", "most")
	}
}

// isPlainGlob reports whether a glob has no characters of other glob languages. Such a character
// would match nothing here, so that a rule meant to deny would deny nothing.
func isPlainGlob(text string) bool {
	return utf8.ValidString(text) && text == strings.TrimSpace(text) && !strings.ContainsAny(text, "{}[]\\") &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
}

func isDots(segment string) bool { return segment == "." || segment == ".." }
