package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// Ids of the test world, all of account a; ghostID belongs to no account.
const (
	chatID    = "01K0000000000000000000000A"
	projectID = "01K0000000000000000000000B"
	runID     = "01K0000000000000000000000C"
	serverID  = "01K0000000000000000000000D"
	messageID = "01K0000000000000000000000M"
	turnID    = "01K0000000000000000000000T"
	ghostID   = "01K0000000000000000000000Z"
	sessionID = "session-001"
)

var (
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	digest  = plan.Digest(strings.Repeat("ab", 32))
	request = strings.Repeat("12", 32) // the digest of one that waits for an approval
)

// world implements every service in memory: one account's records, and a count of the calls.
type world struct {
	filter plan.Filter // of the last list of runs

	mu       sync.Mutex
	calls    int
	turns    []turn.Request
	confirms []run.Confirmation
	cancels  []run.Cancellation
	keys     []tool.Credential
	removed  []tool.KeyPlace
	regs     []tool.Registration
	pages    []string // account, cursor and limit of every list
	chat     conversation.Chat
	project  conversation.Project
	run_     plan.Run
	server   tool.Server
	session_ conversation.Chat
	stops    []string
	approved []run.Approval
	resolved []run.Resolution
	retried  []run.Again
	again    []run.Again
	edits    []turn.Edit
	ruled    rule.Set
	refusal  error // error of the next decision
	tickets  int
	settings *settingsStore
	hooks    *webhookStore
}

func newWorld() *world {
	at := noon.Add(-time.Hour)
	w := &world{
		chat:     conversation.Chat{ID: chatID, Title: "Reservas", CreatedAt: at, UpdatedAt: at, PendingRunID: runID},
		project:  conversation.Project{ID: projectID, Name: "Oficina", CreatedAt: at, UpdatedAt: at},
		run_:     sampleRun(),
		server:   sampleServer(),
		session_: conversation.Chat{ID: "x", UserID: "alice", CreatedAt: at, Metadata: map[string]json.RawMessage{"source": json.RawMessage(`"web"`)}},
	}
	w.settings = newSettingsStore(w)
	w.hooks = newWebhookStore(w)
	return w
}

func sampleRun() plan.Run {
	at := noon.Add(-time.Hour)
	return plan.Run{
		ID: runID, Account: "a", ChatID: chatID, Locale: "es", Digest: digest, Status: plan.Running, CreatedAt: at, UpdatedAt: at,
		Plan: plan.Plan{
			ID: "01K0000000000000000000000P", Revision: 1, Goal: "Reservar una sala", ExpiresAt: noon,
			Steps: []plan.Step{
				{ID: plan.EffectOf("s1"), Title: "Buscar", MCPID: serverID, Method: "GET", Path: "/rooms", Query: json.RawMessage(`{"capacity":12345678901234567890}`), Risk: plan.Read},
				{ID: plan.EffectOf("s2"), Title: "Reservar", MCPID: serverID, Method: "POST", Path: "/reservations", Body: json.RawMessage(`{"room":"${s1.body.id}"}`), Needs: []string{"s1"}, Risk: plan.Write},
			},
			Bindings: []plan.Binding{
				{StepID: plan.EffectOf("s1"), MCPID: serverID, ServerName: "Salas", BaseURL: "http://127.0.0.1:9000/v1"},
				{StepID: plan.EffectOf("s2"), MCPID: serverID, ServerName: "Salas", BaseURL: "http://127.0.0.1:9000/v1"},
			},
		},
		Steps: []plan.StepState{{
			StepID: plan.EffectOf("s1"), Status: plan.StepDone, Attempts: 1,
			Result: &plan.Result{Status: 200, Body: json.RawMessage(`{"id":9007199254740993}`), Bytes: 23},
		}},
	}
}

