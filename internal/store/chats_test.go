package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/store/kv"
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
		if err := w.Store.Chats.AddMessages(t.Context(), w.ChatKey(), "", at, m); err != nil {
			t.Fatal(err)
		}
		if err := w.Store.Chats.TakeAnswer(t.Context(), conversation.Answering{Key: w.ChatKey(), MessageID: id, Until: at.Add(time.Minute)}, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Store.Chats.AskStop(t.Context(), w.ChatKey(), at); err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Chats.Show(t.Context(), draft, *draft.Sighted("somebody", at)); err != nil {
		t.Fatal(err)
	}
	want := len(w.Messages())
	for _, limit := range []int{1, 2, want, want + 1, 100} {
		read, cursor := 0, ""
		for {
			list, next, err := w.Store.Chats.Messages(t.Context(), w.ChatKey(), cursor, limit)
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

// TestExpiredMessageHasATimeToLive: the table deletes the message of a chat that was deleted meanwhile.
func TestExpiredMessageHasATimeToLive(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	m := conversation.Message{ID: "m", Seq: "m", Role: conversation.RoleUser, Kind: conversation.KindText, At: now}
	if err := table.Chats.Say(ctx, conversation.Key{Account: "acme", ChatID: "c"}, m); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []string{"m", "gone"} { // one that is gone is deleted already
		if err := table.Chats.Expire(ctx, conversation.Key{Account: "acme", ChatID: "c"}, seq, now); err != nil {
			t.Fatal(err)
		}
	}
	out, err := dynamodb.NewFromConfig(config).Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("%v, %v", out, err)
	}
	if ttl, _, err := kv.Int(out.Items[0], "ttl"); err != nil || ttl != now.Unix() {
		t.Errorf("%d, %v", ttl, err)
	}
}

// TestSessionThatSaysNothingNewIsOnlyRead: the values of an open session are written when they differ.
func TestSessionThatSaysNothingNewIsOnlyRead(t *testing.T) {
	table, calls := countedTable(t)
	first := conversation.Chat{
		ID: "c", SessionID: "s", UserID: "ana", Summary: "a guest", Metadata: map[string]json.RawMessage{"a": json.RawMessage("1")}, CreatedAt: now, UpdatedAt: now,
	}
	open := func(c conversation.Chat, want int32) conversation.Chat {
		t.Helper()
		calls.Store(0)
		c.UpdatedAt = now.Add(time.Minute)
		got, err := table.Chats.OpenSession(ctx, "acme", c)
		if err != nil || calls.Load() != want {
			t.Errorf("%d calls, not %d; %v", calls.Load(), want, err)
		}
		return got
	}
	open(first, 2)
	open(first, 1)
	open(conversation.Chat{ID: "c", SessionID: "s"}, 1)
	other := first
	other.UserID = "berta" // a session keeps its first user
	if got := open(other, 1); got.UserID != "ana" {
		t.Errorf("%+v", got)
	}
	other.Summary = "a known guest"
	if got := open(other, 3); got.UserID != "ana" || got.Summary != other.Summary {
		t.Errorf("%+v", got)
	}
	other.Metadata = map[string]json.RawMessage{"a": json.RawMessage("2")}
	if got := open(other, 3); string(got.Metadata["a"]) != "2" {
		t.Errorf("%+v", got)
	}
}

// TestMessagesOfOneTransactionStayTogether: they are one row, unless they are large or a person wrote one. A page may
// end between them, and what another writer said meanwhile does not come between them.
func TestMessagesOfOneTransactionStayTogether(t *testing.T) {
	w := fixture.NewWorld(t)
	at := w.Clock()
	message := func(role conversation.Role, text string) conversation.Message {
		id := w.IDs.New(at)
		return conversation.Message{ID: id, Seq: id, Role: role, Kind: conversation.KindText, Content: text, At: at}
	}
	first, second := message(conversation.RoleAssistant, "a"), message(conversation.RoleUser, "d")
	large := strings.Repeat("x", 50<<10)
	third := message(conversation.RoleSystem, "b")
	for _, list := range [][]conversation.Message{
		{first, third, message(conversation.RoleAssistant, "c")},
		{second, message(conversation.RoleAssistant, "e"), message(conversation.RoleAssistant, "f")},
		{message(conversation.RoleAssistant, "g"+large), message(conversation.RoleAssistant, "h"+large)},
	} {
		for range 2 { // a repeated request adds none
			if err := w.Store.Chats.AddMessages(t.Context(), w.ChatKey(), "", at, list...); err != nil {
				t.Fatal(err)
			}
		}
	}
	for limit := 1; limit < 10; limit++ {
		var read []string
		for cursor, more := "", true; more; more = cursor != "" {
			list, next, err := w.Store.Chats.Messages(t.Context(), w.ChatKey(), cursor, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) != min(limit, 8-len(read)) {
				t.Errorf("at most %d at once: a page of %d after %v", limit, len(list), read)
			}
			var page []string
			for _, m := range list {
				page = append(page, m.Content[:1])
			}
			read, cursor = append(page, read...), next
		}
		if !slices.Equal(read, []string{"a", "b", "c", "d", "e", "f", "g", "h"}) {
			t.Errorf("at most %d at once: %v", limit, read)
		}
	}
}

// TestTheFirstFileMarksAProjectOrAChat, and no change of them takes the mark away.
func TestTheFirstFileMarksAProjectOrAChat(t *testing.T) {
	w := fixture.NewWorld(t)
	p := conversation.Project{ID: "p", Name: "P", CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
	if err := w.Store.Chats.CreateProject(t.Context(), fixture.Account, p); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(w.Store.Chats.MarkFiles(t.Context(), fixture.Account, "p", ""), w.Store.Chats.MarkFiles(t.Context(), fixture.Account, "", w.Chat.ID)); err != nil {
			t.Fatal(err)
		}
	}
	title := "x"
	if _, err := w.Store.Chats.UpdateChat(t.Context(), w.ChatKey(), conversation.ChatChange{Title: &title}, w.Clock()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Chats.UpdateProject(t.Context(), fixture.Account, "p", func(p *conversation.Project) error { p.Name = "Q"; return nil }); err != nil {
		t.Fatal(err)
	}
	chat, err := w.Store.Chats.Chat(t.Context(), fixture.Account, w.Chat.ID)
	if err != nil || !chat.Files {
		t.Errorf("%+v, %v", chat, err)
	}
	if p, err = w.Store.Chats.Project(t.Context(), fixture.Account, "p"); err != nil || !p.Files || p.Name != "Q" {
		t.Errorf("%+v, %v", p, err)
	}
	if err := w.Store.Chats.MarkFiles(t.Context(), fixture.Account, "", "none"); !errors.Is(err, conversation.ErrChatNotFound) {
		t.Error(err)
	}
	if err := w.Store.Chats.MarkFiles(t.Context(), "other", "p", ""); !errors.Is(err, conversation.ErrProjectNotFound) {
		t.Error(err)
	}
}
