package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
)

// TestADeletedProjectLetsItsChatsGo: all of them, also the pinned and the archived ones, and each stays where it was.
func TestADeletedProjectLetsItsChatsGo(t *testing.T) {
	w := fixture.NewWorld(t)
	ctx, account, yes := t.Context(), ids.Account(fixture.Account), true
	for _, id := range []string{"p", "other"} {
		if err := w.Store.Chats.CreateProject(ctx, account, conversation.Project{ID: id, Name: "P"}); err != nil {
			t.Fatal(err)
		}
	}
	var chats []conversation.Chat
	for n := range 130 {
		w.Pass(time.Second)
		c := conversation.Chat{ID: w.IDs.New(w.Clock()), Title: fmt.Sprint(n), ProjectID: "p", CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
		if n == 7 {
			c.ProjectID = "other"
		}
		if err := w.Store.Chats.CreateChat(ctx, account, c); err != nil {
			t.Fatal(err)
		}
		var err error
		switch n {
		case 3:
			c, err = w.Store.Chats.UpdateChat(ctx, conversation.Key{Account: account, ChatID: c.ID}, conversation.ChatChange{Archived: &yes}, w.Clock())
		case 4:
			c, err = w.Store.Chats.UpdateChat(ctx, conversation.Key{Account: account, ChatID: c.ID}, conversation.ChatChange{Pinned: &yes}, w.Clock())
		}
		if err != nil {
			t.Fatal(err)
		}
		chats = append(chats, c)
	}
	w.Pass(time.Hour)
	if err := w.Store.Chats.DeleteProject(ctx, account, "p"); err != nil {
		t.Fatal(err)
	}
	for n, c := range chats {
		got, err := w.Store.Chats.Chat(ctx, account, c.ID)
		if want := map[bool]string{true: "other"}[n == 7]; err != nil || got.ProjectID != want || !got.UpdatedAt.Equal(c.UpdatedAt) || got.Archived != c.Archived || got.Pinned != c.Pinned {
			t.Fatalf("%d: %+v, %v", n, got, err)
		}
	}

	// A chat that came while it was deleted goes with the next sweep, once, and the files of a project without any are not looked for.
	late := conversation.Chat{ID: w.IDs.New(w.Clock()), ProjectID: "p", CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
	if err := w.Store.Chats.CreateChat(ctx, account, late); err != nil {
		t.Fatal(err)
	}
	sweeper := &conversation.FilesSweeper{Store: w.Store.Gone, Chats: w.Store.Chats, Now: w.Clock, Log: slog.New(slog.DiscardHandler), Clear: func(context.Context, conversation.Gone) error {
		t.Error("it had no files")
		return nil
	}}
	if n, err := sweeper.Sweep(ctx); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got, err := w.Store.Chats.Chat(ctx, account, late.ID); err != nil || got.ProjectID != "" {
		t.Errorf("%+v, %v", got, err)
	}
}
