package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Texts passes requests whose path and query are valid UTF-8 to next, and refuses others: invalid bytes would be
// read as U+FFFD, so one name would be taken for another. Every function uses it, however it is called. An event
// already has U+FFFD instead of such bytes, so a path with U+FFFD is refused, too.
func Texts(c Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.ContainsRune(r.URL.Path, utf8.RuneError) && isText(r.URL.RawQuery) {
			next.ServeHTTP(w, r)
			return
		}
		path := url.URL{Path: string([]rune(r.URL.Path))} // as an event has it
		a := c.newRequestInfo(w, r)
		escaped := path.EscapedPath()
		a.path = escaped[:min(len(escaped), maxInstance)]
		c.render(w, r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, a)), errEncoding)
	})
}

// isText reports whether a query is valid UTF-8 after decoding.
func isText(query string) bool {
	if !strings.Contains(query, "%") {
		return utf8.ValidString(query)
	}
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == '=' }) {
		if plain, err := url.QueryUnescape(part); err == nil && !utf8.ValidString(plain) {
			return false
		}
	}
	return utf8.ValidString(query)
}
