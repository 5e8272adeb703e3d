package rule

import (
	"net/url"
	"slices"
	"strings"

	"piloto/internal/ground/fold"
)

// readings are what receivers may take a path, or a name, for.
type readings struct {
	plain   [][]rune // what it is, however often a receiver decodes it
	loose   [][]rune // what it also is as written, and without parameters
	folded  [][]rune // all of them, folded: letters alone
	trimmed [][]rune // all of them, folded: with what that does to segments
}

// readPath lists the readings of a path. The first two are what it is: decoded once,
// which is how a request is built of it, and again as often as that changes it. The
// others are further readings of it: as it is written, fully decoded, and without what follows
// a ";" (a parameter), a "?" or a "#".
//
// Of what each folds to, some are of letters alone, where nothing else is changed; in
// the others a character that folds to a slash or a dot is one, dots and blanks at the
// end of a segment are gone, and one that a receiver may compute is a number.
func readPath(path string, resolved bool) readings {
	raw := segmentsOf(path, resolved)
	var r readings
	for n, segments := 0, raw; n < mostDecoded; n++ {
		segments = mapped(segments, decoded)
		r.plain = added(r.plain, joined(segments))
	}
	for n, segments := 0, raw; n <= mostDecoded; n++ {
		r.loose = added(r.loose, joined(segments))
		r.loose = added(r.loose, joined(mapped(segments, bare)))
		segments = mapped(segments, fold.Decode)
	}
	for _, text := range r.plain {
		r.loose = added(r.loose, text)
		r.loose = added(r.loose, joined(mapped(split(text), bare)))
	}
	for _, text := range r.loose {
		letters := fold.Runes(text)
		r.folded = added(r.folded, letters)
		for n := 0; n < mostDecoded; n++ { // what folds to a percent sign escapes
			segments := split(letters)
			r.trimmed = added(r.trimmed, settled(segments))
			r.trimmed = added(r.trimmed, settled(mapped(segments, bareFolded)))
			letters = fold.Runes(fold.Decode(letters))
		}
	}
	for _, text := range r.trimmed {
		segments := split(text)
		r.trimmed = added(r.trimmed, joined(mapped(segments, number)))
		r.trimmed = added(r.trimmed, joined(mapped(segments, identifier)))
	}
	return r
}

// readName lists the readings of a tool's name, which nobody decodes.
func readName(name string) readings {
	text := []rune(name)
	folded := fold.Runes(text)
	return readings{plain: [][]rune{text}, loose: [][]rune{text}, folded: [][]rune{folded}, trimmed: [][]rune{fold.Trim(folded)}}
}

// mostDecoded is how often a path is decoded: by a proxy, a server and a framework.
const mostDecoded = 3

func added(list [][]rune, one []rune) [][]rune {
	if slices.ContainsFunc(list, func(r []rune) bool { return slices.Equal(r, one) }) {
		return list
	}
	return append(list, one)
}

func mapped(segments [][]rune, f func([]rune) []rune) [][]rune {
	out := make([][]rune, len(segments))
	for i, s := range segments {
		out[i] = f(s)
	}
	return out
}

// joined is a path of segments, without empty ones and with dots followed.
func joined(segments [][]rune) []rune { return join(segments, false) }

// settled is joined, of folded segments that lose the dots and blanks at their end.
func settled(segments [][]rune) []rune { return join(segments, true) }

func join(segments [][]rune, trim bool) []rune {
	var kept [][]rune
	for _, s := range segments {
		for _, part := range split(s) {
			name := string(part)
			if trim {
				name, part = strings.Trim(name, " "), fold.Trim(part)
			}
			switch {
			case name == "..":
				kept = kept[:max(0, len(kept)-1)]
			case name != "." && len(part) > 0:
				kept = append(kept, part)
			}
		}
	}
	var path []rune
	for _, s := range kept {
		path = append(append(path, '/'), s...)
	}
	if path == nil {
		return []rune{'/'}
	}
	return path
}

// split cuts a segment, or a path, at the slashes in it.
func split(segment []rune) [][]rune {
	var parts [][]rune
	for {
		at := slices.IndexFunc(segment, func(r rune) bool { return r == '/' || r == '\\' })
		if at < 0 {
			return append(parts, segment)
		}
		parts, segment = append(parts, segment[:at]), segment[at+1:]
	}
}

// bare is a segment without what follows a ";", "?" or "#" in it.
func bare(segment []rune) []rune {
	if at := slices.IndexFunc(segment, func(r rune) bool { return r == ';' || r == '?' || r == '#' }); at >= 0 {
		return segment[:at]
	}
	return segment
}

// bareFolded is bare, and without the name of a stream ("::$data") of a file, or of a
// format that a framework answers in.
func bareFolded(segment []rune) []rune {
	segment = bare(segment)
	trimmed := fold.Trim(segment)
	for _, format := range []string{".json", ".xml", ".html"} {
		if n := len(trimmed) - len(format); n > 0 && string(trimmed[n:]) == format {
			return trimmed[:n]
		}
	}
	for i, r := range segment[:max(0, len(segment)-1)] {
		if next := segment[i+1]; r == ':' && (next == ':' || next == '$') {
			return segment[:i]
		}
	}
	return segment
}

// identifier is a segment as a receiver that reads UUIDs has it.
func identifier(segment []rune) []rune {
	if plain, ok := fold.UUID(segment); ok {
		return plain
	}
	return segment
}

// number is a segment as a receiver that computes reads it.
func number(segment []rune) []rune {
	if slices.Contains(segment, unknown) {
		return segment
	}
	if plain, ok := fold.Number(segment); ok {
		return plain
	}
	return segment
}

// decoded decodes a segment once. One that cannot be decoded stays as it is, as it
// does where the request is built.
func decoded(segment []rune) []rune {
	if !slices.Contains(segment, '%') {
		return segment
	}
	var out []rune
	for i, known := range cutUnknown(segment) {
		if i > 0 {
			out = append(out, unknown)
		}
		text, err := url.PathUnescape(string(known))
		if err != nil {
			return segment
		}
		out = append(out, []rune(text)...)
	}
	return out
}

// cutUnknown cuts a segment at what nobody knows yet.
func cutUnknown(segment []rune) [][]rune {
	var parts [][]rune
	for {
		at := slices.Index(segment, unknown)
		if at < 0 {
			return append(parts, segment)
		}
		parts, segment = append(parts, segment[:at]), segment[at+1:]
	}
}
