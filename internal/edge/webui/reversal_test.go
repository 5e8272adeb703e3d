package webui

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"piloto/internal/runs/plan"
)

// undoRun proposes the undo of what the second step did.
func (w *world) undoRun(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
	old, ok := w.runs[r.PathValue("id")]
	if !ok || !old.Status.Terminal() {
		refuse(rw, 409, "plan.already_running", "Ya está ejecutándose.")
		return
	}
	next := w.reverse(old)
	tell(rw, 201, map[string]any{"run": map[string]any{"run_id": next.ID, "status": next.Status}})
}

// reverse proposes a draft that undoes the second step of a run. The lock is held.
func (w *world) reverse(old plan.Run) plan.Run {
	p := old.Plan
	p.ID, p.Goal, p.Undoes, p.ExpiresAt = old.ID[:25]+"u", "Deshacer: "+old.Plan.Goal, old.ID, w.now().Add(24*time.Hour).Truncate(time.Second)
	p.Steps = []plan.Step{{ID: plan.ReversalStep(0), Title: "Deshacer: Reservar la primera", MCPID: "rooms", Method: "DELETE", Path: "/reservations/r-s2", Needs: []string{}, Risk: plan.Destructive, NoUndo: true}}
	p.Bindings = []plan.Binding{{StepID: p.Steps[0].ID, MCPID: "rooms", ServerName: "Salas de demostración", BaseURL: roomsURL, Template: "/reservations/{id}", Fingerprint: "f"}}
	next := w.propose(old.ChatID, p)
	w.tellEvent(&old, plan.EventReversed, "", map[string]any{"run_id": next.ID, "by": "ana", "undos": []plan.EffectID{plan.UndoOf(plan.EffectOf("s2"))}})
	w.runs[old.ID] = old
	return next
}

// TestACardTellsWhatUndoesIt: the run that undoes a run, how far it is, and whether another may be proposed.
func TestACardTellsWhatUndoesIt(t *testing.T) {
	const button = `data-action="undo-run"`
	said := map[string]string{"asked": "Un plan propone deshacerlo:", "running": "Se está deshaciendo:", "doubt": "Al deshacerlo, algo quedó en duda:", "done": "Deshecho por", "": ""}
	for name, c := range map[string]struct {
		to     func(by *plan.Run)
		how    string
		offers bool
	}{
		"proposed":  {func(*plan.Run) {}, "asked", false},
		"expired":   {func(by *plan.Run) { by.Plan.ExpiresAt = noon }, "", true},
		"cancelled": {func(by *plan.Run) { by.Status = plan.Cancelled }, "", true},
		"running":   {func(by *plan.Run) { by.Status, by.Steps[0].Status = plan.Running, plan.StepRunning }, "running", false},
		"done":      {func(by *plan.Run) { by.Status, by.Steps[0].Status = plan.Done, plan.StepDone }, "done", false},
		"failed":    {func(by *plan.Run) { by.Status, by.Steps[0].Status = plan.Failed, plan.StepFailed }, "", true},
		"in doubt":  {func(by *plan.Run) { by.Status, by.Steps[0].Status = plan.InDoubt, plan.StepInDoubt }, "doubt", false},
		"judged": {func(by *plan.Run) {
			by.Status, by.Steps[0].Status, by.Steps[0].Resolved = plan.InDoubt, plan.StepInDoubt, &plan.Resolution{Outcome: plan.OutcomeDone}
		}, "done", false},
		"missing": {nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(at(noon), Facts{})
			old := w.propose("c1", *planOf("reserva deshacible", noon))
			old.Status = plan.Done
			for i := range old.Steps {
				old.Steps[i].Status = plan.StepDone
			}
			w.runs[old.ID] = old
			by := w.reverse(old)
			if c.to == nil {
				delete(w.runs, by.ID)
			} else {
				c.to(&by)
				w.runs[by.ID] = by
			}
			card := get(t, w.page, "/ui/runs/"+old.ID, ana).Body.String()
			if strings.Contains(card, button) != c.offers || !strings.Contains(card, said[c.how]) || c.how == "" && strings.Contains(card, "data-undone-by") ||
				c.how != "" && !strings.Contains(card, `href="/?chat=c1#run-`+by.ID+`"`) || (c.how == "done") != strings.Contains(card, "↩️") {
				t.Errorf("offers %v, says %q:\n%s", strings.Contains(card, button), c.how, card)
			}
			if len(w.runs[old.ID].Steps) != len(old.Plan.Steps) {
				t.Error("the run was changed")
			}
		})
	}
}

// TestAnUndoneRunSaysSo by the keyboard alone: its button goes when the undo is proposed, and the card says what became of it.
func TestAnUndoneRunSaysSo(t *testing.T) {
	b := open(t, 1280, 1000)
	b.proposePlan("reserva deshacible")
	eval[bool](b, hear)
	first := `document.querySelectorAll(".card")[0]`
	b.reach(confirmButton)
	b.press("Enter")
	b.until(first + `.dataset.status === "done"`)
	b.reach(`[data-action="undo-run"]`)
	b.picture("undo-before")
	b.press("Enter")
	b.at(".card[data-draft]")
	b.until(first + `.innerText.includes("Un plan propone deshacerlo:") && ` + first + `.querySelector('[data-action="undo-run"]') === null`)
	b.until(`document.querySelector('` + confirmButton + `').disabled === false`)
	b.picture("undo-proposed")
	b.reach(confirmButton)
	b.press("Enter")
	b.until(first + `.innerText.includes("Deshecho por el plan Deshacer: ")`)
	b.keepsFocus()
	b.picture("undo-done")
	b.reach(`.card a[href*="#run-"]`)
	b.press("Enter")
	b.at(".card#run-" + b.theRun(1).ID)
}

// TestAnUndoSaysWhatItUndoes: its own call has only an id.
func TestAnUndoSaysWhatItUndoes(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	old := w.propose("c1", *planOf("reserva deshacible", noon))
	old.Status = plan.Done
	for i := range old.Steps {
		old.Steps[i].Status = plan.StepDone
	}
	old.Steps[1].Result = &plan.Result{Status: 201, Body: json.RawMessage(`{"id":"r-s2","room_name":"Sala Norte","price":30}`)}
	w.runs[old.ID] = old
	by := w.reverse(old)
	retry := by
	retry.ID, retry.Retries = old.ID[:24]+"ZZ", by.ID
	w.runs[retry.ID] = retry
	for _, id := range []string{by.ID, retry.ID} {
		body := get(t, w.page, "/ui/runs/"+id, ana).Body.String()
		for _, part := range []string{"Deshace esto:", "Reservar la primera", "viernes 6 de marzo", "Sala Norte", ">30<"} {
			if !strings.Contains(body, part) {
				t.Errorf("%s: the card of an undo lacks %q", id, part)
			}
		}
	}
	delete(w.runs, old.ID)
	if body := get(t, w.page, "/ui/runs/"+by.ID, ana).Body.String(); strings.Contains(body, "Deshace esto:") || !strings.Contains(body, "r-s2") {
		t.Error("of a run that is gone")
	}
}
