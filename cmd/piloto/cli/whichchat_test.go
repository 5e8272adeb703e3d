package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/ending"
	"piloto/infra/local/fixture/memory"
)

// recorder is a deployment that answers each request, METHOD /path, with a JSON, and with 404 where there is none. It notes them.
func recorder(t *testing.T, answers map[string]string) (url string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + r.URL.Path
		*asked = append(*asked, key)
		text, ok := answers[key]
		status := http.StatusNotFound
		if rest, found := strings.CutPrefix(text, "!"); found {
			_, _ = fmt.Sscan(rest, &status)
			ok = false
		}
		if !ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "urn:piloto:problem:x", "code": "x", "status": status, "detail": "No."})
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

const (
	oldChat = "01K0000000000000000000000C"
	newChat = "01K0000000000000000000000D"
)

// chats are two: the one that was made first changed last.
const chats = `{"chats":[{"chat_id":"` + newChat + `","created_at":"2026-03-02T09:00:00Z","updated_at":"2026-03-02T09:00:00Z"},` +
	`{"chat_id":"` + oldChat + `","created_at":"2026-03-01T09:00:00Z","updated_at":"2026-03-03T09:00:00Z"}]}`

// TestLastIsTheChatThatChangedLast, for every command that takes --chat.
func TestLastIsTheChatThatChangedLast(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	answers := map[string]string{
		"GET /api/chats": chats, "GET /api/chats/" + oldChat + "/files": `{"files":[]}`,
		"GET /api/agents/build": `{"name":"build"}`, "GET /ai/eligibility": `{"can":true}`, "GET /ai/providers": `{"providers":[]}`,
	}
	run := func(url, stdin string, args ...string) (ending.Code, string) {
		a, _, errOut := newApp(map[string]string{"PILOTO_TOKEN": "t"}, stdin)
		return a.run(append([]string{"--at", url}, args...)), errOut.String()
	}
	for _, args := range [][]string{
		{"workspace", "ls"}, {"workspace", "cat", "x"}, {"workspace", "log", "x"}, {"workspace", "get", "x"}, {"workspace", "push", "."}, {"workspace", "pull", "d"},
	} {
		url, asked := recorder(t, answers)
		_, errOut := run(url, "", append(args, "--chat", "last")...)
		if len(*asked) < 2 || (*asked)[0] != "GET /api/chats" || !strings.HasPrefix((*asked)[1], "GET /api/chats/"+oldChat+"/") {
			t.Errorf("%v: %v, %s", args, *asked, errOut)
		}
	}
	for _, args := range [][]string{{"send", "hola"}, {"chat"}, {"run", "hola"}} {
		sent := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				raw, _ := io.ReadAll(r.Body)
				sent = string(raw)
			}
			text, ok := answers[r.Method+" "+r.URL.Path]
			if !ok {
				w.WriteHeader(http.StatusUnprocessableEntity)
				text = `{"status":422,"code":"x","detail":"No."}`
			}
			_, _ = io.WriteString(w, text)
		}))
		_, errOut := run(s.URL, "hola\n", append(args, "--chat", "last")...)
		s.Close()
		if !strings.Contains(sent, `"chat_id":"`+oldChat+`"`) {
			t.Errorf("%v sent %q: %s", args, sent, errOut)
		}
	}
	for _, args := range [][]string{{"send", "hola"}, {"chat"}, {"run", "hola"}, {"workspace", "ls"}} {
		url, asked := recorder(t, map[string]string{"GET /api/chats": `{"chats":[]}`})
		if code, errOut := run(url, "", append(args, "--chat", "last")...); code != ending.Usage || !strings.Contains(errOut, "aún no hay ninguna conversación") || len(*asked) != 1 {
			t.Errorf("%v: %d, %v, %s", args, code, *asked, errOut)
		}
	}
}

