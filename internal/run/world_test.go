package run_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/lab"
	"piloto/internal/conversation"
	"piloto/internal/dynamo"
	"piloto/internal/ident"
	"piloto/internal/locale"
	"piloto/internal/plan"
	"piloto/internal/run"
	"piloto/internal/step"
	"piloto/internal/tool"
)

const account = "acme"

var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// world is the run service over a real table, an upstream that answers what it
// is told, and a clock that moves when it is told.
type world struct {
	t       testing.TB
	table   *dynamo.Table
	service *run.Service
	steps   *step.Executor
	ids     *ident.Source
	server  tool.Server
	chat    conversation.Chat

	mu       sync.Mutex
	now      time.Time
	started  []string // executions
	startErr error
	state    map[string]run.Execution
	sent     []tool.Request
	answer   func(tool.Request) (tool.Answer, error)
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, table: lab.Table(t), ids: ident.NewSource(nil), now: epoch, state: map[string]run.Execution{}}
	log := slog.New(slog.DiscardHandler)
	w.service = &run.Service{Store: w.table, Catalogue: w.table, Executions: w, IDs: w.ids, Now: w.clock, Log: log}
	w.steps = &step.Executor{Store: w.table, Sender: w, IDs: w.ids, Now: w.clock, Log: log}
	w.answer = func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
	}
	w.register()
	w.chat = w.newChat()
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// StartExecution implements run.Executions.
func (w *world) StartExecution(_ context.Context, _, runID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.startErr != nil {
		return w.startErr
	}
	w.started = append(w.started, runID)
	w.state[runID] = run.ExecutionRunning
	return nil
}

// ExecutionOf implements run.Executions.
func (w *world) ExecutionOf(_ context.Context, runID string) (run.Execution, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.state[runID]; ok {
		return s, nil
	}
	return run.ExecutionNone, nil
}

// Send implements step.Sender.
func (w *world) Send(_ context.Context, r tool.Request, _ *tool.Credential, _ int64) (tool.Answer, error) {
	w.mu.Lock()
	w.sent = append(w.sent, r)
	answer := w.answer
	w.mu.Unlock()
	return answer(r)
}

func (w *world) requests() []tool.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]tool.Request(nil), w.sent...)
}

var schema = json.RawMessage(`{"type":"object","properties":{"room":{"type":"string"}},"required":["room"]}`)

func operations(base string) []tool.Operation {
	ops := []tool.Operation{
		{Entry: tool.Entry{Method: "GET", Path: "/rooms"}},
		{Entry: tool.Entry{Method: "POST", Path: "/bookings"}, Body: &tool.Body{MediaType: "application/json", Schema: schema}},
		{Entry: tool.Entry{Method: "GET", Path: "/bookings/{id}"}, Parameters: []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}},
		{Entry: tool.Entry{Method: "DELETE", Path: "/bookings/{id}"}, Parameters: []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}}},
	}
	for i := range ops {
		ops[i].Fingerprint = tool.Fingerprint(base, ops[i])
	}
	return ops
}

func (w *world) register() {
	w.server = tool.Server{
		ID: w.ids.New(epoch), Name: "Salas", Kind: tool.KindOpenAPI, BaseURL: "https://rooms.example", Active: true,
		Status: tool.Online, CreatedAt: epoch, UpdatedAt: epoch,
	}
	c := tool.Catalogue{Revision: w.ids.New(epoch), Operations: operations(w.server.BaseURL)}
	w.server.Catalogue, w.server.Operations = c.Revision, len(c.Operations)
	if err := w.table.CreateServer(context.Background(), account, w.server, c, nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) newChat() conversation.Chat {
	c := conversation.Chat{ID: w.ids.New(w.clock()), CreatedAt: w.clock(), UpdatedAt: w.clock()}
	if err := w.table.CreateChat(context.Background(), account, c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// call is one step of a test's plan.
type call struct{ method, path, body string }

func (w *world) plan(calls ...call) plan.Plan {
	p := plan.Proposal{Goal: "Reservar"}
	for _, c := range calls {
		p.Steps = append(p.Steps, plan.ProposedStep{
			Title: c.method + " " + c.path, MCPID: w.server.ID, Method: c.method, Path: c.path, Body: json.RawMessage(c.body),
		})
	}
	steps, wrong := plan.Arrange(p)
	if len(wrong) > 0 {
		w.t.Fatal(wrong)
	}
	out := plan.Plan{ID: w.ids.New(w.clock()), Revision: 1, Goal: p.Goal, Steps: steps, ExpiresAt: w.clock().Add(24 * time.Hour)}
	for _, s := range steps {
		for _, op := range operations(w.server.BaseURL) {
			if _, _, err := tool.Match([]tool.Entry{op.Entry}, s.Method, s.Path); err == nil {
				out.Bindings = append(out.Bindings, plan.Binding{
					StepID: s.ID, MCPID: s.MCPID, ServerName: w.server.Name, BaseURL: w.server.BaseURL, Template: op.Path, Fingerprint: op.Fingerprint,
				})
			}
		}
	}
	return out
}

// propose writes a draft in the world's chat, as a turn does.
func (w *world) propose(calls ...call) plan.Run {
	w.t.Helper()
	ctx := context.Background()
	p := w.plan(calls...)
	digest, err := p.Digest()
	if err != nil {
		w.t.Fatal(err)
	}
	chat, err := w.table.Chat(ctx, account, w.chat.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	var old *plan.Run
	if chat.PendingRunID != "" {
		r := w.read(chat.PendingRunID)
		old = &r
	}
	r := plan.Run{
		ID: w.ids.New(w.clock()), Account: account, User: "ana", ChatID: chat.ID, Locale: string(locale.Spanish), Plan: p, Digest: digest,
	}
	r, err = w.table.Propose(ctx, r, chat, old, run.Record{At: w.clock(), Type: plan.EventProposed})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(r.ID)
}

func (w *world) read(id string) plan.Run {
	w.t.Helper()
	r, err := w.table.Run(context.Background(), account, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) chatNow() conversation.Chat {
	w.t.Helper()
	c, err := w.table.Chat(context.Background(), account, w.chat.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) confirm(r plan.Run) error {
	_, err := w.service.Confirm(context.Background(), run.Confirmation{
		Account: account, User: "ana", RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish,
	})
	return err
}

// execute does what the state machine does, without its retries.
func (w *world) execute(id string) {
	w.t.Helper()
	ctx := context.Background()
	waves, err := w.service.Begin(ctx, account, id)
	if err != nil {
		w.t.Fatal(err)
	}
	cause := ""
	for _, wave := range waves {
		for _, s := range wave {
			if _, err := w.steps.Execute(ctx, step.Task{Account: account, RunID: id, StepID: s}); err != nil {
				cause = "Run.StepFailed"
			}
		}
		if cause != "" {
			break
		}
	}
	if _, err := w.service.Finish(ctx, account, id, cause); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) messages() []conversation.Message {
	w.t.Helper()
	list, _, err := w.table.Messages(context.Background(), account, w.chat.ID, "", 500)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) finals(runID string) int {
	n := 0
	for _, m := range w.messages() {
		if m.ID == conversation.FinalID(runID) {
			n++
		}
	}
	return n
}
