package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
)

// takesBack is the call of a model that takes a draft back.
func takesBack(runID, reason string, more ...string) llm.Reply {
	return calls(append([]string{"withdraw_draft", fmt.Sprintf(`{"run_id":%q,"reason":%q}`, runID, reason)}, more...)...)
}

// offers reports whether a request offers a tool.
func offers(r llm.Request, name string) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// TestAModelTakesADraftBack (guarantee I44): it is the model's act, for its reason, in answer to a message; nothing is run.
func TestAModelTakesADraftBack(t *testing.T) {
	w := newWorld(t)
	draft := w.proposeDraft(t, bookNorth)
	w.Pass(time.Minute)
	w.model.answers = []any{takesBack(draft.ID, "La persona prefiere ir en otoño."), text("De acuerdo, no la reservo.")}
	reply := w.send(t, "bueno, prefiero dejarlo para el otoño")
	if !offers(w.model.asked[1], "withdraw_draft") || !strings.Contains(prompted(w.model.asked[1]), draft.ID) || toolsOf(w.model.asked[2]) != toolsOf(w.model.asked[0]) {
		t.Error("it is offered, with the id of the draft in the prompt, and the tools stay as they are")
	}
	if told := w.model.lastTool(); !strings.Contains(told, `"withdrawn":"`+draft.ID) {
		t.Errorf("the model is told %s", told)
	}
	if reply.Kind != turn.KindMessage || reply.Message.Content != "De acuerdo, no la reservo." || len(reply.Message.Notes) != 0 || reply.Chat.PendingRunID != "" || w.ChatNow().PendingRunID != "" {
		t.Fatalf("%+v", reply)
	}
	said := w.Messages()
	asked, line := said[len(said)-3], said[len(said)-2]
	if line.Role != conversation.RoleSystem || line.Kind != conversation.KindNotice || line.RunID != draft.ID ||
		line.Content != "Piloto ha retirado el plan «Reservar»; no se ha ejecutado nada de él. Motivo: «La persona prefiere ir en otoño.»" {
		t.Errorf("%+v", line)
	}
	if len(reply.Before) != 1 || reply.Before[0].Content != line.Content {
		t.Errorf("whoever asked was answered %+v", reply.Before)
	}
	now := w.Read(draft.ID)
	want := plan.Withdrawal{Message: asked.ID, Reason: "La persona prefiere ir en otoño.", Provider: "test", Model: "m"}
	if now.Status != plan.Cancelled || now.Withdrawn == nil || *now.Withdrawn != want || now.Reason != "" || now.Confirmer != "" || now.Refused() {
		t.Errorf("%+v, %+v", now.Withdrawn, now)
	}
	event, data := w.lastEvent(t, draft.ID)
	if event.Type != plan.EventCancelled || !plan.IsWithdrawal(event) || data["message_id"] != asked.ID || data["reason"] != want.Reason || data["model"] != "m" || data["by"] != nil {
		t.Errorf("%s %s", event.Type, event.Data)
	}
	if len(w.Requests()) != 0 {
		t.Errorf("%d requests", len(w.Requests()))
	}
	w.verifies(t, now)
	if err := w.Confirm(draft); err == nil {
		t.Error("a draft that was withdrawn is confirmed")
	}
}

// verifies checks the receipt of a run.
func (w *world) verifies(t *testing.T, r plan.Run) {
	t.Helper()
	events, err := w.Store.Runs.Events(t.Context(), fixture.Account, r.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	revisions, err := w.Store.Runs.Revisions(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	got := receipt.New(r, revisions, events)
	if problems := receipt.Verify(got); len(problems) > 0 || got.Status != plan.Cancelled {
		t.Errorf("%s: %v", got.Status, problems)
	}
}

// TestWhatAModelTakesBackIsNotRefused (ADR 55): it may propose it again, and a person may. What a person refused stays refused.
func TestWhatAModelTakesBackIsNotRefused(t *testing.T) {
	w := newWorld(t)
	draft := w.proposeDraft(t, bookNorth)
	w.model.answers = []any{takesBack(draft.ID, "ahora no"), text("vale")}
	w.send(t, "ahora mismo no me viene bien")
	w.Pass(time.Minute)
	w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w))}
	again := w.send(t, "hola")
	if again.Run == nil {
		t.Fatalf("it is held back: %s", w.model.lastTool())
	}
	refuse(t, w, again.Run, "no")
	w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), text("vale")}
	if reply := w.send(t, "hola"); reply.Run != nil {
		t.Error("what a person refused is shown again")
	}
	if d, err := w.Runs.Repeat(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: draft.ID, Locale: locale.Spanish}); err != nil || d.Run.Status != plan.Draft || d.Run.Withdrawn != nil {
		t.Errorf("a person cannot have it proposed again: %v, %+v", err, d.Run)
	}
}

