package turn_test

import (
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
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
				list, found := w.asked().Messages, false
				for i, m := range list {
					if m.Content == proposes.Text {
						found = m.Role == "assistant" && list[i+1].Role == "system" && list[i+1].Content == locale.Text(locale.Spanish, "prompt.beside."+name)
					}
					if m.Role == "assistant" && strings.Contains(m.Content, "/bookings") {
						t.Errorf("the card is the model's text: %s", m.Content)
					}
				}
				if !found {
					t.Errorf("%+v", list)
				}
			})
		}
	}
}

// TestAClaimBesideAPlanKeepsItsLine: that it was only text.
func TestAClaimBesideAPlanKeepsItsLine(t *testing.T) {
	w := newWorld(t)
	proposes := calls("propose_plan", withServer(booksNorth, w))
	proposes.Text = "Ya he enviado el correo."
	w.model.answers = []any{proposes}
	w.send(t, "avisa a todos")
	w.send(t, "¿de verdad?")
	said := prompted(w.asked())
	if !strings.Contains(said, locale.Text(locale.Spanish, "prompt.only_text")) || !strings.Contains(said, locale.Text(locale.Spanish, "prompt.beside.draft")) {
		t.Errorf("%s", said)
	}
}

// TestATextBesideAnEarlierRevisionSaysThatItChanged: by the model or a person, whatever became of the plan then. A card that is shown
// again is no change.
func TestATextBesideAnEarlierRevisionSaysThatItChanged(t *testing.T) {
	const first, second = "Reservo la Norte. ¿Lo confirmas?", "Entonces la Sur. ¿Lo confirmas?"
	const south = `[{"id":"s1","title":"t","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]`
	for name, c := range map[string]struct {
		then func(t *testing.T, w *world, r plan.Run)
		fate string
		says bool
	}{
		"the model": {func(t *testing.T, w *world, _ plan.Run) {
			answer := calls("revise_plan", withServer(`{"steps":`+south+`}`, w))
			answer.Text = second
			w.model.answers = []any{answer}
			w.send(t, "mejor la sur")
		}, "draft", true},
		"a person": {func(t *testing.T, w *world, r plan.Run) {
			if _, err := w.service.Revise(t.Context(), w.edit(t, r, "", south)); err != nil {
				t.Fatal(err)
			}
		}, "draft", true},
		"and cancelled": {func(t *testing.T, w *world, r plan.Run) {
			if _, err := w.service.Revise(t.Context(), w.edit(t, r, "", south)); err != nil {
				t.Fatal(err)
			}
			w.send(t, "cancela")
		}, "refused", true},
		"shown again": {func(t *testing.T, w *world, _ plan.Run) {
			w.Pass(time.Hour)
			w.send(t, "confirmo")
		}, "draft", false},
		"nothing": {func(*testing.T, *world, plan.Run) {}, "draft", false},
	} {
		w := newWorld(t)
		answer := calls("propose_plan", withServer(booksNorth, w))
		answer.Text = first
		w.model.answers = []any{answer}
		r := *w.send(t, "quiero una sala").Run
		c.then(t, w, r)
		w.model.answers = []any{text("Dime.")}
		w.send(t, "¿cómo va eso?")
		want := locale.Text(locale.Spanish, "prompt.beside."+c.fate)
		if c.says {
			want += " " + locale.Text(locale.Spanish, "prompt.beside.changed")
		}
		told := map[string]string{}
		list := w.asked().Messages
		for i, m := range list[:len(list)-1] {
			told[m.Content] = list[i+1].Content
		}
		if told[first] != want || name == "the model" && told[second] != locale.Text(locale.Spanish, "prompt.beside.draft") {
			t.Errorf("%s: %q, %q", name, told[first], told[second])
		}
	}
}
