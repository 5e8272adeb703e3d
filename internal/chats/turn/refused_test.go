package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// refuse cancels a draft, for a reason.
func refuse(t *testing.T, w *world, r *plan.Run, reason string) {
	t.Helper()
	if r == nil {
		t.Fatal("nothing was proposed")
	}
	if _, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Reason: reason}); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
}

// TestWhatWasRefusedIsNotShownAgain: whatever a model calls it and however it writes it, until the person asks for it.
func TestWhatWasRefusedIsNotShownAgain(t *testing.T) {
	booking := func(w *world, body string) llm.Reply {
		return calls("mcp_request", w.request("POST", "/bookings", `,"body":`+body))
	}
	whole := func(w *world, goal, id, title, body string) llm.Reply {
		return calls("propose_plan", fmt.Sprintf(`{"goal":%q,"steps":[{"id":%q,"title":%q,"mcp_id":%q,"method":"POST","path":"/bookings","body":%s}]}`, goal, id, title, w.Server.ID, body))
	}
	for name, c := range map[string]struct {
		says  string
		again func(*world) llm.Reply
		shown bool
	}{
		"the same call":                 {"gracias, ¿qué tal?", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, false},
		"with another goal and title":   {"gracias, ¿qué tal?", func(w *world) llm.Reply { return whole(w, "Otra cosa", "paso", "Un favor", `{"room":"n1"}`) }, false},
		"written otherwise":             {"hola", func(w *world) llm.Reply { return whole(w, "g", "s1", "t", `{ "room" : "n1" }`) }, false},
		"as a text":                     {"hola", func(w *world) llm.Reply { return booking(w, `"{\"room\":\"n1\"}"`) }, false},
		"another request":               {"hola", func(w *world) llm.Reply { return booking(w, `{"room":"n2"}`) }, true},
		"asked for again":               {"reserva la sala n1", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, true},
		"asked for again, without name": {"he cambiado de idea, hazlo", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, true},
		"refused in other words":        {"no quiero reservar la sala n1", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.answers = []any{booking(w, `{"room":"n1"}`)}
			refuse(t, w, w.send(t, "reserva la sala n1").Run, "es muy cara")
			w.Pass(time.Minute)
			w.model.answers = []any{c.again(w)}
			if reply := w.send(t, c.says); (reply.Run != nil) != c.shown {
				t.Errorf("shown: %v, %+v", reply.Run != nil, reply.Message)
			}
			if told := w.model.lastTool(); !c.shown && !strings.Contains(told, "refused, because es muy cara") {
				t.Errorf("the model is told %s", told)
			}
		})
	}
}

// TestARefusedEditRemembersWhatWasShownFirst: the person wanted neither.
func TestARefusedEditRemembersWhatWasShownFirst(t *testing.T) {
	w := newWorld(t)
	first := w.proposeDraft(t, bookNorth)
	if _, err := w.service.Revise(t.Context(), w.edit(t, first, "", strings.ReplaceAll(bookNorth, "norte", "sur"))); err != nil {
		t.Fatal(err)
	}
	edited := w.Read(first.ID)
	refuse(t, w, &edited, "no, gracias")
	for _, room := range []string{"norte", "sur", "este"} {
		shown := room == "este"
		w.model.answers = []any{calls("propose_plan", `{"goal":"g","steps":`+strings.ReplaceAll(strings.ReplaceAll(bookNorth, "norte", room), "SERVER", w.Server.ID)+`}`), text("vale")}
		if reply := w.send(t, "hola"); (reply.Run != nil) != shown {
			t.Errorf("%s: shown: %v, %+v; the model is told %s", room, reply.Run != nil, reply.Message, w.model.lastTool())
		}
	}
}

// TestOrderOfStepsAndMembersIsNoOtherRequest: of several steps in another order.
func TestOrderOfStepsAndMembersIsNoOtherRequest(t *testing.T) {
	w := newWorld(t)
	a, b := w.request("POST", "/bookings", `,"body":{"room":"n1","for":"ana"}`), w.request("POST", "/bookings", `,"body":{"room":"n2"}`)
	w.model.answers = []any{calls("mcp_request", a, "mcp_request", b)}
	refuse(t, w, w.send(t, "reserva dos salas").Run, "")
	w.model.answers = []any{calls("mcp_request", b, "mcp_request", w.request("POST", "/bookings", `,"body":{"for":"ana","room":"n1"}`))}
	if reply := w.send(t, "hola"); reply.Run != nil {
		t.Errorf("%+v", reply)
	}
	w.model.answers = []any{calls("mcp_request", b)}
	if reply := w.send(t, "hola"); reply.Run == nil {
		t.Error("one of the two is another plan")
	}
}

// TestAJobDoesNotShowAgainWhatWasRefused: a job that proposes the same in each round shows one card, and hears why; and a
// later job of the chat, or a turn, does alike.
func TestAJobDoesNotShowAgainWhatWasRefused(t *testing.T) {
	w := newJobWorld(t)
	w.Store.RunStore.Jobs = w.jobs
	propose := calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
	w.model.answers = []any{propose, propose, propose, text("No lo quieres.")}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	r := w.Read(j.RunID)
	refuse(t, w.world, &r, "no quiero salas")
	if j = w.drive(t, j.ID); j.Status != job.Success || j.RunID != "" || j.Output != "No lo quieres." {
		t.Fatalf("%+v", j)
	}
	if told := w.model.lastTool(); !strings.Contains(told, "refused, because no quiero salas") {
		t.Errorf("the model is told %s", told)
	}
	if pending := w.ChatNow().PendingRunID; pending != "" {
		t.Errorf("a card waits: %s", pending)
	}
	w.model.answers = []any{propose, text("vale")}
	if reply := w.send(t, "¿qué tal?"); reply.Run != nil {
		t.Errorf("%+v", reply)
	}
	w.Pass(time.Minute)
	w.model.answers = []any{propose}
	if j := w.drive(t, w.start(t, "build", job.Order{Prompt: "Reserva la sala n1"}).ID); j.Status != job.Waiting || j.RunID == "" {
		t.Errorf("asked for again: %+v", j)
	}
}