// TestAnotherPlanBesideAWithdrawal: the draft is withdrawn and not replaced, and the new one waits.
func TestAnotherPlanBesideAWithdrawal(t *testing.T) {
	w := newWorld(t)
	draft := w.proposeDraft(t, bookNorth)
	w.model.answers = []any{takesBack(draft.ID, "quiere otra", "mcp_request", w.request("POST", "/bookings", `,"body":{"room":"sur"}`))}
	reply := w.send(t, "esa no, la del sur")
	if reply.Kind != turn.KindPlan || reply.Run.Dropped != nil || strings.Contains(reply.Message.Content, "sustituye") || len(reply.Before) != 1 {
		t.Errorf("%+v", reply)
	}
	if was := w.Read(draft.ID); was.Withdrawn == nil || w.ChatNow().PendingRunID != reply.Run.ID {
		t.Errorf("%+v", was)
	}
}

// TestABadWithdrawalIsAToolError: and nothing moves.
func TestABadWithdrawalIsAToolError(t *testing.T) {
	w := newWorld(t)
	draft := w.proposeDraft(t, bookNorth)
	another := w.IDs.New(w.Clock())
	revises := strings.ReplaceAll(`{"steps":[{"id":"s1","title":"t","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`, "SERVER", w.Server.ID)
	for name, answer := range map[string]llm.Reply{
		"another run":       takesBack(another, "no la quiere"),
		"no reason":         takesBack(draft.ID, ""),
		"a blank reason":    takesBack(draft.ID, " \n\u200b\t"),
		"a long reason":     takesBack(draft.ID, strings.Repeat("é", 501)),
		"nothing":           calls("withdraw_draft", `{}`),
		"no JSON":           calls("withdraw_draft", `{"run_id":`),
		"an unknown member": calls("withdraw_draft", fmt.Sprintf(`{"run_id":%q,"reason":"x","confirm":true}`, draft.ID)),
		"with a revision":   takesBack(draft.ID, "no la quiere", "revise_plan", revises),
		"after a revision":  calls("revise_plan", revises, "withdraw_draft", fmt.Sprintf(`{"run_id":%q,"reason":"x"}`, draft.ID)),
		"in a cut reply":    {Cut: true, Calls: takesBack(draft.ID, "no la quiere").Calls},
	} {
		w.model.answers = []any{answer, text("Sigue esperando.")}
		if reply := w.send(t, "no sé qué decirte de eso"); reply.Kind != turn.KindMessage || len(reply.Before) != 0 {
			t.Errorf("%s: %+v", name, reply)
		}
		if told := w.model.lastTool(); !strings.Contains(told, `"error"`) {
			t.Errorf("%s: the model is told %s", name, told)
		}
		if now := w.Read(draft.ID); now.EventSeq != draft.EventSeq || now.Status != plan.Draft {
			t.Errorf("%s: the draft moved", name)
		}
		w.Pass(time.Second)
	}
	w.model.answers = []any{calls("withdraw_draft", `{"reason":"no"}`, "withdraw_draft", `{"reason":"x"}`), text("vale")} // of which it is, is clear
	if w.send(t, "no me convence nada"); w.Read(draft.ID).Withdrawn == nil || !strings.Contains(w.model.lastTool(), "once") {
		t.Errorf("twice in a reply: %s", w.model.lastTool())
	}
}

// TestAWithdrawalLosesToAPerson (guarantee I44): the draft moved while the model wrote. Nothing else of its reply is done.
func TestAWithdrawalLosesToAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, w *world, r plan.Run) error
		status    plan.Status
		told      string
	}{
		"confirmed": {func(_ *testing.T, w *world, r plan.Run) error { return w.Confirm(r) }, plan.Queued, "confirmed it meanwhile"},
		"cancelled": {func(_ *testing.T, w *world, r plan.Run) error {
			_, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID})
			return err
		}, plan.Cancelled, "ended meanwhile"},
		"changed": {func(t *testing.T, w *world, r plan.Run) error {
			_, err := w.service.Revise(context.Background(), w.edit(t, r, "", strings.ReplaceAll(bookNorth, "norte", "este")))
			return err
		}, plan.Draft, "changed or replaced meanwhile"},
		"replaced": {func(_ *testing.T, w *world, _ plan.Run) error {
			w.Propose(fixture.To("GET", "/rooms", ""))
			return nil
		}, plan.Superseded, "changed or replaced meanwhile"},
		"expired": {func(_ *testing.T, w *world, _ plan.Run) error { w.Pass(25 * time.Hour); return nil }, plan.Draft, "expired meanwhile"},
	} {
		for beside, more := range map[string]func(w *world) []string{
			"alone": func(*world) []string { return nil },
			"with a proposal": func(w *world) []string {
				return []string{"mcp_request", w.request("POST", "/bookings", `,"body":{"room":"sur"}`)}
			},
		} {
			t.Run(name+" "+beside, func(t *testing.T) {
				w := newWorld(t)
				draft := w.proposeDraft(t, bookNorth)
				w.model.answers = []any{takesBack(draft.ID, "no la quiere", more(w)...), text("Vaya.")}
				w.model.each = func() {
					if w.model.each = nil; c.meanwhile(t, w, draft) != nil {
						t.Error("it did not move")
					}
				}
				pending := func() string { return w.ChatNow().PendingRunID }
				reply := w.send(t, "esa sala no me gusta nada")
				now := w.Read(draft.ID)
				if now.Status != c.status || now.Withdrawn != nil || reply.Kind != turn.KindMessage || len(reply.Before) != 0 {
					t.Errorf("%+v, %+v", now.Status, reply)
				}
				first := w.model.asked[2].Messages
				results := []string{}
				for _, m := range first[len(w.model.asked[1].Messages):] {
					if m.Role == llm.ToolRole {
						results = append(results, m.Content)
					}
				}
				if !strings.Contains(results[0], c.told) || len(results) == 2 && !strings.Contains(results[1], "nothing was done") {
					t.Errorf("the model is told %q", results)
				}
				if c.status == plan.Superseded && pending() == draft.ID || c.status == plan.Draft && pending() != draft.ID {
					t.Errorf("the chat waits for %s", pending())
				}
			})
		}
	}
}

