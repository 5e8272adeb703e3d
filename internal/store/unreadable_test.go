package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/infra/local/fixture"
	"piloto/infra/local/fixture/table"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
	"piloto/internal/store"
	"piloto/internal/store/kv"
	"piloto/internal/tools/tool"
)

// damaged returns a copy of a row under another key, in the lists of the row, of which nothing else can be read.
func damaged(it kv.Item, pk, sk string) kv.Item {
	bad := kv.Item{}
	for attribute, v := range it {
		switch attribute {
		case "DuePK", "DueSK":
		case "GSI1PK", "GSI1SK":
			bad[attribute] = v
		default:
			bad[attribute] = &types.AttributeValueMemberL{}
		}
	}
	bad["PK"], bad["SK"] = kv.S(pk), kv.S(sk)
	return bad
}

// TestAnUnreadableRowIsLeftOutOfItsList plants a damaged copy of each row that a list shows. The list shows the others, and
// the log has the key of the copy.
func TestAnUnreadableRowIsLeftOutOfItsList(t *testing.T) {
	rows, config, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	var log bytes.Buffer
	rows.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := store.Over(rows)
	client := dynamodb.NewFromConfig(config)
	w := fixture.NewWorldOver(t, s)
	acme := ids.Account(fixture.Account)
	run := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
	at := w.Clock()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Chats.CreateProject(ctx, acme, conversation.Project{ID: "p1", Name: "uno", CreatedAt: at, UpdatedAt: at}))
	_, err := s.Jobs.CreateJob(ctx, job.Job{ID: "j1", Account: acme, ChatID: run.ChatID, Status: job.Waiting, CreatedAt: at, UpdatedAt: at, DueAt: at.Add(time.Hour), EndsAt: at.Add(time.Hour)})
	must(err)
	must(s.Registry.CreateServer(ctx, acme, tool.Server{ID: "s1", Name: "uno", CreatedAt: at, UpdatedAt: at, Active: true}, tool.Catalogue{}, nil))
	must(s.Hooks.ChangeHooks(ctx, acme, func([]hook.Hook) (hook.Change, error) {
		return hook.Change{Put: &hook.Hook{ID: "h1", Account: acme, URL: "https://example.com", Enabled: true, CreatedAt: at, UpdatedAt: at}}, nil
	}))
	must(s.Access.CreateWebhook(ctx, auth.Webhook{ID: "w1", Account: acme, Name: "uno", CreatedAt: at}))
	waiting := func() (int, error) { list, _, err := s.Runs.Waiting(ctx, acme, "", at, "", 10); return len(list), err }
	runs := func() (int, error) {
		list, _, err := s.Runs.Runs(ctx, acme, plan.Filter{}, "", 10)
		return len(list), err
	}
	chats := func() (int, error) {
		list, _, err := s.Chats.Chats(ctx, acme, conversation.ChatFilter{}, "", 1)
		return len(list), err
	}
	projects := func() (int, error) { list, err := s.Chats.Projects(ctx, acme); return len(list), err }
	jobs := func() (int, error) { list, _, err := s.Jobs.Jobs(ctx, acme, "", 10); return len(list), err }
	servers := func() (int, error) { list, err := s.Registry.Servers(ctx, acme); return len(list), err }
	hooks := func() (int, error) { list, err := s.Hooks.Hooks(ctx, acme); return len(list), err }
	webhooks := func() (int, error) { list, err := s.Access.Webhooks(ctx, acme); return len(list), err }
	inList := kv.Item{"GSI1PK": kv.S(kv.Waiting(acme)), "GSI1SK": kv.S(kv.At(at, "a")), "chat_id": kv.S("x"), "kind": kv.S("approval")}
	of := func(pk, sk string) kv.Item {
		t.Helper()
		it, err := rows.Row(ctx, kv.Key{PK: pk, SK: sk})
		if err != nil || it == nil {
			t.Fatalf("no row %s %s: %v", pk, sk, err)
		}
		return it
	}
	account := kv.Account(acme)
	for _, c := range []struct {
		bad  kv.Item
		list map[string]func() (int, error)
	}{
		{damaged(of(kv.Run(acme, run.ID), "RUN"), kv.Run(acme, "bad"), "RUN"), map[string]func() (int, error){"waiting": waiting}},
		{damaged(inList, kv.Run(acme, run.ID), "RUN#WAIT#bad"), map[string]func() (int, error){"waiting": waiting, "runs": runs}},
		{damaged(inList, kv.Job(acme, "bad"), "WAIT"), map[string]func() (int, error){"waiting": waiting}},
		{damaged(of(account, "CHAT#"+run.ChatID), account, "CHAT#bad"), map[string]func() (int, error){"chats": chats}},
		{damaged(of(account, "PROJECT#p1"), account, "PROJECT#bad"), map[string]func() (int, error){"projects": projects}},
		{damaged(of(kv.Job(acme, "j1"), "JOB"), kv.Job(acme, "bad"), "JOB"), map[string]func() (int, error){"jobs": jobs}},
		{damaged(of(account, "SERVER#s1"), account, "SERVER#bad"), map[string]func() (int, error){"servers": servers}},
		{damaged(of(account+"#HOOKS", "HOOK#h1"), account+"#HOOKS", "HOOK#bad"), map[string]func() (int, error){"hooks": hooks}},
		{damaged(of(account+"#WEBHOOKS", "WEBHOOK#w1"), account+"#WEBHOOKS", "WEBHOOK#bad"), map[string]func() (int, error){"webhooks": webhooks}},
	} {
		for list, read := range c.list {
			before, err := read()
			if err != nil || before == 0 {
				t.Errorf("%s: before: %d, %v", list, before, err)
			}
			_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: c.bad})
			must(err)
			log.Reset()
			if after, err := read(); err != nil || after != before {
				t.Errorf("%s: %d of %d, %v", list, after, before, err)
			}
			if key := kv.Text(c.bad, "PK"); !strings.Contains(log.String(), key) || !strings.Contains(log.String(), kv.Text(c.bad, "SK")) {
				t.Errorf("%s: the log says %q", list, log.String())
			}
			_, err = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: kv.KeyOf(c.bad).Item()})
			must(err)
		}
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: damaged(of(kv.Run(acme, run.ID), "RUN"), kv.Run(acme, "bad"), "RUN")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Runs.Run(ctx, acme, "bad"); !errors.Is(err, kv.ErrUnreadable) {
		t.Errorf("the run by its id: %v", err)
	}
}