func sampleServer() tool.Server {
	at := noon.Add(-time.Hour)
	return tool.Server{
		ID: serverID, Name: "Salas", Kind: tool.KindOpenAPI, BaseURL: "http://127.0.0.1:9000/v1", Active: true,
		Status: tool.Online, Operations: 1, Keys: []tool.KeyPlace{{In: "header", Name: "X-Api-Key"}}, CreatedAt: at, UpdatedAt: at, RefreshedAt: at,
	}
}

var entries = []tool.Entry{{Method: "GET", Path: "/rooms", OperationID: "listRooms", Summary: "Salas", Fingerprint: "f1", Signature: "()"}}

// called counts a call; everything in the world belongs to account a.
func (w *world) called(account ids.Account, id, want string, missing error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if account != "a" || id != want {
		return missing
	}
	return nil
}

func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

func (w *world) Send(_ context.Context, r turn.Request) (turn.Reply, error) {
	want := chatID
	if r.Session != nil {
		want = r.ChatID
	}
	if err := w.called(r.Principal.Account, r.ChatID, want, conversation.ErrChatNotFound); err != nil {
		return turn.Reply{}, err
	}
	w.turns = append(w.turns, r)
	reply := turn.Reply{
		Kind: turn.KindMessage, Chat: w.chat,
		Message: conversation.Message{ID: "01K0000000000000000000000M", Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "Hola", At: noon},
	}
	switch r.Message {
	case "plan":
		draft := w.run_
		draft.Status, draft.Steps = plan.Draft, nil
		reply.Kind, reply.Run = turn.KindPlan, &draft
	case "blocked":
		reply.Kind, reply.Block = turn.KindBlocked, eligibility.Refuse(eligibility.ProviderUnreachable, "openai")
	case "poor":
		reply.Kind, reply.Block = turn.KindBlocked, eligibility.Refuse(eligibility.InsufficientCredits, "openai")
		reply.Block.CreditBalance = new(int64)
	case "stand in":
		reply.By = &conversation.By{Provider: "groq", Model: "llama-3.3-70b-versatile", Preferred: "openai", Reason: "rate_limited"}
		reply.Message.By = reply.By
	case "lost":
		return turn.Reply{}, plan.ErrStale
	case "moved":
		return turn.Reply{}, &turn.Moved{Run: w.run_, Card: locale.Verbatim("Plan propuesto: otro"), Why: plan.ErrStale.WithFault("changed", fault.Reason("run.changed_edited").With("revision", "2"))}
	case "broken":
		return turn.Reply{}, errors.New("table: password=canary-secret")
	case "panic":
		panic("canary-secret")
	}
	return reply, nil
}

// Route echoes a message, and delegates one that begins with an agent's name.
func (w *world) Route(ctx context.Context, r turn.Request) (turn.Reply, error) {
	reply, err := w.Send(ctx, turn.Request{Principal: r.Principal, ChatID: chatID, Message: r.Message, Locale: r.Locale})
	if err != nil || reply.Block != nil {
		return reply, err
	}
	w.turns[len(w.turns)-1] = r
	reply.Routed = &turn.Routed{Action: agent.Respond}
	if name, _, ok := strings.Cut(r.Message, ": "); ok {
		reply.Routed = &turn.Routed{Action: agent.Delegate, Agent: name}
	}
	return reply, nil
}

func (w *world) Answer(_ context.Context, r turn.Request) (turn.Reply, error) {
	w.turns = append(w.turns, r)
	return turn.Reply{
		Kind: turn.KindMessage, Chat: w.chat,
		Message: conversation.Message{ID: "01K0000000000000000000000M", Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "Hola", At: noon},
	}, w.called(r.Principal.Account, r.ChatID, chatID, conversation.ErrChatNotFound)
}

func (w *world) Stop(_ context.Context, p auth.Principal, id string) error {
	w.stops = append(w.stops, p.User+" "+id)
	return w.called(p.Account, id, chatID, conversation.ErrChatNotFound)
}

func (w *world) Issue(_ context.Context, p auth.Principal, at time.Time) (string, time.Time, error) {
	w.tickets++
	return "t1cket", at.Add(time.Minute), w.called(p.Account, "", "", nil)
}

