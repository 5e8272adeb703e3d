package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"

	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// acts is a text that does something to a terminal: links, the clipboard, the title, the cursor, deleted lines; in C0 and in C1; and
// direction, characters without a width, and line ends before a line that seems to be the command's own.
const acts = "x\x1b]8;;http://evil.example\x07y\x1b]52;c;ZXZpbA==\x07\x1b]0;t\x1b\\\x1b[2J\x1b[1A\u009b2K\u009d0;t\u009c\rz\x08\x7f\u202e\u2066\u200b\ufeff" +
	"\x1b[31m\nFAKED Confirmado.\n\u2028FAKED\r\nFAKED;`id`$(id) 'q' \"--yes"

// prose is the same for texts that have lines of their own, such as an answer.
var prose = strings.ReplaceAll(acts, "FAKED", "spoken")

// fileVersion is that of a file, as a header can have it.
const fileVersion = "vxxxxxxxxx\u009b2J\u202e\u200b"

// hostile is a deployment that answers each request with values of the types that the client reads, all of which act on a terminal.
type hostile struct {
	ids, states bool // are they hostile, too
	lie         func(w http.ResponseWriter, r *http.Request) bool
	run         plan.Status
	kind        turn.Kind

	mu    sync.Mutex
	reads map[string]int
}

// answers are the types of the answers. A command that asks for something else needs a line here.
var answers = map[string]any{
	"POST /api/chats": conversation.Chat{}, "PATCH /api/chats/{id}": conversation.Chat{}, "GET /api/chats": httpapi.ChatList{},
	"GET /api/chats/{id}/messages": httpapi.MessageList{}, "POST /api/send": httpapi.SendAnswer{}, "POST /api/realtime": httpapi.RealtimeAnswer{},
	"GET /api/runs": httpapi.RunList{}, "GET /api/runs/{id}": httpapi.Run{}, "GET /api/runs/{id}/events": httpapi.EventList{}, "GET /api/waiting": httpapi.WaitList{},
	"POST /api/runs/{id}/{act}": httpapi.RunAnswer{}, "PATCH /api/runs/{id}/plan": httpapi.RunAnswer{}, "POST /api/decisions": httpapi.DecisionsAnswer{},
	"GET /api/runs/{id}/receipt":   map[string]string{},
	"POST /api/agents/{name}/jobs": httpapi.Job{}, "GET /api/jobs": httpapi.JobList{}, "GET /api/jobs/{id}": httpapi.Job{}, "GET /api/jobs/{id}/events": httpapi.JobEventList{},
	"POST /api/jobs/{id}/stop": httpapi.Job{}, "GET /api/agents": httpapi.AgentList{}, "GET /api/agents/{name}": httpapi.AgentView{}, "PUT /api/agents/{name}": httpapi.AgentView{},
	"GET /api/rules": httpapi.RuleSet{}, "PUT /api/rules": httpapi.RuleSet{}, "GET /ai/assistant": map[string]string{}, "PUT /ai/assistant": map[string]string{},
	"GET /ai/usage": httpapi.Usage{}, "GET /ai/credits": httpapi.Credits{}, "GET /ai/ledger": httpapi.LedgerPage{}, "GET /ai/eligibility": httpapi.Eligibility{},
	"GET /api/hooks": httpapi.HookList{}, "POST /api/hooks": httpapi.HookMade{}, "GET /api/hooks/{id}/deliveries": httpapi.DeliveryList{},
	"GET /api/mcps": httpapi.ServerList{}, "POST /api/mcps": httpapi.ServerDetail{}, "GET /api/mcps/{id}": httpapi.ServerDetail{}, "GET /api/mcps/{id}/key": httpapi.ServerKeys{},
	"POST /api/mcps/{id}/refresh": httpapi.ServerRefreshed{}, "PUT /api/mcps/{id}/reads": httpapi.ServerDetail{}, "PUT /api/mcps/{id}/errors": httpapi.ServerDetail{},
	"GET /health": httpapi.Health{}, "GET /ai/providers": httpapi.ProviderList{},
	"GET /api/projects/{id}/files": httpapi.FileList{}, "GET /api/projects/{id}/versions/{name}": httpapi.VersionList{},
	"PUT /api/projects/{id}/files/{name...}": httpapi.File{},
}

