package store_test

import (
	"errors"
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
		{"all", conversation.ChatChange{Title: say("a"), ProjectID: say("p"), Automation: say("manual")}, conversation.Chat{Title: "a", ProjectID: "p", Automation: "manual"}},
		{"the title", conversation.ChatChange{Title: say("b")}, conversation.Chat{Title: "b", ProjectID: "p", Automation: "manual"}},
		{"as the assistant says", conversation.ChatChange{Automation: say("")}, conversation.Chat{Title: "b", ProjectID: "p"}},
		{"out of its project", conversation.ChatChange{ProjectID: say(""), Automation: say("off")}, conversation.Chat{Title: "b", Automation: "off"}},
	}
	at := fixture.Epoch
	for _, s := range steps {
		at = at.Add(time.Second)
		got, err := w.Store.UpdateChat(t.Context(), fixture.Account, w.Chat.ID, s.change, at)
		if err != nil || got.Title != s.want.Title || got.ProjectID != s.want.ProjectID || got.Automation != s.want.Automation || !got.UpdatedAt.Equal(at) {
			t.Errorf("%s: %+v, %v", s.name, got, err)
		}
	}
	if _, err := w.Store.UpdateChat(t.Context(), fixture.Account, "01K0000000000000000000000Z", conversation.ChatChange{Automation: say("off")}, at); !errors.Is(err, conversation.ErrChatNotFound) {
		t.Errorf("a chat that is not there: %v", err)
	}
}
