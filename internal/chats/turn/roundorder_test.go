package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

// namedProviders are the names of the providers of every account.
type namedProviders []string

func (p namedProviders) ProviderNames(context.Context, ids.Account) ([]string, error) { return p, nil }

// order starts a job of an agent, which has changes, and returns its problems, each as place and type.
func (w *jobWorld) order(t *testing.T, patch string, scopes []auth.Scope, o job.Order) (job.Job, string) {
	t.Helper()
	agents := agent.Registry{Store: w.Store.Registry, Now: w.Clock}
	name := fmt.Sprintf("a%d", len(w.started)+w.tried)
	w.tried++
	if _, err := agents.Put(t.Context(), fixture.Account, "ana", name, 0, json.RawMessage(patch)); err != nil {
		t.Fatal(err)
	}
	w.jobs.Agents, w.jobs.Known = w.Store.Registry, agent.Known{Services: w.Store.Registry, Providers: namedProviders{"test", "openai"}}
	o.At = w.Clock()
	o.ID, o.Agent, o.Prompt = w.IDs.New(o.At), name, "¿Qué salas hay?"
	o.Principal = auth.Principal{Account: fixture.Account, User: "ana", Scopes: scopes}
	before := len(w.started)
	j, err := w.jobs.Start(t.Context(), o)
	if err == nil {
		return j, ""
	}
	if len(w.started) != before || j.ID != "" {
		t.Errorf("%v, and it was started", err)
	}
	if !errors.Is(err, job.ErrOrder) {
		return j, fault.Of(err).Code
	}
	var wrong []string
	for _, f := range fault.Of(err).Fields {
		wrong = append(wrong, strings.Trim(fmt.Sprint(f.Loc), "[]")+" "+f.Type)
	}
	return j, strings.Join(wrong, ", ")
}