func (h *hostile) serve(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.reads[r.URL.Path]++
		n := h.reads[r.URL.Path]
		h.mu.Unlock()
		w.Header().Set("ETag", `"`+fileVersion+`"`)
		switch {
		case n > 4: // an endless value ends here
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"code":"x","title":"enough"}`))
		case h.lie == nil || !h.lie(w, r):
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	for pattern, like := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v := reflect.New(reflect.TypeOf(like)).Elem()
			h.fill(v, "", "", 0)
			h.adapt(v.Addr().Interface(), s.URL, r)
			raw, err := json.Marshal(v.Interface())
			if err != nil {
				t.Errorf("%s: %v", pattern, err)
			}
			_, _ = w.Write(raw)
		})
	}
	for _, pattern := range []string{"GET /api/chats/{id}/export", "GET /api/projects/{id}/files/{name...}"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(prose)) })
	}
	mux.HandleFunc("DELETE /", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"deleted":true}`)) })
	mux.HandleFunc("PUT /api/mcps/{id}/key", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /api/hooks/{id}/deliveries/{delivery}/resend", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		_, _, _ = conn.Read(r.Context())
		piece, _ := json.Marshal(map[string]any{"type": "text", "data": map[string]any{"conversationId": someProject, "offset": 0, "text": prose}})
		_ = conn.Write(r.Context(), websocket.MessageText, piece)
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(`{"type":"pong"}`))
		_, _, _ = conn.Read(r.Context())
	})
	mux.HandleFunc("GET /models", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("no answer is known for %s %s", r.Method, r.URL.Path)
		http.NotFound(w, r)
	})
	return s
}

var proseMembers = []string{"content", "output", "question", "text"}

// fill sets every member of a value.
func (h *hostile) fill(v reflect.Value, name, enum string, depth int) {
	if depth > 7 {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
		return
	case json.RawMessage:
		raw, _ := json.Marshal(map[string]string{acts: acts})
		v.SetBytes(raw)
		return
	case plan.EffectID:
		v.Set(reflect.ValueOf(plan.EffectOf(h.or(h.ids, "s1"))))
		return
	case plan.Digest:
		v.SetString(h.or(h.ids, strings.Repeat("ab", 32)))
		return
	case plan.Decision, plan.Outcome:
		return
	case plan.Status:
		v.SetString(h.or(h.states, string(h.run)))
		return
	case job.Status:
		v.SetString(h.or(h.states, "success"))
		return
	case turn.Kind:
		v.SetString(h.or(h.states, string(h.kind)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		switch first, _, _ := strings.Cut(enum, ","); {
		case name == "waits_for":
		case name == "id" || strings.HasSuffix(name, "_id"):
			v.SetString(h.or(h.ids, map[string]string{"step_id": "s1"}[name]))
			if v.String() == "" {
				v.SetString(someProject)
			}
		case first != "" && !h.states:
			v.SetString(first)
		case contains(proseMembers, name):
			v.SetString(prose)
		default:
			v.SetString(acts)
		}
	case reflect.Bool:
		v.SetBool(name != "concludes" && name != "asks")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(acts))
		}
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		h.fill(p.Elem(), name, enum, depth+1)
		v.Set(p)
	case reflect.Slice:
		if name == "calls" {
			return
		}
		list := reflect.MakeSlice(v.Type(), 1, 1)
		h.fill(list.Index(0), name, enum, depth+1)
		v.Set(list)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		h.fill(value, name, enum, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(acts).Convert(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				h.fill(v.Field(i), member, f.Tag.Get("enum"), depth+1)
			}
		}
	}
}

// or returns a hostile text if one is wanted here.
func (h *hostile) or(hostile bool, usual string) string {
	if hostile {
		return acts
	}
	return usual
}

