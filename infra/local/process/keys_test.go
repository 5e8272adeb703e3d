package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"localaws"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/boot"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/secrets"
)

const (
	openaiCanary = "CANARY-openai-0123456789"
	groqCanary   = "CANARY-groq-0123456789"
	testToken    = "a-token-of-the-test-of-one-process"
)

// provider answers every completion, and stores the Authorization of each request.
type provider struct {
	mu    sync.Mutex
	asked []string // Authorization headers
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Header.Get("Authorization"))
	_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Hola."}}]}`)
}

// deploy opens a deployment with a token and serves it. It returns the deployment with its folder,
// its log and its origin.
func deploy(t *testing.T, s Settings) (p *Process, folder string, log *bytes.Buffer, origin string) {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	folder, log = filepath.Join(t.TempDir(), "data"), &bytes.Buffer{}
	p, err := Open(t.Context(), Options{Data: folder, Template: "../../../template.yaml", Log: log}, s, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := installToken(t.Context(), p.Stores.Access, folder, testToken, boot.Clock()); err != nil {
		t.Fatal(err)
	}
	if handler, err = p.Handler(); err != nil {
		t.Fatal(err)
	}
	return p, folder, log, server.URL
}

func post(t *testing.T, url string, body map[string]any) map[string]any {
	t.Helper()
	raw, _ := json.Marshal(body)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEnvironmentKeysAreUsedAndNotStored tries every combination of keys.
func TestEnvironmentKeysAreUsedAndNotStored(t *testing.T) {
	model := &provider{}
	server := httptest.NewServer(model)
	defer server.Close()
	for name, x := range map[string]struct {
		set    Settings
		holds  map[string]string
		answer string // kind
		bearer string // "": the provider gets no request
	}{
		"none":          {Settings{Demo: true}, nil, "message", ""},
		"openai":        {Settings{Key: openaiCanary, BaseURL: server.URL + "/v1", Model: "m"}, map[string]string{"OPENAI_API_KEY": openaiCanary}, "message", openaiCanary},
		"both":          {Settings{Key: openaiCanary, GroqKey: groqCanary, BaseURL: server.URL + "/v1", Model: "m"}, map[string]string{"OPENAI_API_KEY": openaiCanary, "GROQ_API_KEY": groqCanary}, "message", openaiCanary},
		"groq, no demo": {Settings{Demo: true, GroqKey: groqCanary, GroqBaseURL: server.URL + "/v1"}, map[string]string{"GROQ_API_KEY": groqCanary}, "message", groqCanary},
		"groq alone":    {Settings{GroqKey: groqCanary, GroqBaseURL: server.URL + "/v1"}, map[string]string{"GROQ_API_KEY": groqCanary}, "message", groqCanary},
		"nothing":       {Settings{}, nil, "blocked", ""},
	} {
		t.Run(name, func(t *testing.T) {
			model.asked = nil
			p, folder, log, origin := deploy(t, x.set)
			keys := secrets.NewManager(p.clientConfig(), "")
			for _, variable := range []string{"OPENAI_API_KEY", "GROQ_API_KEY"} {
				if got, _ := keys.Get(t.Context(), platformSecretARN, variable); got != x.holds[variable] {
					t.Errorf("the secret has %q for %s", got, variable)
				}
			}
			if arn := p.deployment.Environment["ChatFunction"]["MODEL_SECRET_ARN"]; (arn == platformSecretARN) != (x.holds != nil) || arn != "" && x.holds == nil {
				t.Errorf("the chat function is told %q", arn)
			}
			chat := post(t, origin+"/api/chats", map[string]any{})["chat_id"]
			if out := post(t, origin+"/api/send", map[string]any{"chat_id": chat, "message": "hola"}); out["kind"] != x.answer {
				t.Errorf("a turn: %v", out)
			}
			if want := "[Bearer " + x.bearer + "]"; x.bearer != "" && fmt.Sprint(model.asked) != want || x.bearer == "" && len(model.asked) > 0 {
				t.Errorf("the provider was asked with %v", model.asked)
			}
			if err := keys.Put(t.Context(), keys.ProviderID("default", "groq"), map[string]string{"KEY": "kept"}); err != nil {
				t.Errorf("a key of the account: %v", err)
			}
			printed := log.String() + fmt.Sprintf("%v %+v %#v", p.Settings, p.Settings, p.Settings)
			if strings.Contains(printed, "CANARY") {
				t.Errorf("it is in what is printed:\n%s", printed)
			}
			mustNotContain(t, folder, "CANARY")
		})
	}
}

// mustNotContain fails when a file of a folder contains a text, or when others can read it.
func mustNotContain(t *testing.T, folder, text string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		seen++
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			t.Errorf("it is in %s", path)
		}
		if info, err := d.Info(); err != nil || d.Name() == secretsFile && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v: %v", path, info.Mode(), err)
		}
		return err
	})
	if err != nil || seen < 2 {
		t.Errorf("%d files: %v", seen, err)
	}
}

