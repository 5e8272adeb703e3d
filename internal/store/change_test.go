package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
)

func TestUpdateChatLeavesOtherAttributes(t *testing.T) {
	w := fixture.NewWorld(t)
	say := func(text string) *string { return &text }
	steps := []struct {
		name   string
		change conversation.ChatChange
		want   conversation.Chat
	}{
		{"nothing", conversation.ChatChange{}, conversation.Chat{}},
		{"the title alone", conversation.ChatChange{Title: say("z")}, conversation.Chat{Title: "z"}},
		{"all", conversation.ChatChange{Title: say("a"), ProjectID: say("p"), Automation: say("manual")}, conversation.Chat{Title: "a", ProjectID: "p", Automation: "manual"}},
		{"the title", conversation.ChatChange{Title: say("b")}, conversation.Chat{Title: "b", ProjectID: "p", Automation: "manual"}},
		{"as the assistant says", conversation.ChatChange{Automation: say("")}, conversation.Chat{Title: "b", ProjectID: "p"}},
		{"out of its project", conversation.ChatChange{ProjectID: say(""), Automation: say("off")}, conversation.Chat{Title: "b", Automation: "off"}},
	}
	at := fixture.Epoch
	last := w.Chat.UpdatedAt
	for _, s := range steps {
		at = at.Add(time.Second)
		if s.change.ProjectID != nil || s.change.Automation != nil || s.change.Title == nil { // a name is no activity
			last = at
		}
		got, err := w.Store.Chats.UpdateChat(t.Context(), w.ChatKey(), s.change, at)
		if err != nil || got.Title != s.want.Title || got.ProjectID != s.want.ProjectID || got.Automation != s.want.Automation || !got.UpdatedAt.Equal(last) {
			t.Errorf("%s: %+v, %v", s.name, got, err)
		}
	}
	if _, err := w.Store.Chats.UpdateChat(t.Context(), conversation.Key{Account: fixture.Account, ChatID: "01K0000000000000000000000Z"}, conversation.ChatChange{Automation: say("off")}, at); !errors.Is(err, conversation.ErrChatNotFound) {
		t.Errorf("a chat that is not there: %v", err)
	}
}

// TestAChatHasOnePlace: a pinned chat stands before the others, an archived one is in no other list, and neither
// changes the time of the chat's last change. The pages of a list follow one another over its parts.
func TestAChatHasOnePlace(t *testing.T) {
	table := fixture.Table(t)
	yes, no := true, false
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		at := now.Add(time.Duration(i) * time.Minute)
		if err := table.Chats.CreateChat(ctx, "acme", conversation.Chat{ID: id, Title: id, CreatedAt: at, UpdatedAt: at}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		id             string
		change         conversation.ChatChange
		listed, hidden string
	}{
		{"b", conversation.ChatChange{Pinned: &yes}, "bedca", ""},
		{"d", conversation.ChatChange{Archived: &yes}, "beca", "d"},
		{"a", conversation.ChatChange{Pinned: &yes}, "baec", "d"},
		{"d", conversation.ChatChange{Pinned: &no}, "baec", "d"},
		{"b", conversation.ChatChange{Archived: &no}, "baec", "d"},
		{"b", conversation.ChatChange{Archived: &yes}, "aec", "db"},
		{"b", conversation.ChatChange{Pinned: &yes}, "baec", "d"},
		{"d", conversation.ChatChange{Archived: &no}, "baedc", ""},
		{"a", conversation.ChatChange{Pinned: &no}, "bedca", ""},
	} {
		before, err := table.Chats.Chat(ctx, "acme", s.id)
		if err != nil {
			t.Fatal(err)
		}
		got, err := table.Chats.UpdateChat(ctx, conversation.Key{Account: "acme", ChatID: s.id}, s.change, now.Add(time.Hour))
		if err != nil || !got.UpdatedAt.Equal(before.UpdatedAt) || got.Pinned && got.Archived {
			t.Errorf("%s %+v: %+v, %v", s.id, s.change, got, err)
		}
		for _, limit := range []int{1, 2, 3, 50} {
			for hidden, want := range map[bool]string{false: s.listed, true: s.hidden} {
				read, cursor := "", ""
				for {
					list, next, err := table.Chats.Chats(ctx, "acme", conversation.ChatFilter{Archived: hidden}, cursor, limit)
					if err != nil || len(list) > limit {
						t.Fatal(list, err)
					}
					for _, c := range list {
						read += c.ID
					}
					if cursor = next; next == "" {
						break
					}
				}
				if read != want {
					t.Errorf("after %s %+v, %d at once, archived %v: %q, want %q", s.id, s.change, limit, hidden, read, want)
				}
			}
		}
	}
	if _, err := table.Chats.UpdateChat(ctx, conversation.Key{Account: "other", ChatID: "a"}, conversation.ChatChange{Pinned: &yes}, now); !errors.Is(err, conversation.ErrChatNotFound) {
		t.Errorf("of another account: %v", err)
	}
}

// TestAPinnedChatKeepsWhatHappensMeanwhile: a message that comes while a chat is pinned is its last change.
func TestAPinnedChatKeepsWhatHappensMeanwhile(t *testing.T) {
	w := fixture.NewWorld(t)
	ctx := t.Context()
	at := fixture.Epoch
	for i := range 60 {
		var writes sync.WaitGroup
		at = at.Add(time.Second)
		pin := i%2 == 0
		writes.Go(func() {
			if _, err := w.Store.Chats.UpdateChat(ctx, w.ChatKey(), conversation.ChatChange{Pinned: &pin}, at.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		})
		writes.Go(func() {
			id := w.IDs.New(at)
			if err := w.Store.Chats.AddMessages(ctx, w.ChatKey(), "", at, conversation.Message{ID: id, Seq: id, Role: conversation.RoleUser, Kind: conversation.KindText, At: at}); err != nil {
				t.Error(err)
			}
		})
		writes.Wait()
		if now := w.ChatNow(); !now.UpdatedAt.Equal(at) || now.Pinned != pin {
			t.Fatalf("round %d: changed at %v, want %v; pinned %v", i, now.UpdatedAt, at, now.Pinned)
		}
	}
}
