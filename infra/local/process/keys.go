package process

import (
	"encoding/json"
	"net/http"
	"strings"

	"piloto/internal/models/secrets"
)

// platformSecretARN is the deployment's own secret: on AWS a person makes it, here
// it holds the keys that the environment gave, in memory only.
const platformSecretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:piloto-platform-local1"

// platformSecret is what the deployment's secret holds; "" when no key was given.
func (s Settings) platformSecret() string {
	held := map[string]string{}
	for name, key := range map[string]secrets.Key{"OPENAI_API_KEY": s.Key, "GROQ_API_KEY": s.GroqKey} {
		if key != "" {
			held[name] = key.Reveal()
		}
	}
	if len(held) == 0 {
		return ""
	}
	text, err := json.Marshal(held)
	if err != nil { // a map of texts can be written
		panic("process: " + err.Error())
	}
	return string(text)
}

// withoutSecrets serves the engines but the one that holds keys. Nothing proves
// who is behind a socket, even on loopback, and the file of the secrets is for
// its owner alone.
func withoutSecrets(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("X-Amz-Target"), secretsTarget) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"AccessDeniedException","Message":"Secrets are not served outside of the process that has them"}`))
	})
}
