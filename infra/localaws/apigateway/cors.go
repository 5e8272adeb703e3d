package apigateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// CORS holds the requests and response headers that pages of other origins may use. Credentials are
// not allowed, so a page never sends the cookie.
type CORS struct {
	Origins, Methods, Headers, Expose []string
	MaxAge                            int // seconds for which a preflight's response is valid
}

// Serve answers preflights itself, on every path, and adds the CORS headers to other responses.
// Without origins it returns next.
func (c CORS) Serve(next http.Handler) http.Handler {
	if len(c.Origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, origin := w.Header(), r.Header.Get("Origin")
		h.Add("Vary", "Origin")
		allowed := slices.Contains(c.Origins, origin)
		if allowed {
			h.Set("Access-Control-Allow-Origin", origin)
		}
		if r.Method == http.MethodOptions && origin != "" && r.Header.Get("Access-Control-Request-Method") != "" {
			if allowed {
				h.Set("Access-Control-Allow-Methods", strings.Join(c.Methods, ","))
				h.Set("Access-Control-Allow-Headers", strings.Join(c.Headers, ","))
				h.Set("Access-Control-Max-Age", strconv.Itoa(c.MaxAge))
			}
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if allowed && len(c.Expose) > 0 {
			h.Set("Access-Control-Expose-Headers", strings.Join(c.Expose, ","))
		}
		next.ServeHTTP(w, r)
	})
}