// TestAJobNamesOnlyWhatTheAccountHas, and without the scope of an administrator it lifts no bound of its agent.
func TestAJobNamesOnlyWhatTheAccountHas(t *testing.T) {
	w := newJobWorld(t)
	chat, admin := []auth.Scope{auth.ScopeChat}, []auth.Scope{auth.ScopeAdmin}
	bounded := `{"prompt":"Mira.","mode":"confirm-all","budget_micros":100}`
	for _, c := range []struct {
		name, agent string
		scopes      []auth.Scope
		order       job.Order
		want        string
	}{
		{"nothing", bounded, chat, job.Order{}, ""},
		{"a service of the account", bounded, chat, job.Order{Servers: &[]string{w.Server.ID}}, ""},
		{"none", bounded, chat, job.Order{Servers: &[]string{}}, ""},
		{"an unknown service", bounded, admin, job.Order{Servers: &[]string{w.Server.ID, "nope"}}, "body servers 1 mcp.not_found"},
		{"an unknown provider", bounded, admin, job.Order{Assistant: &agent.Assistant{Provider: "nadie", Model: "m"}}, "body assistant provider unknown_provider"},
		{"a provider", bounded, chat, job.Order{Assistant: &agent.Assistant{Provider: "openai", Model: "m"}}, ""},
		{"the same mode and a smaller budget", bounded, chat, job.Order{Mode: agent.ConfirmAll, BudgetMicros: 100, MaxSteps: 200, TimeoutS: 9000}, ""},
		{"a looser mode", bounded, chat, job.Order{Mode: agent.ConfirmSensitive}, "body mode looser"},
		{"yolo and a larger budget", bounded, chat, job.Order{Mode: agent.Yolo, BudgetMicros: 101}, "body mode looser, body budget_micros over_agent"},
		{"both by an administrator", bounded, admin, job.Order{Mode: agent.Yolo, BudgetMicros: 101}, ""},
		{"a stricter mode and any budget", `{"prompt":"Mira."}`, chat, job.Order{Mode: agent.ConfirmAll, BudgetMicros: 1 << 40}, ""},
		{"a cache where there is none", bounded, admin, job.Order{Cache: true}, "body cache no_cache"},
		{"yolo is not looser", `{"prompt":"Mira."}`, chat, job.Order{Mode: agent.Yolo}, ""},
	} {
		if _, got := w.order(t, c.agent, c.scopes, c.order); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAJobIsRefusedInAChatOfTheRouter: the agent that answers the customer would read what it said.
func TestAJobIsRefusedInAChatOfTheRouter(t *testing.T) {
	w := newJobWorld(t)
	routed := conversation.Chat{ID: w.IDs.New(w.Clock()), Company: 8, CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
	if err := w.Store.Chats.CreateChat(t.Context(), fixture.Account, routed); err != nil {
		t.Fatal(err)
	}
	if _, got := w.order(t, `{"prompt":"Mira."}`, []auth.Scope{auth.ScopeAdmin}, job.Order{ChatID: routed.ID}); got != agent.ErrRouted.Code {
		t.Errorf("%q", got)
	}
	list, _, err := w.Store.Chats.Messages(t.Context(), conversation.Key{Account: fixture.Account, ChatID: routed.ID}, "", 10)
	if err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// TestAYesToThePlanOfAJobCountsWhenItWasShown: the job showed it to nobody, and its card says what a yes does.
func TestAYesToThePlanOfAJobCountsWhenItWasShown(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if card := w.last(t); card.Kind != conversation.KindPlan || !strings.Contains(card.Content, "tu primer «confirmo» hace que te lo enseñe, y el segundo lo ejecuta") {
		t.Errorf("%+v", card)
	}
	reply := w.send(t, "confirmo")
	if reply.Kind != turn.KindPlan || len(reply.Message.Notes) != 1 || !strings.Contains(reply.Message.Notes[0].Text, "aún no te había enseñado") || w.Read(j.RunID).Status != plan.Draft {
		t.Fatalf("the first yes: %+v", reply)
	}
	if reply = w.send(t, "confirmo"); reply.Kind != turn.KindQueued || w.Read(j.RunID).Status != plan.Queued {
		t.Errorf("the second yes: %+v", reply)
	}
}

// TestAJobHasTheServicesTheModeAndTheModelOfItsOrder, each of which the agent leaves open.
func TestAJobHasTheServicesTheModeAndTheModelOfItsOrder(t *testing.T) {
	start := func(o job.Order) (*jobWorld, job.Job) {
		t.Helper()
		w := newJobWorldOf(t, newWorldWith(t, eligibility.Deployment{
			Providers: []eligibility.Platform{{Name: "test", BaseURL: "https://test.example/v1"}, {Name: "openai", BaseURL: "https://other.example/v1"}},
			Assistant: fixture.Assistant("test", "m"),
		}))
		w.letLook(t)
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("Norte y Este.")}
		o.ChatID = w.Chat.ID
		j, wrong := w.order(t, `{"prompt":"Mira."}`, nil, o)
		if wrong != "" {
			t.Fatal(wrong)
		}
		return w, w.drive(t, j.ID)
	}
	if w, j := start(job.Order{}); j.Status != job.Success || j.Reads != 1 || w.asked().Model != "m" {
		t.Errorf("as the agent is: %+v", j)
	}
	if _, j := start(job.Order{Servers: &[]string{}}); j.Status != job.Success || j.Reads != 0 {
		t.Errorf("without services: %+v", j)
	}
	if w, j := start(job.Order{Mode: agent.ConfirmAll}); j.Status != job.Waiting || j.Reads != 0 || j.RunID == "" || w.Read(j.RunID).Status != plan.Draft {
		t.Errorf("confirm-all: %+v", j)
	}
	if w, j := start(job.Order{Assistant: &agent.Assistant{Provider: "openai", Model: "gpt-4o-mini"}}); j.Status != job.Success || w.asked().Model != "gpt-4o-mini" || w.last(t).By.Provider != "openai" {
		t.Errorf("another model: %+v", j)
	}
}