// TestNoChatIsLeftOfARequestThatWasRefused: of an agent that is not there none is made, and one that was made goes.
func TestNoChatIsLeftOfARequestThatWasRefused(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const id = newChat
	made, there := `{"chat_id":"`+id+`"}`, "GET /api/agents/build"
	for name, c := range map[string]struct {
		args    []string
		answers map[string]string
		asked   string
	}{
		"no such agent":          {[]string{"send", "--agent", "nobody", "hola"}, nil, "GET /api/agents/nobody"},
		"no such agent to talk":  {[]string{"chat", "--agent", "nobody"}, nil, "GET /api/agents/nobody"},
		"the agent went":         {[]string{"send", "-a", "build", "hola"}, map[string]string{there: `{"name":"build"}`, "POST /api/chats": made}, there + ", POST /api/chats, PATCH /api/chats/" + id + ", DELETE /api/chats/" + id},
		"the message is refused": {[]string{"send", "hola"}, map[string]string{"POST /api/chats": made, "POST /api/send": "!422"}, "POST /api/chats, POST /api/send, DELETE /api/chats/" + id},
		"it may have arrived":    {[]string{"send", "hola"}, map[string]string{"POST /api/chats": made, "POST /api/send": "!500"}, "POST /api/chats, POST /api/send"},
		"a chat of before":       {[]string{"send", "--chat", id, "hola"}, map[string]string{"POST /api/send": "!422"}, "POST /api/send"},
		"no such project":        {[]string{"send", "--project", "P", "hola"}, nil, "POST /api/chats"},
	} {
		url, asked := recorder(t, c.answers)
		a, _, errOut := newApp(map[string]string{"PILOTO_TOKEN": "t"}, "")
		code := a.run(append([]string{"--at", url}, c.args...))
		if got := strings.Join(slices.Compact(*asked), ", "); code == ending.Success || got != c.asked {
			t.Errorf("%s: %d, %s: %s", name, code, got, errOut)
		}
	}
}

// TestAPullOfNothingMakesNoFolder: of a project or a chat that is not there, and says no number of files.
func TestAPullOfNothingMakesNoFolder(t *testing.T) {
	workspaceOf := deploymentFor(t, memory.With(map[string]string{"a.txt": "uno"}))
	for _, args := range [][]string{
		{"pull", "d", "--project", oldChat},
		{"pull", "d/e", "--project", oldChat},
		{"pull", "d", "--project", "MISSING"},
		{"pull", "d", "--project", oldChat, "--json"},
		{"pull", "d", "--project", oldChat, "--dry-run"},
		{"pull", "d"},
	} {
		code, out, errOut := workspaceOf(args...)
		if code == ending.Success || out != "" || strings.Contains(errOut, "igual") {
			t.Errorf("%v: %d, %q, %q", args, code, out, errOut)
		}
		if _, err := os.Lstat("d"); err == nil {
			t.Fatalf("%v made the folder", args)
		}
	}
	must(t, os.Mkdir("there", 0o700))
	if code, out, errOut := workspaceOf("pull", "there", "--project", oldChat); code == ending.Success || out != "" || strings.Contains(errOut, "igual") {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
	if code, _, errOut := workspaceOf("pull", "d/e", "--project", someProject); code != ending.Success {
		t.Errorf("%d, %q", code, errOut)
	}
	if text, err := os.ReadFile("d/e/a.txt"); err != nil || string(text) != "uno" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestATakenPortNamesThePersonsOwnCommand at an address that is free, with every flag that they gave.
func TestATakenPortNamesThePersonsOwnCommand(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	taken := l.Addr().String()
	for _, c := range []struct{ args, command string }{
		{"up --addr " + taken, " up --addr "},
		{"up --addr=" + taken + " --host x.example", " up --host x.example --addr "},
		{"-v up -addr " + taken + " --data d", " -v up --data d --addr "},
		{"up --functions f --lambda=process --addr " + taken + " --template t.yaml", " up --functions f --lambda=process --template t.yaml --addr "},
	} {
		for tag, says := range map[string]string{"es": "Otro programa escucha ya en " + taken, "en": "Another program already listens on " + taken} {
			a, _, errOut := newApp(map[string]string{"PILOTO_LANG": tag, "PILOTO_DEMO": "off"}, "")
			code := a.run(strings.Fields(c.args))
			_, rest, ok := strings.Cut(errOut.String(), "\n")
			command, _, _ := strings.Cut(rest, "\n")
			_, free, found := strings.Cut(command, c.command)
			if code != ending.Failed || !ok || !found || !strings.Contains(errOut.String(), says) {
				t.Errorf("%s %s: %d, %q", tag, c.args, code, errOut)
				continue
			}
			if host, port, err := net.SplitHostPort(free); err != nil || host != "127.0.0.1" || free == taken || port == "0" {
				t.Errorf("%s: %q", c.args, free)
			}
		}
	}
}