func (w *world) Confirm(_ context.Context, c run.Confirmation) (run.Decision, error) {
	w.confirms = append(w.confirms, c)
	return w.decided(c.Account, c.RunID)
}

func (w *world) Cancel(_ context.Context, c run.Cancellation) (run.Decision, error) {
	w.cancels = append(w.cancels, c)
	return w.decided(c.Account, c.RunID)
}

// decided returns the result of a decision: refusal, if set.
func (w *world) decided(account ids.Account, id string) (run.Decision, error) {
	if err := w.called(account, id, runID, plan.ErrRunNotFound); err != nil {
		return run.Decision{}, err
	}
	return run.Decision{Run: w.run_, Chat: w.chat}, w.refusal
}

// Approve accepts one approval, as a run does.
func (w *world) Approve(_ context.Context, a run.Approval) (run.Decision, error) {
	w.approved = append(w.approved, a)
	d, err := w.decided(a.Account, a.RunID)
	w.refusal = plan.ErrNotWaiting
	return d, err
}

func (w *world) Resolve(_ context.Context, s run.Resolution) (run.Decision, error) {
	w.resolved = append(w.resolved, s)
	d, err := w.decided(s.Account, s.RunID)
	if s.Outcome == plan.OutcomeRetry {
		d.Run.ID, d.Run.Retries, d.Run.Status = ghostID, runID, plan.Draft
	}
	return d, err
}

func (w *world) Retry(_ context.Context, r run.Again) (run.Decision, error) {
	w.retried = append(w.retried, r)
	d, err := w.decided(r.Account, r.RunID)
	d.Run.ID, d.Run.Retries, d.Run.Status = ghostID, runID, plan.Draft
	return d, err
}

func (w *world) Reverse(_ context.Context, a run.Again) (run.Decision, error) {
	w.again = append(w.again, a)
	d, err := w.decided(a.Account, a.RunID)
	d.Run.ID, d.Run.Status = ghostID, plan.Draft
	return d, err
}

func (w *world) Repeat(ctx context.Context, a run.Again) (run.Decision, error) {
	return w.Reverse(ctx, a)
}

func (w *world) ReadAgain(_ context.Context, e turn.Edit) (plan.Run, error) {
	d, err := w.decided(e.Principal.Account, e.RunID)
	return d.Run, err
}

// Revise checks the steps as those of a draft.
func (w *world) Revise(_ context.Context, e turn.Edit) (plan.Run, error) {
	w.edits = append(w.edits, e)
	d, err := w.decided(e.Principal.Account, e.RunID)
	if err != nil {
		return d.Run, err
	}
	steps, wrong := plan.Arrange(plan.Proposal{Goal: e.Goal, Steps: e.Steps})
	for i := range wrong {
		wrong[i].Loc = append([]any{"body"}, wrong[i].Loc...)
	}
	if len(wrong) > 0 {
		return d.Run, plan.ErrInvalid.At(wrong...)
	}
	d.Run.Plan.Replaces, d.Run.Plan.Revision, d.Run.Plan.Steps = d.Run.Digest, 2, steps
	d.Run.Status, d.Run.Steps = plan.Draft, nil
	return d.Run, nil
}

// AgentChange has an own agent of account a, "openai", and a server's name, "venta".
func (w *world) AgentChange(_ context.Context, account ids.Account, name string) (agent.Change, error) {
	if err := w.called(account, "", "", nil); err != nil || account != "a" {
		return agent.Change{}, err
	}
	return map[string]agent.Change{
		"openai": {Name: "openai", Version: 1, Patch: json.RawMessage(`{"prompt":"p"}`)}, "venta": {Name: "venta", ServerID: "02"},
	}[name], nil
}

func (w *world) Rules(_ context.Context, account ids.Account) (rule.Set, error) {
	if err := w.called(account, "", "", nil); err != nil || account != "a" {
		return rule.Set{}, err
	}
	return w.ruled, nil
}

