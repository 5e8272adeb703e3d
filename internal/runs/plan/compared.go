package plan

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normal returns a request in the form in which it is compared with others. Differences that no person sees do not count:
// how letters are composed, characters without a width, blanks around a value, the case of a header's name, escapes and the
// order of parameters. A member with null is as none, but in a PATCH, where it removes something, and in the arguments of a
// tool. Values keep their case, because a service may distinguish it.
func (q request) normal() (request, error) {
	var err error
	q.URL = comparedURL(q.URL)
	if q.Headers, err = comparedHeaders(q.Headers); err != nil {
		return q, err
	}
	verb := []string{"POST", "PUT", "DELETE", "GET"}
	q.Body, err = comparedJSON(q.Body, slices.Contains(verb, q.Called))
	return q, err
}

// comparedURL returns the form of a URL in which its escapes and the order of its parameters make no other request. An escaped
// separator is no separator.
func comparedURL(text string) string {
	path, query, _ := strings.Cut(text, "?")
	segments, parts := strings.Split(path, "/"), strings.Split(query, "&")
	for i, s := range segments {
		segments[i] = comparedPart(s, url.PathUnescape)
	}
	sortParameters(parts)
	for i, p := range parts {
		name, value, _ := strings.Cut(p, "=")
		parts[i] = comparedPart(name, url.QueryUnescape) + "=" + comparedPart(value, url.QueryUnescape)
	}
	return strings.Join(segments, "/") + "?" + strings.Join(parts, "&")
}

// sortedURL returns a URL with its parameters in the order of their names.
func sortedURL(text string) string {
	path, query, _ := strings.Cut(text, "?")
	parts := strings.Split(query, "&")
	sortParameters(parts)
	return path + "?" + strings.Join(parts, "&")
}

// sortParameters sorts the parameters of a query by their names. Those of one name keep their order.
func sortParameters(parts []string) {
	slices.SortStableFunc(parts, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
}

// separators escapes the separators of the parts of a URL.
var separators = strings.NewReplacer("%", "%25", "/", "%2F", "?", "%3F", "&", "%26", "=", "%3D")

// comparedPart returns the form of a part of a URL. A part of a reference stays as it is.
func comparedPart(part string, unescape func(string) (string, error)) string {
	plain, err := unescape(part)
	if err != nil || plain == part {
		return comparedText(part)
	}
	return separators.Replace(comparedText(plain))
}

// comparedHeaders returns headers, whose names have no case; nil for none.
func comparedHeaders(raw json.RawMessage) (json.RawMessage, error) {
	raw, err := comparedJSON(raw, true)
	var headers map[string]any
	if err != nil || len(raw) == 0 || json.Unmarshal(raw, &headers) != nil {
		return raw, err
	}
	lower := map[string]any{}
	for name, value := range headers {
		lower[strings.ToLower(name)] = value
	}
	if len(lower) == 0 {
		return nil, nil
	}
	return json.Marshal(lower)
}

// comparedJSON returns the form of a value, without members that are null when they are as none.
func comparedJSON(raw json.RawMessage, nullIsNone bool) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	reader := json.NewDecoder(bytes.NewReader(raw))
	reader.UseNumber()
	var v any
	if err := reader.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(comparedValue(v, nullIsNone))
}

func comparedValue(v any, nullIsNone bool) any {
	switch v := v.(type) {
	case string:
		return comparedText(v)
	case []any:
		for i := range v {
			v[i] = comparedValue(v[i], nullIsNone)
		}
	case map[string]any:
		for name, member := range v {
			if member == nil && nullIsNone {
				delete(v, name)
			} else {
				v[name] = comparedValue(member, nullIsNone)
			}
		}
	}
	return v
}

// comparedText returns a text composed (NFC), without blanks around it and without characters that have no width.
func comparedText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	return norm.NFC.String(strings.TrimSpace(text))
}
