package turn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
)

// expiringStore records which message is to be deleted.
type expiringStore struct {
	turn.Chats
	expired *string
}

func (s expiringStore) Expire(ctx context.Context, key conversation.Key, seq string, at time.Time) error {
	*s.expired = seq
	return s.Chats.Expire(ctx, key, seq, at)
}

// deletingModel answers after the chat was deleted.
type deletingModel struct{ w *world }

func (m deletingModel) Complete(ctx context.Context, _ llm.Request) (llm.Reply, error) {
	return text("tarde"), m.w.Store.Chats.DeleteChat(ctx, m.w.Chat.Key(fixture.Account))
}

// TestMessageOfDeletedChatIsDeleted: the message of a turn is written alone, so it may arrive after its chat was
// deleted. It is not left behind.
func TestMessageOfDeletedChatIsDeleted(t *testing.T) {
	w := newWorld(t, text("Hola, Ana."))
	w.send(t, "hola") // a chat with a title
	expired := ""
	w.service.Chats, w.service.Paid.Models = expiringStore{w.Store.Chats, &expired}, providers{deletingModel{w}}
	if reply, err := w.try("¿sigues ahí?"); !errors.Is(err, conversation.ErrChatNotFound) {
		t.Fatalf("%+v, %v", reply, err)
	}
	if expired == "" {
		t.Error("the message is left behind")
	}
}

// TestMessageIsStoredBeforeTheModelIsAsked: a process that dies while the model answers leaves the message in its chat,
// also when it is not the first one.
func TestMessageIsStoredBeforeTheModelIsAsked(t *testing.T) {
	w := newWorld(t)
	for i, message := range []string{"hola", "¿qué salas hay?"} {
		w.service.Paid.Models = providers{modelFunc(func() (llm.Reply, error) {
			if list := w.Messages(); len(list) != 2*i+1 || list[2*i].Content != message {
				t.Errorf("the model is asked while the chat has %+v", list)
			}
			return text("bien"), nil
		})}
		w.send(t, message)
		w.Pass(time.Second)
		if chat := w.ChatNow(); chat.Title != "hola" || !chat.UpdatedAt.Equal(w.Clock().Add(-time.Second)) {
			t.Errorf("%+v", chat)
		}
	}
}

// modelFunc is a function as llm.Model.
type modelFunc func() (llm.Reply, error)

func (f modelFunc) Complete(context.Context, llm.Request) (llm.Reply, error) { return f() }
