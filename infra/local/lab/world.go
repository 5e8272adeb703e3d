package lab

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/store/dynamo"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// Account is the account that everything here belongs to.
const Account = "acme"

// Epoch is when every World begins.
var Epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// World is the run service over a real table, an upstream that answers what it
// is told, and a clock that moves when it is told.
type World struct {
	Store  *dynamo.Table
	Runs   *run.Service
	Steps  *step.Executor
	IDs    *ids.Source
	Server tool.Server
	Chat   conversation.Chat // where Propose proposes

	t testing.TB

	mu       sync.Mutex
	now      time.Time
	started  []string // executions
	woken    []string // tokens
	startErr error
	state    map[string]run.Execution
	sent     []tool.Request
	answer   func(tool.Request) (tool.Answer, error)
}

// Answer says how the upstream answers from now on.
func (w *World) Answer(f func(tool.Request) (tool.Answer, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = f
}

// FailStarts says whether executions can be started; nil: they can.
func (w *World) FailStarts(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.startErr = err
}

// EndExecution makes a run's execution be over.
func (w *World) EndExecution(runID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state[runID] = run.ExecutionEnded
}

// Started returns the runs whose execution was started, in order.
func (w *World) Started() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.started...)
}

// NewWorld returns a world with one server registered and one chat.
func NewWorld(t testing.TB) *World {
	return NewWorldOver(t, Table(t))
}

// NewWorldOver is NewWorld over a table of the test's own, which works when it is
// called.
func NewWorldOver(t testing.TB, table *dynamo.Table) *World {
	w := &World{t: t, Store: table, IDs: ids.NewSource(nil), now: Epoch, state: map[string]run.Execution{}}
	log := slog.New(slog.DiscardHandler)
	w.Runs = &run.Service{Store: w.Store, Catalogue: w.Store, Executions: w, IDs: w.IDs, Now: w.Clock, Log: log, DraftLife: 24 * time.Hour}
	w.Steps = &step.Executor{Store: w.Store, Schemas: schema.Compiler{}, Sender: w, Waker: w, IDs: w.IDs, Now: w.Clock, Log: log}
	w.answer = func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
	}
	w.register()
	w.Chat = w.NewChat()
	return w
}

// Credit is the wallet over the world's table.
func (w *World) Credit() *credit.Service {
	return &credit.Service{Store: w.Store, IDs: w.IDs, Now: w.Clock, Log: slog.New(slog.DiscardHandler)}
}

// Eligibility decides over the world's table, where the deployment has what is
// given, and the keys of those that are named.
func (w *World) Eligibility(d eligibility.Deployment, keys ...string) *eligibility.Service {
	return &eligibility.Service{Store: w.Store, Deployment: d, Keys: held(keys), Now: w.Clock, Log: slog.New(slog.DiscardHandler)}
}

// held are the providers that the deployment has a key of.
type held []string

// Platform implements eligibility.Keys.
func (h held) Platform(context.Context) (map[string]bool, error) {
	has := map[string]bool{}
	for _, name := range h {
		has[name] = true
	}
	return has, nil
}

// Assistant is an assistant of a provider and a model, with nothing special.
func Assistant(provider, model string, fallback ...eligibility.Choice) *eligibility.Assistant {
	return &eligibility.Assistant{
		Name: "Piloto", Active: true, Provider: provider, Model: model, MaxTokens: 1000,
		Automation: eligibility.Automation{Mode: eligibility.Automatic}, Fallback: fallback, Scope: eligibility.ScopeDeployment,
	}
}

// Clock is the time here.
func (w *World) Clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass lets time go by.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// StartExecution implements run.Executions.
func (w *World) StartExecution(_ context.Context, _, runID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.startErr != nil {
		return w.startErr
	}
	w.started = append(w.started, runID)
	w.state[runID] = run.ExecutionRunning
	return nil
}

