package turn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// TestWhatWasSaidBesideAPlanStaysInThePrompt: as the model's words, with what became of the plan, and never the card.
func TestWhatWasSaidBesideAPlanStaysInThePrompt(t *testing.T) {
	cancel := func(w *world, r plan.Run) error {
		_, err := w.Runs.Cancel(t.Context(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID})
		return err
	}
	for name, do := range map[string]func(w *world, r plan.Run) error{
		"draft":  func(*world, plan.Run) error { return nil },
		"active": func(w *world, r plan.Run) error { return w.Confirm(r) },
		"done": func(w *world, r plan.Run) error {
			err := w.Confirm(r)
			w.Execute(r.ID)
			return err
		},
		"refused": cancel,
		"stopped": func(w *world, r plan.Run) error {
			if err := w.Confirm(r); err != nil {
				return err
			}
			return cancel(w, r)
		},
		"expired": func(w *world, _ plan.Run) error {
			w.Pass(25 * time.Hour)
			_, err := w.Runs.Sweep(t.Context())
			return err
		},
		"superseded": func(w *world, _ plan.Run) error { w.Propose(fixture.To("GET", "/rooms", "")); return nil },
		"withdrawn": func(w *world, r plan.Run) error {
			_, err := w.Runs.Withdraw(t.Context(), run.Retraction{Account: fixture.Account, RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish, As: plan.Withdrawal{Message: "x", Reason: "y"}})
			return err
		},
	} {
		for distance, more := range map[string]int{"new": 0, "old": 4} {
			t.Run(name+" "+distance, func(t *testing.T) {
				w := newWorld(t)
				proposes := calls("propose_plan", withServer(booksNorth, w))
				proposes.Text = "La Norte tiene sitio para seis."
				w.model.answers = []any{proposes}
				r := *w.send(t, "quiero una reserva").Run
				if err := do(w, r); err != nil {
					t.Fatal(err)
				}
				if name == "draft" || name == "active" { // another plan would move it
					more = 0
				}
				for range more { // its run is none of the newest
					w.Pass(time.Minute)
					next := w.Propose(fixture.To("GET", "/rooms", ""))
					if err := cancel(w, next); err != nil {
						t.Fatal(err)
					}
				}
				w.Pass(time.Minute)
				w.send(t, "¿y para cuántos era?")
				list := w.asked().Messages
				at := slices.IndexFunc(list, func(m llm.Message) bool { return m.Content == proposes.Text })
				if at < 0 || list[at].Role != llm.Assistant || len(list[at].Calls) != 1 || list[at].Calls[0].Arguments != proposes.Calls[0].Arguments {
					t.Fatalf("the call is not there: %+v", list)
				}
				if result := list[at+1]; result.Role != llm.ToolRole || result.CallID != list[at].Calls[0].ID || !strings.Contains(result.Content, `"waits"`) || !strings.Contains(result.Content, r.ID) {
					t.Errorf("its result is %+v", result)
				}
				var told []string // of the plan, after its call
				for _, m := range list[at+2:] {
					if m.Role == llm.System && strings.Contains(m.Content, r.ID) {
						told = append(told, m.Content)
					}
					if m.Role == llm.Assistant && strings.Contains(m.Content, "/bookings") {
						t.Errorf("the card is the model's text: %s", m.Content)
					}
				}
				if len(told) != 1 || !strings.Contains(told[0], says[name]) || strings.HasPrefix(told[0], "<event>") == (name == "draft" || name == "active") {
					t.Errorf("it is told %q, want %s once", told, says[name])
				}
			})
		}
	}
}

// says is what a prompt says of a plan with each fate: that of an ended one once, where it ended.
var says = map[string]string{
	"draft": "waits", "active": `"status":"queued"`, "done": `"status":"done","confirmed_by":"ana"`, "refused": `"status":"cancelled","refused_by_the_person":true`,
	"stopped": `"status":"cancelled","confirmed_by":"ana"`, "expired": `"status":"expired"`, "superseded": `"status":"superseded"`, "withdrawn": `"withdrawn":"y"`,
}

// TestAClaimBesideAPlanKeepsItsLine: that it was only text, which does not deny the plan.
func TestAClaimBesideAPlanKeepsItsLine(t *testing.T) {
	w := newWorld(t)
	proposes := calls("propose_plan", withServer(booksNorth, w))
	proposes.Text = "Ya he enviado el correo."
	w.model.answers = []any{proposes}
	w.send(t, "avisa a todos")
	w.send(t, "¿de verdad?")
	said := prompted(w.asked())
	if !strings.Contains(said, locale.ModelText("prompt.only_words")) || strings.Contains(said, locale.ModelText("prompt.only_text")) {
		t.Errorf("%s", said)
	}
}

// TestAPlanThatAPersonChangedIsToldAsItIsNow: while it waits by the draft, and when it ended by the event, with what was sent. A card
// that is shown again is no change.
func TestAPlanThatAPersonChangedIsToldAsItIsNow(t *testing.T) {
	const south = `[{"id":"s1","title":"t","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]`
	edit := func(t *testing.T, w *world, r plan.Run) plan.Run {
		t.Helper()
		changed, err := w.service.Revise(t.Context(), w.edit(t, r, "", south))
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	for name, c := range map[string]struct {
		then func(t *testing.T, w *world, r plan.Run)
		last string // of the system's messages: what it says
		not  string
	}{
		"the model": {func(t *testing.T, w *world, _ plan.Run) {
			w.model.answers = []any{calls("revise_plan", withServer(`{"steps":`+south+`}`, w))}
			w.send(t, "mejor la sur")
		}, "waits: a yes", "<draft>"}, // its own call wrote it
		"a person":      {func(t *testing.T, w *world, r plan.Run) { edit(t, w, r) }, `"room":"sur"`, `"room":"norte"`},
		"and cancelled": {func(t *testing.T, w *world, r plan.Run) { edit(t, w, r); w.Pass(time.Second); w.send(t, "cancela") }, `"edited_by_a_person":true`, `"sent"`},
		"and done": {func(t *testing.T, w *world, r plan.Run) {
			r = edit(t, w, r)
			if err := w.Confirm(r); err != nil {
				t.Fatal(err)
			}
			w.Execute(r.ID)
		}, `"edited_by_a_person":true,"steps":[{"id":"s1","title":"t","method":"POST","sent":{"url":"https://rooms.example/bookings","body":{"room":"sur"}}`, `"room":"norte"`},
		"shown again": {func(t *testing.T, w *world, _ plan.Run) { w.Pass(time.Hour); w.send(t, "confirmo") }, "waits: a yes", "<draft>"},
		"nothing":     {func(*testing.T, *world, plan.Run) {}, "waits: a yes", "<draft>"},
	} {
		w := newWorld(t)
		w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w))}
		r := *w.send(t, "quiero una sala").Run
		c.then(t, w, r)
		w.Pass(time.Second)
		w.model.answers = []any{text("Dime.")}
		w.send(t, "¿cómo va eso?")
		told := ""
		for _, m := range w.asked().Messages[1:] {
			if m.Role == llm.System && strings.Contains(m.Content, r.ID) {
				told = m.Content
			}
		}
		if !strings.Contains(told, withServer(c.last, w)) || strings.Contains(told, c.not) {
			t.Errorf("%s: %s", name, told)
		}
	}
}
