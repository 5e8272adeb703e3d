package webui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/tools/tool"

	"github.com/chromedp/chromedp"
)

// proposePlan asks for a plan and waits until it can be confirmed.
func (b *browser) proposePlan(words string) {
	b.Helper()
	before := eval[int](b, `document.querySelectorAll(".card").length`)
	b.say(words)
	b.until(`document.querySelectorAll(".card").length > ` + itoa(before) + ` && document.querySelector('` + confirmButton + `')?.disabled === false && document.getElementById("writing") === null`)
}

// theRun returns the run of the n-th card.
func (b *browser) theRun(n int) plan.Run {
	b.Helper()
	id := eval[string](b, `document.querySelectorAll(".card")[`+itoa(n)+`].dataset.run`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	return b.runs[id]
}

// set sets the value of an input, as typing does.
func (b *browser) set(css, value string) {
	b.Helper()
	b.see(css)
	eval[bool](b, `(e => { e.value = `+quoted(value)+`; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector(`+quoted(css)+`))`)
}

func TestAPlanIsEditedAndItsChangesAreSeen(t *testing.T) {
	b := open(t, 1280, 1100)
	b.proposePlan("reserva")
	old := b.theRun(0)
	b.click(`.card [data-action="edit-run"]`)
	b.see("#editor .edit-step")
	if at := eval[string](b, `document.activeElement.name`); at != "goal" {
		t.Errorf("the focus is at %q", at)
	}
	b.picture("edit")
	step := `#editor [data-edit-step]:nth-of-type(2) `
	// An invalid value is reported at its field, before and after the server saw it.
	b.set(step+`[data-loc="body/ticket"]`, "muchos")
	b.click(`#editor .primary`)
	b.until(`document.activeElement.dataset.loc === "body/ticket" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	b.set(step+`[data-loc="body/ticket"]`, "9007199254740993")
	b.set(step+`[data-loc="body/people"]`, "0")
	b.click(`#editor .primary`)
	b.until(`document.activeElement.dataset.loc === "body/people" && document.querySelector("#editor .field-error")?.innerText === "Es demasiado poco"`)
	b.picture("edit-refused")
	b.set(step+`[data-loc="body/people"]`, "8")
	b.set(step+`[data-loc="body/date"]`, "2026-03-10 ⟨\"martes\"⟩")
	b.set(step+`[data-loc="title"]`, "Reservar el martes")
	b.click(`#editor [data-edit-step]:nth-of-type(1) [data-action="edit-json"]`)
	b.set(`#editor [data-edit-step]:nth-of-type(1) [data-json] textarea`, `{"capacity": 8,`)
	b.click(`#editor .primary`)
	b.until(`document.activeElement.closest("[data-json]") !== null && document.activeElement.getAttribute("aria-invalid") === "true"`)
	b.set(`#editor [data-edit-step]:nth-of-type(1) [data-json] textarea`, `{"capacity": 8, "big": 12345678901234567890.10}`)
	b.click(`#editor .primary`)
	b.until(`document.querySelector(".card[data-draft] .diff") !== null && !document.getElementById("editor").open`)
	b.picture("edited")
	diff := eval[string](b, `document.querySelector(".card .diff").innerText`)
	for _, want := range []string{"Paso 2: título", "Reservar la primera", "Reservar el martes", "cuerpo date", "2026-03-06", "2026-03-10", "cuerpo people", "12345678901234567890.10"} {
		if !strings.Contains(diff, want) {
			t.Errorf("the changes lack %q:\n%s", want, diff)
		}
	}
	if strings.Contains(diff, "ticket") {
		t.Errorf("a number that nobody touched has changed:\n%s", diff)
	}
	if said := eval[string](b, `[...document.querySelectorAll(".card .revisions > li")].map(e => e.textContent).join()`); !strings.Contains(said, "revisión 1") || !strings.Contains(said, "revisión 2") {
		t.Errorf("the revisions read %q", said)
	}
	now := b.theRun(0)
	if now.ID != old.ID || now.Digest == old.Digest || now.Plan.Revision != 2 || now.Plan.Replaces != old.Digest || !strings.Contains(string(now.Plan.Steps[1].Body), "9007199254740993") {
		t.Errorf("%+v", now.Plan)
	}
	b.until(`document.querySelector('` + confirmButton + `').disabled === false`)
	b.click(confirmButton)
	b.until(`document.querySelector(".card[data-status=done]") !== null`)
}

// TestAnEditOfAPlanThatMovedKeepsWhatWasTyped: both are shown, nothing was changed, and the next try is for the plan as it is.
func TestAnEditOfAPlanThatMovedKeepsWhatWasTyped(t *testing.T) {
	b := open(t, 1280, 1000)
	b.proposePlan("reserva")
	b.click(`.card [data-action="edit-run"]`)
	b.see("#editor .edit-step")
	b.revisedElsewhere()
	b.set(`#editor [name=goal]`, "El mío")
	b.click(`#editor .primary`)
	b.see("#editor .problem")
	if said := eval[string](b, `document.getElementById("editor").innerText`); !strings.Contains(said, "Otro objetivo") || !strings.Contains(said, "ha cambiado mientras lo editabas") {
		t.Error(said)
	}
	if goal := eval[string](b, `document.querySelector("#editor [name=goal]").value`); goal != "El mío" {
		t.Errorf("what was typed became %q", goal)
	}
	if r := b.theRun(0); r.Plan.Goal != "Otro objetivo" {
		t.Errorf("the plan is %q", r.Plan.Goal)
	}
	b.picture("edit-moved")
	b.click(`#editor .primary`)
	b.until(`!document.getElementById("editor").open && document.querySelector(".card .goal").innerText === "El mío"`)
}

// TestAPlanIsEditedByItsSchema: labels, choices and dates of the document, what it requires, a member and a step that are added,
// another order.
func TestAPlanIsEditedByItsSchema(t *testing.T) {
	b := open(t, 1280, 1000)
	b.world.mu.Lock()
	b.operations = map[string]tool.Operation{"POST /reservations": {Body: &tool.Body{Schema: json.RawMessage(`{"type":"object","required":["date","room_id"],"properties":{
		"date":{"type":"string","format":"date","title":"Día"},"kind":{"enum":["corta","larga"]},"note":{"type":"string","description":"Para <la> sala"},"room_id":{"type":"string"}}}`)}}}
	b.world.mu.Unlock()
	b.proposePlan("reserva")
	b.click(`.card [data-action="edit-run"]`)
	b.see("#editor .edit-step")
	step := `#editor [data-edit-step][data-id=s2] `
	if said := eval[string](b, `document.querySelector('`+step+`').textContent`); !strings.Contains(said, "Día") || !strings.Contains(said, "obligatorio") || !strings.Contains(said, "Para <la> sala") {
		t.Error(said)
	}
	b.picture("edit-schema")
	b.click(step + ".more-members > summary")
	eval[bool](b, `(document.querySelector('`+step+`[data-member=kind]').value = '"larga"', true)`)
	b.set(step+`[data-member=date]`, "")
	b.click(`#editor .primary`)
	b.until(`document.activeElement.dataset.member === "date" && document.querySelector("#editor .field-error").innerText === "Hace falta un valor."`)
	b.set(step+`[data-member=date]`, "2026-03-09")
	eval[bool](b, `((s) => { s.value = "GET /rooms"; s.dispatchEvent(new Event("change", {bubbles: true})); return true })(document.querySelector("#editor [data-change=add-step]"))`)
	b.see(`#editor [data-id=s4]`)
	b.click(`#editor [data-id=s4] [data-action="edit-up"]`)
	if order := eval[string](b, `[...document.querySelectorAll("#editor [data-edit-step]")].map(s => s.dataset.id).join()`); order != "s1,s2,s4,s3" {
		t.Error(order)
	}
	b.click(`#editor .primary`)
	b.until(`!document.getElementById("editor").open`)
	body := string(b.theRun(0).Plan.Steps[1].Body)
	if !strings.Contains(body, `"kind":"larga"`) || !strings.Contains(body, `"date":"2026-03-09"`) || strings.Contains(body, "note") || !strings.Contains(body, "9007199254740993") {
		t.Error(body)
	}
	if steps := b.theRun(0).Plan.Steps; len(steps) != 4 || steps[2].Called() != "GET /rooms" {
		t.Errorf("%+v", steps)
	}
}

func TestAPlanIsRejectedWithAReason(t *testing.T) {
	b := open(t, 1280, 900)
	b.proposePlan("reserva")
	b.click(`.card [data-action="reject-run"]`)
	b.see("#ask-yes")
	b.do(chromedp.KeyEvent("\x1b"))
	b.until(`!document.getElementById("ask").open`)
	b.click(`.card [data-action="reject-run"]`)
	b.write("#ask-input", "Mejor el martes\r")
	b.until(`document.querySelector(".card[data-dead]")?.innerText.includes("Mejor el martes")`)
	if r := b.theRun(0); r.Status != plan.Cancelled || r.Reason != "Mejor el martes" {
		t.Errorf("%s, %q", r.Status, r.Reason)
	}
	b.proposePlan("reserva otra")
	b.until(`document.querySelectorAll('.card[data-draft] [data-action="reject-run"]:enabled').length === 1`)
	b.click(`.card[data-draft] [data-action="reject-run"]`)
	b.see("#ask-yes")
	b.click("#ask-yes") // without a reason
	b.until(`document.querySelectorAll(".card[data-dead]").length === 2`)
}

func TestAStepIsApprovedWhileTheChatGoesOn(t *testing.T) {
	b := open(t, 1280, 1100)
	b.proposePlan("borra la vieja")
	b.click(confirmButton)
	b.see(`.decision[data-state=open] [data-action="approve-step"]`)
	b.picture("waiting")
	b.write(`.decision [data-note]`, "Lo he mirado")
	// The chat is free meanwhile: another plan is proposed, confirmed and done.
	b.proposePlan("reserva")
	if typed := eval[string](b, `document.querySelector(".decision [data-note]").value`); typed != "Lo he mirado" {
		t.Errorf("the note became %q", typed)
	}
	b.click(confirmButton)
	b.until(`document.querySelectorAll(".card")[1].dataset.status === "done"`)
	if first := b.theRun(0); first.Status != plan.Waiting {
		t.Errorf("the run that waited is %s", first.Status)
	}
	b.click(`[data-action="approve-step"]`)
	b.until(`document.querySelectorAll(".card")[0].dataset.status === "done"`)
	first := b.theRun(0)
	if a := first.Steps[1].Approval; a == nil || a.Decision != plan.Approved || a.Note != "Lo he mirado" {
		t.Errorf("%+v", a)
	}
	if page := eval[string](b, `document.documentElement.outerHTML`); strings.Contains(page, "s3cret-token") {
		t.Error("the token is on the page")
	}
}

// TestALongRequestIsReadBeforeItIsApproved: one press does not approve what was jumped over, and presses show all of it.
func TestALongRequestIsReadBeforeItIsApproved(t *testing.T) {
	b := open(t, 1280, 800)
	r := waitingRun()
	r.ID, r.ChatID = "01JRUN00000000000000000007", "long"
	var elements []string
	for i := range 40 {
		elements = append(elements, fmt.Sprintf(`{"method":"DELETE","path":"/orders/%d","why":"vieja"}`, i))
	}
	a := r.Steps[len(r.Steps)-1].Approval
	a.Another, a.AskedAt, a.ExpiresAt, a.Body = false, time.Now(), time.Now().Add(time.Hour), json.RawMessage("["+strings.Join(elements, ",")+"]")
	b.world.mu.Lock()
	b.chats["long"] = conversation.Chat{ID: "long", Title: "Larga", ActiveRunID: r.ID}
	b.runs[r.ID] = r
	b.world.say("long", conversation.RoleAssistant, conversation.KindPlan, r.ID, r.Plan.Goal)
	b.world.mu.Unlock()
	b.visit("/?chat=long")
	b.see(`[data-action="approve-step"]`)
	eval[bool](b, `(document.querySelector('[data-action="approve-step"]').scrollIntoView({ block: "end", behavior: "instant" }), new Promise((done) => setTimeout(done, 300, true)))`)
	presses := 0
	for ; presses < 30 && b.theRun(0).Steps[len(r.Steps)-1].Approval.Decision == ""; presses++ {
		eval[bool](b, `(document.querySelector('[data-action="approve-step"]').click(), new Promise((done) => setTimeout(done, 800, true)))`)
	}
	if presses < 4 || presses == 30 {
		t.Errorf("it was approved after %d presses", presses)
	}
}

func TestALinkAsksAndDecidesNothing(t *testing.T) {
	b := open(t, 1280, 900)
	b.proposePlan("borra la vieja")
	b.click(confirmButton)
	b.see(`.decision[data-state=open]`)
	r := b.theRun(0)
	b.world.mu.Lock()
	for i := range 3 * messagesPage { // the card is only on older pages now
		b.world.say(r.ChatID, "user", "text", "", "mensaje "+itoa(i))
	}
	seq := b.runs[r.ID].EventSeq
	b.world.mu.Unlock()
	b.visit("/?approve=" + r.ID + "&step=s2")
	b.until(`document.activeElement.matches(".decision[data-state=open]")`)
	if at := eval[bool](b, `(r => r.top >= 0 && r.bottom <= innerHeight)(document.activeElement.getBoundingClientRect())`); !at {
		t.Error("what is asked is out of sight")
	}
	b.picture("approve-link")
	if now := b.theRun(0); now.EventSeq != seq || now.Status != plan.Waiting {
		t.Errorf("looking at it did something: %s, %d events", now.Status, now.EventSeq)
	}
	b.click(`[data-action="refuse-step"]`)
	b.until(`document.querySelector(".card").dataset.status === "error"`)
	if a := b.theRun(0).Steps[1].Approval; a.Decision != plan.Refused {
		t.Errorf("%+v", a)
	}
}

func TestADoubtIsResolvedAndTheRunContinued(t *testing.T) {
	b := open(t, 1280, 1000)
	b.proposePlan("con duda")
	b.click(confirmButton)
	b.see(`.decision.doubt [data-outcome=not_done]`)
	b.picture("doubt")
	b.write(`.decision.doubt [data-note]`, "No está en la agenda")
	b.click(`.decision.doubt [data-outcome=not_done]`)
	b.see(`.card [data-action="retry-run"]`)
	if s := b.theRun(0).Steps[1].Resolved; s == nil || s.Outcome != plan.OutcomeNotDone || s.Note != "No está en la agenda" {
		t.Errorf("%+v", s)
	}
	b.click(`.card [data-action="retry-run"]`)
	b.until(`document.querySelectorAll(".card").length === 2 && document.querySelector('` + confirmButton + `')?.disabled === false`)
	if said := eval[string](b, `document.querySelector(".card[data-draft]").innerText`); !strings.Contains(said, "resultado de un plan anterior") {
		t.Error(said)
	}
	b.picture("retry")
	b.click(confirmButton)
	b.until(`document.querySelectorAll(".card")[1].dataset.status === "done"`)
	if first := b.theRun(0); first.Status != plan.InDoubt {
		t.Errorf("the first run became %s", first.Status)
	}
}

func TestAReceiptIsOpenedAndPrints(t *testing.T) {
	b := open(t, 1000, 1400)
	b.proposePlan("reserva")
	b.click(confirmButton)
	b.until(`document.querySelector('.card a[href*="view=receipt"]') !== null`)
	href := eval[string](b, `document.querySelector('.card a[href*="view=receipt"]').getAttribute("href")`)
	b.visit(href)
	b.see(".receipt")
	b.picture("receipt")
	said := eval[string](b, `document.body.innerText`)
	for _, want := range []string{"El recibo se sostiene", "Reservar una sala para 6", "Se confirmó", "POST http://127.0.0.1:9100/reservations", "piloto verify", string(b.onlyRun().Digest), b.onlyRun().Chain} {
		if !strings.Contains(said, want) {
			t.Errorf("the receipt lacks %q:\n%s", want, said)
		}
	}
	var whole receipt.Receipt
	if err := json.Unmarshal([]byte(eval[string](b, `fetch(document.querySelector("a[download]").href).then(r => r.text())`)), &whole); err != nil || len(receipt.Verify(whole)) > 0 {
		t.Errorf("what is downloaded does not hold: %v %v", err, receipt.Verify(whole))
	}
	if n := eval[int](b, `document.querySelectorAll("#sidebar, #composer").length`); n != 0 {
		t.Error("the frame is on it")
	}
	eval[bool](b, `(window.printed = 0, window.print = () => window.printed++, true)`)
	b.click("[data-print]")
	b.until(`window.printed === 1`)
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 1000 {
		t.Errorf("it is %d px wide", wide)
	}
}

func (b *browser) onlyRun() plan.Run {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	for _, r := range b.runs {
		return r
	}
	return plan.Run{}
}

func TestRulesAreManagedFromThePage(t *testing.T) {
	b := open(t, 1280, 1100)
	b.click(`a[href="/?view=rules"]`)
	b.see(`[data-submit="add-rule"]`)
	form := `[data-submit="add-rule"] `
	b.write(form+"[name=method]", "post")
	b.write(form+"[name=path]", "/orders*")
	b.write(form+"[name=over_at]", "body.total")
	b.write(form+"[name=over_most]", "mucho")
	b.write(form+"[name=reason]", "Pedidos grandes")
	b.click(form + ".primary")
	b.until(`document.activeElement.name === "over_most" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	b.picture("rules-refused")
	b.set(form+"[name=over_most]", "500")
	b.click(form + "[name=another]")
	b.click(form + ".primary")
	b.until(`document.querySelector("#rules .entry-name")?.innerText === "Pregunta antes de POST /orders* cuando body.total pasa de 500, y aprueba otra persona"`)
	b.set(form+"[name=effect]", "deny")
	b.until(`document.querySelector('` + form + `[name=another]').matches(":disabled")`)
	b.write(form+"[name=server]", "Banco")
	b.write(form+"[name=reason]", "Nunca\r")
	b.until(`document.querySelectorAll("#rules .rule").length === 2`)
	b.picture("rules")
	// Another user changed the rules meanwhile.
	b.world.mu.Lock()
	b.rules.Version++
	b.world.mu.Unlock()
	b.click(`#rules .rule:first-child [data-action="remove-rule"]`)
	b.see("#ask-yes")
	b.click("#ask-yes")
	b.see(".problem")
	b.visit("/?view=rules")
	b.click(`#rules .rule:first-child [data-action="remove-rule"]`)
	b.see("#ask-yes")
	b.click("#ask-yes")
	b.until(`document.querySelectorAll("#rules .rule").length === 1`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if r := b.rules.Rules; len(r) != 1 || r[0].Server != "Banco" || r[0].Method != "" || r[0].Over != nil {
		t.Errorf("%+v", r)
	}
}

func TestPlanDecisionsFitANarrowScreen(t *testing.T) {
	b := open(t, 390, 844)
	r := b.waitingChat()
	for _, address := range []string{"/?approve=" + r.ID + "&step=s4", "/?view=receipt&run=" + r.ID, "/?view=rules"} {
		b.visit(address)
		b.see(".card, .receipt, [data-submit]")
		if wide := eval[int](b, `Math.max(document.documentElement.scrollWidth, document.getElementById("scroller")?.scrollWidth ?? 0)`); wide > 390 {
			t.Errorf("%s is %d px wide: %s", address, wide, eval[string](b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 391).map(e => e.tagName + "." + e.className).join(" ")`))
		}
	}
	b.visit("/")
	b.see("#message")
	b.proposePlan("reserva")
	b.click(`.card [data-action="edit-run"]`)
	b.see("#editor .edit-step")
	b.picture("edit-narrow")
	if over := eval[bool](b, `(d => d.scrollWidth > d.clientWidth || d.getBoundingClientRect().right > 390)(document.getElementById("editor"))`); over {
		t.Error("the editor is wider than the screen")
	}
}

// revisedElsewhere changes every plan, as another user would.
func (b *browser) revisedElsewhere() {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	for id, r := range b.runs {
		r.Plan.Goal, r.Plan.Revision = "Otro objetivo", 2
		r.Digest, _ = r.Plan.Digest()
		b.world.event(&r, plan.EventRevised, "", "{}")
		b.runs[id] = r
	}
}