func (w *world) SetRules(_ context.Context, account ids.Account, seen int, set rule.Set) error {
	if err := w.called(account, "", "", nil); err != nil {
		return err
	}
	if seen != w.ruled.Version {
		return rule.ErrMoved
	}
	w.ruled = set
	w.ruled.Version = seen + 1
	return nil
}

func (w *world) SetReads(_ context.Context, account ids.Account, id string, want tool.WantedReads) (tool.Server, error) {
	w.server.Reads = tool.Reads{Mode: want.Mode, Zone: want.Zone}
	for _, name := range want.Tools {
		w.server.Reads.Tools = map[string]string{name: "f"}
	}
	return w.server, w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) SetErrors(_ context.Context, account ids.Account, id string, want tool.Errors) (tool.Server, error) {
	w.server.Errors = want
	return w.server, w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) Register(_ context.Context, account ids.Account, r tool.Registration, _ time.Time) (tool.Server, []tool.Entry, error) {
	if err := r.Takes(2 << 20); err != nil {
		return w.server, nil, err
	}
	r.Takes = nil // it is compared
	w.regs = append(w.regs, r)
	return w.server, entries, w.called(account, "", "", nil)
}

func (w *world) Refresh(_ context.Context, account ids.Account, id string, _ time.Time) (tool.Server, []tool.Entry, tool.Diff, error) {
	return w.server, entries, tool.Diff{Added: []string{"GET /rooms"}}, w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) SetActive(_ context.Context, account ids.Account, id string, active bool, _ time.Time) (tool.Server, error) {
	s := w.server
	s.Active = active
	return s, w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) SetKey(_ context.Context, account ids.Account, id string, key tool.Credential, _ time.Time) (tool.Server, error) {
	w.keys = append(w.keys, key)
	return w.server, w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) RemoveKey(_ context.Context, account ids.Account, id string, place tool.KeyPlace, _ time.Time) (tool.Server, error) {
	w.removed = append(w.removed, place)
	return w.server, w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) Delete(_ context.Context, account ids.Account, id string) error {
	return w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) List(_ context.Context, account ids.Account) ([]tool.Server, error) {
	err := w.called(account, "", "", nil)
	if account != "a" {
		return nil, err
	}
	return []tool.Server{w.server}, err
}

func (w *world) Get(_ context.Context, account ids.Account, id string) (tool.Server, []tool.Entry, error) {
	return w.server, entries, w.called(account, id, serverID, tool.ErrServerNotFound)
}

func (w *world) CreateProject(_ context.Context, account ids.Account, p conversation.Project) error {
	return w.called(account, p.ID, p.ID, fault.New(fault.Conflict, "x"))
}

func (w *world) Project(_ context.Context, account ids.Account, id string) (conversation.Project, error) {
	return w.project, w.called(account, id, projectID, conversation.ErrProjectNotFound)
}

func (w *world) Projects(_ context.Context, account ids.Account) ([]conversation.Project, error) {
	err := w.called(account, "", "", nil)
	if account != "a" {
		return nil, err
	}
	return []conversation.Project{w.project}, err
}

func (w *world) UpdateProject(_ context.Context, account ids.Account, id string, change func(*conversation.Project) error) (conversation.Project, error) {
	if err := w.called(account, id, projectID, conversation.ErrProjectNotFound); err != nil {
		return conversation.Project{}, err
	}
	return w.project, change(&w.project)
}

func (w *world) DeleteProject(_ context.Context, account ids.Account, id string) error {
	return w.called(account, id, projectID, conversation.ErrProjectNotFound)
}

func (w *world) CreateChat(_ context.Context, account ids.Account, c conversation.Chat) error {
	return w.called(account, c.ID, c.ID, fault.New(fault.Conflict, "x"))
}

// chatOr returns the id of the one chat for that of the one session.
func chatOr(id string) string {
	if id == conversation.SessionChat("a", sessionID) {
		return chatID
	}
	return id
}

