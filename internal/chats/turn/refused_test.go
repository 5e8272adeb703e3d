package turn_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
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
	around := func(w *world, more, room string) llm.Reply {
		return calls("propose_plan", fmt.Sprintf(`{"goal":"g","steps":[{"id":"a","title":"lee","mcp_id":%q,"method":"GET","path":"/rooms"},{"id":"b","title":"t","mcp_id":%q,"method":"POST","path":"/bookings","body":{"room":%s},%s}]}`, w.Server.ID, w.Server.ID, room, more))
	}
	for name, c := range map[string]struct {
		says  string
		again func(*world) llm.Reply
		shown bool
	}{
		"the same call":               {"gracias, ¿qué tal?", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, false},
		"with another goal and title": {"gracias, ¿qué tal?", func(w *world) llm.Reply { return whole(w, "Otra cosa", "paso", "Un favor", `{"room":"n1"}`) }, false},
		"written otherwise":           {"hola", func(w *world) llm.Reply { return whole(w, "g", "s1", "t", `{ "room" : "n1" }`) }, false},
		"as a text":                   {"hola", func(w *world) llm.Reply { return booking(w, `"{\"room\":\"n1\"}"`) }, false},
		"twice": {"hola", func(w *world) llm.Reply {
			return calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`), "mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
		}, false},
		"beside another": {"hola", func(w *world) llm.Reply {
			return calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n7"}`), "mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
		}, false},
		"under a condition": {"hola", func(w *world) llm.Reply {
			return around(w, `"when":{"value":"${a.status}","is":"equal","to":200}`, `"n1"`)
		}, false},
		"for each of a list":            {"hola", func(w *world) llm.Reply { return around(w, `"for_each":"${a.body.items}"`, `"n1"`) }, false},
		"as an element of a list":       {"hola", func(w *world) llm.Reply { return around(w, `"for_each":"${a.body.items}"`, `"${item.id}"`) }, false},
		"by a reference":                {"hola", func(w *world) llm.Reply { return around(w, `"needs":["a"]`, `"${a.body.items[0].id}"`) }, false},
		"by another reference":          {"hola", func(w *world) llm.Reply { return around(w, `"needs":["a"]`, `"${a.body.items[0].name}"`) }, true},
		"a question about it":           {"¿qué es una reserva?", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, false},
		"a yes to nothing":              {"vale", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, false},
		"something else again":          {"cuéntame otra vez el chiste", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, false},
		"asked for in a question":       {"¿puedes hacerlo otra vez?", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, true},
		"another request":               {"hola", func(w *world) llm.Reply { return booking(w, `{"room":"n2"}`) }, true},
		"asked for again":               {"reserva la sala n1", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, true},
		"asked for again, without name": {"he cambiado de idea, hazlo", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, true},
		"refused in other words":        {"no quiero reservar la sala n1", func(w *world) llm.Reply { return booking(w, `{"room":"n1"}`) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLookWorld(t)
			w.Answer(func(tool.Request) (tool.Answer, error) {
				const list = `{"items":[{"id":"n1","name":"Sala Norte"}]}`
				return tool.Answer{Status: 200, Body: []byte(list), Bytes: len(list)}, nil
			})
			w.service.Previews = step.Preview{Reader: step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Log: slog.New(slog.DiscardHandler)}}
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

// TestARequestIsRefusedByItselfAfterThreePlans: each had another one beside it.
func TestARequestIsRefusedByItselfAfterThreePlans(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`), "mcp_request", w.request("POST", "/bookings", fmt.Sprintf(`,"body":{"room":"m%d"}`, i))), text("vale")}
		reply := w.send(t, "hola")
		if (reply.Run != nil) != (i < 3) {
			t.Fatalf("round %d: shown: %v, %+v", i, reply.Run != nil, reply.Message)
		}
		if reply.Run != nil {
			refuse(t, w, reply.Run, "")
		}
	}
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"m1"}`))}
	if reply := w.send(t, "hola"); reply.Run == nil {
		t.Errorf("one that was refused once beside it is another plan: %+v", reply.Message)
	}
}

