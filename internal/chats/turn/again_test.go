package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// lines returns the contents of the chat's messages: those that stand, and those that others replaced.
func (w *world) lines(t *testing.T) (stand, replaced []string) {
	t.Helper()
	for _, m := range w.Messages() {
		if m.ReplacedBy == "" {
			stand = append(stand, m.Content)
		} else {
			replaced = append(replaced, m.Content)
		}
	}
	return stand, replaced
}

// lastOf returns the last message of a person.
func (w *world) lastOf() conversation.Message {
	var last conversation.Message
	for _, m := range w.Messages() {
		if m.Role == conversation.RoleUser && m.ReplacedBy == "" {
			last = m
		}
	}
	return last
}

func (w *world) again() (turn.Reply, error) {
	request := w.message("")
	request.Again = true
	return w.service.Answer(context.Background(), request)
}

func (w *world) instead(id, text string) (turn.Reply, error) {
	request := w.message(text)
	request.Replaces = id
	return w.service.Send(context.Background(), request)
}

// TestAnswerAgainReplacesTheAnswer: the earlier answer stays stored, and neither this prompt nor a later one has it.
func TestAnswerAgainReplacesTheAnswer(t *testing.T) {
	w := newWorld(t, llm.Reply{Text: "uno"}, llm.Reply{Text: "dos"}, llm.Reply{Text: "tres"})
	w.send(t, "dime un número")
	w.Pass(time.Minute)
	reply, err := w.again()
	if err != nil || reply.Kind != turn.KindMessage || reply.Message.Content != "dos" {
		t.Fatalf("%+v, %v", reply, err)
	}
	w.Pass(time.Minute)
	w.send(t, "otro")
	stand, replaced := w.lines(t)
	if !slices.Equal(stand, []string{"dime un número", "dos", "otro", "tres"}) || !slices.Equal(replaced, []string{"uno"}) {
		t.Errorf("%q, and replaced %q", stand, replaced)
	}
	for i, asked := range w.model.asked[1:] {
		for _, m := range asked.Messages {
			if strings.Contains(m.Content, "uno") {
				t.Errorf("prompt %d has the answer that was replaced: %q", i+1, m.Content)
			}
		}
	}
	if len(w.model.asked) != 3 {
		t.Errorf("%d calls", len(w.model.asked))
	}
}

// TestAMessageTakesThePlaceOfTheLast: also a second time, and a repeated request changes nothing.
func TestAMessageTakesThePlaceOfTheLast(t *testing.T) {
	w := newWorld(t, llm.Reply{Text: "son cuatro"}, llm.Reply{Text: "son seis"}, llm.Reply{Text: "no llega"})
	w.send(t, "suma dos y dos")
	first := w.lastOf()
	w.Pass(time.Minute)
	request := w.message("suma tres y tres")
	request.Replaces, request.MessageID, request.MessageAt = first.ID, w.IDs.New(w.Clock()), w.Clock()
	for range 2 {
		reply, err := w.service.Send(context.Background(), request)
		if err != nil || reply.Message.Content != "son seis" {
			t.Fatalf("%+v, %v", reply, err)
		}
		w.Pass(time.Minute)
	}
	stand, replaced := w.lines(t)
	if !slices.Equal(stand, []string{"suma tres y tres", "son seis"}) || !slices.Equal(replaced, []string{"suma dos y dos", "son cuatro"}) {
		t.Errorf("%q, and replaced %q", stand, replaced)
	}
	for _, m := range w.model.asked[1].Messages {
		if strings.Contains(m.Content, "dos y dos") || strings.Contains(m.Content, "cuatro") {
			t.Errorf("the prompt has what was replaced: %q", m.Content)
		}
	}
	if _, err := w.instead(first.ID, "suma"); !errors.Is(err, turn.ErrNotLast) {
		t.Errorf("one that is replaced already: %v", err)
	}
}

// TestADraftIsSupersededByAnotherAnswer: what waits is of the message that stands.
func TestADraftIsSupersededByAnotherAnswer(t *testing.T) {
	for name, do := range map[string]func(w *world) (turn.Reply, error){
		"again":   (*world).again,
		"instead": func(w *world) (turn.Reply, error) { return w.instead(w.lastOf().ID, "¿qué hay?") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.answers = []any{w.deletion(), llm.Reply{Text: "mejor no"}}
			draft := w.send(t, "borra la reserva 7").Run
			w.Pass(time.Minute)
			reply, err := do(w)
			if err != nil || reply.Kind != turn.KindMessage || reply.Chat.PendingRunID != "" {
				t.Fatalf("%+v, %v", reply, err)
			}
			if got := w.Read(draft.ID).Status; got != plan.Superseded {
				t.Errorf("the draft is %s", got)
			}
			if w.ChatNow().PendingRunID != "" {
				t.Error("the chat still waits")
			}
		})
	}
}