func (w *world) Chat(_ context.Context, account ids.Account, id string) (conversation.Chat, error) {
	return w.chat, w.called(account, chatOr(id), chatID, conversation.ErrChatNotFound)
}

func (w *world) Chats(_ context.Context, account ids.Account, _ conversation.ChatFilter, cursor string, limit int) ([]conversation.Chat, string, error) {
	if err := w.list(account, cursor, limit); err != nil || account != "a" {
		return nil, "", err
	}
	return []conversation.Chat{w.chat}, "next", nil
}

func (w *world) FindChats(_ context.Context, account ids.Account, search conversation.Search, cursor string, limit int) ([]conversation.Found, string, error) {
	if err := w.list(account, cursor, limit); err != nil || account != "a" {
		return nil, "", err
	}
	match := &conversation.Match{MessageID: chatID, Role: conversation.RoleUser, Snippet: strings.Join(search.Words, " ")}
	return []conversation.Found{{Chat: w.chat, Match: match}}, "next", nil
}

func (w *world) UpdateChat(_ context.Context, key conversation.Key, change conversation.ChatChange, at time.Time) (conversation.Chat, error) {
	if err := w.called(key.Account, chatOr(key.ChatID), chatID, conversation.ErrChatNotFound); err != nil {
		return conversation.Chat{}, err
	}
	if change.Title != nil {
		w.chat.Title = *change.Title
	}
	if change.ProjectID != nil {
		w.chat.ProjectID = *change.ProjectID
	}
	if change.Pinned != nil {
		w.chat.Pinned = *change.Pinned
	}
	if change.Archived != nil {
		w.chat.Archived = *change.Archived
	}
	if change.Automation != nil {
		w.chat.Automation = *change.Automation
	}
	if change.Agent != nil {
		w.chat.Agent = *change.Agent
	}
	w.chat.UpdatedAt = at
	return w.chat, nil
}

func (w *world) DeleteChat(_ context.Context, key conversation.Key) error {
	return w.called(key.Account, chatOr(key.ChatID), chatID, conversation.ErrChatNotFound)
}

func (w *world) Messages(_ context.Context, key conversation.Key, cursor string, limit int) ([]conversation.Message, string, error) {
	if err := w.list(key.Account, cursor, limit); err != nil || key.Account != "a" || key.ChatID != chatID {
		return nil, "", err
	}
	return []conversation.Message{{ID: "01K0000000000000000000000M", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "Hola", At: noon}}, "", nil
}

func (w *world) ChatOfMessage(_ context.Context, account ids.Account, id string) (string, error) {
	return chatID, w.called(account, id, messageID, conversation.ErrMessageNotFound)
}

func (w *world) Rate(_ context.Context, key conversation.Key, id string, f *conversation.Feedback) (conversation.Message, error) {
	if key.ChatID != chatID {
		return conversation.Message{}, conversation.ErrMessageNotFound
	}
	return conversation.Message{ID: id, Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "Hola", At: noon, Feedback: f},
		w.called(key.Account, id, messageID, conversation.ErrMessageNotFound)
}

// list refuses a cursor of another account, as the table does.
func (w *world) list(account ids.Account, cursor string, limit int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	w.pages = append(w.pages, string(account)+" "+cursor+" "+string(rune('0'+limit%10)))
	if cursor != "" && cursor != string(account)+"-next" {
		return fault.New(fault.Malformed, "cursor.invalid")
	}
	return nil
}

func (w *world) Server(_ context.Context, account ids.Account, id string) (tool.Server, error) {
	if account != "a" || id != serverID { // a read that changes nothing is not counted
		return tool.Server{}, tool.ErrServerNotFound
	}
	return w.server, nil
}

func (w *world) Session(_ context.Context, account ids.Account, id, _ string) (conversation.Chat, []conversation.Message, string, error) {
	return w.session_, []conversation.Message{{Role: conversation.RoleUser, Content: "Hola", At: noon}}, "",
		w.called(account, id, sessionID, conversation.ErrChatNotFound)
}

