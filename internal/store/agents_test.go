package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// agentServer is an agent of kind server.
func agentServer(id, name string) tool.Server {
	return tool.Server{ID: id, Name: name, Kind: tool.KindMCP, Role: tool.RoleAgent, BaseURL: "https://a.example", CreatedAt: now, UpdatedAt: now}
}

// TestAgentsHaveOneSpaceOfNames: a server and a loop cannot have the same name, also not by case, whoever is first.
func TestAgentsHaveOneSpaceOfNames(t *testing.T) {
	s := fixture.Table(t)
	agents := agent.Registry{Store: s.Registry, Now: func() time.Time { return now }}
	if err := s.Registry.CreateServer(ctx, "acme", agentServer("s1", "Ventas"), tool.Catalogue{}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := agents.Put(ctx, "acme", "ana", "ventas", 0, json.RawMessage(`{"prompt":"p"}`))
	wantError(t, "a loop with a server's name", err, agent.ErrTaken)
	if err := s.Registry.PutAgentChange(ctx, "acme", agent.Change{Name: "ventas", Version: 1, Patch: json.RawMessage(`{"prompt":"p"}`)}); !errors.Is(err, agent.ErrMoved) {
		t.Errorf("the store wrote over a server's name: %v", err)
	}
	wantError(t, "a server's name is not deleted as a loop's", agents.Delete(ctx, "acme", "VENTAS", 0), agent.ErrTaken)
	if _, err := agents.Put(ctx, "acme", "ana", "compras", 0, json.RawMessage(`{"prompt":"p"}`)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Compras", "ventas", "plan", "Build"} {
		wantError(t, name, s.Registry.CreateServer(ctx, "acme", agentServer("s2", name), tool.Catalogue{}, nil), tool.ErrAgentTaken)
	}
	e, err := agents.Get(ctx, "acme", "vEntas")
	if err != nil || e.Kind != agent.KindServer || e.Name != "Ventas" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := agent.Resolve(ctx, s.Registry, "acme", "Ventas"); !errors.Is(err, agent.ErrNotALoop) {
		t.Errorf("a server is resolved as a loop: %v", err)
	}
	if err := s.Registry.DeleteServer(ctx, "acme", "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := agents.Put(ctx, "acme", "ana", "ventas", 0, json.RawMessage(`{"prompt":"p"}`)); err != nil {
		t.Errorf("the name of a deleted server stays taken: %v", err)
	}
}

func TestAgentsOfAnAccount(t *testing.T) {
	s := fixture.Table(t)
	agents := agent.Registry{Store: s.Registry, Now: func() time.Time { return now }}
	names := func(account ids.Account) (list []string) {
		entries, err := agents.List(ctx, account)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name)
		}
		return list
	}
	put := func(name string, seen int, patch string) error {
		_, err := agents.Put(ctx, "acme", "ana", name, seen, json.RawMessage(patch))
		return err
	}
	wantError(t, "a new one with a version", put("own", 1, `{"prompt":"p"}`), agent.ErrMoved)
	wantError(t, "a new one", put("own", 0, `{"prompt":"p","servers":[]}`), nil)
	wantError(t, "an old version", put("own", 0, `{"prompt":"q"}`), agent.ErrMoved)
	wantError(t, "a shipped one", put("plan", 0, `{"max_steps":3}`), nil)
	wantError(t, "the change of a shipped one", put("plan", 1, `{"timeout_s":9}`), nil)
	wantError(t, "an unknown service", put("own", 1, `{"prompt":"p","servers":["none"]}`), agent.ErrLoop)
	e, err := agents.Get(ctx, "acme", "plan")
	if err != nil || e.Loop.MaxSteps != 20 || e.Loop.TimeoutS != 9 || e.Change.Version != 2 || e.Change.By != "ana" || !e.Change.UpdatedAt.Equal(now) {
		t.Errorf("a change takes the place of the one before: %+v, %v", e, err)
	}
	if got := strings.Join(names("acme"), " "); got != "build own plan resume review" {
		t.Error(got)
	}
	if got := strings.Join(names("other"), " "); got != "build plan resume review" {
		t.Error(got)
	}
	wantError(t, "another version", agents.Delete(ctx, "acme", "plan", 1), agent.ErrMoved)
	wantError(t, "a changed shipped one", agents.Delete(ctx, "acme", "plan", 2), nil)
	wantError(t, "a shipped one", agents.Delete(ctx, "acme", "plan", 0), agent.ErrAsShipped)
	if e, err = agents.Get(ctx, "acme", "plan"); err != nil || e.Loop.TimeoutS != 600 || e.Change.Version != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	wantError(t, "an own one", agents.Delete(ctx, "acme", "own", 1), nil)
	wantError(t, "an own one again", agents.Delete(ctx, "acme", "own", 1), agent.ErrNoAgent)
}

func TestAnAccountHasSoManyAgents(t *testing.T) {
	s := fixture.Table(t)
	agents := agent.Registry{Store: s.Registry, Now: func() time.Time { return now }}
	for i := range agent.MostLoops {
		c := agent.Change{Name: "a" + string(rune('a'+i/26)) + string(rune('a'+i%26)), Version: 1, Patch: json.RawMessage(`{"prompt":"p"}`)}
		if err := s.Registry.PutAgentChange(ctx, "acme", c); err != nil {
			t.Fatal(err)
		}
	}
	_, err := agents.Put(ctx, "acme", "ana", "more", 0, json.RawMessage(`{"prompt":"p"}`))
	wantError(t, "one more", err, agent.ErrTooMany)
	_, err = agents.Put(ctx, "acme", "ana", "plan", 0, json.RawMessage(`{"max_steps":2}`))
	wantError(t, "a shipped one", err, nil)
	_, err = agents.Put(ctx, "acme", "ana", "aaa", 1, json.RawMessage(`{"prompt":"q"}`))
	wantError(t, "one of them", err, nil)
}

// TestOneOfTwoChangesOfAnAgentWins: two people who read the same version do not write over each other.
func TestOneOfTwoChangesOfAnAgentWins(t *testing.T) {
	s := fixture.Table(t)
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			errs <- s.Registry.PutAgentChange(ctx, "acme", agent.Change{Name: "own", Version: 1, Patch: json.RawMessage(`{"prompt":"p"}`)})
		}()
	}
	won := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			won++
		} else if fault.KindOf(err) != fault.Conflict {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d won", won, cap(errs))
	}
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