// TestAWSListenerServesNoSecrets checks that other engines are served, unsigned.
func TestAWSListenerServesNoSecrets(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{Key: openaiCanary, BaseURL: "http://127.0.0.1:1/v1"})
	for target, want := range map[string]string{
		"secretsmanager.GetSecretValue": "AccessDeniedException",
		"secretsmanager.ListSecrets":    "AccessDeniedException",
		"DynamoDB_20120810.ListTables":  "TableNames",
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8000/", strings.NewReader("{}"))
		r.Header.Set("X-Amz-Target", target)
		w := httptest.NewRecorder()
		localaws.OnLoopback(localaws.WithoutSecrets(p.engines)).ServeHTTP(w, r)
		if out := w.Body.String(); !strings.Contains(out, want) || strings.Contains(out, "CANARY") {
			t.Errorf("%s: %d %s", target, w.Code, out)
		}
	}
}

// TestOpenRefusesReadableSecrets checks the advice in the error.
func TestOpenRefusesReadableSecrets(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, secretsFile)
	if err := os.WriteFile(path, []byte(`{"format":2,"sum":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945","secrets":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	options := Options{Data: folder, Template: "../../../template.yaml", Log: io.Discard}
	if _, err := Open(t.Context(), options, Settings{}, "http://127.0.0.1:1"); err == nil || !strings.Contains(said(err), "chmod 600 "+path) {
		t.Fatalf("it started: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), options, Settings{}, "http://127.0.0.1:1") // its folder was released
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenRefusesReachableData checks the data file, also through a link of the folder, and a
// folder in which others can create files. The error gives advice.
func TestOpenRefusesReachableData(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it keeps no such modes")
	}
	folder := filepath.Join(t.TempDir(), "data")
	start := func() error {
		p, err := Open(t.Context(), Options{Data: folder, Template: "../../../template.yaml", Log: io.Discard}, Settings{}, "http://127.0.0.1:1")
		if err != nil {
			return err
		}
		return p.Close()
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	file, elsewhere := filepath.Join(folder, dataFile), filepath.Join(t.TempDir(), "elsewhere.db")
	judge := func(path string, mode os.FileMode, open bool) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		err := start()
		if open != (err != nil) {
			t.Errorf("%s with mode %04o: %v", path, mode, err)
		}
		if err != nil && !strings.Contains(said(err), path+"`") {
			t.Errorf("it does not say what to do: %v", err)
		}
	}
	for _, mode := range []os.FileMode{0o644, 0o620, 0o606, 0o666} {
		judge(file, mode, true)
	}
	judge(file, 0o600, false)
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		judge(folder, mode, true)
	}
	judge(folder, 0o755, false)
	if err := errors.Join(os.Rename(file, elsewhere), os.Symlink(elsewhere, file)); err != nil {
		t.Fatal(err)
	}
	judge(elsewhere, 0o640, true)
	judge(elsewhere, 0o600, false)
}

func TestSettingsFromReadsVariables(t *testing.T) {
	s, err := SettingsFrom(func(name string) string {
		if name == "PILOTO_DEMO" || name == "PILOTO_CREDITS" || name == "PILOTO_OPEN" {
			return ""
		}
		return "<" + name + ">"
	})
	if err != nil || s.Key.Reveal() != "<OPENAI_API_KEY>" || s.GroqKey.Reveal() != "<GROQ_API_KEY>" || s.GroqBaseURL != "<GROQ_BASE_URL>" || s.GroqModel != "<GROQ_MODEL>" {
		t.Errorf("%+v", s)
	}
}

