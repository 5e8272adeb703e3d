package store_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"piloto/infra/local/fixture"
	"piloto/infra/local/fixture/table"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/setup"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/rule"
	"piloto/internal/store"
	"piloto/internal/store/chats"
	"piloto/internal/store/hooks"
	"piloto/internal/store/registry"
	"piloto/internal/store/router"
	"piloto/internal/store/runs"
	"piloto/internal/store/settings"
	"piloto/internal/tools/tool"
)

// setupChanges makes a change by each method that changes what an account has set. The changes follow one another.
var setupChanges = []struct {
	method string // "package.Method"
	make   func(s store.Stores) error
}{
	{"settings.PutAssistant", func(s store.Stores) error {
		return s.Settings.PutAssistant(ctx, "acme", "", *fixture.Assistant("openai", "m"))
	}},
	{"settings.DeleteAssistant", func(s store.Stores) error { return s.Settings.DeleteAssistant(ctx, "acme", "") }},
	{"settings.PutEntitlement", func(s store.Stores) error {
		return s.Settings.PutEntitlement(ctx, "acme", eligibility.Entitlement{Entitled: true})
	}},
	{"settings.PutTerms", func(s store.Stores) error {
		return s.Settings.PutTerms(ctx, "acme", eligibility.Terms{Policy: credit.DefaultPolicy(), Limits: credit.Limits{Day: 5}})
	}},
	{"settings.PutCheck", func(s store.Stores) error {
		return s.Settings.PutCheck(ctx, "acme", nil, eligibility.Check{ID: "c", Provider: "openai", Status: eligibility.CheckDone})
	}},
	{"settings.PutLessons", func(s store.Stores) error {
		return s.Settings.PutLessons(ctx, "acme", nil, eligibility.Lessons{Provider: "openai", Models: map[string]eligibility.Known{"m": {Lesson: 1}}})
	}},
	{"settings.PutProvider", func(s store.Stores) error {
		return s.Settings.PutProvider(ctx, "acme", nil, eligibility.Config{Name: "openai", KeySet: true})
	}},
	{"settings.DeleteProvider", func(s store.Stores) error { return s.Settings.DeleteProvider(ctx, "acme", "openai") }},
	{"settings.PutHealth", func(s store.Stores) error {
		return s.Settings.PutHealth(ctx, "acme", eligibility.Health{Provider: "openai", Outcome: "rate_limited", Waiting: now.Add(time.Minute)})
	}},
	{"runs.SetRules", func(s store.Stores) error {
		return s.Runs.SetRules(ctx, "acme", 0, rule.Set{Rules: []rule.Rule{{ID: "r1", Effect: rule.Deny, Reason: "no"}}})
	}},
	{"chats.CreateProject", func(s store.Stores) error {
		return s.Chats.CreateProject(ctx, "acme", conversation.Project{ID: "p", Name: "P", CreatedAt: now, UpdatedAt: now})
	}},
	{"chats.UpdateProject", func(s store.Stores) error {
		_, err := s.Chats.UpdateProject(ctx, "acme", "p", func(p *conversation.Project) error { p.Context = "be brief"; return nil })
		return err
	}},
	{"chats.MarkFiles", func(s store.Stores) error { return s.Chats.MarkFiles(ctx, "acme", "p", "") }},
	{"chats.DeleteProject", func(s store.Stores) error { return s.Chats.DeleteProject(ctx, "acme", "p") }},
	{"router.PutRouterSettings", func(s store.Stores) error {
		return s.Router.PutRouterSettings(ctx, "acme", 7, agent.Settings{Context: "a shop"})
	}},
	{"router.DeleteRouterSettings", func(s store.Stores) error { return s.Router.DeleteRouterSettings(ctx, "acme", 7) }},
	{"registry.CreateServer", func(s store.Stores) error {
		return s.Registry.CreateServer(ctx, "acme", setupServer(), tool.Catalogue{}, nil)
	}},
	{"registry.MarkServer", func(s store.Stores) error {
		server := setupServer()
		server.LastError = "mcp.unreachable"
		return s.Registry.MarkServer(ctx, "acme", server, "")
	}},
	{"registry.ReplaceCatalogue", func(s store.Stores) error {
		return s.Registry.ReplaceCatalogue(ctx, "acme", setupServer(), "", tool.Catalogue{Revision: "r1"})
	}},
	{"registry.FreezeTool", func(s store.Stores) error { return s.Registry.FreezeTool(ctx, "acme", "s", "r1", "t", now) }},
	{"registry.SetServerActive", func(s store.Stores) error {
		_, err := s.Registry.SetServerActive(ctx, "acme", "s", false, now)
		return err
	}},
	{"registry.SetServerReads", func(s store.Stores) error {
		_, err := s.Registry.SetServerReads(ctx, "acme", "s", tool.Reads{Mode: tool.ReadsOn})
		return err
	}},
	{"registry.SetServerErrors", func(s store.Stores) error {
		_, err := s.Registry.SetServerErrors(ctx, "acme", "s", tool.ErrorsRejected)
		return err
	}},
	{"registry.ChangeKeys", func(s store.Stores) error {
		key := tool.Credential{Place: tool.KeyPlace{In: "header", Name: "X-Key"}, Secret: "k"}
		_, err := s.Registry.ChangeKeys(ctx, "acme", setupServer(), func(tool.Keys) (tool.Keys, error) { return tool.Keys{key}, nil }, now)
		return err
	}},
	{"registry.PutAgentChange", func(s store.Stores) error {
		return s.Registry.PutAgentChange(ctx, "acme", agent.Change{Name: "plan", Version: 1, Patch: json.RawMessage(`{"max_steps":3}`)})
	}},
	{"registry.DeleteAgentChange", func(s store.Stores) error { return s.Registry.DeleteAgentChange(ctx, "acme", "plan", 1) }},
	{"registry.DeleteServer", func(s store.Stores) error { return s.Registry.DeleteServer(ctx, "acme", "s") }},
}

