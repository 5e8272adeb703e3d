package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

func TestRouterSettingsBelongToAccountAndCompany(t *testing.T) {
	table := fixture.Table(t)
	wide := agent.Settings{Agents: []string{"reserva", "venta"}, ContextURL: "https://a.example/ws.php", Prompts: map[string]string{"direct": "a", "state": "b"}, UpdatedAt: now}
	own := agent.Settings{Agents: []string{}, Context: "Somos un spa", Prompts: map[string]string{"direct": "c"}, UpdatedAt: now.Add(time.Second)}
	for company, s := range map[int64]agent.Settings{0: wide, 7: own} {
		if err := table.Router.PutRouterSettings(ctx, "acme", company, s); err != nil {
			t.Fatal(err)
		}
	}
	both := agent.Settings{Agents: []string{}, Context: "Somos un spa", Prompts: map[string]string{"direct": "c", "state": "b"}, UpdatedAt: own.UpdatedAt}
	holds := func(account ids.Account, company int64, want agent.Settings) {
		t.Helper()
		got, err := table.Router.RouterSettings(ctx, account, company)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
	holds("acme", 7, both)
	holds("acme", 8, wide)
	holds("acme", 70, wide)
	holds("acme", 0, wide)
	holds("acme2", 7, agent.Settings{})
	a, b, err := table.Router.RouterLayers(ctx, "acme", 7)
	if d := cmp.Diff([]agent.Settings{wide, own}, []agent.Settings{a, b}); err != nil || d != "" {
		t.Error(err, d)
	}
	for range 2 {
		if err := table.Router.DeleteRouterSettings(ctx, "acme", 7); err != nil {
			t.Fatal(err)
		}
	}
	holds("acme", 7, wide)
	if err := table.Router.DeleteRouterSettings(ctx, "acme", 0); err != nil {
		t.Fatal(err)
	}
	holds("acme", 7, agent.Settings{})
}

func TestCompanySettingsOverrideAccountSettings(t *testing.T) {
	url, text := agent.Settings{ContextURL: "https://a.example"}, agent.Settings{Context: "texto"}
	for _, c := range []struct{ wide, own, want agent.Settings }{
		{agent.Settings{}, agent.Settings{}, agent.Settings{}},
		{url, text, text},
		{text, url, url},
		{text, agent.Settings{}, text},
		{agent.Settings{Agents: []string{"a"}}, agent.Settings{Agents: []string{}}, agent.Settings{Agents: []string{}}},
		{agent.Settings{Agents: []string{}}, agent.Settings{}, agent.Settings{Agents: []string{}}},
		{agent.Settings{}, agent.Settings{Prompts: map[string]string{"direct": "x"}}, agent.Settings{Prompts: map[string]string{"direct": "x"}}},
	} {
		wide := c.wide
		if d := cmp.Diff(c.want, agent.Merge(c.wide, c.own)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(wide, c.wide); d != "" {
			t.Error("the account's own was changed:", d)
		}
	}
	wide := agent.Settings{Prompts: map[string]string{"direct": "a"}}
	agent.Merge(wide, agent.Settings{Prompts: map[string]string{"direct": "b"}})
	if wide.Prompts["direct"] != "a" {
		t.Error("the account's own was changed")
	}
}

func TestCompaniesArePagedByNumber(t *testing.T) {
	table := fixture.Table(t)
	numbers := []int64{1, 2, 9, 10, 11, 99, 1<<63 - 1}
	for _, company := range append([]int64{0}, numbers...) {
		if err := table.Router.PutRouterSettings(ctx, "acme", company, agent.Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Router.PutBusiness(ctx, "acme", 3, "https://a.example", agent.Business{}, agent.Business{TriedAt: now}); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 2, 3, 7, 50} {
		var got []int64
		cursor, pages := "", 0
		for {
			list, next, err := table.Router.RouterCompanies(ctx, "acme", cursor, limit)
			if err != nil || len(list) > limit || len(list) == 0 {
				t.Fatal(list, err)
			}
			got = append(got, list...)
			pages++
			if cursor = next; cursor == "" {
				break
			}
			if _, _, err := table.Router.RouterCompanies(ctx, "acme2", cursor, limit); !errors.Is(err, kv.ErrCursor) {
				t.Errorf("a foreign cursor: %v", err)
			}
		}
		if d := cmp.Diff(numbers, got); d != "" || pages != (len(numbers)+limit-1)/limit {
			t.Error(limit, pages, d)
		}
	}
	if list, next, err := table.Router.RouterCompanies(ctx, "acme2", "", 5); err != nil || len(list) != 0 || next != "" {
		t.Error(list, next, err)
	}
}

func TestPutBusinessRefusesStaleContext(t *testing.T) {
	table := fixture.Table(t)
	const url = "https://a.example/ws.php"
	read := func(account ids.Account, company int64, url string) agent.Business {
		t.Helper()
		b, err := table.Router.Business(ctx, account, company, url)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := agent.Business{Text: "Somos un spa", At: now, TriedAt: now}
	if err := table.Router.PutBusiness(ctx, "acme", 7, url, agent.Business{}, first); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		account ids.Account
		company int64
		url     string
	}{{"acme2", 7, url}, {"acme", 70, url}, {"acme", 7, url + "2"}} {
		if b := read(of.account, of.company, of.url); b != (agent.Business{}) {
			t.Errorf("%v: %+v", of, b)
		}
	}
	if d := cmp.Diff(first, read("acme", 7, url)); d != "" {
		t.Error(d)
	}
	// Of many that saw the same, one replaces it: it alone asks.
	var mu sync.Mutex
	var won []string
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range 20 {
		done.Go(func() {
			start.Wait()
			next := first
			next.TriedAt, next.Failed = now.Add(time.Duration(i+1)*time.Second), fmt.Sprint(i)
			switch err := table.Router.PutBusiness(ctx, "acme", 7, url, first, next); {
			case err == nil:
				mu.Lock()
				won = append(won, next.Failed)
				mu.Unlock()
			case !errors.Is(err, agent.ErrBusinessMoved):
				t.Error(err)
			}
		})
	}
	start.Done()
	done.Wait()
	if got := read("acme", 7, url); len(won) != 1 || got.Failed != won[0] || got.Text != first.Text {
		t.Errorf("%v won, and %+v is there", won, got)
	}
	if err := table.Router.PutBusiness(ctx, "acme", 7, url, agent.Business{}, first); !errors.Is(err, agent.ErrBusinessMoved) {
		t.Errorf("what was not seen was replaced: %v", err)
	}
}