func (w *world) Run(_ context.Context, account ids.Account, id string) (plan.Run, error) {
	return w.run_, w.called(account, id, runID, plan.ErrRunNotFound)
}

func (w *world) Status(ctx context.Context, account ids.Account, id string) (plan.Status, error) {
	r, err := w.Run(ctx, account, id)
	return r.Status, err
}

func (w *world) Bare(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	return w.Run(ctx, account, id)
}

func (w *world) Events(_ context.Context, account ids.Account, id string, after, limit int) ([]plan.Event, error) {
	_ = w.called(account, id, runID, nil)
	if account != "a" || id != runID {
		return nil, nil
	}
	all := []plan.Event{
		{Seq: 1, At: noon, Type: plan.EventProposed, Data: json.RawMessage(`{}`)},
		{Seq: 2, At: noon, Type: plan.EventStepStart, StepID: plan.EffectOf("s1"), Data: json.RawMessage(`{"n":1}`)},
	}
	all = slices.DeleteFunc(all, func(e plan.Event) bool { return e.Seq <= after })
	return all[:min(limit, len(all))], nil
}

// Revisions returns the current plan and an earlier one with another step.
func (w *world) Revisions(_ context.Context, r plan.Run) ([]plan.Revision, error) {
	before := r.Plan
	before.Steps = slices.Clone(before.Steps)
	before.Steps[1].Path = "/bookings"
	after := r.Plan
	after.Revision = 2
	return []plan.Revision{
		{Plan: before, Digest: plan.Digest(strings.Repeat("cd", 32)), By: "ana", Model: "gpt-4o-mini", At: noon.Add(-time.Hour)},
		{Plan: after, Digest: r.Digest, By: "eva", At: noon},
	}, nil
}

// Links returns one link, of the one run, with a fake signature.
func (w *world) Links(_ context.Context, account ids.Account, after, _ int) ([]receipt.Link, error) {
	if account != "a" || after > 0 {
		return nil, nil
	}
	return []receipt.Link{{
		Version: receipt.ChainVersion, Account: "a", Seq: 1, At: noon, RunID: runID, Status: plan.Done, Digest: digest, Events: 2,
		RunHead: strings.Repeat("ab", 32), Head: strings.Repeat("ef", 32),
		Signature: &receipt.Signature{KeyID: strings.Repeat("12", 32), Alg: receipt.Ed25519, Value: "c2lnbmVk"},
	}}, nil
}

func (w *world) Link(ctx context.Context, account ids.Account, seq int) (receipt.Link, error) {
	links, err := w.Links(ctx, account, seq-1, 1)
	if len(links) == 0 {
		return receipt.Link{}, receipt.ErrNoLink
	}
	return links[0], err
}

func (w *world) SigningKeys(context.Context) ([]receipt.Key, error) {
	until := noon
	return []receipt.Key{
		{ID: strings.Repeat("12", 32), Alg: receipt.Ed25519, PublicKey: "-----BEGIN PUBLIC KEY-----", From: noon.Add(-time.Hour), Until: &until},
		{ID: strings.Repeat("34", 32), Alg: receipt.ECDSAP256, PublicKey: "-----BEGIN PUBLIC KEY-----", From: noon},
	}, nil
}

func (w *world) Whole(_ context.Context, _ plan.Run, _ plan.EffectID, res plan.Result) (plan.Result, error) {
	if res.Apart > 0 {
		res.Body = json.RawMessage(`"whole"`)
	}
	return res, nil
}

// site is the handlers over a world, routed as in the deployment. Each is created at its first request.
type site struct {
	*world
	config       Config
	memoryStore  *memoryStore
	companyStore *companyStore
	checks       []Check
	logs         *bytes.Buffer
	watch        *opsStore
	places       *placesWorld
	made         map[Function]http.Handler
}