func setupServer() tool.Server {
	return tool.Server{ID: "s", Name: "S", Kind: tool.KindOpenAPI, Active: true, BaseURL: "https://s.example", CreatedAt: now, UpdatedAt: now}
}

// otherMethods are the methods of those stores that change nothing that a turn reads as a setting: they read, or their
// rows are of one chat, of one session or of one agent, and a turn reads these each time; or no turn reads them.
var otherMethods = strings.Fields(`
	settings.Settings
	runs.Rules
	registry.AgentChange registry.AgentChanges registry.Absent registry.Allowlist registry.Entries registry.Keys registry.Operation registry.PutOffServer registry.Server registry.Servers
	hooks.ChangeHooks hooks.Hooks hooks.Hook hooks.Secret hooks.NoteHook hooks.Deliveries hooks.Delivery hooks.Resend hooks.DueHooks hooks.OutboxRow hooks.Spread hooks.Lease hooks.DelayHook hooks.Record
	router.Breaker router.Breakers router.Business router.CountAnswer router.CountFailure router.DropProbe router.Forget router.Memories
	router.Memory router.MemoryStats router.NotePause router.PutBusiness router.Remember router.RouterCompanies router.RouterLayers router.RouterSettings router.TakeProbe
	chats.AddMessages chats.AddNotified chats.AddNewMessages chats.Branch chats.ChatOfMessage chats.Rate chats.PutSummary chats.Summary chats.AskStop chats.Chat chats.Chats chats.CreateChat chats.DeleteChat chats.EndAnswer chats.EndAsked chats.FindChats chats.Replace
	chats.DropAgent chats.Expire chats.LeftAnswers chats.Messages chats.NoteAsked chats.OpenSession chats.Project chats.Projects chats.Say chats.Session chats.SetAsking chats.Show
	chats.Shown chats.Refused chats.ReleaseChats chats.StopAsked chats.TakeAnswer chats.UpdateChat`)