// adapt makes an answer one with which the commands go on.
func (h *hostile) adapt(v any, origin string, r *http.Request) {
	switch v := v.(type) {
	case *httpapi.Run:
		h.steps(v)
	case *httpapi.RunAnswer:
		h.steps(&v.Run)
	case *httpapi.SendAnswer:
		h.steps(v.Run)
		h.steps(v.Pending)
		if v.Kind == turn.KindMessage {
			v.Pending, v.Block = nil, nil
		}
	case *httpapi.RealtimeAnswer:
		v.URL = "ws" + strings.TrimPrefix(origin, "http") + "/socket?ticket=x"
	case *httpapi.EventList:
		v.Events[0].Type = plan.EventStepDone
		if r.URL.Query().Get("after") != "0" {
			v.Events = nil
		}
	case *httpapi.FileList:
		v.Files = append(v.Files, httpapi.File{Path: "a.txt", Version: fileVersion, Size: 3, At: time.Now()})
	}
}

// steps gives a run a second step, that waits for nothing.
func (h *hostile) steps(r *httpapi.Run) {
	if r == nil || len(r.Steps) == 0 {
		return
	}
	second := r.Steps[0]
	second.ID, second.Approval = h.or(h.ids, "s2"), nil
	second.Status = plan.StepStatus(h.or(h.states, "in_doubt"))
	r.Steps = append(r.Steps, second)
}

// call is one use of a command.
type call struct {
	args  string
	in    string // stdin, where nobody is asked
	typed string // at a terminal
	run   plan.Status
	kind  turn.Kind
}

const digits = "abababab"

// calls are the commands that read answers of a deployment. P is a project, R a run.
var calls = []call{
	{args: "chat", typed: "hola\n/quit\n", kind: turn.KindMessage},
	{args: "chat", typed: "hola\nd\nn\n/quit\n", kind: turn.KindPlan},
	{args: "chat -p hola", kind: turn.KindQueued, run: plan.Done},
	{args: "send hola", kind: turn.KindMessage},
	{args: "send hola", kind: turn.KindPlan},
	{args: "send --agent x hola", kind: turn.KindQueued, run: plan.Waiting},
	{args: "send hola", kind: "blocked"},
	{args: "send --chat last hola", kind: "notice"},
	{args: "send hola --json", kind: turn.KindPlan},
	{args: "chats list"},
	{args: "chats list --json"},
	{args: "chats export R"},
	{args: "run hola"},
	{args: "run hola --json"},
	{args: "run hola --no-wait"},
	{args: "run hola --show-costs --model m"},
	{args: "jobs list"},
	{args: "jobs show R"},
	{args: "jobs watch R"},
	{args: "jobs events R"},
	{args: "jobs stop R"},
	{args: "jobs stop R --json"},
	{args: "workspace ls --project P"},
	{args: "workspace cat a.txt --project P"},
	{args: "workspace log a.txt --project P"},
	{args: "workspace diff a.txt v --project P"},
	{args: "workspace restore a.txt vxxxxxxxxx --project P"},
	{args: "workspace get a.txt --project P"},
	{args: "workspace get a.txt --force --project P"},
	{args: "workspace put mine.txt --project P"},
	{args: "workspace push folder --project P"},
	{args: "workspace push folder --delete --project P"},
	{args: "workspace pull folder --project P"},
	{args: "workspace pull folder --force --json --project P"},
	{args: "runs list"},
	{args: "runs show R", run: plan.Draft},
	{args: "runs show R", run: plan.Done},
	{args: "runs show R --json"},
	{args: "runs watch R", run: plan.Waiting},
	{args: "runs confirm R", run: plan.Draft, typed: digits + "\n"},
	{args: "runs confirm R --digest " + digits, run: plan.Done},
	{args: "runs confirm R --yes", run: plan.Draft},
	{args: "runs reject R", run: plan.Draft},
	{args: "runs cancel R", run: plan.Draft},
	{args: "runs cancel R", run: plan.Running},
	{args: "runs approve R --digest " + digits, run: plan.Waiting},
	{args: "runs settle R s1 --outcome done"},
	{args: "runs settle R s1 --outcome retry", run: plan.Draft},
	{args: "runs retry R"},
	{args: "runs undo R"},
	{args: "runs repeat R --json"},
	{args: "runs receipt R"},
	{args: "waiting"},
	{args: "decide confirm R=" + digits, run: plan.Draft},
	{args: "decide approve R=" + digits, run: plan.Waiting},
	{args: "decide reject R=x", run: plan.Draft},
	{args: "verify receipt.json"},
	{args: "login URL", in: "secret\n"},
	{args: "services list"},
	{args: "services show R"},
	{args: "services add http://x.example"},
	{args: "services refresh R"},
	{args: "services reads R"},
	{args: "services reads R on --json"},
	{args: "services errors R doubt"},
	{args: "services key R --list"},
	{args: "services key R", in: "k\n"},
	{args: "services key R --remove"},
	{args: "services remove R"},
	{args: "agents list"},
	{args: "agents show x"},
	{args: "agents apply x -f {}"},
	{args: "agents delete x"},
	{args: "rules get"},
	{args: "rules set -f {}"},
	{args: "rules test -f {}"},
	{args: "assistants show"},
	{args: "assistants set -f {}"},
	{args: "assistants delete"},
	{args: "usage"},
	{args: "usage --json"},
	{args: "credits show"},
	{args: "credits ledger"},
	{args: "hooks list"},
	{args: "hooks add http://x.example"},
	{args: "hooks remove R"},
	{args: "hooks deliveries R"},
	{args: "hooks resend R D"},
	{args: "health"},
	{args: "health --json"},
	{args: "doctor"},
	{args: "doctor --json"},
}

