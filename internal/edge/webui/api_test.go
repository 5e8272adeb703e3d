package webui

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	jsonform "piloto/internal/conversation/wire"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// world is the page and a JSON API with the contract's routes and shapes over one memory. The words of a message
// replace the model and the services, and each request for events advances a run by two events.
type world struct {
	*memory
	page  http.Handler
	sends []string // bodies of POST /api/send
	keys  []string // Idempotency-Keys of confirmations
	asked []string // bodies of POST /api/mcps and of PUT …/key
	down  bool     // every API call gets 503
	held  bool     // runs do not move on
	ai    *eligibility.Manager
	hub   *hub
	tale  []string                 // the pieces of a streamed answer
	next  chan struct{}            // if set, each piece waits for it
	stops map[string]chan struct{} // by chat
	notes []conversation.Note      // of each answer in text
	looks looks

	drawer  *drawer  // the files of chats
	checked []string // providers and models of checks

	decisions []map[string]any // that were asked for together

	answers map[string][]byte // of POST /api/send, by Idempotency-Key
	unheard bool              // the next answer of POST /api/send is lost

	lastBody []byte // of the request that holds the lock, with all of its digits
}

func newWorld(now func() time.Time, facts Facts) *world {
	m := newMemory(now)
	w := &world{memory: m, ai: managerOf(m, facts), hub: newHub(), stops: map[string]chan struct{}{}, answers: map[string][]byte{}, drawer: newDrawer()}
	m.tell = w.hub.push
	w.page = New(Deps{
		Chats: m, Runs: m, Receipts: m, Jobs: m, Servers: m, Breakers: m, Webhooks: m, Hooks: m, Rules: m, Projects: m, Tokens: m, Assistants: w.ai, Credits: till{m}, Facts: facts, Now: now,
	})
	return w
}

// ServeHTTP does the work of the gateway: it authenticates the request, and checks the origin of writes with the
// cookie.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(sessionCookie(r)); err == nil {
		if p, err := auth.Authenticate(r.Context(), w, c.Value, w.now(), auth.KindSession); err == nil {
			r = r.WithContext(auth.NewContext(r.Context(), p))
		}
	}
	if strings.HasPrefix(r.URL.Path, "/source/") { // a module of the script, for a test that calls it
		http.StripPrefix("/source/", http.FileServer(http.Dir("asset"))).ServeHTTP(rw, r)
		return
	}
	if r.URL.Path == "/realtime" {
		w.hub.ServeHTTP(rw, r)
		return
	}
	if r.URL.Path == "/health" {
		tell(rw, map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusOK}[w.isDown()], map[string]any{})
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/ai/") {
		if strings.HasPrefix(r.URL.Path, "/ui/chats/") {
			defer w.looks.one()()
		}
		w.page.ServeHTTP(rw, r)
		return
	}
	_, known := auth.FromContext(r.Context())
	switch {
	case !known:
		refuse(rw, 401, "auth_required", "Hace falta entrar.")
	case w.isDown():
		refuse(rw, 503, "unavailable", "No responde.")
	default:
		w.api().ServeHTTP(rw, r)
	}
}

// keeper keeps the body that a handler writes, and sends it when the handler has not lost it.
type keeper struct {
	http.ResponseWriter
	body []byte
}

func (k *keeper) Write(p []byte) (int, error) {
	k.body = append(k.body, p...)
	return k.ResponseWriter.Write(p)
}

// looks counts the reads of a conversation, and the concurrent ones.
type looks struct {
	mu             sync.Mutex
	all, now, most int
}

func (l *looks) one() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all++
	l.now++
	l.most = max(l.most, l.now)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.now--
	}
}

func (w *world) isDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.down
}

// hold keeps runs where they are, or lets them move on.
func (w *world) hold(held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = held
	for _, r := range w.runs {
		if !held && r.Status.Active() { // it goes on, and whoever asks sees it
			w.tell("run", map[string]any{"conversationId": r.ChatID, "run_id": r.ID, "status": r.Status})
		}
	}
}

func (w *world) setDown(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

func refuse(rw http.ResponseWriter, status int, code, detail string) {
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"title": http.StatusText(status), "status": status, "code": code, "detail": detail, "action": "Haz otra cosa.", "trace_id": "0af7651916cd43dd",
	})
}

func tell(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v)
}

