package process

import (
	"encoding/json"

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
