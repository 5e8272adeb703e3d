package webui

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if bytes.Contains(got, []byte(http.StatusText(http.StatusInternalServerError))) {
		t.Fatalf("%s is no page: %s", name, got)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update accepts it)\n%s", path, diff)
	}
}

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

func renderCard(t *testing.T, r plan.Run, events []plan.Event, tag locale.Tag) []byte {
	t.Helper()
	var b bytes.Buffer
	c := newCard(r, events, tag, noon)
	if err := loadViews(loadAssets(), at(noon)).render(&b, tag, "card", c); err != nil {
		t.Fatal(err)
	}
	return dense(b.String())
}

// dense drops blank lines.
func dense(text string) []byte {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

func TestCardsLookLikeTheirGoldens(t *testing.T) {
	done, events := finishedRun()
	running := draft(roomPlan(noon))
	running.Status, running.EventSeq = plan.Running, 4
	running.Steps[0] = plan.StepState{StepID: plan.EffectOf("s1"), Status: plan.StepRunning, Attempts: 1}
	running.CancelAt = &noon
	expired := draft(roomPlan(noon.Add(-25 * time.Hour)))
	hostile := draft(oneStep(plan.Step{
		Title: "Pagar\nEstado: confirmado <b>", Method: "DELETE", Path: "/pay/\u202e1",
		Query: json.RawMessage(`{"to":"p\u0430ypal\u200b"}`), Body: json.RawMessage(`{"pad":"` + strings.Repeat(" ", 10<<10) + `","all":"${s9.body}"}`),
	}, "https://p\u0430ypal.example/v1"))
	for name, c := range map[string]struct {
		run    plan.Run
		events []plan.Event
		tag    locale.Tag
	}{
		"card_draft.html":    {draft(roomPlan(noon)), nil, locale.Spanish},
		"card_draft_en.html": {draft(roomPlan(noon)), nil, locale.English},
		"card_running.html":  {running, events[:4], locale.Spanish},
		"card_doubt.html":    {done, events, locale.Spanish},
		"card_expired.html":  {expired, nil, locale.Spanish},
		"card_hostile.html":  {hostile, nil, locale.Spanish},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, renderCard(t, c.run, c.events, c.tag)) })
	}
}

// TestExpiredDraftCannotBeConfirmed (guarantee I27), whatever its stored status.
func TestExpiredDraftCannotBeConfirmed(t *testing.T) {
	r := draft(roomPlan(noon))
	r.Plan.ExpiresAt = noon
	if got := string(renderCard(t, r, nil, locale.Spanish)); strings.Contains(got, "confirm-run") || !strings.Contains(got, "Caducado") {
		t.Error(got)
	}
	r.Plan.ExpiresAt = noon.Add(time.Second)
	if got := string(renderCard(t, r, nil, locale.Spanish)); !strings.Contains(got, "confirm-run") {
		t.Error("a live draft cannot be confirmed")
	}
}

// TestDataThatCrossesOriginsIsShown (guarantee I31).
func TestDataThatCrossesOriginsIsShown(t *testing.T) {
	p := roomPlan(noon)
	if got := string(renderCard(t, draft(p), nil, locale.English)); strings.Contains(got, "Sends data from one service to another") {
		t.Error("one origin counts as two")
	}
	p.Bindings[1].BaseURL = "https://elsewhere.example"
	got := string(renderCard(t, draft(p), nil, locale.English))
	if !strings.Contains(got, "Sends data from one service to another") || !strings.Contains(got, "<code>http://127.0.0.1:9100</code> → <code>https://elsewhere.example</code>") {
		t.Error(got)
	}
}

// TestARequestThatMayHaveBeenDoneIsShown (guarantee I09): a step that would do it twice says so, its request is unfolded, and
// it is in no table of steps that are alike.
func TestARequestThatMayHaveBeenDoneIsShown(t *testing.T) {
	p := roomPlan(noon)
	say := plan.Doubt{RunID: "01RUN", StepID: plan.EffectOf("s1")}
	if got := string(renderCard(t, draft(p), nil, locale.Spanish)); strings.Contains(got, "notice warn again") {
		t.Error("it warns of nothing")
	}
	p.Steps[1].Unanswered = &say
	for _, tag := range locale.Tags() {
		got := string(renderCard(t, draft(p), nil, tag))
		if !strings.Contains(got, "notice warn again") || !strings.Contains(got, say.Phrase().In(tag)) || !strings.Contains(got, `-s2-request" data-request open`) {
			t.Error(got)
		}
	}
}

