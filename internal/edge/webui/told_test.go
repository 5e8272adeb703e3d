package webui

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// hear logs what the live region says, and what had the focus before each frame in which it is nowhere.
const hear = `(window.told = [], window.lost = [], window.last = null,
	new MutationObserver(records => records.forEach(r => r.addedNodes.forEach(n => told.push(n.textContent)))).observe(document.getElementById("announce"), {childList: true}),
	(function look() { if (document.activeElement !== document.body) last = document.activeElement; else lost.push((last?.isConnected ? "there: " : "gone: ") + last?.outerHTML.slice(0, 200)); requestAnimationFrame(look); })(), true)`

// TestARunIsToldOnceAndKeepsTheFocus: a person who uses the keyboard and does not see the page proposes, confirms,
// approves and reads to the end.
func TestARunIsToldOnceAndKeepsTheFocus(t *testing.T) {
	b := open(t, 1280, 1200)
	b.waitForSocket()
	b.do(chromedp.Focus(chromedp.CSS("#message")))
	eval[bool](b, hear)
	b.say("borra")
	b.until(`document.querySelector('` + confirmButton + `')?.disabled === false && document.getElementById("writing") === null`)
	b.world.hold(true)
	b.do(chromedp.Focus(chromedp.CSS(confirmButton)), chromedp.KeyEvent("\r"))
	b.until(`document.querySelector(".card[data-live]") !== null`)
	b.until(`document.activeElement.matches(".card .status")`) // the state of the card
	b.world.hold(false)
	b.until(`document.querySelector(".card[data-status=waiting] [data-action=approve-step]") !== null`)
	if !eval[bool](b, `document.activeElement.matches(".card .status")`) {
		t.Errorf("the focus is at %s", eval[string](b, `document.activeElement.outerHTML`))
	}
	b.do(chromedp.Focus(chromedp.CSS(`[data-action=approve-step]`)), chromedp.KeyEvent("\r"))
	b.until(`document.querySelector(".card[data-status=done]") !== null && document.querySelector(".line.outcome") !== null`)
	goal := "Borrar la reserva vieja"
	want := []string{
		"Plan propuesto, pendiente de confirmar: " + goal, "Confirmado: " + goal,
		"Paso 1: Buscar salas libres: hecho", "Plan «" + goal + "»: En espera", "Aprobado: el plan sigue.", "Paso 2: Borrar la vieja: hecho", "Plan «" + goal + "»: Hecho",
	}
	told := eval[[]string](b, `told`)
	if !slices.EqualFunc(told, want, strings.HasPrefix) {
		t.Errorf("it told\n%s\nand not\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	b.keepsFocus()
}

// TestTheFocusStaysWhereThingsGo: what had the focus is gone, hidden or switched off.
func TestTheFocusStaysWhereThingsGo(t *testing.T) {
	b := open(t, 1280, 900)
	chat := startChat(b)
	eval[bool](b, hear)
	b.write("#message", "hola")
	b.until(`!document.getElementById("send").disabled`)
	b.do(chromedp.Focus(chromedp.CSS("#send")), chromedp.KeyEvent("\r")) // it is switched off
	b.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 2 && document.getElementById("writing") === null`)
	b.say("un 503")
	b.see(".line.failed .problem")
	b.do(chromedp.Focus(chromedp.CSS(".line.failed .problem .icon-button")), chromedp.KeyEvent("\r")) // it goes
	b.until(`document.querySelector(".line.failed .problem") === null`)
	b.do(chromedp.Focus(chromedp.CSS(`.new-chat`)))
	b.world.mu.Lock()
	c := b.chats[chat]
	c.Title = "Otro título"
	b.chats[chat] = c
	b.world.mu.Unlock()
	eval[bool](b, `document.dispatchEvent(new Event("visibilitychange"))`) // the list is replaced
	b.until(`document.getElementById("chats").innerText.includes("Otro título")`)
	b.until(`document.activeElement.matches(".new-chat")`)
	b.keepsFocus()
}
