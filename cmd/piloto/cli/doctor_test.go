package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
)

// served returns a client of a server that answers each path with a text, and 503 where there is none.
func served(t *testing.T, answers map[string]string) *client.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return client.New(client.Target{Origin: s.URL, Token: "t"}, "en")
}

// TestDoctorSaysWhichModelAnswers of a process that runs, and the outcome of its last call.
func TestDoctorSaysWhichModelAnswers(t *testing.T) {
	for status, want := range map[string]finding{
		`{"configured":true,"connected":true,"provider":"openai","model":"m\u001b[2J","outcome":"ok"}`: {OK: true, Text: "openai, model m⟦U+001B⟧[2J"},
		`{"configured":true,"provider":"openai","model":"m"}`:                                          {OK: true, Text: "openai, model m"},
		`{"configured":true,"connected":true,"provider":"x","model":"m","outcome":"ok","priced":"list"}`: {
			OK: true, Text: "x, model m; its costs are an estimate, by the list price of the model; set its own on the page, under Assistants",
		},
		`{"configured":true,"connected":true,"provider":"x","model":"m","outcome":"ok","priced":"rule"}`: {
			OK: true, Text: "x, model m; no price of the model is known, so the highest known one counts; set its own on the page, under Assistants",
		},
		`{"configured":true,"connected":true,"provider":"x","model":"m","outcome":"ok","priced":"table"}`: {OK: true, Text: "x, model m"},
		`{"configured":true,"connected":false,"provider":"openai","model":"m","outcome":"no_api_key"}`:    {Text: "openai, model m: the last call came to no_api_key"},
		`{"configured":false,"provider":"openai"}`:                                                        {Text: "openai: no assistant with a key", Do: "set the key on the page, under Assistants"},
	} {
		a, _, _ := newApp(map[string]string{"PILOTO_LANG": "en"}, "")
		a.con.Tag = a.con.Language()
		want.What = "provider"
		if got := a.doctor.examineStatus(t.Context(), served(t, map[string]string{"/ai/status": status})); got != want {
			t.Errorf("%s: %+v, want %+v", status, got, want)
		}
	}
	a, _, _ := newApp(map[string]string{"PILOTO_LANG": "en"}, "")
	if got := a.doctor.examineStatus(t.Context(), served(t, nil)); got.OK || got.What != "provider" || got.Text == "" {
		t.Errorf("a process that does not answer: %+v", got)
	}
}

// TestUsageTellsNewTokensFromCached, and marks a cost that is an estimate.
func TestUsageTellsNewTokensFromCached(t *testing.T) {
	c := served(t, map[string]string{"/ai/usage": `{"by":"model","usage":[
		{"key":"a/m","turns":2,"input_tokens":900,"new_tokens":200,"cached_tokens":700,"output_tokens":30,"cost_micros":41,"list_priced":1},
		{"key":"b/m","turns":1,"input_tokens":10,"new_tokens":10,"output_tokens":1,"cost_micros":5}],
		"total":{"turns":3,"input_tokens":910,"new_tokens":210,"cached_tokens":700,"output_tokens":31,"cost_micros":46,"list_priced":1}}`})
	a, out, _ := newApp(map[string]string{"PILOTO_TOKEN": "t", "PILOTO_LANG": "en", "XDG_CONFIG_HOME": t.TempDir()}, "")
	if code := a.run([]string{"--at", c.Origin, "usage", "--by", "model"}); code != ending.Success {
		t.Fatalf("%d %s", code, out)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	if got := strings.Join(rows[1:], "|"); got != "a/m 2 200 700 30 ≈ $0.000041|b/m 1 10 0 1 $0.000005|total 3 210 700 31 ≈ $0.000046" ||
		!strings.Contains(rows[0], "NEW TOKENS FROM THE CACHE") {
		t.Errorf("%s", out)
	}
}

// TestDoctorChecksAProvider when somebody asks for it, waits for the end, and tells what was found.
func TestDoctorChecksAProvider(t *testing.T) {
	for name, c := range map[string]struct {
		args, check, out string
		code             ending.Code
	}{
		"answers": {
			"--provider mine --model m", `{"status":"done","model":"m\u001b[2J","calls":[],"findings":[{"code":"tools","text":"It uses tools.\u001b[2J"}],"cost_micros":1200}`,
			"ok   provider   mine, model m⟦U+001B⟧[2J: it answers (the check cost 0.0012 USD)\nok   provider   It uses tools.⟦U+001B⟧[2J\n", ending.Success,
		},
		"fails": {
			"--provider mine", `{"status":"failed","reason":"timeout","message":"mine did not answer in time.","action":"Check it again.","calls":[],"findings":[]}`,
			"BAD  provider   mine did not answer in time.\n                → Check it again.\n", ending.Failed,
		},
		"is set anew": {"--provider mine", "null", "BAD  provider   mine was changed while it was checked: check it again\n", ending.Failed},
		"no provider": {"--model m", "null", "", ending.Usage},
	} {
		var asked []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusAccepted)
				_, _ = fmt.Fprint(w, `{"provider":"mine","check":{"status":"running","calls":[],"findings":[]}}`)
				return
			}
			_, _ = fmt.Fprint(w, `{"provider":"mine","check":`+c.check+`}`)
		}))
		t.Cleanup(s.Close)
		a, out, _ := newApp(map[string]string{"PILOTO_TOKEN": "t", "PILOTO_LANG": "en", "XDG_CONFIG_HOME": t.TempDir()}, "")
		code := a.run(append([]string{"--at", s.URL, "doctor"}, strings.Fields(c.args)...))
		if code != c.code || out.String() != c.out {
			t.Errorf("%s: %d %q", name, code, out)
		}
		if c.out != "" && (len(asked) != 2 || !strings.HasPrefix(asked[0], "POST /ai/providers/mine/check {") || strings.Contains(asked[0], `"m"`) != strings.Contains(c.args, "--model")) {
			t.Errorf("%s: asked %q", name, asked)
		}
	}
}

// TestCreditsSayWhatIsMissing on a line of its own.
func TestCreditsSayWhatIsMissing(t *testing.T) {
	c := served(t, map[string]string{"/ai/credits": `{"balance":9,"block":{"reason":"insufficient_credits","message":"You need credits.","action":"Add at least 21\u001b[2J credits.","creditsMissing":21}}`})
	a, out, _ := newApp(map[string]string{"PILOTO_TOKEN": "t", "PILOTO_LANG": "en", "XDG_CONFIG_HOME": t.TempDir()}, "")
	code := a.run([]string{"--at", c.Origin, "credits"})
	if code != ending.Success || !strings.Contains(out.String(), "Balance: 9 credits.") || !strings.HasSuffix(out.String(), "\nYou need credits. Add at least 21⟦U+001B⟧[2J credits.\n") {
		t.Errorf("%d %q", code, out)
	}
}
