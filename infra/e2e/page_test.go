package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPersonConfirmsPlanInBrowser: in a browser, on the real process, without any configuration.
func TestPersonConfirmsPlanInBrowser(t *testing.T) {
	t.Parallel()
	d, c := startDemonstration(t)
	b := openBrowser(t, d)
	b.visit("/")
	b.see(`input[name="token"]`)
	b.pictures("signin")
	b.signIn()
	b.reads(".model.demo", `(?i)demostración`) // the page names the model that answers
	b.pictures("welcome")

	// The local guard: the page alone answers a yes without a plan.
	b.say("confirmo")
	b.reads("#thread", `No hay ningún plan pendiente`)
	if n := c.must(t, 200, "GET", "/api/chats", "").text("chats.count"); n != "0" {
		t.Errorf("the page sent it: there are %s chats", n)
	}

	// A question is answered with rows, and with what they were read from; there is nothing to confirm.
	b.say("¿Qué salas libres hay mañana para 6?")
	b.reads("#thread", `Sala Norte[\s\S]*Sala Sur[\s\S]*Consultado: Reservas, 1 lectura`)
	b.pictures("looked")
	b.say("Reserva la más barata")
	b.see(".card[data-draft]")
	b.unfold()
	b.reads(".card", `POST[\s\S]*"room_id": "sur"[\s\S]*sur[\s\S]*leído en Reservas`)

	// After ten minutes the card offers to look again: here the button is pressed before.
	b.until(`(document.querySelector(".card [data-from]").hidden = false, document.querySelector('[data-action="look-again"]').click(), true)`)
	b.until(`document.getElementById("announce").textContent.includes("los valores siguen ahí")`)
	b.see(".card[data-draft]")
	looked, _ := value[string](b, `document.querySelector(".card[data-draft]").dataset.run`)
	if event := c.must(t, 200, "GET", "/api/runs/"+looked+"/events", "").text("events.1.type"); event != "run.looked" {
		t.Errorf("the button made the event %q", event)
	}
	b.click(`.card[data-draft] [data-action="reject-run"]`)
	b.click("#ask-yes")
	b.see(`.card[data-status="cancelled"]`)

	// Where nothing may be read, the plan has every step.
	askToRead(t, c)
	b.click(".new-chat")
	b.see(`#view[data-name="new"]`)
	b.say("Reserva una sala para 4 mañana a las 10 y enséñame la reserva")
	b.see(".card[data-draft]")
	chat := c.must(t, 200, "GET", "/api/chats", "").text("chats.0.chat_id")
	run := c.must(t, 200, "GET", "/api/runs/"+c.must(t, 200, "GET", "/api/chats/"+chat, "").text("pending_run_id"), "")
	if digest, _ := value[string](b, `document.querySelector(".card").dataset.digest`); digest != run.text("digest") {
		t.Errorf("the card's digest is %s, the plan's %s", digest, run.text("digest"))
	}
	b.unfold()
	// Every step completely: method, host, path and arguments.
	host := "http://" + d.addr
	for step, want := range map[string][]string{
		"1": {"GET", host, "/demo/rooms/rooms", `"capacity": 4`, `"start": "10:00"`},
		"2": {"POST", host, "/demo/rooms/reservations", `"room_id": "${s1.body.items[0].id}"`, `"people": 4`},
		"3": {"GET", host, "/demo/rooms/reservations/${s2.body.id}"},
	} {
		text := b.text(".card .step:nth-child(" + step + ")")
		flat := strings.Join(strings.Fields(text), " ")
		for _, w := range want {
			if !strings.Contains(flat, w) {
				t.Errorf("step %s does not show %s: %s", step, w, text)
			}
		}
	}
	b.reads(".card .card-facts", `Caduca en`)
	b.pictures("draft")
	if n := c.must(t, 200, "GET", "/demo/rooms/ledger", "").text("count"); n != "2" { // the looks above
		t.Errorf("%s requests were sent before the confirm", n)
	}

	b.until(`(document.querySelector(".card-unseen:not([hidden]) [data-action=seen]")?.click(), document.querySelector(".card-unseen").hidden)`) // it is longer than the screen
	b.click(`.card [data-action="confirm-run"]`)
	b.see(`.card[data-status="done"]`)
	b.reads(".line.outcome", `Hecho: 3 de 3 pasos[\s\S]*Sala Este`)
	if n := c.must(t, 200, "GET", "/demo/rooms/ledger", "").text("count"); n != "5" {
		t.Errorf("two looks and three steps are %s requests", n)
	}
	b.pictures("done")

	b.visit("/?chat=" + chat) // as after a reload
	b.see(`.card[data-status="done"]`)
	b.reads(".line.outcome", `3 de 3`)
	b.until(`document.querySelectorAll('[data-action="confirm-run"]').length === 0`)

	b.say("Reserva una sala para 6 pasado mañana a las 9")
	b.see(".card[data-draft]")
	b.click(`.card[data-draft] [data-action="reject-run"]`)
	b.click("#ask-yes")
	b.see(`.card[data-status="cancelled"]`)
	if n := c.must(t, 200, "GET", "/demo/rooms/ledger", "").text("count"); n != "5" {
		t.Errorf("after a cancel there are %s requests", n)
	}

	// The other language, and back.
	b.visit("/?view=settings")
	b.click(`.choices button[lang="en"]`)
	b.until(`document.documentElement.lang === "en"`)
	b.visit("/?chat=" + chat)
	b.reads(".card .card-kind", `(?i)plan · 3 steps`)
	b.reads("#composer", `(?i)nothing`)
	b.visit("/?view=settings")
	b.click(`.choices button[lang="es"]`)
	b.until(`document.documentElement.lang === "es"`)
}