// TestASettingThatCannotBeIsNamedAsThePersonSetIt, and not as a parameter of the template.
func TestASettingThatCannotBeIsNamedAsThePersonSetIt(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{"OPENAI_TIMEOUT", "0", "OPENAI_TIMEOUT 0: escribe un número de 1 a 600."},
		{"OPENAI_TIMEOUT", "601", "OPENAI_TIMEOUT 601: escribe un número de 1 a 600."},
		{"OPENAI_TIMEOUT", "1m", "OPENAI_TIMEOUT 1m: escribe un número de 1 a 600."},
		{"PILOTO_TOOL_TIMEOUT", "-1", "PILOTO_TOOL_TIMEOUT -1: escribe un número de 1 a 780."},
		{"MCP_MAX_RETRIES", "0", "MCP_MAX_RETRIES 0: escribe un número de 1 a 5."},
		{"PILOTO_TURNS_PER_MINUTE", "x", "PILOTO_TURNS_PER_MINUTE x: escribe un número de 0 a 1000000."},
	} {
		s, err := SettingsFrom(func(name string) string {
			if name == c.variable {
				return c.value
			}
			return ""
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = newProcess(Options{Data: t.TempDir(), Log: io.Discard}, s, "http://127.0.0.1")
		if got := fault.Of(err); err == nil || locale.OfFault(got).In(locale.Spanish) != c.want {
			t.Errorf("%s=%s: %q, %v", c.variable, c.value, locale.OfFault(got).In(locale.Spanish), err)
		}
	}
}

// TestDemonstrationIsOffWithRealModel, unless PILOTO_DEMO asks for it. A switch takes only the
// usual words.
func TestDemonstrationIsOffWithRealModel(t *testing.T) {
	read := func(set ...string) (Settings, error) {
		return SettingsFrom(func(name string) string {
			for _, s := range set {
				if value, is := strings.CutPrefix(s, name+"="); is {
					return value
				}
			}
			return ""
		})
	}
	for _, c := range []struct {
		set  []string
		demo bool
	}{
		{nil, true},
		{[]string{"PILOTO_DEMO="}, true},
		{[]string{"OPENAI_MODEL=x"}, true},
		{[]string{"OPENAI_API_KEY=k"}, false},
		{[]string{"OPENAI_BASE_URL=http://localhost:11434/v1"}, false},
		{[]string{"GROQ_API_KEY=k"}, false},
		{[]string{"OPENAI_API_KEY=k", "PILOTO_DEMO=on"}, true},
		{[]string{"OPENAI_API_KEY=k", "PILOTO_DEMO= Sí "}, true},
		{[]string{"PILOTO_DEMO=off"}, false},
		{[]string{"PILOTO_DEMO=False"}, false},
		{[]string{"PILOTO_DEMO=0"}, false},
	} {
		if s, err := read(c.set...); err != nil || s.Demo != c.demo {
			t.Errorf("%q: %v, %v", c.set, s.Demo, err)
		}
	}
	for _, name := range []string{"PILOTO_DEMO", "PILOTO_CREDITS"} {
		for _, value := range []string{"maybe", "2", "onn", "off;"} {
			if _, err := read(name + "=" + value); err == nil || !strings.Contains(said(err), name) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}

// TestCallsUnderWayHaveTheirTimeLimitToEnd when the process stops, unless a setting says otherwise.
func TestCallsUnderWayHaveTheirTimeLimitToEnd(t *testing.T) {
	for _, c := range []struct {
		set  map[string]string
		want time.Duration
	}{
		{nil, 63 * time.Second},
		{map[string]string{"PILOTO_TOOL_TIMEOUT": "300"}, 303 * time.Second},
		{map[string]string{"PILOTO_TOOL_TIMEOUT": "5", "OPENAI_TIMEOUT": "90"}, 93 * time.Second},
		{map[string]string{"PILOTO_STOP_TIMEOUT": " 7 "}, 7 * time.Second},
		{map[string]string{"PILOTO_STOP_TIMEOUT": "0"}, time.Nanosecond},
		{map[string]string{"PILOTO_STOP_TIMEOUT": "-1"}, 0},
		{map[string]string{"PILOTO_STOP_TIMEOUT": "1m"}, 0},
		{map[string]string{"PILOTO_STOP_TIMEOUT": "3601"}, 0},
	} {
		s, err := SettingsFrom(func(name string) string { return c.set[name] })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.stopTime(); got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%v: %v, %v", c.set, got, err)
		}
	}
}