func TestEveryStateOfARunHasItsText(t *testing.T) {
	for _, tag := range locale.Tags() {
		for _, status := range plan.Statuses() {
			r := draft(roomPlan(noon))
			r.Status = status
			want, _ := locale.Lookup(tag, "page.status."+string(status))
			got := string(renderCard(t, r, nil, tag))
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: %s is not called %q", tag, status, want)
			}
			if status != plan.Draft && strings.Contains(got, "confirm-run") {
				t.Errorf("%s can be confirmed", status)
			}
		}
	}
}

func get(t *testing.T, h http.Handler, path string, who ...auth.Principal) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for _, p := range who {
		r = r.WithContext(auth.NewContext(r.Context(), p))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var ana = auth.Principal{Account: "acc", User: "ana", Scopes: []auth.Scope{auth.ScopeAdmin, auth.ScopeBilling}}

func furnishedWorld(t *testing.T) (*world, string, string) {
	t.Helper()
	w := newWorld(at(noon), Facts{Provider: "demo", Model: "demo", Demo: true, Local: true})
	w.furnish()
	w.projects["p1"] = conversation.Project{ID: "p1", Name: "Lima <b>", MCPIDs: []string{"rooms"}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chats["c1"] = conversation.Chat{ID: "c1", Title: "Título <i>\u202e", ProjectID: "p1", UpdatedAt: noon}
	w.say("c1", conversation.RoleUser, conversation.KindText, "", "<script>1</script>\ndos")
	w.say("c1", conversation.RoleSystem, conversation.KindProgress, "", "⏳ no se repite")
	run := w.propose("c1", roomPlan(noon))
	return w, "c1", run.ID
}

func TestEveryPageAndFragmentIsCompleteAndGuarded(t *testing.T) {
	w, chat, run := furnishedWorld(t)
	for path, want := range map[string]string{
		"/":                           "¿Qué hacemos?",
		"/?chat=" + chat:              "&lt;script&gt;1&lt;/script&gt;\ndos",
		"/?project=p1":                "Lima &lt;b&gt;",
		"/?view=servers":              "Salas de demostración",
		"/?view=servers&id=rooms":     "/reservations/{id}",
		"/?view=servers&id=bank":      "X-Api-Key",
		"/?view=projects":             "Lima &lt;b&gt;",
		"/?view=projects&id=p1":       `value="rooms" checked`,
		"/ui/new":                     "Enséñame mis reservas",
		"/ui/new?project=p1":          "Lima &lt;b&gt;",
		"/ui/chats":                   "Título &lt;i&gt;⟦U&#43;202E⟧",
		"/ui/chats?project=p1":        `value="p1" selected`,
		"/ui/chats/" + chat:           `data-action="confirm-run"`,
		"/ui/runs/" + run:             `data-run="` + run + `"`,
		"/ui/servers":                 `role="switch"`,
		"/ui/servers/rooms":           "Reserva una sala",
		"/ui/projects":                "1 servicio",
		"/ui/projects/p1":             "Servicios permitidos",
		"/assets/" + "app.js":         "addEventListener",
		"/assets/" + "app.css":        ":root",
		"/assets/anything/words.json": `"confirmo"`,
		"/assets/" + "icon.svg":       "<svg",
	} {
		r := get(t, w.page, path, ana)
		if r.Code != http.StatusOK || !strings.Contains(r.Body.String(), want) {
			t.Errorf("GET %s: %d, without %q", path, r.Code, want)
		}
		if got := r.Header().Get("Content-Security-Policy"); got != policy("") || !strings.Contains(got, "script-src 'self';") {
			t.Errorf("GET %s: policy %q", path, got)
		}
		body := r.Body.String()
		for _, bad := range []string{"<script>1", "style=", "onclick=", "javascript:", "no se repite", "page."} {
			if strings.HasPrefix(r.Header().Get("Content-Type"), "text/html") && strings.Contains(body, bad) {
				t.Errorf("GET %s: holds %q", path, bad)
			}
		}
	}
}

func TestMissingAndForeignIDsAreNotFound(t *testing.T) {
	w, chat, run := furnishedWorld(t)
	stranger := auth.Principal{Account: "other", User: "eve", Scopes: ana.Scopes}
	for _, path := range []string{"/ui/chats/", "/ui/runs/", "/ui/servers/", "/ui/projects/", "/?chat=", "/?view=servers&id=", "/?view=projects&id="} {
		id := map[string]string{"/ui/chats/": chat, "/?chat=": chat, "/ui/runs/": run, "/ui/servers/": "rooms", "/?view=servers&id=": "rooms"}[path]
		if id == "" {
			id = "p1"
		}
		missing := get(t, w.page, path+"01JABSENT0000000000000000A", ana)
		foreign := get(t, w.page, path+id, stranger)
		for _, r := range []*httptest.ResponseRecorder{missing, foreign} {
			if r.Code != http.StatusNotFound || !strings.Contains(r.Body.String(), "Aquí no hay nada") || !strings.Contains(r.Body.String(), `id="view"`) {
				t.Errorf("%s: %d %.200s", path, r.Code, r.Body)
			}
		}
		if strings.HasPrefix(path, "/ui/") && missing.Body.String() != foreign.Body.String() {
			t.Errorf("%s tells a foreign thing from a missing one", path)
		}
	}
	if r := get(t, w.page, "/nothing", ana); r.Code != http.StatusNotFound || !strings.Contains(r.Body.String(), "<html") {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}

func TestWithoutASessionOnlyTheSignInIsShown(t *testing.T) {
	w, chat, _ := furnishedWorld(t)
	r := get(t, w.page, "/?chat="+chat)
	if r.Code != http.StatusOK || !strings.Contains(r.Body.String(), `name="token"`) || strings.Contains(r.Body.String(), "Título") {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	for _, path := range []string{"/ui/new", "/ui/chats", "/ui/chats/" + chat, "/ui/servers", "/ui/projects", "/ui/none"} {
		if r := get(t, w.page, path); r.Code != http.StatusUnauthorized && path != "/ui/none" || strings.Contains(r.Body.String(), "Salas") {
			t.Errorf("%s: %d", path, r.Code)
		}
	}
}

func TestAssetsAreCachedByVersionAndTag(t *testing.T) {
	w, _, _ := furnishedWorld(t)
	page := get(t, w.page, "/", ana).Body.String()
	_, rest, ok := strings.Cut(page, `src="/assets/`)
	name, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatal("the page links to no script")
	}
	linked := get(t, w.page, "/assets/"+name)
	if !strings.Contains(linked.Header().Get("Cache-Control"), "immutable") {
		t.Error("a linked asset is not cached")
	}
	r := httptest.NewRequest(http.MethodGet, "/assets/app.js", nil)
	r.Header.Set("If-None-Match", linked.Header().Get("ETag"))
	again := httptest.NewRecorder()
	w.page.ServeHTTP(again, r)
	if again.Code != http.StatusNotModified || again.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %s", again.Code, again.Header())
	}
	for _, path := range []string{"/assets/", "/assets/none.js", "/assets/x/y/app.js", "/assets/..%2fdoc.go"} {
		if r := get(t, w.page, path); r.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.Code)
		}
	}
}