// TestAnUnreadableChatEndsNoPage: those behind a chat that cannot be read are still reached, page by page.
func TestAnUnreadableChatEndsNoPage(t *testing.T) {
	rows, config, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	rows.Log = slog.New(slog.DiscardHandler)
	s, client := store.Over(rows), dynamodb.NewFromConfig(config)
	for i := range 6 {
		c := conversation.Chat{ID: fmt.Sprint("c", i), CreatedAt: now, UpdatedAt: now.Add(time.Duration(i) * time.Second)}
		if err := s.Chats.CreateChat(ctx, "acme", c); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"c1", "c2", "c4"} {
		it, err := rows.Row(ctx, kv.Key{PK: kv.Account("acme"), SK: "CHAT#" + id})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: damaged(it, kv.Account("acme"), "CHAT#"+id)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 2, 3} {
		got, cursor := "", ""
		for pages := 0; pages == 0 || cursor != "" && pages < 9; pages++ {
			list, next, err := s.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, cursor, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				got += c.ID
			}
			cursor = next
		}
		if got != "c5c3c0" {
			t.Errorf("%d a page: %s", limit, got)
		}
	}
}

// TestAnUnreadableAgentIsNoShippedAgent: an account may have taken something from the shipped agent of that name.
func TestAnUnreadableAgentIsNoShippedAgent(t *testing.T) {
	rows, config, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	rows.Log = slog.New(slog.DiscardHandler)
	s, client := store.Over(rows), dynamodb.NewFromConfig(config)
	if err := s.Registry.PutAgentChange(ctx, "acme", agent.Change{Name: "mia", Version: 1, Patch: json.RawMessage(`{"prompt":"x"}`), UpdatedAt: now}); err != nil {
		t.Fatal(err)
	}
	it, err := rows.Row(ctx, kv.Key{PK: kv.Account("acme"), SK: "AGENT#mia"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: damaged(it, kv.Account("acme"), "AGENT#build")}); err != nil {
		t.Fatal(err)
	}
	list, err := agent.Registry{Store: s.Registry, Now: func() time.Time { return now }}.List(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range list {
		names[e.Name] = true
	}
	if names["build"] || !names["mia"] {
		t.Errorf("%v", names)
	}
	if _, err := agent.Resolve(ctx, s.Registry, "acme", "build"); err == nil {
		t.Error("a job of it would begin")
	}
}

// TestAnAgentWithAnInvalidChangeLeavesItsList, alone, and can be changed and removed. The rules for changes may have been others when
// it was stored.
func TestAnAgentWithAnInvalidChangeLeavesItsList(t *testing.T) {
	rows, _, _ := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	var log bytes.Buffer
	rows.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := store.Over(rows)
	for name, patch := range map[string]string{
		"mia": `{"prompt":"x","keywords":["a"]}`, "rota": `{"prompt":"x","max_steps":"many"}`, "otra": `{"prompt":"x","keywords":["a"],"tools":["gone"]}`, "vacia": `{}`, "build": `{"mode":"never"}`,
	} {
		if err := s.Registry.PutAgentChange(ctx, "acme", agent.Change{Name: name, Version: 1, Patch: json.RawMessage(patch), UpdatedAt: now}); err != nil {
			t.Fatal(err)
		}
	}
	agents := agent.Registry{Store: s.Registry, Now: func() time.Time { return now }}
	names := func() string {
		list, err := agents.List(ctx, "acme")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range list {
			all = append(all, e.Name)
		}
		return strings.Join(all, " ")
	}
	if got := names(); strings.Contains(got, "rota") || strings.Contains(got, "otra") || strings.Contains(got, "vacia") || strings.Contains(got, "build") || !strings.Contains(got, "mia") || !strings.Contains(got, "plan") {
		t.Error(got)
	}
	for _, name := range []string{"rota", "otra", "vacia", "build"} {
		if !strings.Contains(log.String(), "AGENT#"+name) {
			t.Errorf("the log has no %s", name)
		}
	}
	changes, err := s.Registry.AgentChanges(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if to, err := agent.Delegates(agent.Settings{}, changes, locale.Spanish); err != nil || len(to) != 1 || to[0].Name != "mia" {
		t.Errorf("%+v %v", to, err)
	}
	if _, err := agents.Put(ctx, "acme", "ana", "rota", 1, json.RawMessage(`{"prompt":"x"}`)); err != nil {
		t.Error(err)
	}
	if err := agents.Delete(ctx, "acme", "otra", 1); err != nil {
		t.Error(err)
	}
	if got := names(); !strings.Contains(got, "rota") {
		t.Error(got)
	}
}