// TestPersonWatchesRun: the timeline updates by itself, and a run is stopped between two steps.
func TestPersonWatchesRun(t *testing.T) {
	t.Parallel()
	d, c, model := startScripted(t)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	b := openBrowser(t, d)
	b.signIn()
	plan := func() {
		t.Helper()
		model.will(reply{calls: []call{{"propose_plan", object("goal", "Pedir, cobrar y mirar", "steps", []any{
			map[string]any{"id": "s1", "title": "Pedir", "mcp_id": server, "method": "POST", "path": "/orders", "body": map[string]any{"item": "tinta", "quantity": 1}},
			map[string]any{"id": "s2", "title": "Cobrar", "mcp_id": server, "method": "POST", "path": "/orders/${s1.body.id}/pay"},
			map[string]any{"id": "s3", "title": "Mirar", "mcp_id": server, "method": "GET", "path": "/orders/${s1.body.id}"},
		})}}})
		b.say("Pide una de tinta, cóbrala y enséñamela")
		b.see(".card[data-draft]")
	}
	plan()
	upstream.behave("POST /orders/o-1/pay", behaviour{kind: behaveHold})
	b.click(`.card[data-draft] [data-action="confirm-run"]`)
	b.see(`.step:nth-child(1)[data-state="done"]`)
	b.see(`.step:nth-child(2)[data-state="running"]`)
	b.see(`.step:nth-child(3)[data-state="pending"]`)
	b.pictures("running")
	upstream.release()
	b.see(`.card[data-status="done"]`)

	// Stopped during the first step: it ends, and the next does not begin.
	upstream.behave("POST /orders", behaviour{kind: behaveHold})
	plan()
	b.click(`.card[data-draft] [data-action="confirm-run"]`)
	b.see(`.card[data-live] .step:nth-child(1)[data-state="running"]`)
	b.click(`.card[data-live] [data-action="cancel-run"]`)
	b.reads(".card[data-live]", `(?i)parando`)
	upstream.release()
	b.see(`.card[data-status="cancelled"]`)

	// The page reports a lost answer.
	upstream.behave("POST /orders", behaviour{kind: behaveDrop})
	plan()
	b.click(`.card[data-draft] [data-action="confirm-run"]`)
	b.see(`.card[data-status="in_doubt"]`)
	b.reads(".line.outcome:last-of-type", `En duda`)
	b.pictures("doubt")

	// The provider fails: the page reports the failure and the next action.
	for range mostAsked {
		model.will(reply{status: 429, body: `{"error":{"message":"slow down"}}`})
	}
	b.say("¿Y ahora?")
	b.reads(".line.blocked", `pide esperar.*Reinténtalo`)

	// The process is gone: the message is not lost. It is sent, once, when the process is back.
	d.kill()
	b.say("¿Hay alguien?")
	b.see(".line.sending > .fine")
	model.will(reply{text: "Aquí estoy."})
	d.mustStart(t)
	b.reads("#thread", `Aquí estoy\.`)
	b.until(`[...document.querySelectorAll(".line.user")].filter((line) => line.innerText.includes("¿Hay alguien?")).length === 1`)
}

func TestPersonManagesRegistry(t *testing.T) {
	t.Parallel()
	d, c := startDemonstration(t)
	upstream := startOrders(t)
	b := openBrowser(t, d)
	b.signIn()
	b.visit("/?view=servers")
	b.reads("#view", `Reservas`)
	b.do(fill(`form[data-submit="add-server"] input[name="url"]`, upstream.url()))
	b.click(`form[data-submit="add-server"] button.primary`)
	b.reads("#view", `Pedidos.*6 operaciones`)
	b.pictures("servers")
	id := ""
	servers := c.must(t, 200, "GET", "/api/mcps", "")
	for _, i := range []string{"0", "1", "2"} {
		if servers.text("mcps."+i+".name") == "Pedidos" {
			id = servers.text("mcps." + i + ".mcp_id")
		}
	}
	if id == "" {
		t.Fatalf("it was not registered: %s", servers)
	}

	b.visit("/?view=servers&id=" + id)
	b.do(chromedp.ScrollIntoView("#operations")) // what is not in sight is not rendered
	b.reads("#operations", `POST\s*/orders`)
	b.pictures("server")
	upstream.describe(strings.ReplaceAll(upstream.document, "createOrder", "makeOrder"))
	b.click(`[data-action="refresh-server"]`)
	b.reads("#changes", `\S`)
	b.click(`label.switch`)
	b.until(`!document.querySelector('[role="switch"]').checked`)
	if err := eventually(patience, func() error {
		return matches("false", c.must(t, 200, "GET", "/api/mcps/"+id, "").text("active"))
	}); err != nil {
		t.Error(err)
	}
	b.click(`[data-action="remove-server"]`)
	b.click("#ask-yes")
	b.until(`!document.querySelector("#view").innerText.includes("Pedidos")`)

	// A refused registration is reported at the form.
	b.see(`form[data-submit="add-server"]`)
	b.do(fill(`form[data-submit="add-server"] input[name="url"]`, "http://10.0.0.1"))
	b.click(`form[data-submit="add-server"] button.primary`)
	b.reads(`form[data-submit="add-server"]`, `privada`)

	// On a small screen the list of chats is behind a button.
	b.screen(narrow, longer, false)
	b.visit("/")
	b.click(".icon-button.menu")
	b.until(`document.body.classList.contains("drawer")`)
	b.see(".new-chat")
	b.click(".drawer-close")
	b.until(`!document.body.classList.contains("drawer")`)
}