func TestACardStaysSmallHoweverLargeTheAnswers(t *testing.T) {
	if !every {
		t.Skip("large answers: in the night")
	}
	r := draft(roomPlan(noon))
	r.Status = plan.Done
	list := json.RawMessage(`[` + strings.Repeat(`{"id":1,"name":"sala norte"},`, 60_000) + `1]`)
	one := r.Plan.Steps[1]
	r.Plan.Steps, r.Steps = nil, nil
	for i := range plan.MaxSteps {
		one.ID = plan.EffectOf("s" + itoa(i+1))
		r.Plan.Steps = append(r.Plan.Steps, one)
		r.Steps = append(r.Steps, plan.StepState{
			StepID: one.ID, Status: plan.StepDone, Last: plan.Attempt{Body: list},
			Result: &plan.Result{Status: 200, Body: list, Bytes: len(list)},
		})
	}
	size := 0
	for _, s := range newCard(r, nil, locale.Spanish, noon).Steps {
		if !s.Answer.Truncated || s.Answer.Bytes != len(list) || s.Answer.Body == nil {
			t.Fatalf("%+v", s.Answer)
		}
		size += len(s.Answer.Body.Body)
		if s.SentBody != nil {
			size += len(s.SentBody.Body)
		}
	}
	if size > 2<<20 {
		t.Errorf("%d bytes", size)
	}
}
