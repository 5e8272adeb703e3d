package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/ending"
)

func TestRunSaysWhereItGoesBeforeItIsSent(t *testing.T) {
	const list = `{"providers":[{"provider":"openai","base_url":"https://api.openai.com/v1"},{"provider":"mine","base_url":"https://models.example:8443/v1"},{"provider":"10.0.0.9:1","base_url":"http://10.0.0.9:1/v1"}]}`
	for name, c := range map[string]struct {
		eligible, agent, providers string
		args                       []string
		says                       string
	}{
		"the assistant's": {`{"provider":"openai","model":"gpt-4o-mini","providerOrder":["openai"]}`, `{"name":"build"}`, list, nil, "from there to openai (gpt-4o-mini, api.openai.com)."},
		"one that stands in": {
			`{"provider":"openai","model":"m","providerOrder":["openai","mine"]}`, `{"name":"build"}`, list, nil,
			"to openai (m, api.openai.com). If it does not answer: mine (models.example:8443).",
		},
		"the agent's":  {`{"provider":"openai","model":"m","providerOrder":["openai"]}`, `{"assistant":{"provider":"mine","model":"big"}}`, list, nil, "to mine (big, models.example:8443)."},
		"the person's": {`{"provider":"openai","model":"m"}`, `{"assistant":{"provider":"openai","model":"m"}}`, list, []string{"--model", "mine/own"}, "to mine (own, models.example:8443)."},
		"a host":       {`{"provider":"10.0.0.9:1","model":"m"}`, `{"name":"build"}`, list, nil, "to 10.0.0.9:1 (m)."},
		"unknown":      {`{"provider":"gone","model":"m"}`, `{"name":"build"}`, `{"providers":[]}`, nil, "to gone (m)."},
		"none":         {`{"canExecute":false}`, `{"name":"build"}`, list, nil, "What you ask goes to 127.0.0.1:"},
		"control":      {"{\"provider\":\"o\",\"model\":\"m\\u001b[2J\\u202e\"}", `{"name":"build"}`, `{"providers":[{"provider":"o","base_url":"https://h\u001b.example"}]}`, nil, "to o (m⟦U+001B⟧[2J⟦U+202E⟧"},
	} {
		t.Run(name, func(t *testing.T) {
			var said *strings.Builder
			sent := ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPost:
					sent = said.String()
					_, _ = fmt.Fprint(w, `{"job_id":"01J"}`)
				case r.URL.Path == "/ai/eligibility":
					_, _ = fmt.Fprint(w, c.eligible)
				case r.URL.Path == "/ai/providers":
					_, _ = fmt.Fprint(w, c.providers)
				default:
					_, _ = fmt.Fprint(w, c.agent)
				}
			}))
			defer s.Close()
			a, _, errOut := newApp(map[string]string{"PILOTO_TOKEN": "t", "XDG_CONFIG_HOME": t.TempDir()}, "")
			said = errOut
			code := a.run(append([]string{"--lang", "en", "--at", s.URL, "run", "--no-wait", "hi"}, c.args...))
			if code != ending.Success || !strings.Contains(sent, c.says) || !strings.Contains(sent, strings.TrimPrefix(s.URL, "http://")) || strings.Contains(sent, "\x1b") {
				t.Errorf("%d, before it was sent: %q, then %q", code, sent, errOut)
			}
		})
	}
}
