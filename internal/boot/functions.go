package boot

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"piloto/internal/access/rate"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/httpapi"
	"piloto/internal/edge/telemetry"
	"piloto/internal/live/hook"
	"piloto/internal/live/realtime"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/runs/stepfn"
	"piloto/internal/store"
	"piloto/internal/tools/outbound"
	"piloto/internal/tools/tool"
	"piloto/statemachines"
)

const (
	hookTimeout     = 10 * time.Second // of one message to a hook
	discoverTimeout = 10 * time.Second // of one request for a document
	discoverTotal   = 24 * time.Second // of a whole discovery: the caller gets its answer within the function's 29 s
)

// longestWait is the longest wait of a request for its answer, where no route times out.
const longestWait = 10 * time.Minute

// site is the part that all HTTP functions share.
type site struct {
	world  World
	stores store.Stores
	meter  *rate.Meter
	log    *slog.Logger
	http   httpapi.Config

	listeners turn.Listeners  // clients that have a chat of the account open
	pushes    *realtime.Queue // to them; nil: clients are not notified
}

func (w World) site(c Config) site {
	w.Private = c.Private
	log, stores := w.Log(c.LogLevel), store.New(w.Tables, c.TableName)
	stores.Table.Log = log
	meter := w.meter(c.Rates, stores.Access, log)
	return site{
		world: w, log: log, stores: stores, meter: meter,
		http:      httpapi.Config{Now: w.Now, NewID: w.IDs.New, Trace: telemetry.Trace, ArrivedAt: gateway.ArrivedAt, Log: log, Meter: meter},
		listeners: realtime.Nobody,
	}
}

func (w World) meter(r Rates, shared rate.Store, log *slog.Logger) *rate.Meter {
	m := &rate.Meter{Limits: r.limits(), Own: w.Counted, Log: log}
	if m.Own == nil {
		m.Own, m.Shared = rate.NewMemory(), shared
	}
	if !w.Local {
		m.OnRefusal = telemetry.Refusals(os.Stdout, w.Now)
	}
	return m
}

// Meter returns the request counter for a deployment whose authorizer is not a function of its own.
func Meter(w World, e Environment) (*rate.Meter, error) {
	c, err := read[AuthorizeConfig](e)
	if err != nil {
		return nil, err
	}
	return w.site(c.Config).meter, nil
}

// serve wraps a handler with traces, logs, the rendering of panics, and the refusal of addresses that are not valid
// UTF-8.
func (s site) serve(h http.Handler) http.Handler {
	h = httpapi.Texts(s.http, h)
	return telemetry.Middleware(s.log, s.world.Now, httpapi.Problems(s.http), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.flush(r.Context())
		h.ServeHTTP(w, r)
	}))
}

func (s site) runs(m Machine) *run.Service {
	service := &run.Service{
		Runs: s.stores.Runs, Chats: s.stores.Chats, Catalogue: s.catalogue(), IDs: s.world.IDs, Now: s.world.Now, Log: s.log,
	}
	if m.ARN != "" {
		service.Executions = stepfn.New(s.world.StepFunctions, m.ARN)
	}
	return service
}

// sealer returns the service that has the receipts of runs signed.
func (s site) sealer(c Receipts, signers Signers) (*receipt.Sealer, error) {
	signer, err := signers(s.world, c)
	return &receipt.Sealer{Store: s.stores.Receipts, Signer: signer, Now: s.world.Now, Log: s.log}, err
}

// Tools are the parts that check the arguments of tools, and call the servers that speak the Model Context Protocol
// (package tools).
type Tools struct {
	Schemas tool.Compiler
	Caller  func(w World, timeout time.Duration, bearer *outbound.Tokens) tool.Caller
}

