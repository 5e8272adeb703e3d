package localaws

import (
	"net"
	"net/http"
	"strings"
)

// OnLoopback serves requests that were meant for this machine, and answers 403 to others. A
// page of the web whose name was made to lead here names itself in Host.
func OnLoopback(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "the services answer this machine only", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// WithoutSecrets serves everything but secrets. Nothing proves who is behind a socket, even
// on loopback, and the file of the secrets is for its owner alone.
func WithoutSecrets(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("X-Amz-Target"), secretsTarget) {
			h.ServeHTTP(w, r)
			return
		}
		denySecrets(w)
	})
}

func denySecrets(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write([]byte(`{"__type":"AccessDeniedException","Message":"Secrets are not served outside of the process that has them"}`))
}
