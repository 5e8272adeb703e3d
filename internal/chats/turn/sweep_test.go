package turn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
)

// dyingStore is a store whose process ends after it took an answer's lease, and before it releases it.
type dyingStore struct {
	turn.Answers
	die context.CancelFunc
}

func (s dyingStore) TakeAnswer(ctx context.Context, a conversation.Answering, at time.Time) error {
	defer s.die()
	return s.Answers.TakeAnswer(ctx, a, at)
}

func (dyingStore) EndAnswer(context.Context, conversation.Answering, time.Time, ...conversation.Message) error {
	return errors.New("dead")
}

// dieDuringAnswer lets a turn's process die in the delay, after the message is stored and its
// lease taken.
func (w *world) dieDuringAnswer(t *testing.T, req turn.Request) {
	t.Helper()
	alive := w.service.Answers
	ctx, die := context.WithCancel(t.Context())
	w.service.Answers = dyingStore{alive, die}
	if reply, err := w.service.Send(ctx, req); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v", reply, err)
	}
	w.service.Answers = alive
}

// sweep runs the sweep, and returns the number of chats that it notified.
func (w *world) sweep(t *testing.T) int {
	t.Helper()
	s := conversation.Sweeper{
		Store: w.Store.Chats, IDs: w.IDs, Now: w.Clock, Log: w.service.Log,
		Notice: turn.LeftNotice,
	}
	told, err := s.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return told.Notified
}

func TestSweepReportsMessageOfDeadProcess(t *testing.T) {
	w := newDelayedWorld(t, text("aquí van"))
	w.dieDuringAnswer(t, w.message("¿qué salas hay?"))
	if n := w.sweep(t); n != 0 {
		t.Fatalf("%d chats are told before the answer is late", n)
	}
	w.Pass(time.Minute)
	if n := w.sweep(t); n != 1 {
		t.Fatalf("%d chats are told", n)
	}
	list := w.Messages()
	if last := list[len(list)-1]; len(list) != 2 || last.Kind != conversation.KindBlocked || last.Content != turn.LeftNotice("es").Content {
		t.Fatalf("%+v", list)
	}
	if n := w.sweep(t); n != 0 {
		t.Errorf("it is told again")
	}
	reply, err := w.service.Answer(t.Context(), w.message(""))
	if err != nil || reply.Kind != turn.KindMessage || reply.Message.Content != "aquí van" {
		t.Errorf("asked for, the answer is %+v, %v", reply, err)
	}
	w.Pass(time.Minute)
	if n := w.sweep(t); n != 0 {
		t.Errorf("it is told after it was answered")
	}
}

func TestSweepIgnoresAnsweredAndDeletedChats(t *testing.T) {
	for name, c := range map[string]func(*testing.T, *world){
		"it was answered": func(t *testing.T, w *world) { w.send(t, "¿qué salas hay?") },
		"another message came and was answered": func(t *testing.T, w *world) {
			w.dieDuringAnswer(t, w.message("¿qué salas hay?"))
			w.send(t, "¿y mañana?")
		},
		"the same request came again": func(t *testing.T, w *world) {
			req := w.message("¿qué salas hay?")
			req.MessageID, req.MessageAt = w.IDs.New(w.Clock()), w.Clock()
			w.dieDuringAnswer(t, req)
			if reply, err := w.service.Send(t.Context(), req); err != nil || reply.Kind != turn.KindMessage {
				t.Fatalf("%+v, %v", reply, err)
			}
		},
		"the chat was deleted": func(t *testing.T, w *world) {
			w.dieDuringAnswer(t, w.message("¿qué salas hay?"))
			if err := w.Store.Chats.DeleteChat(t.Context(), w.ChatKey()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newDelayedWorld(t, text("aquí van"))
			c(t, w)
			w.Pass(time.Minute)
			if n := w.sweep(t); n != 0 {
				t.Errorf("%d chats are told", n)
			}
			left, err := w.Store.Chats.LeftAnswers(t.Context(), w.Clock(), 10)
			if err != nil || len(left) > 0 {
				t.Errorf("left: %+v, %v", left, err)
			}
		})
	}
}