// Chat builds functions/chat.
func Chat(w World, e Environment, t Tools) (http.Handler, error) {
	c, err := read[ChatConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.turnSite(c.Answering).answeringLater(c.Later)
	s.http.Once = s.replays()
	runs := s.runs(c.Machine)
	runs.Drafts, runs.DraftLife = s.previews(t), c.draftLife()
	return s.serve(httpapi.Chat(s.http, s.turns(c.Answering, t), runs)), nil
}

// Router builds functions/router.
func Router(w World, e Environment, t Tools) (http.Handler, error) {
	c, err := read[RouterConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.turnSite(c.Answering).withSigning(Signing{c.KeyPrefix}).answeringLater(c.Later)
	return s.serve(httpapi.Router(s.http, s.routedTurns(c.Routing, t))), nil
}

// Turn builds functions/turn. Its turns have no route that times out.
func Turn(w World, e Environment, t Tools) (gateway.Function, error) {
	w.within = lambdaTime
	c, err := read[TurnConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.turnSite(c.Answering).withSigning(Signing{c.KeyPrefix})
	apart := httpapi.AsyncServer{Config: s.http, Handler: s.serve(httpapi.Apart(s.http, s.routedTurns(c.Routing, t), s.aiServices(c.AI)))}
	return task(s, func(ctx context.Context, in statemachines.TurnInput) (struct{}, error) {
		if in.GiveUp {
			return struct{}{}, apart.GiveUp(ctx, in.AccountID, in.TurnID)
		}
		return struct{}{}, apart.Serve(ctx, in.AccountID, in.TurnID)
	}), nil
}

// turnSite returns the site of a function that answers turns.
func (w World) turnSite(c Answering) site {
	return w.site(c.Config).withPush(c.Push).waking()
}

// answeringLater returns the site with the start of turns that are answered after their requests.
func (s site) answeringLater(c Later) site {
	s.http.Async = &httpapi.Async{Start: stepfn.New(s.world.StepFunctions, c.TurnMachine.ARN).StartTurn, Most: longestWait}
	if !s.world.Patient {
		s.http.Async.Most = routeTime
		if c.LongTurns {
			s.http.Async.Wait = routeTime
		}
	}
	return s
}

// turns returns the service that answers messages.
func (s site) turns(c Answering, t Tools) *turn.Service {
	calls, limits := s.paid(c.AI), s.world.limits(c.Waits)
	calls.Credit.Life = holdLife(limits, 0)
	return &turn.Service{
		Chats: s.stores.Chats, Answers: s.stores.Chats, Drafts: s.stores.Chats, Plans: s.stores.Runs, Servers: s.stores.Registry, Setups: s.stores.Setups,
		Runs: s.runs(c.Machine), Schemas: t.Schemas, Previews: s.previews(t), Reads: s.reads(t), Paid: calls,
		Tell: s.listeners, Usage: s.usageRecorder(), Limits: limits, AloneSince: s.world.AloneSince,
		Questions: s.jobs(Jobs{}), Files: s.filesClient(c.Workspace), DraftLife: c.draftLife(), ShowTime: turn.ShowTime, IDs: s.world.IDs, Now: s.world.Now, Log: s.log,
	}
}

// routedTurns returns the service that answers messages, also by agents. It keeps a hold while an agent answers.
func (s site) routedTurns(c Routing, t Tools) *turn.Service {
	turns := s.turns(c.Answering, t)
	turns.Router = s.router(c.Business, c.Delegation, t)
	turns.Paid.Credit.Life = holdLife(turns.Limits, seconds(c.Wait)+seconds(c.Timeout))
	return turns
}

// Confirm builds functions/confirm.
func Confirm(w World, e Environment) (http.Handler, error) {
	c, err := read[ConfirmConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config).withPush(c.Push).waking()
	return s.serve(httpapi.Confirm(s.http, s.runs(c.Machine))), nil
}

// Registrar makes a registry of servers over a store.
type Registrar func(World, tool.Store) tool.Registry

// MCP builds functions/mcp, with the discovery of servers (package registry). On a schedule it retries the servers
// that could not be reached at registration.
func MCP(w World, e Environment, registrar Registrar) (http.Handler, error) {
	c, err := read[MCPConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	s.http.Webhooks = s.webhooks(c.Signing)
	s.http.Hooks = &hook.Service{
		Store: s.stores.Hooks, NewID: w.IDs.New, Now: w.Now,
		Address: func(raw string) (string, error) { return tool.HookURL(raw, s.world.policy()) },
	}
	s.http.Rules, s.http.Agents = s.stores.Runs, agent.Registry{Store: s.stores.Registry, Providers: s.settings(c.Platform), Now: w.Now}
	servers := registrar(s.world, s.stores.Registry)
	retry := gateway.NewFunction(func(ctx context.Context, _ gateway.Wake) (Retried, error) {
		found, err := servers.Retry(ctx, w.Now, s.log)
		if found > 0 {
			s.log.InfoContext(ctx, "servers.found", "count", found)
		}
		return Retried{found}, err
	})
	return gateway.InvokedHandler{Handler: s.serve(httpapi.Registry(s.http, servers, s.companies())), Function: retry}, nil
}

// Retried counts the servers that a scheduled retry reached.
type Retried struct {
	Found int `json:"found"`
}

// Records builds functions/records (package records), which writes documents with print.
func Records(w World, e Environment, print httpapi.Printer) (http.Handler, error) {
	c, err := read[RecordsConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config).withPush(c.Push)
	s.http.Realtime = httpapi.Realtime{URL: cmp.Or(w.SocketPath, c.Socket.URL), Tickets: tickets{s.stores.Access}}
	s.http.Ops, s.http.Watcher, s.http.Once = s.operations(c), s.world.Watches, s.replays()
	return s.serve(httpapi.Records(s.http, httpapi.Stores{
		Projects: s.stores.Chats, Servers: s.stores.Registry, Chats: s.stores.Chats, Loops: s.stores.Registry, Runs: s.stores.Runs, Receipts: s.stores.Receipts,
	}, s.sessions(), print, httpapi.Check{Name: "table", Ping: s.stores.Table.Ping})), nil
}

// Page is the input of the page of functions/web (package web).
type Page struct {
	World      World
	Config     WebConfig
	Stores     store.Stores
	Assistants *eligibility.Manager
	Breakers   *agent.Gate
	Meter      *rate.Meter
	Logger     *slog.Logger
}

// Web builds functions/web around the page that make returns.
func Web(w World, e Environment, make func(Page) http.Handler) (http.Handler, error) {
	c, err := read[WebConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	return s.serve(make(Page{w, c, s.stores, s.settings(c.Platform), s.gate(agent.Usual), s.meter, s.log})), nil
}

// Step builds functions/step.
func Step(w World, e Environment, t Tools) (gateway.Function, error) {
	c, err := read[StepConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config).withPush(c.Push).waking()
	bearer := s.world.tokens()
	patience := seconds(c.ToolTimeout)
	executor := &step.Executor{
		Stores: s.stepStores(), Moves: s.stores.Runs, Schemas: t.Schemas, Patience: patience,
		Sender: outbound.NewSender(s.world.outbound(patience), s.world.Now).With(bearer), Caller: t.Caller(s.world, patience, bearer),
		Files: s.filesClient(c.Workspace),
		Waker: stepfn.New(w.StepFunctions, ""), // no state machine here, because that one refers to this function; the task token names its execution
		IDs:   w.IDs, Now: w.Now, Log: s.log,
		AloneSince: w.AloneSince, Steps: c.StepsPerInvocation, Stopping: w.Stopping,
	}
	return task(s, func(ctx context.Context, in statemachines.StepInput) (step.Done, error) {
		task := step.Task{Account: in.AccountID, RunID: in.RunID, StepID: plan.ParseEffect(in.StepID)}
		switch {
		case in.Token != "":
			return step.Done{}, executor.Await(ctx, task, in.Token)
		case in.StepID != "":
			return executor.Execute(ctx, task)
		}
		return executor.Drive(ctx, task)
	}), nil
}

// Signers returns the signer of receipts (package receipts).
type Signers func(World, Receipts) (receipt.Signer, error)

// Lifecycle builds functions/lifecycle.
func Lifecycle(w World, e Environment, signers Signers) (gateway.Function, error) {
	c, err := read[LifecycleConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config).withPush(c.Push).waking()
	runs := s.runs(Machine{})
	if runs.Sealer, err = s.sealer(c.Receipts, signers); err != nil {
		return nil, err
	}
	return task(s, func(ctx context.Context, in statemachines.LifecycleInput) (statemachines.LifecycleOutput, error) {
		var out statemachines.LifecycleOutput
		k := run.Key{Account: in.AccountID, RunID: in.RunID}
		var err error
		switch in.Action {
		case statemachines.ActionSettle:
			var ended plan.Run
			var undoing bool
			ended, undoing, err = runs.Settle(ctx, k, in.Cause())
			out.Outcome = statemachines.Outcome(step.Settled(ended, undoing))
		case statemachines.ActionSeal:
			err = runs.Seal(ctx, k)
		default:
			err = fmt.Errorf("lifecycle: no action %q", in.Action)
		}
		return out, err
	}), nil
}

// Authorize builds functions/authorize.
func Authorize(w World, e Environment) (gateway.Function, error) {
	c, err := read[AuthorizeConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	return gateway.NewFunction(c.edge().Authorizer(gateway.LogRenewals(s.stores.Access, s.log), s.meter, w.Now, s.log)), nil
}