// Wake implements run.Executions.
func (w *World) Wake(_ context.Context, token string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.startErr != nil {
		return w.startErr
	}
	w.woken = append(w.woken, token)
	return nil
}

// Woken returns the tokens with which executions went on, in order.
func (w *World) Woken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.woken...)
}

// ExecutionOf implements run.Executions.
func (w *World) ExecutionOf(_ context.Context, runID string) (run.Execution, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.state[runID]; ok {
		return s, nil
	}
	return run.ExecutionNone, nil
}

// Send implements step.Sender.
func (w *World) Send(_ context.Context, r tool.Request, _ *tool.Credential, _ int64) (tool.Answer, error) {
	w.mu.Lock()
	w.sent = append(w.sent, r)
	answer := w.answer
	w.mu.Unlock()
	return answer(r)
}

// Requests returns what reached the upstream, in order.
func (w *World) Requests() []tool.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]tool.Request(nil), w.sent...)
}

var roomSchema = json.RawMessage(`{"type":"object","properties":{"room":{"type":"string"}},"required":["room"]}`)

// Operations is the catalogue of the upstream at a base URL.
func Operations(base string) []tool.Operation {
	ops := []tool.Operation{
		{Entry: tool.Entry{Method: "GET", Path: "/rooms"}},
		{Entry: tool.Entry{Method: "POST", Path: "/bookings"}, Body: &tool.Body{MediaType: "application/json", Schema: roomSchema}},
		{Entry: tool.Entry{Method: "GET", Path: "/bookings/{id}"}, Parameters: []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}},
		{Entry: tool.Entry{Method: "DELETE", Path: "/bookings/{id}"}, Parameters: []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}},
	}
	for i := range ops {
		ops[i].Fingerprint = tool.Fingerprint(base, ops[i])
	}
	return ops
}

func (w *World) register() {
	w.Server = tool.Server{
		ID: w.IDs.New(Epoch), Name: "Salas", Kind: tool.KindOpenAPI, BaseURL: "https://rooms.example", Active: true,
		Status: tool.Online, CreatedAt: Epoch, UpdatedAt: Epoch,
	}
	c := tool.Catalogue{Revision: w.IDs.New(Epoch), Operations: Operations(w.Server.BaseURL)}
	w.Server.Catalogue, w.Server.Operations = c.Revision, len(c.Operations)
	if err := w.Store.CreateServer(context.Background(), Account, w.Server, c, nil); err != nil {
		w.t.Fatal(err)
	}
}