func (w *world) api() http.Handler {
	mux := http.NewServeMux()
	locked := func(pattern string, h func(http.ResponseWriter, *http.Request, map[string]any)) {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			body := map[string]any{}
			var raw bytes.Buffer
			if r.Body != nil && r.ContentLength > 0 {
				if err := json.NewDecoder(io.TeeReader(r.Body, &raw)).Decode(&body); err != nil {
					refuse(rw, 400, "malformed", "No se puede leer.")
					return
				}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lastBody = raw.Bytes()
			h(rw, r, body)
		})
	}
	locked("POST /api/chats", func(rw http.ResponseWriter, _ *http.Request, body map[string]any) {
		id := w.ids.New(w.now())
		project, _ := body["project_id"].(string)
		w.chats[id] = conversation.Chat{ID: id, ProjectID: project, CreatedAt: w.now(), UpdatedAt: w.now()}
		tell(rw, 201, w.chats[id])
	})
	locked("PATCH /api/chats/{id}", func(rw http.ResponseWriter, r *http.Request, body map[string]any) {
		c := w.chats[r.PathValue("id")]
		if title, ok := body["title"].(string); ok {
			c.Title = title
		}
		if mode, ok := body["automation"].(string); ok {
			c.Automation = mode
		}
		if agent, ok := body["agent"].(string); ok {
			c.Agent = agent
		}
		if pin, ok := body["pinned"].(bool); ok {
			c.Pinned, c.Archived = pin, c.Archived && !pin
		}
		if put, ok := body["archived"].(bool); ok {
			c.Archived, c.Pinned = put, c.Pinned && !put
		}
		w.chats[c.ID] = c
		tell(rw, 200, c)
	})
	locked("DELETE /api/chats/{id}", func(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
		delete(w.chats, r.PathValue("id"))
		rw.WriteHeader(204)
	})
	locked("POST /api/send", w.send)
	locked("POST /api/chats/{id}/answer", w.answerLast)
	w.aiRoutes(mux, locked)
	w.listRoutes(locked)
	w.lineRoutes(locked)
	w.jobRoutes(locked)
	w.hookRoutes(mux)
	w.outRoutes(mux)
	w.drawer.routes(mux)
	w.decisionRoutes(locked)
	locked("POST /api/runs/{id}/confirm", w.confirm)
	locked("POST /api/runs/{id}/cancel", w.cancel)
	locked("GET /api/runs/{id}/events", w.more)
	locked("POST /api/mcps", w.register)
	locked("POST /api/mcps/{id}/refresh", func(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
		answer := map[string]any{"mcp_id": r.PathValue("id"), "added": []string{"GET /new"}, "removed": []string{}, "changed": []string{"GET /rooms"}}
		if s := w.servers[r.PathValue("id")]; s.Kind == tool.KindMCP {
			answer["added"], answer["changed"] = []string{}, s.Frozen
			s.Frozen = nil
			w.servers[s.ID] = s
		}
		tell(rw, 200, answer)
	})
	locked("PUT /api/mcps/{id}/active", func(rw http.ResponseWriter, r *http.Request, body map[string]any) {
		s := w.servers[r.PathValue("id")]
		s.Active, _ = body["active"].(bool)
		w.servers[s.ID] = s
		tell(rw, 200, map[string]any{"mcp_id": s.ID})
	})
	locked("PUT /api/mcps/{id}/key", func(rw http.ResponseWriter, r *http.Request, body map[string]any) {
		s := w.servers[r.PathValue("id")]
		raw, _ := json.Marshal(body)
		w.asked = append(w.asked, string(raw))
		var place tool.KeyPlace
		_ = json.Unmarshal(raw, &place)
		s.Keys = append(s.Keys, place)
		w.servers[s.ID] = s
		tell(rw, 200, map[string]any{"mcp_id": s.ID})
	})
	locked("DELETE /api/mcps/{id}", func(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
		delete(w.servers, r.PathValue("id"))
		rw.WriteHeader(204)
	})
	locked("POST /api/projects", func(rw http.ResponseWriter, _ *http.Request, body map[string]any) {
		name, _ := body["name"].(string)
		p := conversation.Project{ID: w.ids.New(w.now()), Name: name, CreatedAt: w.now()}
		w.projects[p.ID] = p
		tell(rw, 201, p)
	})
	return mux
}

func (w *world) register(rw http.ResponseWriter, _ *http.Request, body map[string]any) {
	url, _ := body["url"].(string)
	name, _ := body["name"].(string)
	if strings.Contains(url, "169.254") {
		refuse(rw, 422, "url.refused", "Esa dirección no se permite.")
		return
	}
	raw, _ := json.Marshal(body)
	w.asked = append(w.asked, string(raw))
	s := tool.Server{ID: w.ids.New(w.now()), Name: name, Kind: tool.KindOpenAPI, BaseURL: url, Active: true, Status: tool.Online, Operations: 1, RefreshedAt: w.now()}
	w.entries[s.ID] = []tool.Entry{{Method: "GET", Path: "/pets", Summary: "List pets"}}
	if body["kind"] == "mcp" {
		s.Kind, s.Role, s.Transport = tool.KindMCP, tool.RoleTools, tool.TransportStreamable
		w.entries[s.ID] = []tool.Entry{{Name: "chat", Summary: "Conversa"}}
	}
	if reads, ok := body["reads"].(map[string]any); ok {
		mode, _ := reads["mode"].(string)
		s.Reads.Mode = tool.ReadMode(mode)
	}
	if body["role"] == "agent" {
		s.Role = tool.RoleAgent
		s.About, _ = body["description"].(string)
	}
	w.servers[s.ID] = s
	tell(rw, 201, map[string]any{"mcp_id": s.ID, "name": s.Name})
}

