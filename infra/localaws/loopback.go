package localaws

import (
	"net"
	"net/http"
	"strings"
)

// OnLoopback serves requests whose Host is this machine, and responds 403 to others. A web page
// whose name was made to point here has its own name in Host.
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

// WithoutSecrets serves everything but secrets. A socket does not authenticate its clients, even on
// loopback, and the file of the secrets is for its owner alone.
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