// TestWhatHadAnEffectStays: a message is not replaced after its plan was confirmed, nor one that decided.
func TestWhatHadAnEffectStays(t *testing.T) {
	w := newWorld(t)
	w.model.answers = []any{w.deletion()}
	draft := w.send(t, "borra la reserva 7").Run
	asked := w.lastOf()
	if err := w.Confirm(*draft); err != nil {
		t.Fatal(err)
	}
	before, _ := w.lines(t)
	w.Pass(time.Minute)
	if _, err := w.again(); !errors.Is(err, turn.ErrActed) {
		t.Errorf("again: %v", err)
	}
	if _, err := w.instead(asked.ID, "borra la 8"); !errors.Is(err, turn.ErrActed) {
		t.Errorf("instead: %v", err)
	}
	if after, _ := w.lines(t); !slices.Equal(before, after) {
		t.Errorf("the chat has %q", after)
	}
	typed := newWorld(t)
	typed.model.answers = []any{typed.deletion()}
	typed.send(t, "borra la reserva 7")
	typed.send(t, "sí")
	typed.Pass(time.Minute)
	if _, err := typed.again(); !errors.Is(err, turn.ErrActed) {
		t.Errorf("a typed yes: %v", err)
	}
}

// TestOnlyTheLastMessageIsReplaced: an unknown one, an answer and one of another chat are not found.
func TestOnlyTheLastMessageIsReplaced(t *testing.T) {
	w := newWorld(t)
	if _, err := w.again(); !errors.Is(err, turn.ErrMessageNotFound) {
		t.Errorf("an empty chat: %v", err)
	}
	w.send(t, "hola")
	first := w.lastOf()
	w.Pass(time.Minute)
	answer := w.send(t, "¿qué tal?").Message
	other := w.NewChat()
	for id, want := range map[string]error{"nope": turn.ErrMessageNotFound, first.ID: turn.ErrNotLast, answer.ID: turn.ErrMessageNotFound} {
		if _, err := w.instead(id, "x"); !errors.Is(err, want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	request := w.message("x")
	request.ChatID, request.Replaces = other.ID, w.lastOf().ID
	if _, err := w.service.Send(context.Background(), request); !errors.Is(err, turn.ErrMessageNotFound) {
		t.Errorf("of another chat: %v", err)
	}
	request.ChatID, request.Principal.Account = w.Chat.ID, "other"
	if _, err := w.service.Send(context.Background(), request); !errors.Is(err, conversation.ErrChatNotFound) {
		t.Errorf("of another account: %v", err)
	}
}

// TestTheEarlierAnswerStaysUntilThereIsAnother: a turn that fails takes away neither the answer nor its draft, and the
// model that is asked does not see them.
func TestTheEarlierAnswerStaysUntilThereIsAnother(t *testing.T) {
	w := newWorld(t)
	w.model.answers = []any{w.deletion(), llm.ErrRefused, llm.ErrRefused, w.deletion()}
	first := w.send(t, "borra la reserva 7")
	w.Pass(time.Minute)
	w.model.each = func() {
		if got := w.Read(first.Run.ID).Status; got != plan.Draft || w.ChatNow().PendingRunID != first.Run.ID {
			t.Errorf("while the model answers, the draft is %s", got)
		}
		if _, replaced := w.lines(t); slices.Contains(replaced, first.Message.Content) {
			t.Error("the answer was replaced before there was another")
		}
	}
	for range 2 {
		reply, err := w.again()
		if err != nil || reply.Kind != turn.KindBlocked || reply.Chat.PendingRunID != first.Run.ID {
			t.Fatalf("%+v, %v", reply, err)
		}
		w.Pass(time.Minute)
	}
	stand, _ := w.lines(t)
	if len(stand) != 3 || stand[1] != first.Message.Content {
		t.Errorf("the chat has %q: one answer, and the last failure", stand)
	}
	second, err := w.again()
	if err != nil || second.Kind != turn.KindPlan || second.Run.ID == first.Run.ID || second.Chat.PendingRunID != second.Run.ID {
		t.Fatalf("%+v, %v", second, err)
	}
	if stand, _ := w.lines(t); !slices.Equal(stand, []string{"borra la reserva 7", second.Message.Content}) || w.Read(first.Run.ID).Status != plan.Superseded {
		t.Errorf("the chat has %q, and the draft is %s", stand, w.Read(first.Run.ID).Status)
	}
	for i, asked := range w.model.asked[1:] {
		if strings.Contains(prompted(asked), "/bookings/7") {
			t.Errorf("prompt %d has the draft: %s", i+1, prompted(asked))
		}
	}
	w.model.each = nil
	if err := w.Confirm(*second.Run); err != nil {
		t.Error(err)
	}
}

// TestADraftThatIsConfirmedMeanwhileStays: the new answer is not stored beside a plan that runs.
func TestADraftThatIsConfirmedMeanwhileStays(t *testing.T) {
	for name, answer := range map[string]func(w *world) any{
		"a text": func(*world) any { return llm.Reply{Text: "mejor no"} },
		"a plan": func(w *world) any { return w.deletion() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.answers = []any{w.deletion(), answer(w)}
			first := w.send(t, "borra la reserva 7")
			w.Pass(time.Minute)
			w.model.each = func() {
				if err := w.Confirm(*first.Run); err != nil {
					t.Error(err)
				}
			}
			if _, err := w.again(); !errors.Is(err, turn.ErrActed) {
				t.Errorf("%v", err)
			}
			if _, replaced := w.lines(t); len(replaced) > 0 || w.Read(first.Run.ID).Status != plan.Queued || w.ChatNow().PendingRunID != "" {
				t.Errorf("replaced %q, and the run is %s", replaced, w.Read(first.Run.ID).Status)
			}
		})
	}
}

// stopping counts the writes after which the process dies.
type stopping struct{ left *int }

func (s stopping) write(do func() error) error {
	if *s.left--; *s.left < 0 {
		return errDied
	}
	return do()
}

// stoppingChats and stoppingPlans are stores of a process that dies after a number of writes.
type stoppingChats struct {
	turn.Chats
	stopping
}

type stoppingPlans struct {
	turn.Plans
	stopping
}

func (s stoppingChats) AddMessages(ctx context.Context, key conversation.Key, title string, at time.Time, list ...conversation.Message) error {
	return s.write(func() error { return s.Chats.AddMessages(ctx, key, title, at, list...) })
}

func (s stoppingChats) Say(ctx context.Context, key conversation.Key, m conversation.Message) error {
	return s.write(func() error { return s.Chats.Say(ctx, key, m) })
}

func (s stoppingChats) Replace(ctx context.Context, key conversation.Key, at time.Time, replaced []conversation.Message, list ...conversation.Message) error {
	return s.write(func() error { return s.Chats.Replace(ctx, key, at, replaced, list...) })
}

func (s stoppingPlans) Discard(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, rec run.Record) (next plan.Run, err error) {
	err = s.write(func() error { next, err = s.Plans.Discard(ctx, r, chat, to, rec); return err })
	return next, err
}

func (s stoppingPlans) Propose(ctx context.Context, r plan.Run, chat conversation.Chat, old *plan.Run, rec run.Record) (next plan.Run, err error) {
	err = s.write(func() error { next, err = s.Plans.Propose(ctx, r, chat, old, rec); return err })
	return next, err
}

// TestNothingIsLostWhenItStopsBetween: whatever the number of writes after which the process dies, one message of the
// person stands with at most one answer, and a draft waits only with its card.
func TestNothingIsLostWhenItStopsBetween(t *testing.T) {
	for name, do := range map[string]func(w *world) (turn.Reply, error){
		"again":   (*world).again,
		"instead": func(w *world) (turn.Reply, error) { return w.instead(w.lastOf().ID, "borra la 8") },
	} {
		for _, answer := range []string{"text", "plan"} {
			for left := range 4 {
				w := newWorld(t)
				w.model.answers = []any{w.deletion(), any(llm.Reply{Text: "mejor no"})}
				if answer == "plan" {
					w.model.answers[1] = w.deletion()
				}
				w.send(t, "borra la reserva 7")
				w.Pass(time.Minute)
				n := left
				w.service.Chats, w.service.Plans = stoppingChats{w.Store.Chats, stopping{&n}}, stoppingPlans{w.Store.Runs, stopping{&n}}
				_, err := do(w)
				asked, answers, card := 0, 0, ""
				for _, m := range w.Messages() {
					switch {
					case m.ReplacedBy != "":
					case m.Role == conversation.RoleUser:
						asked++
					case m.Role != conversation.RoleSystem: // that blocks, or names the draft that ended
						answers++
						card = m.RunID
					}
				}
				if asked != 1 || answers > 1 || w.ChatNow().PendingRunID != card {
					t.Errorf("%s, %s, %d writes (%v): %d messages, %d answers, %q waits beside the card of %q", name, answer, left, err, asked, answers, w.ChatNow().PendingRunID, card)
				}
				if name == "again" && answers != 1 {
					t.Errorf("%s, %s, %d writes (%v): the answer is lost", name, answer, left, err)
				}
			}
		}
	}
}
