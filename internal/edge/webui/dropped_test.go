package webui

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// TestACardNamesThePlanItReplaced: with every character of the names visible, while the plan waits.
func TestACardNamesThePlanItReplaced(t *testing.T) {
	r := draft(roomPlan(noon))
	r.Dropped = &plan.Dropped{RunID: "old", Goal: "Cancelar\u202e <b>", More: 2, Steps: []plan.DroppedStep{{Title: "Devolver la tetera", Called: "POST /returns", Server: "Tienda"}}}
	got := string(renderCard(t, r, nil, locale.Spanish))
	for _, want := range []string{"Sustituye a este plan", "&lt;b&gt;", "⟦U+202E⟧", "Quedan fuera:", "Devolver la tetera <code>POST /returns</code> · Tienda", "y 2 más"} {
		if !strings.Contains(stripMarks(got), want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	r.Dropped.Steps, r.Dropped.More = nil, 0
	if got := string(renderCard(t, r, nil, locale.English)); !strings.Contains(got, "All of its steps are in this one, too.") || strings.Contains(got, "leaves out") {
		t.Error(got)
	}
	r.Status = plan.Done
	if got := string(renderCard(t, r, nil, locale.Spanish)); strings.Contains(got, "Sustituye a este plan") {
		t.Error("a run still says what its draft replaced")
	}
}

// stripMarks removes the markup around characters that are named.
func stripMarks(html string) string {
	return strings.NewReplacer(`<span class="hidden-char">`, "", "</span>", "").Replace(html)
}

// TestAWithdrawnDraftOffersToBeProposedAgain: it says that the model withdrew it and why, and never that somebody cancelled it.
func TestAWithdrawnDraftOffersToBeProposedAgain(t *testing.T) {
	for tag, says := range map[locale.Tag][]string{
		locale.Spanish: {"Retirado", "Piloto lo retiró", "El motivo que dio: ya no la quiere", ">Volver a proponer<"},
		locale.English: {"Withdrawn", "Piloto withdrew it", "The reason that it gave: ya no la quiere", ">Propose again<"},
	} {
		r := draft(roomPlan(noon))
		r.Status, r.Withdrawn = plan.Cancelled, &plan.Withdrawal{Message: "m", Reason: "ya no la quiere", Model: "m"}
		got := string(renderCard(t, r, nil, tag))
		for _, want := range append(says, "data-dead", `data-action="repeat-run"`) {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %s", want, got)
			}
		}
		for _, never := range []string{"Cancelado", "Cancelled", "confirm-run"} {
			if strings.Contains(got, never) {
				t.Errorf("%q in %s", never, got)
			}
		}
	}
}

// TestTheReceiptOfAWithdrawnDraftSaysWhoWithdrewIt: its event is the model's.
func TestTheReceiptOfAWithdrawnDraftSaysWhoWithdrewIt(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	w.furnish()
	w.mu.Lock()
	r := w.proposeFixed("reserva")
	as := plan.Withdrawal{Message: "m", Reason: "ya no la quiere", Model: "reglas"}
	r.Status, r.Withdrawn = plan.Cancelled, &as
	w.tellEvent(&r, plan.EventCancelled, "", as.Data())
	w.runs[fixedID] = r
	w.mu.Unlock()
	for _, path := range []string{"/?view=receipt&run=" + fixedID, "/?view=runs"} {
		body := get(t, w.page, path, ana).Body.String()
		if strings.Contains(path, "receipt") && !strings.Contains(body, `title="run.cancelled">Piloto lo retiró<`) || !strings.Contains(body, "Retirado") {
			t.Error(body)
		}
	}
}

// TestAWithdrawnDraftIsProposedAgain: its card is dead, and one button makes it a draft to be confirmed as ever.
func TestAWithdrawnDraftIsProposedAgain(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.see(confirmButton)
	b.world.mu.Lock()
	for id, r := range b.world.runs {
		as := plan.Withdrawal{Message: "m", Reason: "La persona prefiere ir en otoño.", Model: "reglas"}
		r.Status, r.Withdrawn = plan.Cancelled, &as
		b.world.tellEvent(&r, plan.EventCancelled, "", as.Data())
		b.world.runs[id] = r
	}
	b.world.mu.Unlock()
	b.do(chromedp.Reload())
	b.see(`.card[data-dead] [data-action="repeat-run"]`)
	b.picture("withdrawn")
	if n := eval[int](b, `document.querySelectorAll(".card button:not([data-action=repeat-run])").length`); n != 0 {
		t.Errorf("%d buttons are left", n)
	}
	if said := eval[string](b, `document.querySelector(".card[data-dead] [data-action=repeat-run]").innerText`); said != "Volver a proponer" {
		t.Errorf("it offers %q", said)
	}
}

// TestACardShowsThePlanItReplaced: above the steps, where whoever confirms reads it.
func TestACardShowsThePlanItReplaced(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.see(confirmButton)
	b.world.mu.Lock()
	for id, r := range b.world.runs {
		r.Dropped = &plan.Dropped{RunID: "old", Goal: "Cancelar el pedido 7 y devolver la tetera", Steps: []plan.DroppedStep{{Title: "Devolver la tetera", Called: "POST /returns", Server: "Tienda"}}}
		b.world.runs[id] = r
	}
	b.world.mu.Unlock()
	b.do(chromedp.Reload())
	b.see(".card[data-draft] .dropped")
	b.picture("dropped")
	if !eval[bool](b, `document.querySelector(".dropped").compareDocumentPosition(document.querySelector(".steps")) & 4 && document.documentElement.scrollWidth <= innerWidth ? true : false`) {
		t.Error("it is not above the steps, or wider than the page")
	}
}
