package tool

import (
	"fmt"
	"slices"
	"strings"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
)

// Sibling is another operation that a path of this one may select.
type Sibling struct {
	entry            Entry
	segments, folded []segment
	pins             []bool // by segment: a value of the other's decides it
}

// Siblings are the entries beside e that a path of e's may select, by what fills its
// parameters: "/users/me" and "/users/{id}:delete" beside "/users/{id}". One that takes
// every path of e's is none, since no value decides it. The method does not count,
// since a server may look at the path alone.
func Siblings(entries []Entry, e Entry) []Sibling {
	own := rootless(e.Path)
	if !slices.ContainsFunc(own, segment.open) {
		return nil
	}
	slashes := strings.Count(strings.TrimRight(e.Path, "/"), "/")
	var list []Sibling
	for _, other := range entries {
		if other.Name != "" || strings.Count(strings.TrimRight(other.Path, "/"), "/") != slashes {
			continue
		}
		if s := beside(own, other); slices.Contains(s.pins, true) {
			list = append(list, s)
		}
	}
	return list
}

// rootless is a template's segments without the empty one that ends it in "/".
func rootless(template string) []segment { return parseTemplate(strings.TrimRight(template, "/")) }

// beside is an entry as a sibling of a template: one that pins nothing when it takes all
// paths of it, or none.
func beside(own []segment, e Entry) Sibling {
	s := Sibling{entry: e, segments: rootless(e.Path), pins: make([]bool, len(own))}
	for i, other := range s.segments {
		s.folded = append(s.folded, other.foldedSegment())
		switch covered := covers(other, s.folded[i], own[i]); {
		case !covered && !own[i].open():
			return Sibling{}
		case !covered:
			s.pins[i] = true
		}
	}
	return s
}

// open reports a segment with a parameter.
func (s segment) open() bool {
	return slices.ContainsFunc(s, func(p piece) bool { return p.param != "" })
}

// covers reports whether a segment matches everything that another one matches.
func covers(s, folded, other segment) bool {
	const value = "\x00\x01" // that no literal holds
	var b strings.Builder
	for _, p := range other {
		if p.param != "" {
			b.WriteString(value)
		} else {
			b.WriteString(p.literal)
		}
	}
	text := b.String()
	return s.capture(text, map[string]string{}) || folded.capture(lowest(text), map[string]string{})
}

// lowest folds a text but for what covers puts in it.
func lowest(text string) string {
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

// Selects says that a call would not be the operation that it was bound to: a value in
// its path makes it, to some receiver, a path of one of its siblings. written is the path
// as it was shown and path the one that is sent, where the references are replaced. What
// a result fills must select no sibling whatever its method; what stands in the plan for
// all to see must only not look like another operation than it is. A reference that is
// not replaced yet selects nothing.
func Selects(e Entry, siblings []Sibling, written, path string) error {
	if len(siblings) == 0 {
		return nil
	}
	own, shown, sent := rootless(e.Path), splitPath(strings.TrimRight(written, "/")), splitPath(strings.TrimRight(path, "/"))
	if len(shown) != len(own) || len(sent) != len(own) {
		return nil // it does not match its own template: others say so
	}
	parts := make([]part, len(sent))
	for i, s := range own {
		parts[i].filled = ref.Contains(shown[i])
		switch text := Unescape(sent[i]); {
		case strings.Contains(sent[i], "${"):
		case s.open():
			parts[i].plain = taken(text)
		default:
			parts[i].plain = []string{text}
		}
		for _, text := range parts[i].plain {
			parts[i].folded = append(parts[i].folded, fold.Text(text))
		}
	}
	for _, s := range siblings {
		if s.reached(parts, s.entry.Method == e.Method) {
			return refusedPath(fmt.Sprintf("%s could be taken for %s, which is another operation than %s", strings.Join(sent, "/"), s.entry, e))
		}
	}
	return nil
}

// part is all readings of a segment of a path. The first is the segment itself.
type part struct {
	plain, folded []string // none when nobody knows it yet
	filled        bool     // by a result
}

// reached reports whether a sibling takes the path, as some receiver reads it.
func (s Sibling) reached(parts []part, sameMethod bool) bool {
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

// taken lists how receivers may read a segment: decoded more than once, without parameters,
// without dots and blanks at its end, and without a format after a dot.
func taken(text string) []string {
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