func (w *world) send(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	chatID, _ := body["chat_id"].(string)
	text, _ := body["message"].(string)
	raw, _ := json.Marshal(body)
	w.sends = append(w.sends, string(raw))
	key := r.Header.Get("Idempotency-Key")
	if known, ok := w.answers[key]; ok && key != "" {
		_, _ = rw.Write(known)
		return
	}
	kept := &keeper{ResponseWriter: rw}
	rw = kept
	defer func() {
		w.answers[key] = kept.body
		if w.unheard {
			w.unheard = false
			panic(http.ErrAbortHandler)
		}
	}()
	if strings.Contains(text, "429") {
		rw.Header().Set("Retry-After", "3")
		refuse(rw, 429, "request.too_many", "Llegan demasiadas peticiones seguidas.")
		return
	}
	if strings.Contains(text, "503") {
		refuse(rw, 503, "unavailable", "No responde.")
		return
	}
	m := w.say(chatID, conversation.RoleUser, conversation.KindText, "", text)
	if old, ok := body["replaces"].(string); ok {
		w.replace(chatID, old, m.ID)
	}
	c := w.chats[chatID]
	if c.PendingRunID != "" && intent.Classify(text).Agrees() {
		w.start(c.PendingRunID)
		tell(rw, 200, map[string]any{"kind": "queued", "chat": w.chats[chatID]})
		return
	}
	mode := c.Automation
	if a, ok := w.purse.settings.Assistants[c.ProjectID]; ok && mode == "" {
		mode = string(a.Automation.Mode)
	}
	if mode == "manual" {
		m := w.say(chatID, conversation.RoleAssistant, conversation.KindNotice, "", "Guardado.")
		tell(rw, 200, map[string]any{"kind": "notice", "message": jsonform.Message(m), "chat": w.chats[chatID]})
		return
	}
	w.reply(rw, r, chatID, text)
}

// answerLast answers the last message.
func (w *world) answerLast(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	chatID := r.PathValue("id")
	for _, m := range slices.Backward(w.messages[chatID]) {
		if m.Role == conversation.RoleUser {
			before := len(w.messages[chatID])
			w.reply(rw, r, chatID, m.Content)
			if body["again"] == true {
				w.replaceAfter(chatID, m.ID, w.messages[chatID][before].ID)
			}
			return
		}
	}
	refuse(rw, 404, "chat.not_found", "No existe.")
}

// replace notes on a message and on those after it that another took their place.
func (w *world) replace(chatID, old, by string) {
	w.replaceAfter(chatID, old, by)
	for i, m := range w.messages[chatID] {
		if m.ID == old {
			w.messages[chatID][i].ReplacedBy = by
		}
	}
}

func (w *world) replaceAfter(chatID, old, by string) {
	after := false
	for i, m := range w.messages[chatID] {
		if m.ID == by {
			return
		}
		if after {
			w.messages[chatID][i].ReplacedBy = by
		}
		after = after || m.ID == old
	}
}

// reply answers by the words of a message, unless the account is blocked.
func (w *world) reply(rw http.ResponseWriter, r *http.Request, chatID, text string) {
	c := w.chats[chatID]
	w.mu.Unlock()
	plan, block := w.decide(r.Context(), eligibility.Question{Account: w.account, ProjectID: c.ProjectID, Mode: eligibility.Mode(c.Automation)})
	w.mu.Lock()
	if strings.Contains(text, "bloquea") {
		block = eligibility.Refuse(eligibility.NoAPIKey, "openai")
	}
	answer := map[string]any{"kind": "message"}
	switch {
	case block != nil:
		m := w.say(chatID, conversation.RoleSystem, conversation.KindBlocked, "", "⚠️ "+block.Message().In(locale.Spanish))
		list := w.messages[chatID]
		list[len(list)-1].Code = string(block.Reason)
		answer["kind"], answer["message"], answer["block"] = "blocked", jsonform.Message(m), blockOf(block)
		w.hub.push("ai:execution_blocked", map[string]any{"conversationId": chatID, "reason": block.Reason})
	case planOf(text, w.now()) != nil:
		r := w.propose(chatID, *planOf(text, w.now()))
		answer["kind"], answer["message"] = "plan", map[string]any{"content": r.Plan.Goal}
	case strings.Contains(text, "cuento"):
		answer["message"] = jsonform.Message(w.narrate(chatID))
	default:
		said := w.say(chatID, conversation.RoleAssistant, conversation.KindText, "", "Hay **tres** salas: [plano](https://example.org/plano) ![x](https://evil.example/x.png)")
		by := &conversation.By{Provider: plan.Provider, Model: plan.Model}
		if plan.Swap != nil {
			by.Preferred, by.Reason = plan.Swap.Preferred, string(plan.Swap.Reason)
		}
		w.signed(chatID, by)
		w.noted(chatID)
		answer["message"] = jsonform.Message(said)
	}
	answer["chat"] = w.chats[chatID]
	tell(rw, 200, answer)
}