// NewChat makes a chat.
func (w *World) NewChat() conversation.Chat {
	c := conversation.Chat{ID: w.IDs.New(w.Clock()), CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
	if err := w.Store.CreateChat(context.Background(), Account, c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// Call is one step of a test's plan.
type Call struct{ Method, Path, Body string }

// To returns a call; body is JSON, or empty.
func To(method, path, body string) Call { return Call{Method: method, Path: path, Body: body} }

// Propose writes a draft of calls in the world's chat, as a turn does: one step after
// the other.
func (w *World) Propose(calls ...Call) plan.Run {
	w.t.Helper()
	p := plan.Proposal{Goal: "Reservar"}
	for _, c := range calls {
		p.Steps = append(p.Steps, plan.ProposedStep{
			Title: c.Method + " " + c.Path, Method: c.Method, Path: c.Path, Body: json.RawMessage(c.Body),
		})
	}
	return w.Draft(p)
}

// Draft writes a draft in the world's chat, as a turn of Ana's does that answers her. What names no server calls
// the world's.
func (w *World) Draft(p plan.Proposal) plan.Run {
	w.t.Helper()
	ctx := context.Background()
	r := w.run(p)
	chat, err := w.Store.Chat(ctx, Account, w.Chat.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	var old *plan.Run
	if chat.PendingRunID != "" {
		r := w.Read(chat.PendingRunID)
		old = &r
	}
	r.ChatID = chat.ID
	at := w.Clock()
	card := run.Message(w.IDs, r, conversation.KindPlan, at, run.Describe(locale.Spanish, r.Plan, old != nil))
	r, err = w.Store.Propose(ctx, r, chat, old, run.Record{
		At: at, Type: plan.EventProposed, Data: run.Proposed(r, nil),
		Messages: []conversation.Message{card}, Shown: r.Sighted(plan.ViewerOf("send", r.User, "", ""), at),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Read(r.ID)
}

// run makes the run of a proposal that is right.
func (w *World) run(p plan.Proposal) plan.Run {
	w.t.Helper()
	out := w.Plan(p)
	digest, err := out.Digest()
	if err != nil {
		w.t.Fatal(err)
	}
	return plan.Run{
		ID: w.IDs.New(w.Clock()), Account: Account, User: "ana", Locale: string(locale.Spanish), Plan: out, Digest: digest,
	}
}

// Plan makes the plan of a proposal that is right, bound to the world's server.
func (w *World) Plan(p plan.Proposal) plan.Plan {
	w.t.Helper()
	for i := range p.Steps {
		if p.Steps[i].MCPID == "" {
			p.Steps[i].MCPID = w.Server.ID
		}
	}
	steps, wrong := plan.Arrange(p)
	if len(wrong) > 0 {
		w.t.Fatal(wrong)
	}
	out := plan.Plan{
		ID: w.IDs.New(w.Clock()), Revision: 1, Goal: p.Goal, Steps: steps,
		ExpiresAt: w.Clock().Add(w.Runs.DraftLife).UTC().Truncate(time.Second),
	}
	for i, s := range steps {
		if s.Undo != nil && s.Undo.MCPID == "" {
			out.Steps[i].Undo.MCPID = w.Server.ID
		}
		if s.Verify != nil && s.Verify.MCPID == "" {
			out.Steps[i].Verify.MCPID = w.Server.ID
		}
	}
	for _, s := range out.Steps {
		out.Bindings = append(out.Bindings, w.bind(s)...)
		if undo, ok := out.Step(plan.UndoOf(s.ID)); ok {
			out.Bindings = append(out.Bindings, w.bind(undo)...)
		}
		if check, ok := out.CheckOf(s.ID); ok {
			out.Bindings = append(out.Bindings, w.bind(check)...)
		}
	}
	return out
}

func (w *World) bind(s plan.Step) []plan.Binding {
	for _, op := range Operations(w.Server.BaseURL) {
		if _, _, err := tool.Match([]tool.Entry{op.Entry}, s.Method, s.Path); err == nil {
			return []plan.Binding{{
				StepID: s.ID, MCPID: s.MCPID, ServerName: w.Server.Name, BaseURL: w.Server.BaseURL, Template: op.Path, Fingerprint: op.Fingerprint,
			}}
		}
	}
	return nil
}

// Read returns a run as it is stored.
func (w *World) Read(id string) plan.Run {
	w.t.Helper()
	r, err := w.Store.Run(context.Background(), Account, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// ChatNow returns the world's chat as it is stored.
func (w *World) ChatNow() conversation.Chat {
	w.t.Helper()
	c, err := w.Store.Chat(context.Background(), Account, w.Chat.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// Confirm confirms a run as it was read.
func (w *World) Confirm(r plan.Run) error {
	_, err := w.Runs.Confirm(context.Background(), run.Confirmation{
		Account: Account, User: "ana", RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish,
	})
	return err
}

// Messages returns everything said in the world's chat.
func (w *World) Messages() []conversation.Message {
	w.t.Helper()
	list, _, err := w.Store.Messages(context.Background(), Account, w.Chat.ID, "", 500)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// Finals counts the messages that say how a run ended.
func (w *World) Finals(runID string) int {
	n := 0
	for _, m := range w.Messages() {
		if m.ID == conversation.FinalID(runID) {
			n++
		}
	}
	return n
}
