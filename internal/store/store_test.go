package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store"
	"piloto/internal/store/kv"
	"piloto/internal/tools/tool"
)

var (
	ctx   = context.Background()
	now   = fixture.Epoch
	newID = ids.NewSource(nil).New
)

func newChat(t *testing.T, table store.Stores, account ids.Account, at time.Time) conversation.Chat {
	t.Helper()
	c := conversation.Chat{ID: newID(at), CreatedAt: at, UpdatedAt: at}
	if err := table.Chats.CreateChat(ctx, account, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func say(t *testing.T, table store.Stores, account ids.Account, chat, text string, at time.Time) {
	t.Helper()
	id := newID(at)
	m := conversation.Message{ID: id, Seq: id, Role: conversation.RoleUser, Kind: conversation.KindText, Content: text, At: at}
	if err := table.Chats.AddMessages(ctx, conversation.Key{Account: account, ChatID: chat}, "", at, m); err != nil {
		t.Fatal(err)
	}
}

func TestMessagesArePagedFromTheNewest(t *testing.T) {
	table := fixture.Table(t)
	chat := newChat(t, table, "acme", now)
	for i := range 25 {
		say(t, table, "acme", chat.ID, fmt.Sprint(i), now.Add(time.Duration(i)*time.Second))
	}
	var pages [][]string
	for cursor, more := "", true; more; more = cursor != "" {
		list, next, err := table.Chats.Messages(ctx, conversation.Key{Account: "acme", ChatID: chat.ID}, cursor, 10)
		if err != nil {
			t.Fatal(err)
		}
		var page []string
		for _, m := range list {
			page = append(page, m.Content)
		}
		pages, cursor = append(pages, page), next
	}
	want := [][]string{
		{"15", "16", "17", "18", "19", "20", "21", "22", "23", "24"}, {"5", "6", "7", "8", "9", "10", "11", "12", "13", "14"}, {"0", "1", "2", "3", "4"},
	}
	if d := cmp.Diff(want, pages); d != "" {
		t.Error(d)
	}
}

func TestCursorBelongsToAccountAndQuery(t *testing.T) {
	table := fixture.Table(t)
	var chats []conversation.Chat
	for i := range 3 {
		chats = append(chats, newChat(t, table, "acme", now.Add(time.Duration(i)*time.Second)))
		newChat(t, table, "other", now)
	}
	for i := range 3 {
		say(t, table, "acme", chats[0].ID, fmt.Sprint(i), now)
	}
	_, ofChats, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, "", 1)
	if err != nil || ofChats == "" {
		t.Fatal(ofChats, err)
	}
	_, ofMessages, err := table.Chats.Messages(ctx, conversation.Key{Account: "acme", ChatID: chats[0].ID}, "", 1)
	if err != nil || ofMessages == "" {
		t.Fatal(ofMessages, err)
	}
	other := "A"
	if strings.HasPrefix(ofChats, other) {
		other = "B"
	}
	for name, try := range map[string]func() error{
		"another account": func() error {
			_, _, err := table.Chats.Chats(ctx, "other", conversation.ChatFilter{}, ofChats, 1)
			return err
		},
		"another project": func() error {
			_, _, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{ProjectID: "p"}, ofChats, 1)
			return err
		},
		"another list": func() error {
			_, _, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, ofMessages, 1)
			return err
		},
		"another chat": func() error {
			_, _, err := table.Chats.Messages(ctx, conversation.Key{Account: "acme", ChatID: chats[1].ID}, ofMessages, 1)
			return err
		},
		"another account's chat": func() error {
			_, _, err := table.Chats.Messages(ctx, conversation.Key{Account: "other", ChatID: chats[0].ID}, ofMessages, 1)
			return err
		},
		"truncated": func() error {
			_, _, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, ofChats[:len(ofChats)-2], 1)
			return err
		},
		"one character different": func() error {
			_, _, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, other+ofChats[1:], 1)
			return err
		},
		"no cursor at all": func() error {
			_, _, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, "%%%", 1)
			return err
		},
	} {
		if err := try(); !errors.Is(err, kv.ErrCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, _, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, ofChats, 10)
	if err != nil || len(list) != 2 {
		t.Errorf("the rest: %d, %v", len(list), err)
	}
}

