package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/run"
)

// talk adds messages to the chat of a world, each list in one transaction.
func talk(t *testing.T, w *fixture.World, chatID string, lists ...[]conversation.Message) []conversation.Message {
	t.Helper()
	var all []conversation.Message
	for _, list := range lists {
		w.Pass(time.Second)
		for i := range list {
			m := &list[i]
			m.Seq, m.At = w.IDs.New(w.Clock()), w.Clock()
			switch {
			case m.ID == "":
				m.ID = m.Seq
			case m.Role == conversation.RoleUser:
				m.Seq = m.ID
			}
			if m.Kind == "" {
				m.Kind = conversation.KindText
			}
		}
		if err := w.Store.Chats.AddMessages(t.Context(), conversation.Key{Account: fixture.Account, ChatID: chatID}, "", w.Clock(), list...); err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

func person(text string) []conversation.Message {
	return []conversation.Message{{Role: conversation.RoleUser, Content: text}}
}

// branched copies the chat of a world up to a message.
func branched(w *fixture.World, messageID string) (conversation.Chat, error) {
	at := w.Clock()
	return w.Store.Chats.Branch(ctx, fixture.Account, conversation.Branch{
		From: w.Chat.ID, MessageID: messageID, PlanNote: "Plan del otro chat.", To: conversation.Chat{ID: w.IDs.New(at), Title: "rama", CreatedAt: at, UpdatedAt: at},
	})
}

// TestABranchHasTheMessagesUpToOne: in their order, without what was replaced or is only progress; a plan of it names no
// run that could be decided, and its text does not tell how to.
func TestABranchHasTheMessagesUpToOne(t *testing.T) {
	w := fixture.NewWorld(t)
	assistant := conversation.RoleAssistant
	said := talk(t, w, w.Chat.ID,
		person("uno"),
		[]conversation.Message{{Role: assistant, Content: "respuesta", ReadFrom: []string{"srv"}}},
		person("reserva"),
		[]conversation.Message{
			{Role: assistant, Content: "Propongo esto", RunID: "r1"},
			{Role: assistant, Kind: conversation.KindPlan, RunID: "r1", Content: "Plan propuesto: x. Responde «confirmo».\n1. Reservar\n   POST /bookings"},
		},
		[]conversation.Message{{Role: assistant, Kind: conversation.KindProgress, RunID: "r1", Content: "⏳"}, {Role: assistant, Kind: conversation.KindFinal, ID: conversation.FinalID("r1"), RunID: "r1", Content: "✅ Hecho"}},
		[]conversation.Message{{Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Content: "⚠️"}},
		person("después"),
	)
	old := said[1]
	if err := w.Store.Chats.Replace(ctx, w.ChatKey(), w.Clock(), []conversation.Message{old}, conversation.Message{ID: w.IDs.New(old.At), Seq: w.IDs.New(old.At), Role: assistant, Kind: conversation.KindText, Content: "otra", At: old.At}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		of   string
		want []string
	}{
		"the end":                  {said[8].ID, []string{"uno", "reserva", "Propongo esto", "Plan del otro chat.\n1. Reservar\n   POST /bookings", "✅ Hecho", "después", "otra"}},
		"the first of a row":       {said[3].ID, []string{"uno", "reserva", "Propongo esto"}},
		"the second of a row":      {said[4].ID, []string{"uno", "reserva", "Propongo esto", "Plan del otro chat.\n1. Reservar\n   POST /bookings"}},
		"a message with one of it": {said[0].ID, []string{"uno"}},
	} {
		branch, err := branched(w, c.of)
		if err != nil || branch.BranchedFrom == nil || *branch.BranchedFrom != (conversation.Origin{ChatID: w.Chat.ID, MessageID: c.of}) {
			t.Fatalf("%s: %+v %v", name, branch, err)
		}
		if stored, err := w.Store.Chats.Chat(ctx, fixture.Account, branch.ID); err != nil || *stored.BranchedFrom != *branch.BranchedFrom {
			t.Errorf("%s: stored %+v %v", name, stored, err)
		}
		list, _, err := w.Store.Chats.Messages(ctx, branch.Key(fixture.Account), "", 100)
		var got []string
		for _, m := range list {
			if got = append(got, m.Content); m.RunID != "" || m.JobID != "" || m.ReplacedBy != "" {
				t.Errorf("%s: %+v belongs to something", name, m)
			}
			if strings.Contains(m.Content, "Reservar") && m.FromRunID != "r1" {
				t.Errorf("%s: %+v does not say of which run it is", name, m)
			}
			if slices.ContainsFunc(said, func(o conversation.Message) bool { return o.ID == m.ID }) {
				t.Errorf("%s: two messages have the id %s", name, m.ID)
			}
		}
		want := c.want
		if name == "the end" {
			want = want[:6] // what came later is not in it
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	for _, id := range []string{old.ID, "nope", w.IDs.New(w.Clock())} {
		if _, err := branched(w, id); !errors.Is(err, conversation.ErrMessageNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestARepeatedBranchIsTheSame: also when the process died before the chat was there.
func TestARepeatedBranchIsTheSame(t *testing.T) {
	w := fixture.NewWorld(t)
	said := talk(t, w, w.Chat.ID, person("uno"), []conversation.Message{{Role: conversation.RoleAssistant, Content: "dos"}})
	b := conversation.Branch{From: w.Chat.ID, MessageID: said[1].ID, To: conversation.Chat{ID: w.IDs.New(w.Clock()), Title: "a", CreatedAt: w.Clock(), UpdatedAt: w.Clock()}}
	if _, err := w.Store.Chats.Branch(ctx, fixture.Account, b); err != nil {
		t.Fatal(err)
	}
	read := func() []conversation.Message {
		list, _, err := w.Store.Chats.Messages(ctx, conversation.Key{Account: fixture.Account, ChatID: b.To.ID}, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	first := read()
	b.To.Title = "b"
	again, err := w.Store.Chats.Branch(ctx, fixture.Account, b)
	if err != nil || again.Title != "a" || fmt.Sprint(first) != fmt.Sprint(read()) || len(first) != 2 {
		t.Errorf("%+v %v, and its messages %+v", again, err, read())
	}
}

// TestABranchOfALongChatIsShortened: the newest rows up to the message, and it says so.
func TestABranchOfALongChatIsShortened(t *testing.T) {
	w := fixture.NewWorld(t)
	var lists [][]conversation.Message
	for range 40 {
		lists = append(lists, []conversation.Message{{Role: conversation.RoleAssistant, Content: strings.Repeat("x", 60<<10)}})
	}
	said := talk(t, w, w.Chat.ID, lists...)
	branch, err := branched(w, said[39].ID)
	if err != nil || !branch.BranchedFrom.Shortened {
		t.Fatalf("%+v %v", branch, err)
	}
	list, _, err := w.Store.Chats.Messages(ctx, branch.Key(fixture.Account), "", 100)
	if n := len(list) * 60 << 10; err != nil || n > 2<<20 || n < 1<<20 || !list[len(list)-1].At.Equal(said[39].At) {
		t.Errorf("%d messages %v", len(list), err)
	}
}

// TestFeedbackStandsOnItsMessage: an id alone finds it, whatever its place in its row.
func TestFeedbackStandsOnItsMessage(t *testing.T) {
	w := fixture.NewWorld(t)
	assistant, other := conversation.RoleAssistant, w.NewChat()
	asked := w.IDs.New(w.Clock())
	said := talk(t, w, w.Chat.ID,
		[]conversation.Message{{ID: asked, Role: conversation.RoleUser, Content: "uno"}},
		[]conversation.Message{{Role: assistant, Content: "a"}, {Role: assistant, Content: "b"}, {ID: conversation.AnswerID(asked), Role: assistant, Content: "c"}},
	)
	talk(t, w, other.ID, person("otro chat"))
	for _, m := range said[1:] {
		chat, err := w.Store.Chats.ChatOfMessage(ctx, fixture.Account, m.ID)
		if err != nil || chat != w.Chat.ID {
			t.Errorf("%s: in the chat %q %v", m.Content, chat, err)
		}
		f := conversation.Feedback{Rating: conversation.Down, Note: "nota " + m.Content, By: "ana", At: w.Clock()}
		got, err := w.Store.Chats.Rate(ctx, conversation.Key{Account: fixture.Account, ChatID: chat}, m.ID, &f)
		if err != nil || *got.Feedback != f || got.Content != m.Content {
			t.Errorf("%s: %+v %v", m.Content, got, err)
		}
	}
	for _, m := range w.Messages()[1:] {
		if m.Feedback == nil || m.Feedback.Note != "nota "+m.Content || m.Feedback.Rating != conversation.Down {
			t.Errorf("%s: %+v", m.Content, m.Feedback)
		}
	}
	if _, err := w.Store.Chats.Rate(ctx, w.ChatKey(), said[2].ID, nil); err != nil {
		t.Error(err)
	}
	if list := w.Messages(); list[2].Feedback != nil || list[1].Feedback == nil || list[3].Feedback == nil {
		t.Errorf("one was taken away: %+v", list)
	}
	if _, err := w.Store.Chats.Rate(ctx, w.ChatKey(), asked, nil); !errors.Is(err, conversation.ErrNotAnAnswer) {
		t.Errorf("a person's message: %v", err)
	}
	for account, id := range map[ids.Account]string{"other": said[1].ID, fixture.Account: w.IDs.New(w.Clock())} {
		if _, err := w.Store.Chats.ChatOfMessage(ctx, account, id); !errors.Is(err, conversation.ErrMessageNotFound) {
			t.Errorf("%s %s: %v", account, id, err)
		}
		if _, err := w.Store.Chats.Rate(ctx, w.Chat.Key(account), id, nil); !errors.Is(err, conversation.ErrMessageNotFound) {
			t.Errorf("%s %s: %v", account, id, err)
		}
	}
}

// TestABranchHasWhatWasRefused: a person who refused a plan in a chat is not shown it in a branch of it.
func TestABranchHasWhatWasRefused(t *testing.T) {
	w := fixture.NewWorld(t)
	said := talk(t, w, w.Chat.ID, person("reserva la norte"))
	r := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
	if _, err := w.Runs.Cancel(ctx, run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Reason: "es cara"}); err != nil {
		t.Fatal(err)
	}
	requests := func() ([]string, error) { return r.Plan.EachRequest(nil) }
	branch, err := branched(w, said[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := w.Store.Chats.Refused(ctx, branch.Key(fixture.Account), requests); err != nil || len(list) != 1 || list[0].Reason != "es cara" || list[0].RunID != r.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestACopyIsTakenBeforeItIsWritten: the bytes of what goes along, and nothing is written when they are refused.
func TestACopyIsTakenBeforeItIsWritten(t *testing.T) {
	w := fixture.NewWorld(t)
	big := strings.Repeat("x", 30_000)
	said := talk(t, w, w.Chat.ID, person(big), person(big), person("after"))
	b := conversation.Branch{From: w.Chat.ID, MessageID: said[1].ID, To: conversation.Chat{ID: w.IDs.New(w.Clock()), Title: "a", CreatedAt: w.Clock(), UpdatedAt: w.Clock()}}
	asked, refused := 0, errors.New("too many")
	b.Takes = func(bytes int) error {
		asked = bytes
		return refused
	}
	if _, err := w.Store.Chats.Branch(t.Context(), fixture.Account, b); !errors.Is(err, refused) || asked < 60_000 || asked > 70_000 {
		t.Errorf("%d bytes, %v", asked, err)
	}
	if list, _, err := w.Store.Chats.Messages(t.Context(), conversation.Key{Account: fixture.Account, ChatID: b.To.ID}, "", 10); err == nil && len(list) > 0 {
		t.Errorf("%d messages were copied", len(list))
	}
	if _, err := w.Store.Chats.Chat(t.Context(), fixture.Account, b.To.ID); !errors.Is(err, conversation.ErrChatNotFound) {
		t.Error(err)
	}
}
