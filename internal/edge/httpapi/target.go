package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Texts serves with next the requests whose path and query are text, and refuses any
// other: bytes that are no UTF-8 would be read as U+FFFD, so that one name is taken for
// another. It stands before every function, however that is called. An event has U+FFFD
// in a path already in place of such bytes, and so a path that holds it is refused too.
func Texts(c Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.ContainsRune(r.URL.Path, utf8.RuneError) && textual(r.URL.RawQuery) {
			next.ServeHTTP(w, r)
			return
		}
		path := url.URL{Path: string([]rune(r.URL.Path))} // as an event has it
		a := c.ask(w, r)
		told := path.EscapedPath()
		a.path = told[:min(len(told), maxInstance)]
		c.render(w, r.WithContext(context.WithValue(r.Context(), askedKey{}, a)), errEncoding)
	})
}

// textual reports whether all that stands in a query is UTF-8, decoded.
func textual(query string) bool {
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