func TestChatsAreListedByTheirLastChange(t *testing.T) {
	table := fixture.Table(t)
	first, second := newChat(t, table, "acme", now), newChat(t, table, "acme", now.Add(time.Second))
	say(t, table, "acme", first.ID, "hola", now.Add(time.Minute))
	list, _, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{}, "", 10)
	if err != nil || len(list) != 2 || list[0].ID != first.ID || list[1].ID != second.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestRowsOfOtherAccountsAreMissing(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	p := conversation.Project{ID: newID(now), Name: "P", CreatedAt: now, UpdatedAt: now}
	if err := w.Store.Chats.CreateProject(ctx, fixture.Account, p); err != nil {
		t.Fatal(err)
	}
	title := "mine now"
	for name, try := range map[string]func() error{
		"chat": func() error { _, err := w.Store.Chats.Chat(ctx, "other", w.Chat.ID); return err },
		"rename chat": func() error {
			_, err := w.Store.Chats.UpdateChat(ctx, conversation.Key{Account: "other", ChatID: w.Chat.ID}, conversation.ChatChange{Title: &title}, now)
			return err
		},
		"delete chat": func() error {
			return w.Store.Chats.DeleteChat(ctx, conversation.Key{Account: "other", ChatID: w.Chat.ID})
		},
		"say": func() error {
			return w.Store.Chats.AddMessages(ctx, conversation.Key{Account: "other", ChatID: w.Chat.ID}, "", now)
		},
		"run":     func() error { _, err := w.Store.Runs.Run(ctx, "other", r.ID); return err },
		"project": func() error { _, err := w.Store.Chats.Project(ctx, "other", p.ID); return err },
		"edit project": func() error {
			_, err := w.Store.Chats.UpdateProject(ctx, "other", p.ID, func(*conversation.Project) error { return nil })
			return err
		},
		"drop project": func() error { return w.Store.Chats.DeleteProject(ctx, "other", p.ID) },
		"server":       func() error { _, err := w.Store.Registry.Server(ctx, "other", w.Server.ID); return err },
		"switch": func() error {
			_, err := w.Store.Registry.SetServerActive(ctx, "other", w.Server.ID, false, now)
			return err
		},
		"key": func() error {
			_, err := w.Store.Registry.ChangeKeys(ctx, "other", w.Server, func(k tool.Keys) (tool.Keys, error) { return k.With(tool.Credential{}), nil }, now)
			return err
		},
		"drop server": func() error { return w.Store.Registry.DeleteServer(ctx, "other", w.Server.ID) },
		"operation": func() error {
			_, err := w.Store.Registry.Operation(ctx, "other", w.Server, tool.Entry{Method: "GET", Path: "/rooms"})
			if errors.Is(err, tool.ErrNotAllowed) {
				return tool.ErrServerNotFound
			}
			return err
		},
	} {
		if err := try(); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := w.Store.Registry.Server(ctx, fixture.Account, w.Server.ID); err != nil || !got.Active || len(got.Keys) != 0 {
		t.Errorf("the server was changed: %+v, %v", got, err)
	}
}

func TestDeleteChatRefusesActiveRun(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Chats.DeleteChat(ctx, w.ChatKey()); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if err := w.Store.Chats.DeleteChat(ctx, w.ChatKey()); err != nil {
		t.Fatal(err)
	}
	if list := w.Messages(); len(list) != 0 {
		t.Errorf("%d messages remain", len(list))
	}
	if w.Read(r.ID).Status != plan.Done {
		t.Error("the record of what was done went with it")
	}
}

func TestRunEndsWithoutItsChat(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	if err := w.Store.Chats.DeleteChat(ctx, w.ChatKey()); err != nil {
		t.Fatal(err)
	}
	w.Pass(48 * time.Hour)
	if _, err := w.Runs.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if got := w.Read(r.ID).Status; got != plan.Expired {
		t.Errorf("it is %s", got)
	}
}

func TestReplaceCatalogueIsAtomic(t *testing.T) {
	w := fixture.NewWorld(t)
	moved := w.Server
	moved.BaseURL = "https://rooms.example/v2"
	c := tool.Catalogue{Revision: newID(now), Operations: fixture.Operations(moved.BaseURL)[:1]}
	if err := w.Store.Registry.ReplaceCatalogue(ctx, fixture.Account, moved, "not the one in force", c); !errors.Is(err, tool.ErrServerMoved) {
		t.Fatalf("%v", err)
	}
	if err := w.Store.Registry.ReplaceCatalogue(ctx, fixture.Account, moved, w.Server.Catalogue, c); err != nil {
		t.Fatal(err)
	}
	got, err := w.Store.Registry.Server(ctx, fixture.Account, w.Server.ID)
	if err != nil || got.BaseURL != moved.BaseURL || got.Catalogue != c.Revision {
		t.Fatalf("%+v, %v", got, err)
	}
	if entries, err := w.Store.Registry.Entries(ctx, fixture.Account, got); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if old, err := w.Store.Registry.Entries(ctx, fixture.Account, w.Server); err != nil || len(old) != 0 {
		t.Errorf("the old allowlist remains: %v, %v", old, err)
	}
}

func TestLargeAllowlistIsStoredWhole(t *testing.T) {
	w := fixture.NewWorld(t)
	s := tool.Server{ID: newID(now), Kind: tool.KindOpenAPI, BaseURL: "https://big.example", Active: true}
	c := tool.Catalogue{Revision: newID(now)}
	for i := range 1500 {
		c.Operations = append(c.Operations, tool.Operation{Entry: tool.Entry{
			Method: "GET", Path: fmt.Sprintf("/a/%d", i), Summary: ids.Secret() + ids.Secret(), Fingerprint: ids.Hash(fmt.Sprint(i)), Signature: ids.Secret(),
		}})
	}
	s.Catalogue = c.Revision
	if err := w.Store.Registry.CreateServer(ctx, fixture.Account, s, c, nil); err != nil {
		t.Fatal(err)
	}
	entries, err := w.Store.Registry.Entries(ctx, fixture.Account, s)
	if err != nil || len(entries) != 1500 || entries[1499] != c.Operations[1499].Entry {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	op, err := w.Store.Registry.Operation(ctx, fixture.Account, s, tool.Entry{Method: "GET", Path: "/a/700"})
	if err != nil || op.Fingerprint != c.Operations[700].Fingerprint {
		t.Errorf("%+v, %v", op, err)
	}
}

func TestKeysAreStoredApart(t *testing.T) {
	w := fixture.NewWorld(t)
	places := []tool.KeyPlace{{In: "header", Name: "X-Key"}, {In: "oauth", Name: "app", TokenURL: "https://a.example/token", Scope: "all"}, {In: "cookie", Name: "sid"}}
	var s tool.Server
	for i, p := range places {
		var err error
		s, err = w.Store.Registry.ChangeKeys(ctx, fixture.Account, w.Server, func(k tool.Keys) (tool.Keys, error) {
			return k.With(tool.Credential{Place: p, Secret: "canary-" + p.In}), nil
		}, now)
		if err != nil || !slices.Equal(s.Keys, places[:i+1]) {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	if raw, err := json.Marshal(s); err != nil || strings.Contains(string(raw), "canary") {
		t.Errorf("the server holds its keys: %s", raw)
	}
	if keys, err := w.Store.Registry.Keys(ctx, fixture.Account, w.Server); err != nil || !slices.Equal(keys.Places(), places) || keys[2].Secret != "canary-cookie" {
		t.Errorf("%+v, %v", keys, err)
	}
	none := func(tool.Keys) (tool.Keys, error) { return nil, nil }
	for range 2 { // the second time there is nothing to remove
		var err error
		if s, err = w.Store.Registry.ChangeKeys(ctx, fixture.Account, w.Server, none, now); err != nil || len(s.Keys) != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if keys, err := w.Store.Registry.Keys(ctx, fixture.Account, w.Server); err != nil || len(keys) != 0 {
		t.Errorf("%+v, %v", keys, err)
	}
}

// TestKeysOfPlacesAreSetAtOnce: writers of different places lose none of them.
func TestKeysOfPlacesAreSetAtOnce(t *testing.T) {
	w := fixture.NewWorld(t)
	var all sync.WaitGroup
	for _, name := range []string{"X-A", "X-B"} {
		all.Go(func() {
			_, err := w.Store.Registry.ChangeKeys(ctx, fixture.Account, w.Server, func(k tool.Keys) (tool.Keys, error) {
				return k.With(tool.Credential{Place: tool.KeyPlace{In: "header", Name: name}, Secret: "secret"}), nil
			}, now)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s, err := w.Store.Registry.Server(ctx, fixture.Account, w.Server.ID)
	keys, errKeys := w.Store.Registry.Keys(ctx, fixture.Account, w.Server)
	if err != nil || errKeys != nil || len(keys) != 2 || !slices.Equal(s.Keys, keys.Places()) {
		t.Errorf("%+v %+v %v %v", s.Keys, keys, err, errKeys)
	}
}

func TestProjectChangesAreNotLost(t *testing.T) {
	table := fixture.Table(t)
	p := conversation.Project{ID: newID(now), Name: "P", CreatedAt: now, UpdatedAt: now}
	if err := table.Chats.CreateProject(ctx, "acme", p); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			_, err := table.Chats.UpdateProject(ctx, "acme", p.ID, func(p *conversation.Project) error {
				p.MCPIDs = append(p.MCPIDs, fmt.Sprint(i))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := table.Chats.Project(ctx, "acme", p.ID); err != nil || len(got.MCPIDs) != 10 {
		t.Errorf("%v, %v", got.MCPIDs, err)
	}
}

func TestStaleWriteChangesNothing(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	chat := w.ChatNow()
	rec := run.Record{At: w.Clock(), Type: "test"}
	for name, try := range map[string]func() error{
		"confirm": func() error { _, err := w.Store.Runs.Confirm(ctx, r, chat, "x", "u", now, rec); return err },
		"discard": func() error { _, err := w.Store.Runs.Discard(ctx, r, chat, plan.Cancelled, rec); return err },
		"finish": func() error {
			_, err := w.Store.Runs.MoveRun(ctx, r, run.Move{Record: rec, To: plan.Done, End: &run.End{Chat: chat}})
			return err
		},
		"start": func() error {
			_, err := w.Store.Runs.MoveRun(ctx, r, run.Move{Record: rec, To: plan.Running, Due: now})
			return err
		},
		"cancel": func() error { _, err := w.Store.Runs.RequestCancel(ctx, r, now, rec); return err },
		"step": func() error {
			_, err := w.Store.Runs.MoveRun(ctx, r, run.Move{Record: rec, State: &plan.StepState{StepID: plan.EffectOf("s1"), Attempts: 1}, Begins: true})
			return err
		},
	} {
		if err := try(); !errors.Is(err, fault.ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	after := w.Read(r.ID)
	if after.Status != plan.Queued || after.EventSeq != 2 {
		t.Errorf("%s after %d events", after.Status, after.EventSeq)
	}
	if got := w.ChatNow(); got.ActiveRunID != r.ID {
		t.Errorf("%+v", got)
	}
}
