package rule

import (
	"net/url"
	"slices"
	"strings"

	"piloto/internal/ground/fold"
)

// readings are the forms in which receivers may understand a path or a name.
type readings struct {
	plain   [][]rune // the path itself, decoded once or more
	loose   [][]rune // also the path as written, and without parameters
	folded  [][]rune // all of them, with folded letters
	trimmed [][]rune // all of them, folded, with the changes that folding makes to segments
}

// readPath returns the readings of a path. The plain ones are the path itself: decoded once, as in
// the request that is built of it, and decoded again while that changes it. The loose ones are also
// the path as written, fully decoded, and without the text after a ";" (a parameter), a "?" or a
// "#".
//
// The folded ones differ from these only in letters. In the trimmed ones a character that folds to
// a slash or a dot becomes one, dots and blanks at the end of a segment are removed, and a segment
// that a receiver may parse as a number becomes a plain number.
func readPath(path string, resolved bool) readings {
	raw := segmentsOf(path, resolved)
	var r readings
	for n, segments := 0, raw; n < maxDecodings; n++ {
		segments = mapSegments(segments, decodeOnce)
		r.plain = appendNew(r.plain, joinPath(segments))
	}
	for n, segments := 0, raw; n <= maxDecodings; n++ {
		r.loose = appendNew(r.loose, joinPath(segments))
		r.loose = appendNew(r.loose, joinPath(mapSegments(segments, withoutParameters)))
		segments = mapSegments(segments, fold.Decode)
	}
	for _, text := range r.plain {
		r.loose = appendNew(r.loose, text)
		r.loose = appendNew(r.loose, joinPath(mapSegments(split(text), withoutParameters)))
	}
	for _, text := range r.loose {
		letters := fold.Runes(text)
		r.folded = appendNew(r.folded, letters)
		for n := 0; n < maxDecodings; n++ { // a character that folds to a percent sign escapes
			segments := split(letters)
			r.trimmed = appendNew(r.trimmed, joinTrimmedPath(segments))
			r.trimmed = appendNew(r.trimmed, joinTrimmedPath(mapSegments(segments, withoutFormat)))
			letters = fold.Runes(fold.Decode(letters))
		}
	}
	for _, text := range r.trimmed {
		segments := split(text)
		r.trimmed = appendNew(r.trimmed, joinPath(mapSegments(segments, computedNumber)))
		r.trimmed = appendNew(r.trimmed, joinPath(mapSegments(segments, plainUUID)))
	}
	return r
}

// readName returns the readings of a tool's name, which receivers do not decode.
func readName(name string) readings {
	text := []rune(name)
	folded := fold.Runes(text)
	return readings{plain: [][]rune{text}, loose: [][]rune{text}, folded: [][]rune{folded}, trimmed: [][]rune{fold.Trim(folded)}}
}

// maxDecodings is how often a path is decoded: by a proxy, a server and a framework.
const maxDecodings = 3

func appendNew(list [][]rune, one []rune) [][]rune {
	if slices.ContainsFunc(list, func(r []rune) bool { return slices.Equal(r, one) }) {
		return list
	}
	return append(list, one)
}

func mapSegments(segments [][]rune, f func([]rune) []rune) [][]rune {
	out := make([][]rune, len(segments))
	for i, s := range segments {
		out[i] = f(s)
	}
	return out
}

// joinPath joins segments to a path, without empty ones and with dot segments resolved.
func joinPath(segments [][]rune) []rune { return join(segments, false) }

// joinTrimmedPath does the same and removes the dots and blanks at the end of folded segments.
func joinTrimmedPath(segments [][]rune) []rune { return join(segments, true) }

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

// split splits a segment, or a path, at its slashes.
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

// withoutParameters returns a segment without the text after a ";", "?" or "#".
func withoutParameters(segment []rune) []rune {
	if at := slices.IndexFunc(segment, func(r rune) bool { return r == ';' || r == '?' || r == '#' }); at >= 0 {
		return segment[:at]
	}
	return segment
}

// withoutFormat does the same for a folded segment, and removes the name of a file's stream
// ("::$data") or the format of the response that a framework reads from the path.
func withoutFormat(segment []rune) []rune {
	segment = withoutParameters(segment)
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

// plainUUID returns a segment as a receiver that parses UUIDs reads it.
func plainUUID(segment []rune) []rune {
	if plain, ok := fold.UUID(segment); ok {
		return plain
	}
	return segment
}

// computedNumber returns a segment as a receiver that parses numbers reads it.
func computedNumber(segment []rune) []rune {
	if slices.Contains(segment, unknown) {
		return segment
	}
	if plain, ok := fold.Number(segment); ok {
		return plain
	}
	return segment
}

// decodeOnce decodes a segment once. A segment that cannot be decoded stays unchanged, as in the
// request.
func decodeOnce(segment []rune) []rune {
	if !slices.Contains(segment, '%') {
		return segment
	}
	var out []rune
	for i, known := range splitAtUnknown(segment) {
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

// splitAtUnknown splits a segment at its unknown parts.
func splitAtUnknown(segment []rune) [][]rune {
	var parts [][]rune
	for {
		at := slices.Index(segment, unknown)
		if at < 0 {
			return append(parts, segment)
		}
		parts, segment = append(parts, segment[:at]), segment[at+1:]
	}
}