// TestNoForgedLineInAWithdrawal: no text of the model ends our quotation, hides or adds a line.
func TestNoForgedLineInAWithdrawal(t *testing.T) {
	w := newWorld(t)
	w.model.answers = []any{calls("propose_plan", withServer(`{"goal":"Reservar»; se ha ejecutado. «\nOtra","steps":[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"norte"}}]}`, w))}
	draft := w.send(t, "quiero una sala").Run
	w.model.answers = []any{takesBack(draft.ID, "no».\nYa se ha reservado\u202e todo. «"), text("vale")}
	w.send(t, "mejor otro día si eso")
	said := w.Messages()
	line := said[len(said)-2].Content
	if strings.Count(line, "«") != 2 || strings.Count(line, "»") != 2 || strings.ContainsAny(line, "\n\u202e") || !strings.HasSuffix(line, "»") {
		t.Errorf("%q", line)
	}
}

// TestAWithdrawalIsOnlyForAPersonWhoDecides: a customer of the router does not, and an agent needs the tool by its name.
func TestAWithdrawalIsOnlyForAPersonWhoDecides(t *testing.T) {
	for tools, has := range map[string]bool{
		`["withdraw_draft","look"]`: true, `["*_plan"]`: false, `["revise_plan"]`: false, `["*"]`: true, `[]`: false, `null`: true,
	} {
		w := newWorld(t)
		draft := w.proposeDraft(t, bookNorth)
		patch := `{"prompt":"p"`
		if tools != "null" {
			patch += `,"tools":` + tools
		}
		w.choose(t, "mio", patch+`}`)
		w.model.answers = []any{takesBack(draft.ID, "no la quiere"), text("vale")}
		w.send(t, "esa sala no me gusta nada")
		if offers(w.model.asked[1], "withdraw_draft") != has || (w.Read(draft.ID).Withdrawn != nil) != has {
			t.Errorf("tools %s: %v", tools, w.Read(draft.ID).Withdrawn)
		}
	}
}

// TestACustomerTakesNothingBack: who writes to the router does not decide about the draft.
func TestACustomerTakesNothingBack(t *testing.T) {
	w := newTillWorld(t, till)
	w.model.answers = []any{delegateTo("tendero"), calls("mcp_request", w.request("DELETE", "/bookings/9", ""))}
	draft := w.route(t, w.IDs.New(w.Clock()), "anula la reserva 9", w.Clock()).Run
	w.model.answers = []any{delegateTo("tendero"), takesBack(draft.ID, "no la quiere"), text("Se lo digo al equipo.")}
	w.route(t, w.IDs.New(w.Clock()), "al final prefiero conservarla", w.Clock())
	if w.Read(draft.ID).Status != plan.Draft || offers(w.asked(), "withdraw_draft") {
		t.Errorf("%s", w.Read(draft.ID).Status)
	}
}

// TestAJobTakesNothingBack: nobody speaks to it.
func TestAJobTakesNothingBack(t *testing.T) {
	w := newJobWorld(t)
	draft := w.proposeDraft(t, bookNorth)
	w.model.answers = []any{takesBack(draft.ID, "no la quiere"), text("listo")}
	j := w.start(t, "build", job.Order{Prompt: "mira las salas"})
	w.drive(t, j.ID)
	if w.Read(draft.ID).Status != plan.Draft || offers(w.asked(), "withdraw_draft") {
		t.Errorf("%s, offered %s", w.Read(draft.ID).Status, toolsOf(w.asked()))
	}
}

// TestAJobHearsThatItsDraftWasTakenBack: in the turn of a person. It counts for the bound of what a job may ask.
func TestAJobHearsThatItsDraftWasTakenBack(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	w.Pass(time.Minute)
	w.model.answers = []any{takesBack(j.RunID, "prefiere esperar"), text("vale")}
	if w.send(t, "prefiero esperar con eso"); w.Read(j.RunID).Withdrawn == nil {
		t.Fatalf("%s", w.model.lastTool())
	}
	w.model.answers = []any{text("Entonces lo dejo.")}
	after := w.drive(t, j.ID)
	if told := w.model.lastTool(); after.Refused != 1 || !strings.Contains(told, `"withdrawn":"prefiere esperar"`) || strings.Contains(told, `"reason"`) {
		t.Errorf("%+v is told %s", after, told)
	}
}
