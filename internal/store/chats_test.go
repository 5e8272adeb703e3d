package store_test

import (
	"fmt"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
)

// TestOnlyMessagesAreMessages: other rows of a chat (who answers it, which plan a viewer was shown,
// a request to stop) are no messages on any page.
func TestOnlyMessagesAreMessages(t *testing.T) {
	w := fixture.NewWorld(t)
	at := w.Clock()
	draft := w.Propose(fixture.To("GET", "/rooms", ""))
	for i := range 5 {
		id := w.IDs.New(at)
		m := conversation.Message{ID: id, Seq: id, Role: conversation.RoleUser, Kind: conversation.KindText, Content: fmt.Sprint(i), At: at}
		if err := w.Store.AddMessages(t.Context(), fixture.Account, w.Chat.ID, "", at, m); err != nil {
			t.Fatal(err)
		}
		if err := w.Store.TakeAnswer(t.Context(), conversation.Answering{Account: fixture.Account, ChatID: w.Chat.ID, MessageID: id, Until: at.Add(time.Minute)}, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Store.AskStop(t.Context(), fixture.Account, w.Chat.ID, at); err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Show(t.Context(), draft, *draft.Sighted("somebody", at)); err != nil {
		t.Fatal(err)
	}
	want := len(w.Messages())
	for _, limit := range []int{1, 2, want, want + 1, 100} {
		read, cursor := 0, ""
		for {
			list, next, err := w.Store.Messages(t.Context(), fixture.Account, w.Chat.ID, cursor, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range list {
				if m.ID == "" || m.Role == "" {
					t.Errorf("at most %d at once: %+v is read as a message", limit, m)
				}
			}
			if read += len(list); next == "" {
				break
			}
			cursor = next
		}
		if read < 6 || read != want {
			t.Errorf("at most %d at once: %d messages of %d", limit, read, want)
		}
	}
}