// TestAJobAsksNoMoreAfterFiveRefusedPlans: whatever makes each another request, as a draft or at its approval. One that is
// confirmed between them begins the count anew.
func TestAJobAsksNoMoreAfterFiveRefusedPlans(t *testing.T) {
	steps := func(w *world, more string) llm.Reply {
		return calls("propose_plan", strings.ReplaceAll(`{"goal":"g","steps":[{"id":"a","title":"lee","mcp_id":"M","method":"GET","path":"/rooms"},{"id":"b","title":"t","mcp_id":"M","method":"POST","path":"/bookings",`+more+`}]}`, `"M"`, `"`+w.Server.ID+`"`))
	}
	for name, propose := range map[string]func(w *world, i int) llm.Reply{
		"a reference to another member": func(w *world, i int) llm.Reply {
			return steps(w, fmt.Sprintf(`"body":{"room":"${a.body.n%d}"}`, i))
		},
		"another list": func(w *world, i int) llm.Reply {
			return steps(w, fmt.Sprintf(`"for_each":"${a.body.l%d}","body":{"room":"${item}"}`, i))
		},
		"another optional member": func(w *world, i int) llm.Reply {
			return steps(w, fmt.Sprintf(`"body":{"room":"n1","note":"n%d"}`, i))
		},
		"another value": func(w *world, i int) llm.Reply { return steps(w, fmt.Sprintf(`"body":{"room":"n%d"}`, i)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			w.Store.Runs.Jobs = w.jobs
			for i := range 20 {
				w.model.answers = append(w.model.answers, propose(w.world, i))
			}
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			cards := 0
			for ; j.Status == job.Waiting && cards < 20; cards++ {
				r := w.Read(j.RunID)
				refuse(t, w.world, &r, "")
				j = w.drive(t, j.ID)
			}
			if cards != job.MostRefused || j.Status != job.Partial || j.StopReason != conversation.StopRefused || len(w.model.asked) != cards {
				t.Fatalf("%d cards, %d calls of the model: %+v", cards, len(w.model.asked), j)
			}
			if !strings.Contains(j.Output, "se han rechazado cinco planes seguidos") || w.last(t).Content != j.Output {
				t.Errorf("it says %q, and the chat %q", j.Output, w.last(t).Content)
			}
			if pending := w.ChatNow().PendingRunID; pending != "" {
				t.Errorf("a card waits: %s", pending)
			}
		})
	}
}

// TestAConfirmedPlanBeginsTheCountOfRefusalsAnew: also one that is refused at an approval counts, and one that expired does not.
func TestAConfirmedPlanBeginsTheCountOfRefusalsAnew(t *testing.T) {
	w := newJobWorld(t)
	w.Store.Runs.Jobs = w.jobs
	askFirst(t, w.world)
	for i := range 20 {
		w.model.answers = append(w.model.answers, calls("mcp_request", w.request("POST", "/bookings", fmt.Sprintf(`,"body":{"room":"m%d"}`, i))))
	}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	for i, what := range []string{"refuse", "refuse", "refuse", "refuse at its approval", "confirm", "refuse", "expire", "refuse at its approval", "refuse", "refuse", "refuse at its approval"} {
		if j.Status != job.Waiting {
			t.Fatalf("after %d plans: %+v", i, j)
		}
		r := w.Read(j.RunID)
		switch what {
		case "refuse":
			refuse(t, w.world, &r, "")
		case "refuse at its approval":
			refuseStep(t, w.world, &r, "s1", "")
		case "confirm":
			approveStep(t, w.world, &r, "s1")
		case "expire":
			w.Pass(25 * time.Hour)
			if _, err := w.Runs.Sweep(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		j = w.drive(t, j.ID)
	}
	if j.StopReason != conversation.StopRefused {
		t.Errorf("%+v", j)
	}
}

// TestAYesAsksAgainWhenItWasAskedFor: after a text that asks, and not after one that does not.
func TestAYesAsksAgainWhenItWasAskedFor(t *testing.T) {
	for said, shown := range map[string]bool{"Entonces no la reservo.": false, "¿La reservo entonces?": true} {
		w := newWorld(t)
		propose := calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
		w.model.answers = []any{propose}
		refuse(t, w, w.send(t, "reserva la sala n1").Run, "es muy cara")
		w.model.answers = []any{text(said), text(said)}
		w.send(t, "gracias")
		w.Pass(time.Minute)
		w.model.answers = []any{propose, text("vale")}
		if reply := w.send(t, "vale"); (reply.Run != nil) != shown {
			t.Errorf("after %q: shown: %v, %+v", said, reply.Run != nil, reply.Message)
		}
	}
}

// TestAJobDoesNotShowAgainWhatWasRefused: a job that proposes the same in each round shows one card, and hears why; and a
// later job of the chat, or a turn, does alike.
func TestAJobDoesNotShowAgainWhatWasRefused(t *testing.T) {
	w := newJobWorld(t)
	w.Store.Runs.Jobs = w.jobs
	propose := calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
	among := func(i int, more string) llm.Reply {
		return calls("propose_plan", fmt.Sprintf(`{"goal":"g%d","steps":[{"id":"a","title":"lee","mcp_id":%q,"method":"GET","path":"/rooms"},{"id":"b%d","title":"t","mcp_id":%q,"method":"POST","path":"/bookings","body":{"room":"n1"},"when":{"value":"${a.status}","is":"less","to":%d}}%s]}`, i, w.Server.ID, i, w.Server.ID, 300+i, more))
	}
	w.model.answers = []any{propose, propose, among(1, ""), among(2, ""), among(3, `,{"id":"c","title":"t","mcp_id":"`+w.Server.ID+`","method":"POST","path":"/bookings","body":{"room":"n2"}}`), propose, text("No lo quieres.")}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	r := w.Read(j.RunID)
	refuse(t, w.world, &r, "no quiero salas")
	if j = w.drive(t, j.ID); j.Status != job.Partial || j.RunID != "" || j.Output != "No lo quieres." {
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
