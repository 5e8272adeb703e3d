package webui

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"

	"github.com/chromedp/chromedp"
)

// The flows of these tests use the keyboard alone: no pointer, and no focus that a script sets.

// opened opens the page for a flow, with the focus in the message box.
func opened(t *testing.T) *browser {
	b := open(t, 1366, 768)
	b.waitForSocket()
	b.reach("#message")
	eval[bool](b, hear)
	return b
}

// asks writes a message, and waits for the plan that answers it.
func (b *browser) asks(text string) {
	b.Helper()
	b.reach("#message")
	b.types(text)
	b.press("Enter")
	b.until(`document.querySelector('` + confirmButton + `')?.disabled === false && document.getElementById("writing") === null`)
}

// confirms goes to Confirm and presses it, once more when steps had to be read first.
func (b *browser) confirms() {
	b.Helper()
	card := `document.querySelector("#` + eval[string](b, `document.querySelector(".card[data-draft]").id`) + `[data-draft]")`
	for range 10 {
		b.reach(confirmButton)
		unseen := eval[string](b, card+`.querySelector("[data-unseen]").innerText`)
		b.press("Enter")
		b.until(card + ` === null || ` + card + `.querySelector("[data-unseen]").innerText !== ` + quoted(unseen))
		if eval[bool](b, card+` === null`) {
			return
		}
		b.do(chromedp.Sleep(time.Second)) // a press at once would be for what was just shown
	}
	b.Fatal("the plan was not confirmed")
}

// goesTo opens a view by the palette.
func (b *browser) goesTo(name, view string) {
	b.Helper()
	b.press("Ctrl+k")
	b.at("#palette-words")
	b.types(name)
	b.until(`document.querySelector("#palette [aria-selected=true]")?.innerText.toLowerCase().startsWith(` + quoted(name) + `)`)
	b.press("Enter")
	b.see(`#view[data-name="` + view + `"]`)
}

// replaces types another value in a field.
func (b *browser) replaces(css, value string) {
	b.Helper()
	b.reach(css)
	b.press("Ctrl+a")
	b.types(value)
	b.until(`document.activeElement.value === ` + quoted(value))
}

func cardIs(status plan.Status) string {
	return `[...document.querySelectorAll(".card")].at(-1)?.dataset.status === "` + string(status) + `"`
}

func TestAPlanIsConfirmedByKeyboard(t *testing.T) {
	b := opened(t)
	b.asks("reserva")
	b.confirms()
	b.until(cardIs(plan.Done))
	b.at(".card .status")
	b.keepsFocus()
}

func TestAPlanIsEditedAndConfirmedByKeyboard(t *testing.T) {
	b := opened(t)
	b.asks("reserva")
	b.reach(`[data-action="edit-run"]`)
	b.press("Enter")
	b.at("#editor [name=goal]")
	b.replaces(`#editor [data-id=s2] [data-loc="body/people"]`, "8")
	b.reach("#editor .primary")
	b.press("Enter")
	b.until(`!document.getElementById("editor").open && document.querySelector(".card[data-draft] .diff")?.innerText.includes("people")`)
	b.confirms()
	b.until(cardIs(plan.Done))
	b.keepsFocus()
	if body := string(b.theRun(0).Plan.Steps[1].Body); !json.Valid([]byte(body)) || eval[bool](b, `JSON.parse(`+quoted(body)+`).people !== 8`) {
		t.Error(body)
	}
}

func TestAStepIsApprovedByKeyboard(t *testing.T) {
	b := opened(t)
	b.asks("borra")
	b.confirms()
	b.reach(".decision [data-note]")
	b.types("Lo he mirado")
	b.reach(`[data-action="approve-step"]`)
	b.press("Enter")
	b.until(cardIs(plan.Done))
	b.keepsFocus()
	if a := b.theRun(0).Steps[1].Approval; a == nil || a.Note != "Lo he mirado" {
		t.Errorf("%+v", a)
	}
}

func TestADoubtIsResolvedByKeyboard(t *testing.T) {
	b := opened(t)
	b.asks("con duda")
	b.confirms()
	b.reach(`[data-outcome="not_done"]`)
	b.press("Enter")
	b.reach(`[data-action="retry-run"]`)
	b.press("Enter")
	b.at(".card[data-draft]")
	b.until(`document.querySelector('` + confirmButton + `').disabled === false`)
	b.confirms()
	b.until(cardIs(plan.Done))
	b.keepsFocus()
}

func TestSeveralAreDecidedByKeyboard(t *testing.T) {
	b := opened(t)
	b.world.mu.Lock()
	for i, room := range []string{"norte", "sur"} {
		id := fmt.Sprint("w", i)
		b.chats[id] = conversation.Chat{ID: id, Title: "Sala " + room}
		p := manyOrders(1)
		p.ID, p.Goal = p.ID[:25]+fmt.Sprint(i), "Pedir para "+room
		b.propose(id, p)
	}
	b.world.mu.Unlock()
	b.goesTo("pendiente", "waiting")
	b.press("j", "x", "j", "x")
	b.reach(`[data-action="review"]`)
	b.press("Enter")
	b.until(`document.querySelectorAll("#review[open] .card").length === 2`)
	b.reach(`[data-action="decide-all"][data-yes="yes"]`)
	b.press("Enter")
	b.until(`!document.getElementById("review").open && document.querySelectorAll(".wait[data-decided] > details > summary > [data-state=done]").length === 2 && document.activeElement.matches(".wait:first-child summary")`)
	b.keepsFocus()
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.decisions) != 2 {
		t.Errorf("%v", b.decisions)
	}
}

