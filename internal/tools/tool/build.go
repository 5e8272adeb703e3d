package tool

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
)

// Build turns a call without references into a request. The request's URL has the registered scheme, host and port,
// the path prefix of the server or of the operation, and exactly the template's segments. A call that would break this is refused
// with ErrRequest or ErrArguments. All headers are decided here.
func Build(s Server, op Operation, a Arguments) (Request, error) {
	if p, missing := s.MissingKey(op); missing {
		return Request{}, ErrArguments.At(fault.Field{Loc: []any{"headers", p.Name}, Type: "missing", Msg: "the service has no key for its header " + p.Name})
	}
	path, err := buildPath(op.Path, a.Path)
	if err != nil {
		return Request{}, err
	}
	query, err := buildQuery(s.KeysOf(op), op, a.Query)
	if err != nil {
		return Request{}, err
	}
	base := s.At(op)
	if !SameOrigin(s.BaseURL, base) {
		return Request{}, ErrRequest.With("reason", "origin")
	}
	raw := base + path
	if err := sameShape(base, op.Path, raw); err != nil {
		return Request{}, ErrRequest.Because(err)
	}
	if query != "" {
		raw += "?" + query
	}
	if len(raw) > 2*maxPath {
		return Request{}, ErrRequest.With("reason", "too long")
	}
	r := Request{
		Origin: base, Method: op.Method, URL: raw,
		Header: map[string]string{"Accept": "application/json, */*;q=0.5"},
	}
	if err := addHeaders(&r, op, a.Headers); err != nil {
		return Request{}, err
	}
	err = addBody(&r, op, a.Body)
	return r, err
}

func buildPath(template, path string) (string, error) {
	if len(path) > maxPath || !strings.HasPrefix(path, "/") || ref.Contains(path) {
		return "", pathError("the path is too long, does not begin with /, or still holds a reference")
	}
	if reason := TemplateProblem(template); reason != "" {
		return "", pathError(template + " cannot be called: " + reason)
	}
	params, _, ok := matchTemplate(template, path)
	if !ok {
		return "", pathError("the path does not match " + template)
	}
	var b strings.Builder
	for _, s := range parseTemplate(template) {
		b.WriteByte('/')
		plain := ""
		for _, p := range s {
			text := p.literal
			if p.param != "" {
				text = params[p.param]
				if reason := unsafeSegment(text); reason != "" && reason != reasonDots {
					return "", pathError(fmt.Sprintf("{%s} %s", p.param, reason))
				}
			}
			plain += text
			b.WriteString(escapeText(text, p.param == ""))
		}
		if reason := unsafeSegment(plain); reason != "" && len(s) > 0 { // an empty segment ends a template in "/"
			return "", pathError(fmt.Sprintf("the segment of %s %s", template, reason))
		}
	}
	return b.String(), nil
}

func pathError(reason string) error {
	return ErrRequest.With("reason", reason).At(fault.Field{Loc: []any{"path"}, Type: "path.refused", Msg: reason})
}

// reasonDots refuses a whole segment. It is allowed for a part of a segment ("v{x}" with "..").
const reasonDots = "must not be a dot segment"

// unsafeSegment returns the reason why a text must not become a path segment, or "". It checks each decoding that a
// server or proxy may apply: the text as it is, and decoded up to three times. Dots are recognised in any width.
func unsafeSegment(text string) string {
	if text == "" {
		return "must not be empty"
	}
	if !utf8.ValidString(text) {
		return "must be UTF-8"
	}
	runes := []rune(text)
	for range 4 {
		bare, _, _ := strings.Cut(string(runes), ";")
		switch bare = strings.Trim(fold.Text(bare), " "); { // some servers drop blanks at the end of a name
		case bare == "." || bare == "..":
			return reasonDots
		case slices.Contains(runes, '/') || slices.Contains(runes, '\\'):
			return `must not contain / or \`
		case slices.ContainsFunc(runes, isControl):
			return "must not contain control characters"
		case slices.Contains(runes, utf8.RuneError) && strings.Contains(text, "%"):
			return "must be UTF-8"
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

// escapeText percent-encodes all but unreserved characters (RFC 3986 §2.3). In a literal of a template it also
// keeps : = , + ! ( ) because documents write them there.
func escapeText(s string, literal bool) string {
	const upper = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~',
			literal && strings.IndexByte(":=,+!()", c) >= 0:
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