// TestEveryMethodIsASettingOrNot: a new method of a store with settings says what it is.
func TestEveryMethodIsASettingOrNot(t *testing.T) {
	known := map[string]int{}
	for _, name := range otherMethods {
		known[name]++
	}
	for _, c := range setupChanges {
		known[c.method]++
	}
	for _, s := range []any{&settings.Store{}, &registry.Store{}, &router.Store{}, &chats.Store{}, &hooks.Store{}} {
		of := reflect.TypeOf(s)
		name, _, _ := strings.Cut(of.Elem().String(), ".")
		for i := range of.NumMethod() {
			known[name+"."+of.Method(i).Name] += 2
		}
	}
	for _, name := range []string{"Rules", "SetRules"} { // of the store of runs, which has other rows, too
		if _, has := reflect.TypeFor[*runs.Store]().MethodByName(name); has {
			known["runs."+name] += 2
		}
	}
	for name, n := range known {
		if n != 3 { // one entry here, and one method
			t.Errorf("%s is neither one of setupChanges nor of otherMethods, or is gone", name)
		}
	}
}

// setupOf is the part of the account acme that has every kind of setting.
var setupOf = setup.Of{Account: "acme", ProjectID: "p", Routed: true, Company: 7, Agent: "plan"}

// TestAChangedSettingIsSeenByTheNextTurnOfEveryProcess: two processes have read everything; one changes a setting, and
// the other sees it at once, although it keeps values in memory.
func TestAChangedSettingIsSeenByTheNextTurnOfEveryProcess(t *testing.T) {
	rows := table.New(t)
	process := func() store.Stores { return store.Over(rows) }
	read := func(s store.Stores) setup.Setup {
		t.Helper()
		got, err := s.Setups.Setup(ctx, setupOf)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	here, there := process(), process()
	before := read(there)
	for _, c := range setupChanges {
		read(here)
		if err := c.make(here); err != nil {
			t.Fatalf("%s: %v", c.method, err)
		}
		want := read(process()) // which keeps nothing
		if cmp.Equal(before, want, cmpopts.EquateEmpty()) {
			t.Errorf("%s changes nothing, so the test says nothing of it", c.method)
		}
		for who, s := range map[string]store.Stores{"who made it": here, "another process": there} {
			if d := cmp.Diff(want, read(s), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s is not seen by %s:\n%s", c.method, who, d)
			}
		}
		before = want
	}
}

// countedTable returns the stores of an empty table, and the number of their calls.
func countedTable(t *testing.T) (store.Stores, *atomic.Int32) {
	calls := &atomic.Int32{}
	s, _, _ := fixture.Raw(t, func(next aws.HTTPClient) aws.HTTPClient {
		return clientFunc(func(r *http.Request) (*http.Response, error) { calls.Add(1); return next.Do(r) })
	})
	return s, calls
}

// clientFunc is a function as aws.HTTPClient.
type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// TestKeptSetupsAreBounded: a process that serves many accounts does not grow.
func TestKeptSetupsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of setups")
	}
	s, calls := countedTable(t)
	of := func(i int) setup.Of { return setup.Of{Account: ids.Account(fmt.Sprint("a", i))} }
	for i := range store.MostSetups + 1 {
		if _, err := s.Setups.Setup(ctx, of(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]int32{0: 4, store.MostSetups: 1} { // version, AI, servers, rules; the last one is kept
		calls.Store(0)
		if _, err := s.Setups.Setup(ctx, of(i)); err != nil || calls.Load() != want {
			t.Errorf("account %d: %d calls, not %d; %v", i, calls.Load(), want, err)
		}
	}
}

// TestTurnsAtOnceReadOneSetup: turns that begin together see a whole setup each.
func TestTurnsAtOnceReadOneSetup(t *testing.T) {
	s := fixture.Table(t)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			if i%8 == 0 {
				if err := s.Router.PutRouterSettings(ctx, "acme", 7, agent.Settings{Context: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
			if got, err := s.Setups.Setup(ctx, setupOf); err != nil || i%8 == 0 && got.Router.Context == "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	all.Wait()
}