// ofThisMachine are the commands that read nothing of a deployment.
var ofThisMachine = []string{
	"logout", "profiles", "tokens list", "tokens make", "tokens revoke", "up", "backup", "restore", "open", "rotate-key", "accept-older", "engines", "validate-config", "version",
	"help", "completion bash", "completion zsh", "completion fish", "completion powershell",
}

// TestNoDeploymentActsOnTheTerminal: no command lets a control character of any text of an answer through, and none of
// its lines is the deployment's. A new command is in calls, or reads nothing of a deployment.
func TestNoDeploymentActsOnTheTerminal(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked for at another address", r.URL) }))
	defer elsewhere.Close()
	problem, err := json.Marshal(map[string]any{
		"code": acts, "title": acts, "detail": acts, "action": acts, "trace_id": acts, "errors": []any{map[string]any{"loc": []any{acts}, "msg": acts, "type": acts}},
	})
	must(t, err)
	refuse := func(status int, media, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			body := body
			if strings.Contains(r.URL.Path, "/files/") || strings.HasSuffix(r.URL.Path, "/export") { // the answer is a file
				body = strings.ReplaceAll(body, "FAKED", "spoken")
			}
			w.Header().Set("Content-Type", media)
			w.Header().Set("Location", elsewhere.URL+"/stolen")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	for name, h := range map[string]*hostile{
		"texts":              {},
		"texts and states":   {states: true},
		"texts and ids":      {states: true, ids: true},
		"a problem":          {lie: refuse(409, "application/problem+json", string(problem))},
		"no right":           {lie: refuse(401, "application/problem+json", string(problem))},
		"a page":             {lie: refuse(200, "text/html"+acts[:1], "<html>"+acts)},
		"an error of others": {lie: refuse(404, "text/html", "<html>"+acts)},
		"headers": {lie: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", acts)
			w.Header()["\x1b[2J"] = []string{acts}
			return false
		}},
		"a redirect":      {lie: refuse(307, "text/plain", acts)},
		"no JSON of ours": {lie: refuse(200, "application/json", `[`+string(problem)+`,"`+acts)},
	} {
		t.Run(name, func(t *testing.T) {
			for n, c := range calls {
				if testing.Short() && h.lie != nil && n%8 > 0 && !strings.Contains(c.args, "cat") { // they answer all commands alike
					continue
				}
				for _, lang := range []string{"en", "es"} {
					if testing.Short() && (lang == "en") != (len(c.args)%2 == 0) {
						continue
					}
					h.run, h.kind, h.reads = c.run, c.kind, map[string]int{}
					s := h.serve(t)
					shown := useAtTerminal(t, c, s.URL, lang)
					s.Close()
					if wrong := actsOn(thought.ReplaceAllString(shown, "")); wrong != "" {
						t.Errorf("piloto %s: %s, in\n%q", c.args, wrong, shown)
					}
				}
			}
		})
	}
}

