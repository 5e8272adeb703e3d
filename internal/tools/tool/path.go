package tool

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/origin"
	"piloto/internal/ground/ref"
)

// Written returns the path and the query of a call as they are sent, below the base URL of its server or its own. A value that is not
// known yet stands there as its reference; all that is around a reference is final.
func Written(s Server, op Operation, a Arguments) (path, query string, err error) {
	if path, err = sentPath(op.Path, a.Path); err != nil {
		return "", "", err
	}
	query, err = writtenQuery(s.KeysOf(op), op, a.Query)
	return path, query, err
}

// URL returns the address of a call without references: the bytes that are sent. Its errors are those of Build.
func URL(s Server, op Operation, a Arguments) (string, error) {
	if ref.Contains(a.Path) {
		return "", pathError("problem.path_reference")
	}
	path, err := sentPath(op.Path, a.Path)
	if err != nil {
		return "", err
	}
	query, err := buildQuery(s.KeysOf(op), op, a.Query)
	if err != nil {
		return "", err
	}
	base := s.At(op)
	if !origin.Same(s.BaseURL, base) {
		return "", ErrRequest.With("reason", "origin")
	}
	raw := base + path
	if err := sameShape(base, op.Path, raw); err != nil {
		return "", ErrRequest.Because(err)
	}
	if query != "" {
		raw += "?" + query
	}
	if len(raw) > 2*maxPath {
		return "", ErrRequest.With("reason", "long")
	}
	return raw, nil
}

// sentPath returns a path as it is sent. A segment without a parameter is written as in the template, and so is the end of the
// path: with a slash, or without. In a segment with a parameter all characters that a URL may have stay as they were
// written, the others are escaped, and references stay.
func sentPath(template, path string) (string, error) {
	if len(path) > maxPath || !strings.HasPrefix(path, "/") {
		return "", pathError("problem.path_form", "most", maxPath)
	}
	if TemplateProblem(template) != "" {
		return "", pathError("problem.path_template", "template", template)
	}
	params, _, ok := matchTemplate(template, path)
	if !ok {
		return "", pathError("problem.path_other", "template", template)
	}
	var b strings.Builder
	parts, spelled := splitPath(path), strings.Split(template[1:], "/")
	for i, s := range parseTemplate(template) {
		b.WriteByte('/')
		if !s.hasParameter() {
			b.WriteString(legal(spelled[i]))
			continue
		}
		if err := checkSegment(template, s, params, ref.Contains(parts[i])); err != nil {
			return "", err
		}
		text, err := ref.MapLiterals(parts[i], legal)
		if err != nil {
			return "", wrongArguments("path.refused", notFollowed(err), "path")
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// checkSegment returns an error when a segment with parameters must not be sent. In one with references the values are judged
// when they are known.
func checkSegment(template string, s segment, params map[string]string, written bool) error {
	plain := ""
	for _, p := range s {
		text := p.literal
		if p.param != "" {
			text = params[p.param]
			if written {
				text = withoutReferences(text)
			}
			if reason := unsafeSegment(text); reason != "" && reason != reasonDots {
				return pathError("problem.parameter", "name", p.param, "why", Because(reason))
			}
		}
		plain += text
	}
	if reason := unsafeSegment(plain); reason != "" {
		return pathError("problem.segment", "template", template, "why", Because(reason))
	}
	return nil
}

// withoutReferences returns a text with a letter instead of each reference.
func withoutReferences(text string) string {
	pieces, err := ref.Literals(text)
	if err != nil {
		return text
	}
	return strings.Join(pieces, "x")
}

func pathError(code string, pairs ...any) error {
	why := Because(code, pairs...)
	return ErrRequest.WithFault("why", why).At(WrongField("path.refused", why, "path"))
}

// Reasons of unsafeSegment, as codes of Because. reasonDots refuses a whole segment, and is allowed for a part of one ("v{x}" with "..").
const (
	reasonDots    = "problem.segment.dots"
	reasonEmpty   = "problem.segment.empty"
	reasonSlash   = "problem.segment.slash"
	reasonControl = "problem.segment.control"
	reasonUTF8    = "problem.segment.encoding"
)

// unsafeSegment returns the reason why a text must not become a path segment, or "". It checks each decoding that a
// server or proxy may apply: the text as it is, and decoded up to three times. Dots are recognised in any width.
func unsafeSegment(text string) string {
	if text == "" {
		return reasonEmpty
	}
	if !utf8.ValidString(text) {
		return reasonUTF8
	}
	runes := []rune(text)
	for range 4 {
		bare, _, _ := strings.Cut(string(runes), ";")
		switch bare = strings.Trim(fold.Text(bare), " "); { // some servers drop blanks at the end of a name
		case bare == "." || bare == "..":
			return reasonDots
		case slices.Contains(runes, '/') || slices.Contains(runes, '\\'):
			return reasonSlash
		case slices.ContainsFunc(runes, isControl):
			return reasonControl
		case slices.Contains(runes, utf8.RuneError) && strings.Contains(text, "%"):
			return reasonUTF8
		}
		next := fold.Decode(runes)
		if slices.Equal(next, runes) {
			return ""
		}
		runes = next
	}
	return ""
}

func isControl(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// pathMarks are the signs that a segment of a path may have, beside the unreserved characters (RFC 3986 §3.3).
const pathMarks = "!$&'()*+,;=:@"

// legal escapes the characters that the path of a URL may not have. Its escapes stay as they were written; a text with a
// malformed one has none, as Unescape reads it.
func legal(text string) string {
	keep := pathMarks
	if _, err := url.PathUnescape(text); err == nil {
		keep += "%"
	}
	return escapeText(text, keep)
}

// Escape returns a value as it stands in a path or in a query: all but its unreserved characters are escaped.
func Escape(value string) string { return escapeText(value, "") }

// escapeText percent-encodes all but unreserved characters (RFC 3986 §2.3) and those to keep.
func escapeText(s, keep string) string {
	const upper = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~', strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upper[c>>4])
			b.WriteByte(upper[c&15])
		}
	}
	return b.String()
}

// sameShape parses the built URL as its receiver will: the origin and prefix must be the registered ones, and the
// segments those of the template.
func sameShape(base, template, raw string) error {
	want, err := url.Parse(base)
	if err != nil {
		return err
	}
	got, err := url.Parse(raw)
	if err != nil {
		return err
	}
	if got.Scheme != want.Scheme || got.Host != want.Host || got.User != nil || got.RawQuery != "" || got.Fragment != "" {
		return errors.New("the URL left its origin")
	}
	if want.Scheme+"://"+want.Host+got.RequestURI() != raw {
		return errors.New("the URL would be sent in another form")
	}
	rest, ok := strings.CutPrefix(got.EscapedPath(), strings.TrimSuffix(want.EscapedPath(), "/"))
	if !ok || !strings.HasPrefix(rest, "/") {
		return errors.New("the URL left its prefix")
	}
	segments, parts := parseTemplate(template), strings.Split(rest[1:], "/")
	if len(parts) != len(segments) {
		return errors.New("the URL has other segments than its template")
	}
	for i, s := range segments {
		if text, ok := s.literal(); ok && Unescape(parts[i]) != text {
			return errors.New("the URL has other literals than its template")
		}
	}
	return nil
}