// signed sets the author of the last message in a chat.
func (w *world) signed(chatID string, by *conversation.By) {
	list := w.messages[chatID]
	list[len(list)-1].By = by
}

// noted adds the notes of the world to the last message in a chat.
func (w *world) noted(chatID string) {
	list := w.messages[chatID]
	list[len(list)-1].Notes = w.notes
}

// propose stores a draft and supersedes an older one. The lock is held.
func (w *world) propose(chatID string, p plan.Plan) plan.Run {
	c := w.chats[chatID]
	if old, ok := w.runs[c.PendingRunID]; ok {
		old.Status = plan.Superseded
		w.event(&old, plan.EventSuperseded, "", "{}")
		w.runs[old.ID] = old
	}
	digest, err := p.Digest()
	if err != nil {
		panic(err)
	}
	r := plan.Run{ID: w.ids.New(w.now()), Account: w.account, ChatID: chatID, Plan: p, Digest: digest, Status: plan.Draft, CreatedAt: w.now()}
	r.User = "ana"
	for _, s := range p.Steps {
		r.Steps = append(r.Steps, plan.StepState{StepID: s.ID, Status: plan.StepPending})
	}
	w.tellEvent(&r, plan.EventProposed, "", map[string]any{"digest": digest, "goal": p.Goal, "model": "reglas", "by": "ana", "run_id": r.ID, "chat_id": r.ChatID})
	w.runs[r.ID] = r
	w.planned[r.ID] = []plan.Revision{{Plan: p, Digest: digest, By: "ana", Model: "reglas", At: w.events[r.ID][0].At}}
	c.PendingRunID = r.ID
	w.chats[chatID] = c
	w.say(chatID, conversation.RoleAssistant, conversation.KindPlan, r.ID, "Plan propuesto: "+p.Goal)
	return r
}

func (w *world) confirm(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	run, ok := w.runs[r.PathValue("id")]
	w.keys = append(w.keys, r.Header.Get("Idempotency-Key"))
	switch {
	case !ok:
		refuse(rw, 404, "run.not_found", "No existe.")
	case run.Status != plan.Draft:
		refuse(rw, 409, "plan.not_pending", "El plan ya no está pendiente.")
	case body["digest"] != string(run.Digest):
		refuse(rw, 409, "plan.stale", "El plan ha cambiado.")
	case w.busy(run):
		refuse(rw, 409, "plan.already_running", "Ya está ejecutándose.")
	default:
		w.start(run.ID)
		tell(rw, 202, map[string]any{"run": map[string]any{"run_id": run.ID, "status": "queued"}})
	}
}

func (w *world) start(runID string) {
	r := w.runs[runID]
	c := w.chats[r.ChatID]
	c.PendingRunID, c.ActiveRunID = "", r.ID
	w.chats[c.ID] = c
	r.Status, r.Confirmer = plan.Queued, "ana"
	w.event(&r, plan.EventConfirmed, "", `{"by":"ana","digest":"`+string(r.Digest)+`"}`)
	w.runs[r.ID] = r
	w.say(r.ChatID, conversation.RoleSystem, conversation.KindNotice, r.ID, locale.Text(locale.Spanish, "turn.confirmed"))
}

func (w *world) cancel(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	run, ok := w.runs[r.PathValue("id")]
	digest, given := body["digest"].(string)
	switch {
	case !ok:
		refuse(rw, 404, "run.not_found", "No existe.")
		return
	case run.Status.Terminal():
		refuse(rw, 409, "plan.not_pending", "El plan ya no está pendiente.")
		return
	case given && digest != string(run.Digest):
		refuse(rw, 409, "plan.stale", "El plan ha cambiado.")
		return
	}
	w.free(run)
	run.Reason, _ = body["reason"].(string)
	run.Status = plan.Cancelled
	w.event(&run, plan.EventCancelled, "", "{}")
	w.runs[run.ID] = run
	w.say(run.ChatID, conversation.RoleSystem, conversation.KindNotice, run.ID, locale.Text(locale.Spanish, "turn.cancelled"))
	tell(rw, 200, map[string]any{"run": map[string]any{"run_id": run.ID, "status": "cancelled"}})
}
