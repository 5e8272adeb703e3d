package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/store"
)

func connect(t *testing.T, table store.Stores, account ids.Account, id string) realtime.Connection {
	t.Helper()
	c := realtime.Connection{
		Account: account, ID: id, User: "ana", Parent: "hash", ConnectedAt: now, ExpiresAt: now.Add(time.Minute),
	}
	if err := table.Access.AddConnection(ctx, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConnectionIsFoundByIDAndByAccount(t *testing.T) {
	table := fixture.Table(t)
	ours, theirs := connect(t, table, "acme", "c-1="), connect(t, table, "acme2", "c-2=")
	for _, c := range []realtime.Connection{ours, theirs} {
		got, err := table.Access.Connection(ctx, c.ID)
		if d := cmp.Diff(c, got); err != nil || d != "" {
			t.Error(err, d)
		}
		list, err := table.Access.Connections(ctx, c.Account)
		if d := cmp.Diff([]realtime.Connection{c}, list); err != nil || d != "" {
			t.Error(err, d)
		}
	}
	if err := table.Access.AddConnection(ctx, realtime.Connection{Account: "thief", ID: ours.ID, ConnectedAt: now}); err == nil {
		t.Error("an id was taken from its account")
	}
	if err := table.Access.RemoveConnection(ctx, "acme2", ours.ID); err != nil {
		t.Error(err)
	}
	if _, err := table.Access.Advance(ctx, "acme", ours.ID, 1, now); err != nil {
		t.Errorf("removed by another account: %v", err)
	}
	for range 2 {
		if err := table.Access.RemoveConnection(ctx, "acme", ours.ID); err != nil {
			t.Error(err)
		}
	}
	if _, err := table.Access.Connection(ctx, ours.ID); !errors.Is(err, realtime.ErrGone) {
		t.Error(err)
	}
	if _, err := table.Access.Connection(ctx, theirs.ID); err != nil {
		t.Error(err)
	}
}

func TestConcurrentAdvanceLeavesNoGap(t *testing.T) {
	table := fixture.Table(t)
	c := connect(t, table, "acme", "c")
	const takers, each = 40, 5
	var mu sync.Mutex
	var got []int64
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range takers {
		done.Go(func() {
			start.Wait()
			for range each {
				n := i%3 + 1
				last, err := table.Access.Advance(ctx, c.Account, c.ID, n, now)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for k := range n {
					got = append(got, last-int64(k))
				}
				mu.Unlock()
			}
		})
	}
	start.Done()
	done.Wait()
	slices.Sort(got)
	for i, n := range got {
		if n != int64(i+1) {
			t.Fatalf("number %d is %d", i+1, n)
		}
	}
	if kept, err := table.Access.Connection(ctx, c.ID); err != nil || kept.Seq != int64(len(got)) {
		t.Errorf("%+v, %v after %d", kept, err, len(got))
	}
}

func TestAdvanceRefusesExpiredConnection(t *testing.T) {
	table := fixture.Table(t)
	c := connect(t, table, "acme", "c")
	if _, err := table.Access.Advance(ctx, "acme", "other", 1, now); !errors.Is(err, realtime.ErrGone) {
		t.Error("one that is not there:", err)
	}
	if _, err := table.Access.Renew(ctx, "acme", "other", now, now, 0); !errors.Is(err, realtime.ErrGone) {
		t.Error("renewing one that is not there:", err)
	}
	if list, err := table.Access.Connections(ctx, "acme"); err != nil || len(list) != 1 {
		t.Error("asking made one:", list, err)
	}
	if _, err := table.Access.Advance(ctx, "acme", c.ID, 1, c.ExpiresAt); !errors.Is(err, realtime.ErrGone) {
		t.Error("one that is over:", err)
	}
	later := c.ExpiresAt.Add(time.Hour)
	if n, err := table.Access.Renew(ctx, "acme", c.ID, c.ExpiresAt, later, 1); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := table.Access.Advance(ctx, "acme", c.ID, 2, later.Add(-1)); n != 3 || err != nil {
		t.Error(n, err)
	}
	got, err := table.Access.Connection(ctx, c.ID)
	c.Seq, c.PingedAt, c.ExpiresAt = 3, c.ExpiresAt, later
	if d := cmp.Diff(c, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

// ear keeps the notifications for a test.
type ear struct {
	mu    sync.Mutex
	heard []realtime.Event
	all   []realtime.Event
}

func (e *ear) Notify(_ context.Context, account ids.Account, events ...realtime.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if account != fixture.Account {
		panic("told to " + string(account))
	}
	e.heard, e.all = append(e.heard, events...), append(e.all, events...)
}

// types returns the types of the notifications since the last call; of a run, the type of its event.
func (e *ear) types() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for _, h := range e.heard {
		kind := h.Type
		if data, ok := h.Data.(map[string]any); ok && h.Type == realtime.TypeRun {
			kind = "moved"
			if e, numbered := data["event"].(plan.Event); numbered {
				kind = e.Type
			}
			kind += " " + string(data["status"].(plan.Status))
		}
		list = append(list, kind)
	}
	e.heard = nil
	return list
}

// TestWaveIsAnnouncedWhileItRuns: clients hear that the run moved before its events have numbers, and get each numbered event once.
func TestWaveIsAnnouncedWhileItRuns(t *testing.T) {
	w := fixture.NewWorld(t)
	e := &ear{}
	w.Store = w.Store.Announcing(e)
	none := &[]string{}
	r := w.Draft(plan.Proposal{Goal: "Mirar", Steps: []plan.ProposedStep{
		{Title: "Una", Method: "GET", Path: "/rooms", Needs: none}, {Title: "Dos", Method: "GET", Path: "/rooms", Needs: none},
	}})
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	drive := func() {
		t.Helper()
		if _, err := w.Steps.Drive(ctx, step.Task{Account: fixture.Account, RunID: r.ID}); err != nil {
			t.Fatal(err)
		}
	}
	drive()
	e.types()
	for _, s := range r.Plan.Steps {
		if _, err := w.Steps.Execute(ctx, step.Task{Account: fixture.Account, RunID: r.ID, StepID: s.ID}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"moved running", "moved running"}, e.types()); d != "" {
			t.Error(d)
		}
	}
	drive()
	var told []string
	for _, kind := range e.types() {
		if kind != realtime.TypeMessage {
			told = append(told, kind)
		}
	}
	if d := cmp.Diff([]string{"step.started running", "step.done running", "step.started running", "step.done running", "run.finished done"}, told); d != "" {
		t.Error(d)
	}
}

func TestCommitsAreAnnouncedAndFailuresAreNot(t *testing.T) {
	w := fixture.NewWorld(t)
	e := &ear{}
	w.Store = w.Store.Announcing(e)
	told := func(when string, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, e.types()); d != "" {
			t.Errorf("%s: %s", when, d)
		}
	}
	say(t, w.Store, fixture.Account, w.Chat.ID, "hola", now)
	told("a message", "message")
	if err := w.Store.Chats.AddMessages(ctx, conversation.Key{Account: fixture.Account, ChatID: "01HZZZZZZZZZZZZZZZZZZZZZZZ"}, "", now, conversation.Message{ID: "m", Seq: "m"}); err == nil {
		t.Error("a message was added to no chat")
	}
	told("a message that was refused")
	blocked := conversation.Message{
		ID: "b", Seq: newID(now), Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Code: "no_api_key", At: now,
	}
	if err := w.Store.Chats.AddMessages(ctx, w.ChatKey(), "", now, blocked); err != nil {
		t.Fatal(err)
	}
	told("a block", "message", "ai:execution_blocked")

	title, gone := "Otro", "01HZZZZZZZZZZZZZZZZZZZZZZZ"
	if _, err := w.Store.Chats.UpdateChat(ctx, w.ChatKey(), conversation.ChatChange{Title: &title}, now); err != nil {
		t.Fatal(err)
	}
	told("a name", "chat")
	if _, err := w.Store.Chats.UpdateChat(ctx, conversation.Key{Account: fixture.Account, ChatID: gone}, conversation.ChatChange{Title: &title}, now); err == nil {
		t.Error("no chat was renamed")
	}
	told("a change that was refused")
	other := conversation.Chat{ID: "01HZZZZZZZZZZZZZZZZZZZZZZY", CreatedAt: now, UpdatedAt: now}
	if err := w.Store.Chats.CreateChat(ctx, fixture.Account, other); err != nil {
		t.Fatal(err)
	}
	told("another chat", "chat")
	if err := w.Store.Chats.DeleteChat(ctx, conversation.Key{Account: fixture.Account, ChatID: other.ID}); err != nil {
		t.Fatal(err)
	}
	told("a chat that was deleted", "chat")

	first := w.Propose(fixture.To("GET", "/rooms", ""))
	told("a draft", "message", "run.proposed draft")
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	told("another draft", "run.superseded superseded", "message", "run.proposed draft")
	if first.ID == r.ID {
		t.Fatal("one draft")
	}
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	told("confirmed", "message", "run.confirmed queued")
	w.Execute(r.ID)
	list := e.types()
	if len(list) == 0 || list[len(list)-1] != "run.finished done" {
		t.Errorf("the run: %v", list)
	}
	if _, err := w.Store.Runs.RequestCancel(ctx, r, now, run.Record{At: now, Type: plan.EventCancelled}); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("a run that moved on was marked: %v", err)
	}
	told("a transition that was refused")

	// All that is stored was told, as it is stored.
	var messages []conversation.Message
	events := map[string][]plan.Event{}
	for _, h := range e.all {
		switch data, _ := h.Data.(map[string]any); h.Type {
		case realtime.TypeMessage:
			messages = append(messages, conversation.Message(data["message"].(wire.Message)))
		case realtime.TypeRun:
			event := data["event"].(plan.Event)
			event.After = "" // it is not stored
			events[h.RunID] = append(events[h.RunID], event)
		}
	}
	slices.SortFunc(messages, func(a, b conversation.Message) int { return strings.Compare(a.Seq, b.Seq) })
	if d := cmp.Diff(w.Messages(), messages, cmpopts.IgnoreFields(conversation.Message{}, "Seq")); d != "" { // the position is the store's
		t.Error(d)
	}
	for _, id := range []string{first.ID, r.ID} {
		stored, err := w.Store.Runs.Events(ctx, fixture.Account, id, 0, 0)
		if d := cmp.Diff(stored, events[id], cmpopts.EquateComparable(plan.EffectID{})); err != nil || d != "" {
			t.Error(err, d)
		}
	}
}