func newSite(checks ...Check) *site {
	w, logs := newWorld(), &bytes.Buffer{}
	c := Config{
		Now: func() time.Time { return noon }, NewID: func(time.Time) string { return "01K0000000000000000000000N" },
		Trace: func(context.Context) string { return "trace-1" }, Log: slog.New(slog.NewTextHandler(logs, nil)),
		Realtime: Realtime{URL: "wss://live.example.org/prod", Tickets: w},
	}
	c.Rules = w
	c.Webhooks, c.Once = w.hooks.services(c)
	keptTurn(c)
	watch := newOpsStore(w)
	c.Ops = opsOf(watch)
	c.Hooks = newHooks(c, func() { _ = w.called("a", "", "", nil) })
	c.Agents = agent.Registry{Store: newAgentRows(watch), Providers: namedProviders{"openai"}, Now: c.Now}
	return &site{world: w, places: newPlaces(), memoryStore: &memoryStore{}, companyStore: newCompanyStore(), logs: logs, watch: watch, config: c, checks: checks, made: map[Function]http.Handler{}}
}

func (s *site) handler(f Function) http.Handler {
	if h, ok := s.made[f]; ok {
		return h
	}
	switch f {
	case FunctionChat:
		s.made[f] = Chat(s.config, s.world, s.world)
	case FunctionRouter:
		s.made[f] = Router(s.config, s.world)
	case FunctionConfirm:
		s.made[f] = Confirm(s.config, s.world)
	case FunctionJobs:
		s.made[f] = Works(s.config, jobWorld{s.world}, jobWorld{s.world})
	case FunctionEligibility:
		s.made[f] = s.settings.handler(s.config)
	case FunctionRegistry:
		s.made[f] = Registry(s.config, s.world, s.companyStore.manager())
	case FunctionFiles:
		s.made[f] = Workspaces(s.config, s.places, s.world)
	default:
		s.made[f] = Records(s.config, s.stores(), agent.Sessions{Store: s.memoryStore, Now: s.config.Now}, print, s.checks...)
	}
	return s.made[f]
}

// stores returns the world as each of the stores.
func (s *site) stores() Stores {
	return Stores{Projects: s.world, Servers: s.world, Chats: s.world, Loops: s.world, Runs: s.world, Receipts: s.world}
}

// print writes a document as its texts.
func print(p conversation.Paper) ([]byte, error) { return []byte("%PDF " + fmt.Sprint(p)), nil }

// Principals of the tests.
var (
	boss     = auth.Principal{Account: "a", User: "ana", Scopes: []auth.Scope{auth.ScopeAdmin, auth.ScopeBilling}}
	manager  = auth.Principal{Account: "a", User: "ana", Scopes: []auth.Scope{auth.ScopeAdmin}}
	biller   = auth.Principal{Account: "a", User: "ana", Scopes: []auth.Scope{auth.ScopeBilling}}
	talker   = auth.Principal{Account: "a", User: "ana", Scopes: []auth.Scope{auth.ScopeChat}}
	approver = auth.Principal{Account: "a", User: "eva", Scopes: []auth.Scope{auth.ScopeApprove}}
	scopeNo  = auth.Principal{Account: "a", User: "ana"}
	other    = auth.Principal{Account: "b", User: "eva", Scopes: []auth.Scope{auth.ScopeAdmin, auth.ScopeBilling}}
)

// do sends a request to the function that API Gateway would call.
func (s *site) do(r *http.Request) *httptest.ResponseRecorder {
	function := FunctionRecords // $default
	for _, to := range Routes() {
		if to.Method == r.Method && (&route{segments: strings.Split(to.Path, "/")}).matches(r) {
			function = to.Function
		}
	}
	w := httptest.NewRecorder()
	s.handler(function).ServeHTTP(w, r)
	return w
}

func (to *route) matches(r *http.Request) bool {
	_, ok := to.match(r.URL)
	return ok
}

func ask(who auth.Principal, method, path, body string, headers ...string) *http.Request {
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, reader)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	if who.Account == "" {
		return r
	}
	return r.WithContext(auth.NewContext(r.Context(), who))
}

func decode(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return m
}