func TestARunIsFoundInTheHistoryByKeyboard(t *testing.T) {
	b := opened(t)
	b.hold(true)
	b.fill("c-done", "reserva", plan.Done)
	b.fill("c-draft", "borra", plan.Draft)
	b.goesTo("historial", "runs")
	b.until(`document.querySelectorAll("#run-rows tr").length === 2`)
	b.reach("[data-filter] [name=q]")
	b.types("sala para")
	b.press("Enter")
	b.until(`new URLSearchParams(location.search).get("q") === "sala para" && document.querySelectorAll("#run-rows tr").length === 1`)
	b.at("[data-filter] [name=q]")
	b.reach("[data-filter] [name=status]")
	b.types("H") // Hecho; a second letter that comes late begins another word
	b.until(`new URLSearchParams(location.search).get("status") === "done" && document.querySelectorAll("#run-rows tr").length === 1`)
	b.at("[data-filter] [name=status]")
	b.reach(`#run-rows a[href^="/?chat="]`)
	b.press("Enter")
	b.until(`location.search === "?chat=c-done" && document.activeElement.matches("#view, #message")`)
	b.keepsFocus()
}

func TestAMessageIsFoundByKeyboard(t *testing.T) {
	b := opened(t)
	b.talks("Norte", "Sur")
	b.press("Escape") // out of the message box
	b.press("/")
	b.at("[data-input=find-chats]")
	b.types("camara sur")
	b.until(`document.querySelectorAll(".chat-list [data-row]").length === 1`)
	b.press("ArrowDown")
	b.at(`.chat-list .chat-link[data-chat="c2"]`)
	b.press("Enter")
	b.at("#m-c2m0")
	b.keepsFocus()
}

func TestAServiceIsRegisteredByKeyboard(t *testing.T) {
	b := opened(t)
	b.goesTo("servicios", "servers")
	b.reach("[data-submit=add-server] [name=url]")
	b.types("http://169.254.169.254")
	b.press("Enter")
	b.see(".form-problem .problem")
	b.replaces("[data-submit=add-server] [name=url]", "https://pets.example")
	b.press("Enter")
	b.until(`document.getElementById("view").dataset.name === "server" && document.getElementById("operations") !== null && document.activeElement.id === "view"`)
	b.keepsFocus()
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	for _, s := range b.servers {
		if s.BaseURL == "https://pets.example" && s.Kind == tool.KindOpenAPI {
			return
		}
	}
	t.Error("it is not registered")
}

// TestChoicesByKeyboard: each choice reloads the page, and the focus comes back to it.
func TestChoicesByKeyboard(t *testing.T) {
	b := opened(t)
	b.goesTo("ajustes", "settings")
	for _, c := range []struct{ css, then string }{
		{`.choices [name="theme"][value="dark"]`, `document.documentElement.dataset.theme === "dark"`},
		{`.choices [name="lang"][value="en"]`, `document.documentElement.lang === "en"`},
		{`.choices [name="theme"][value="light"]`, `document.documentElement.dataset.theme === "light"`},
	} {
		b.reach(c.css)
		b.press("Enter")
		b.untilLoaded(c.then + ` && document.activeElement.matches(` + quoted(c.css) + `)`)
	}
	b.do(chromedp.Reload())
	b.see("#view")
	if kept := eval[bool](b, `document.activeElement !== document.body || sessionStorage.length > 0`); kept {
		t.Error("the focus is kept for a reload that no choice caused")
	}
}

// TestTheFocusStaysInAnEditorWhosePlanIsGone: its button is switched off when the plan is no draft any more.
func TestTheFocusStaysInAnEditorWhosePlanIsGone(t *testing.T) {
	b := open(t, 1280, 1000)
	b.proposePlan("reserva")
	b.click(`.card [data-action="edit-run"]`)
	b.see("#editor .edit-step")
	b.world.mu.Lock()
	for id, r := range b.runs {
		r.Plan.Goal, r.Plan.Revision, r.Status = "Otro objetivo", 2, plan.Superseded
		r.Digest, _ = r.Plan.Digest()
		b.runs[id] = r
	}
	b.world.mu.Unlock()
	b.set(`#editor [name=goal]`, "El mío")
	eval[bool](b, hear)
	b.do(chromedp.Focus(chromedp.CSS("#editor .primary")), chromedp.KeyEvent("\r"))
	b.see("#editor .problem")
	b.keepsFocus()
}

// TestTheFocusStaysOnAFileWhileAnotherIsSent: the list of the files is drawn anew when one arrives.
func TestTheFocusStaysOnAFileWhileAnotherIsSent(t *testing.T) {
	b := open(t, 1200, 800)
	file := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(file, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eval[bool](b, hear)
	b.do(chromedp.SetUploadFiles(chromedp.CSS("#attach-input"), []string{file}))
	b.until(`document.querySelector("#attached li:not(.sending)")?.textContent.includes("a.csv")`)
	b.do(chromedp.Focus(chromedp.CSS("#attached button")))
	b.give("drop", "#thread", "c.txt")
	b.until(`document.querySelectorAll("#attached li:not(.sending)").length === 2`)
	b.keepsFocus()
	if at := eval[string](b, `document.activeElement.closest("#attached li")?.innerText || ""`); !strings.Contains(at, "a.csv") {
		t.Errorf("the focus is at %q", at)
	}
}
