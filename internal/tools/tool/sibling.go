package tool

import (
	"slices"
	"strings"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
)

// Sibling is another operation that a path of this operation may select.
type Sibling struct {
	entry            Entry
	segments, folded []segment
	pins             []bool // by segment: a value of the other operation decides the match
}

// Siblings returns the entries that a path of e may select by the values of its parameters: "/users/me" and
// "/users/{id}:delete" for "/users/{id}". An entry that takes every path of e is no sibling, since no value decides
// it. Methods are not compared, since a server may route by the path alone.
func Siblings(entries []Entry, e Entry) []Sibling {
	own := rootless(e.Path)
	if !slices.ContainsFunc(own, segment.hasParameter) {
		return nil
	}
	slashes := strings.Count(strings.TrimRight(e.Path, "/"), "/")
	var list []Sibling
	for _, other := range entries {
		if other.Name != "" || strings.Count(strings.TrimRight(other.Path, "/"), "/") != slashes {
			continue
		}
		if s := siblingOf(own, other); slices.Contains(s.pins, true) {
			list = append(list, s)
		}
	}
	return list
}

// rootless returns a template's segments without an empty last one.
func rootless(template string) []segment { return parseTemplate(strings.TrimRight(template, "/")) }

// siblingOf compares an entry with a template. The result pins nothing when the entry takes all paths of the
// template, or none.
func siblingOf(own []segment, e Entry) Sibling {
	s := Sibling{entry: e, segments: rootless(e.Path), pins: make([]bool, len(own))}
	for i, other := range s.segments {
		s.folded = append(s.folded, other.foldedSegment())
		switch covered := covers(other, s.folded[i], own[i]); {
		case !covered && !own[i].hasParameter():
			return Sibling{}
		case !covered:
			s.pins[i] = true
		}
	}
	return s
}

// hasParameter reports whether a segment has a parameter.
func (s segment) hasParameter() bool {
	return slices.ContainsFunc(s, func(p piece) bool { return p.param != "" })
}

// covers reports whether a segment matches everything that another segment matches.
func covers(s, folded, other segment) bool {
	const value = "\x00\x01" // no literal holds this
	var b strings.Builder
	for _, p := range other {
		if p.param != "" {
			b.WriteString(value)
		} else {
			b.WriteString(p.literal)
		}
	}
	text := b.String()
	return s.capture(text, map[string]string{}) || folded.capture(foldPrintable(text), map[string]string{})
}

// foldPrintable folds a text, and keeps the control characters that covers writes.
func foldPrintable(text string) string {
	var out []rune
	for _, r := range text {
		if r < ' ' {
			out = append(out, r)
		} else {
			out = fold.Rune(out, r)
		}
	}
	return string(out)
}

func (s segment) foldedSegment() segment {
	out := slices.Clone(s)
	for i, p := range out {
		out[i].literal = fold.Text(p.literal)
	}
	return out
}

// Selects returns an error when a value in the path makes it, for some receiver, a path of a sibling: the call
// would reach another operation than the one it is bound to. written is the path as it was shown to the person;
// path is the one that is sent, with references replaced. A value from a result must not select a sibling of any
// method. A value that stands in the plan is visible, so it must only not read as another operation. A reference that
// is not replaced yet selects nothing.
func Selects(e Entry, siblings []Sibling, written, path string) error {
	if len(siblings) == 0 {
		return nil
	}
	own, shown, sent := rootless(e.Path), splitPath(strings.TrimRight(written, "/")), splitPath(strings.TrimRight(path, "/"))
	if len(shown) != len(own) || len(sent) != len(own) {
		return nil // it does not match its own template: other checks report this
	}
	parts := make([]part, len(sent))
	for i, s := range own {
		parts[i].filled = ref.Contains(shown[i])
		switch text := Unescape(sent[i]); {
		case strings.Contains(sent[i], "${"):
		case s.hasParameter():
			parts[i].plain = readings(text)
		default:
			parts[i].plain = []string{text}
		}
		for _, text := range parts[i].plain {
			parts[i].folded = append(parts[i].folded, fold.Text(text))
		}
	}
	for _, s := range siblings {
		if s.matches(parts, s.entry.Method == e.Method) {
			return pathError("problem.taken_for", "path", strings.Join(sent, "/"), "other", s.entry, "operation", e)
		}
	}
	return nil
}

// part holds all readings of a segment of a path. The first is the segment itself.
type part struct {
	plain, folded []string // empty while the value is not known
	filled        bool     // by a value from a result
}

// matches reports whether a receiver may take the path for a path of the sibling.
func (s Sibling) matches(parts []part, sameMethod bool) bool {
	filled, exact := false, true
	for i, p := range parts {
		if len(p.plain) == 0 {
			if s.pins[i] {
				return false
			}
			continue
		}
		if !takesAny(s.segments[i], p.plain) && !takesAny(s.folded[i], p.folded) {
			return false
		}
		exact = exact && takesAny(s.segments[i], p.plain[:1])
		filled = filled || s.pins[i] && p.filled
	}
	return filled || sameMethod && !exact
}

func takesAny(s segment, texts []string) bool {
	if text, ok := s.literal(); ok {
		return slices.Contains(texts, text)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return s.capture(text, map[string]string{}) })
}

// readings lists how receivers may read a segment: decoded more than once, without parameters, without dots and
// blanks at its end, and without a format after a dot.
func readings(text string) []string {
	list := []string{text}
	add := func(t string) {
		if t != "" && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	const most = 3
	for range most {
		text = string(fold.Decode([]rune(text)))
		add(text)
	}
	for _, t := range slices.Clone(list) {
		folded := fold.Runes([]rune(t))
		add(string(fold.Runes(fold.Decode(folded))))
		for _, t := range []string{t, string(folded)} {
			if at := strings.IndexAny(t, ";?#"); at >= 0 {
				add(t[:at])
			}
			if at := strings.LastIndexByte(t, '.'); at > 0 {
				add(t[:at])
			}
		}
	}
	for _, t := range slices.Clone(list) {
		add(string(fold.Trim(fold.Runes([]rune(t)))))
	}
	return list
}