// thought is the line that says that a model thinks, written over itself until it is taken away: it is the command's own.
var thought = regexp.MustCompile("(\r[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] (The model is thinking|El modelo piensa)… \\d+ s\x1b\\[K)+\r\x1b\\[K")

// useAtTerminal runs a command at a terminal, and returns all that it showed.
func useAtTerminal(t *testing.T, c call, origin, lang string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	must(t, os.Mkdir("folder", 0o700))
	for name, content := range map[string]string{
		"{}": "{}", "mine.txt": "mio", "folder/b.txt": "b", "folder/a\x1b[2J\nFAKED.txt": "c", "receipt.json": `{"version":` + quoted(acts) + `,"run_id":` + quoted(acts) + `}`,
	} {
		must(t, os.WriteFile(name, []byte(content), 0o600))
	}
	screen := newTerminal(t)
	in, typing, err := os.Pipe()
	must(t, err)
	_, _ = typing.WriteString(c.in)
	_ = typing.Close()
	if c.typed != "" {
		_ = in.Close()
		keys := newTerminal(t)
		in = keys.slave
		stop := make(chan struct{})
		defer func() { close(stop); keys.close() }()
		go func() { // a question drops earlier input, so the line is typed again
			for {
				for line := range strings.Lines(c.typed) {
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
						_, _ = keys.master.WriteString(line)
					}
				}
			}
		}()
	}
	args := strings.NewReplacer("URL", origin, " R=", " "+someProject+"=", " R", " "+someProject, " P", " "+someProject).Replace(c.args)
	env := map[string]string{
		"PILOTO_TOKEN": "token-of-ana", "TERM": "xterm", "XDG_CONFIG_HOME": os.Getenv("XDG_CONFIG_HOME"), "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": origin,
	}
	all := append([]string{"--lang", lang}, strings.Fields(args)...)
	if !strings.HasPrefix(args, "login") {
		all = append([]string{"--at", origin}, all...)
	}
	Main(all, Streams{In: in, Out: screen.slave, Err: screen.slave}, func(name string) string { return env[name] })
	if c.typed == "" {
		_ = in.Close()
	}
	return screen.close()
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// actsOn names the effect of a text on a terminal; "" is none.
func actsOn(shown string) string {
	for _, r := range ourColours.ReplaceAllString(shown, "") {
		if r != '\n' && r != '\t' && r != '\u00a0' && visible.Invisible(r) {
			return fmt.Sprintf("%U", r)
		}
	}
	if !strings.Contains(shown, "FAKED") && !strings.Contains(shown, "spoken") {
		return ""
	}
	for line := range strings.Lines(shown) {
		if strings.HasPrefix(strings.TrimLeft(ourColours.ReplaceAllString(line, ""), " \u00a0\t"), "FAKED") {
			return fmt.Sprintf("a line of its own: %q", line)
		}
	}
	if strings.Contains(shown, "\x1b[31m\nFAKED") || strings.Contains(shown, "\x1b[31m\nspoken") {
		return "a colour of the deployment"
	}
	return ""
}

var ourColours = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33)m")

func contains(list []string, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

// TestEveryCommandIsUsedAgainstAHostileDeployment, or reads nothing of one.
func TestEveryCommandIsUsedAgainstAHostileDeployment(t *testing.T) {
	a, _, _ := newApp(nil, "")
	root := a.root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	used := func(name string) bool {
		for _, c := range calls {
			if c.args == name || strings.HasPrefix(c.args, name+" ") {
				return true
			}
		}
		return contains(ofThisMachine, name)
	}
	var visit func(cmd *cobra.Command, name string)
	visit = func(cmd *cobra.Command, name string) {
		if len(cmd.Commands()) == 0 && !used(name) {
			t.Errorf("piloto %s is in no call", name)
		}
		for _, below := range cmd.Commands() {
			visit(below, name+" "+below.Name())
		}
	}
	for _, cmd := range root.Commands() {
		visit(cmd, cmd.Name())
	}
}
