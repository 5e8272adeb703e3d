package process

import (
	"encoding/json"

	"piloto/internal/models/secrets"
)

// platformSecretARN names the deployment's secret. On AWS a person makes that secret; here it holds
// the keys of the environment, in memory only.
const platformSecretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:piloto-platform-local1"

// platformSecret returns the value of the deployment's secret; "" when there is no key.
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
	if err != nil { // a map of strings can always be encoded
		panic("process: " + err.Error())
	}
	return string(text)
}
