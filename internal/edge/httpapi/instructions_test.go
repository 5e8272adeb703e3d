package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestInstructionsHaveOneLimit in every place where an operator writes some: 16 KB, and a longer text is refused with its size
// and the limit, in the person's language.
func TestInstructionsHaveOneLimit(t *testing.T) {
	const most = 16 << 10
	for _, c := range []struct{ method, path, body, member string }{
		{"PUT", "/ai/assistant", `{"provider":"openai","model":"gpt-4o-mini","persona":%q}`, "persona"},
		{"PUT", "/api/projects/" + projectID + "/assistant", `{"provider":"openai","model":"gpt-4o-mini","persona":%q}`, "persona"},
		{"POST", "/api/projects", `{"name":"x","context":%q}`, "context"},
		{"PATCH", "/api/projects/" + projectID, `{"context":%q}`, "context"},
		{"PUT", "/api/agents/otro", `{"version":0,"prompt":%q}`, "prompt"},
		{"PUT", "/api/router", `{"context":%q}`, "context"},
		{"PUT", "/api/router", `{"prompts":{"identity":%q}}`, "identity"},
		{"PUT", "/api/router/7", `{"prompts":{"state":"` + strings.Repeat("x", 3000) + `","identity":%q}}`, "prompts"},
		{"POST", agentPath, `{"message":"hola","session_id":"s","config":{"id_empresa":7,"personalidad":%q}}`, "personalidad"},
	} {
		for lang, want := range map[string]string{"es": "tiene %s bytes; caben 16.384 como mucho", "en": "has %s bytes; at most 16,384 are allowed"} {
			for size, given := range map[int]string{most: "", 17_000: map[string]string{"es": "17.000", "en": "17,000"}[lang]} {
				status := 200
				text := strings.Repeat("ñ", size/2) // bytes count, not characters
				switch {
				case c.member == "prompts" && given == "":
					text = text[:2*((most-3000)/2)]
				case c.member == "prompts":
					text = text[:14_000]
				}
				if given != "" {
					status = 422
				}
				who := boss
				if strings.HasPrefix(c.path, "/api/agents") {
					who = manager
				}
				w := newSite().do(ask(who, c.method, c.path, fmt.Sprintf(c.body, text), "Accept-Language", lang))
				if c.method == "POST" && c.path == "/api/projects" && status == 200 {
					status = 201
				}
				if w.Code != status {
					t.Errorf("%s %s %s of %d bytes: %d %.300s", c.method, c.path, c.member, size, w.Code, w.Body)
					continue
				}
				if sentence := fmt.Sprintf(want, given); given != "" && (!strings.Contains(w.Body.String(), sentence) || !strings.Contains(w.Body.String(), `"`+c.member+`"`)) {
					t.Errorf("%s %s: no %q in %s", c.method, c.path, sentence, w.Body)
				}
			}
		}
	}
}
