package webui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piloto/internal/conversation"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"piloto/internal/tools/tool"
)

const confirmButton = `.card[data-draft] [data-action="confirm-run"]`

func TestAPlanIsProposedConfirmedAndFollowedToItsEnd(t *testing.T) {
	b := open(t, 1280, 900)
	b.picture("empty")
	b.say("Reserva una sala para 6 mañana a las 10")
	b.see(confirmButton)
	b.until(`document.querySelectorAll(".line[data-local], .thinking").length === 0`)
	short := eval[string](b, `document.querySelector(".card").innerText`)
	for _, want := range []string{"people 6", "date viernes 6 de marzo", "room id id del primero de items, en el paso 1", "http://127.0.0.1:9100", "3 pasos", "1 escribe"} {
		if !strings.Contains(short, want) || strings.Contains(short, "${s1") {
			t.Errorf("the folded card lacks %q:\n%s", want, short)
		}
	}
	if at := eval[string](b, `document.activeElement.id`); at != "message" {
		t.Errorf("the focus went to %q", at)
	}
	b.click(`[data-action="unfold"]`)
	card := eval[string](b, `document.querySelector(".card").innerText`)
	b.click(`[data-action="unfold"]`)
	for _, want := range []string{
		"Reservar una sala para 6 mañana a las 10", "Pendiente de confirmar", "http://127.0.0.1:9100/rooms", "9007199254740993",
		"${s1.body.items[0].id}", "escribe", "Caduca en", "Salas de demostración",
	} {
		if !strings.Contains(card, want) {
			t.Errorf("the card lacks %q:\n%s", want, card)
		}
	}
	if again := eval[int](b, `[...document.querySelectorAll(".again, .edit-last")].filter(button => button.checkVisibility()).length`); again != 2 {
		t.Errorf("a draft has %d buttons to have it again, or to edit its message", again)
	}
	b.do(chromedp.Focus(chromedp.CSS("#message")))
	b.enter()
	b.write("#message", "  ")
	b.enter()
	eval[bool](b, `(document.getElementById("message").value = "", true)`)
	b.until(`!document.querySelector('` + confirmButton + `').disabled`)
	b.picture("draft")
	b.do(chromedp.DoubleClick(chromedp.CSS(confirmButton)))
	b.until(`document.querySelector(".step[data-state=running]") !== null`)
	b.picture("running")
	b.until(`document.querySelector(".card[data-status=done]") !== null && document.querySelector(".line.outcome") !== null`)
	b.picture("done")
	b.world.mu.Lock()
	sends, keys := len(b.sends), len(b.keys)
	key := append(b.keys, "")[0]
	b.world.mu.Unlock()
	if sends != 1 || keys != 1 || len(key) != 32 {
		t.Errorf("%d messages, %d confirmations, key %q", sends, keys, key)
	}
	if n := eval[int](b, `document.querySelectorAll(".step[data-state=done]").length`); n != 3 {
		t.Errorf("%d steps are done", n)
	}
	if again := eval[int](b, `[...document.querySelectorAll(".again, .edit-last")].filter(button => button.checkVisibility()).length`); again != 0 {
		t.Errorf("%d buttons would do again what was done", again)
	}
	if lines := eval[int](b, `document.querySelectorAll(".line.outcome").length`); lines != 1 {
		t.Errorf("the end is said %d times", lines)
	}
	before := eval[string](b, `document.getElementById("thread").innerText`)
	b.do(chromedp.Reload())
	b.see(".line.outcome")
	if after := eval[string](b, `document.getElementById("thread").innerText`); after != before {
		t.Errorf("a reload shows\n%s\ninstead of\n%s", after, before)
	}
	b.picture("reloaded")
}

func TestATypedConfirmationNamesThePlanOnTheScreen(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.see(confirmButton)
	digest := eval[string](b, `document.querySelector(".card").dataset.digest`)
	b.say("¡Sí, adelante!")
	b.until(`document.querySelector(".card[data-live], .card[data-status=done]") !== null`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.sends) != 2 || !strings.Contains(b.sends[1], digest) || strings.Contains(b.sends[0], "digest") {
		t.Errorf("sent %q, of plan %s", b.sends, digest)
	}
}

// TestAYesConfirmsThePlanShownWhenItWasBegun: the card changes while a person types a yes.
func TestAYesConfirmsThePlanShownWhenItWasBegun(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.see(confirmButton)
	read := eval[string](b, `document.querySelector(".card").dataset.digest`)
	b.write("#message", "confirmo")
	b.revisedElsewhere()
	eval[bool](b, `import("/source/run.js").then(r => r.refreshCard(document.querySelector(".card").dataset.run)).then(() => true)`)
	b.until(`document.querySelector(".card").dataset.digest !== ` + quoted(read))
	b.enter()
	b.until(`document.getElementById("message").value === ""`)
	b.until(`document.querySelector(".line.user.sending") === null`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.sends) != 2 || !strings.Contains(b.sends[1], read) {
		t.Errorf("sent %q; the plan that was read is %s", b.sends, read)
	}
}

func TestConfirmingNothingIsAnsweredWithoutTheServer(t *testing.T) {
	b := open(t, 1280, 900)
	for i, text := range []string{"confirmo", "Sí, confirmo!", "CANCELA"} {
		b.say(text)
		b.until(fmt.Sprintf(`document.querySelectorAll(".line.assistant[data-local]").length === %d`, i+1))
	}
	if said := eval[string](b, `document.querySelector(".line.assistant").innerText`); !strings.Contains(said, "No hay ningún plan pendiente") {
		t.Error(said)
	}
	b.say("confirmo que quiero una reserva")
	b.see(confirmButton)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.sends) != 1 || len(b.chats) != 1 {
		t.Errorf("%d messages reached the server, %d chats", len(b.sends), len(b.chats))
	}
}

// TestAConfirmationAfterATextGoesToTheServer: only the server knows what it answers.
func TestAConfirmationAfterATextGoesToTheServer(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("hola")
	b.see(`.line.assistant[data-kind="text"]`)
	b.say("confirmo")
	b.until(`document.querySelectorAll(".line.user[id]").length === 2`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.sends) != 2 || !strings.Contains(b.sends[1], "confirmo") {
		t.Errorf("sent %q", b.sends)
	}
}

func TestAnUnsentMessageStaysAboveNewerOnes(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.see(confirmButton)
	for range 2 {
		b.say("un 503 por favor")
	}
	b.until(`document.querySelectorAll(".line.user.failed .problem").length === 2`)
	b.say("bloquea")
	b.see(".line.blocked .blocked-do")
	b.until(`document.querySelectorAll(".line.sending").length === 0`)
	order := eval[string](b, `[...document.querySelectorAll("#thread > .line")].map(l => l.matches(".failed") ? "failed" : l.matches(".blocked") ? "blocked" : l.matches(".user") ? "said" : "told").join()`)
	if !strings.HasSuffix(order, "told,failed,failed,said,blocked") {
		t.Error(order)
	}
}

func TestRefusalsAreShownAtTheirPlace(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("un 503 por favor")
	b.see(".line.user.failed .problem")
	if said := eval[string](b, `document.querySelector(".problem").innerText`); !strings.Contains(said, "No responde.") || !strings.Contains(said, "Haz otra cosa.") || !strings.Contains(said, "0af7651916cd43dd") {
		t.Error(said)
	}
	b.picture("refused")
	eval[bool](b, `import("/source/view.js").then(v => v.refreshChat()).then(() => true)`)
	b.click(".line.user.failed .button") // it is still there
	if text := eval[string](b, `document.getElementById("message").value`); text != "un 503 por favor" {
		t.Errorf("the message came back as %q", text)
	}
	eval[bool](b, `(document.getElementById("message").value = "", true)`)
	b.say("un 429 por favor")
	b.see(".line.user.failed .problem")
	if said := eval[string](b, `document.querySelector(".problem").innerText`); !strings.Contains(said, "Llegan demasiadas peticiones seguidas.") {
		t.Error(said)
	}
	b.click(".line.user.failed .button")
	if text := eval[string](b, `document.getElementById("message").value`); text != "un 429 por favor" {
		t.Errorf("the message came back as %q", text)
	}
	eval[bool](b, `(document.getElementById("message").value = "", true)`)
	b.say("bloquea")
	b.see(".line.blocked .blocked-do")
	b.say("reserva")
	b.see(confirmButton)
	b.until(`!document.querySelector('` + confirmButton + `').disabled`)
	b.world.mu.Lock()
	for id, r := range b.runs {
		r.Digest = "moved"
		b.runs[id] = r
	}
	b.world.mu.Unlock()
	b.click(confirmButton)
	b.see(".card .problem")
	if said := eval[string](b, `document.querySelector(".card .problem").innerText`); !strings.Contains(said, "El plan ha cambiado.") {
		t.Error(said)
	}
	b.picture("stale")
}

func TestFollowingSurvivesALostServer(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.until(`document.querySelector('` + confirmButton + `')?.disabled === false`)
	b.click(confirmButton)
	b.until(`document.querySelector(".step[data-state=running]") !== null`)
	b.setDown(true)
	b.see("#connection")
	b.setDown(false)
	b.until(`document.querySelector(".card[data-status=done]") !== null && document.getElementById("connection").hidden`)
}

// TestACardStaysUnderAPressedPointer: a click is a press and a release on one element, and a run moves on in between.
func TestACardStaysUnderAPressedPointer(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.until(`document.querySelector('` + confirmButton + `')?.disabled === false`)
	b.hold(true) // what is asked for before the press is in place by then
	b.click(confirmButton)
	b.until(`document.querySelector('.card[data-live] [data-action="cancel-run"]:not(:disabled)') !== null`)
	const fetched = `performance.getEntriesByType("resource").filter((e) => /\/ui\/(runs|chats)\/[^/]+$/.test(e.name)).length`
	at := eval[[]float64](b, `(() => {
		addEventListener("pointerdown", ({ target }) => {
			window.stop = target;
			window.fetched = `+fetched+`;
			addEventListener("click", (e) => (window.clicked = e.target === target), { capture: true, once: true });
		}, { capture: true, once: true });
		const button = document.querySelector('.card[data-live] [data-action="cancel-run"]');
		button.scrollIntoView({ behavior: "instant", block: "center" });
		const { x, y, width, height } = button.getBoundingClientRect();
		return [x + width / 2, y + height / 2];
	})()`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.hold(false)
	b.until(fetched + ` > window.fetched`)
	b.until(`new Promise((done) => setTimeout(done, 50, true))`) // what was fetched could be shown by now
	if !eval[bool](b, `stop.isConnected && stop.dataset.action === "cancel-run"`) {
		t.Error("the card was replaced under the pointer")
	}
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.until(`window.clicked === true`)
	b.until(`!stop.isConnected && document.querySelector(".card[data-status=cancelled]") !== null`)
}

func TestEarlierMessagesComeAboveWithoutMovingTheReader(t *testing.T) {
	b := open(t, 1280, 900)
	b.world.mu.Lock()
	b.chats["long"] = conversation.Chat{ID: "long", Title: "Larga"}
	for i := range 2*messagesPage + 5 {
		b.world.say("long", conversation.RoleUser, conversation.KindText, "", fmt.Sprintf("mensaje %d", i))
	}
	b.world.mu.Unlock()
	b.visit("/?chat=long")
	for range 2 {
		first := eval[string](b, `document.querySelector(".line.user").innerText`)
		eval[bool](b, `(document.getElementById("scroller").scrollTop = 0, true)`)
		b.click("#older button")
		b.until(`document.querySelector(".line.user").innerText !== ` + "`" + first + "`")
	}
	b.until(`document.getElementById("older") === null`)
	said := eval[[]string](b, `[...document.querySelectorAll(".line.user .bubble")].map(e => e.innerText)`)
	for i, text := range said {
		if text != fmt.Sprintf("mensaje %d", i) {
			t.Fatalf("line %d is %q", i, text)
		}
	}
	if len(said) != 2*messagesPage+5 || eval[int](b, `document.getElementById("scroller").scrollTop`) == 0 {
		t.Errorf("%d lines, or the reader was moved", len(said))
	}
	b.say("hola")
	b.until(`document.querySelectorAll(".line:not([data-local])").length === ` + fmt.Sprint(2*messagesPage+7))
}

func TestCancellingADraftLeavesItVisiblyDead(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("reserva")
	b.see(confirmButton)
	b.click(`.card [data-action="reject-run"]`)
	b.click("#ask-yes")
	b.until(`document.querySelector(".card[data-dead][data-status=cancelled]") !== null`)
	if n := eval[int](b, `document.querySelectorAll(".card button:not([data-action=repeat-run])").length`); n != 0 {
		t.Errorf("%d buttons are left", n)
	}
}

func TestTheRegistryIsManagedFromThePage(t *testing.T) {
	b := open(t, 1280, 900)
	b.click(`a[href="/?view=servers"]`)
	b.see(`#view[data-name=servers] input[name=url]`)
	b.picture("services")
	b.write("input[name=url]", "http://169.254.169.254\r")
	b.see(".form-problem .problem")
	b.do(chromedp.SetValue(chromedp.CSS("input[name=url]"), "https://pets.example"))
	b.do(chromedp.SetValue(chromedp.CSS("[data-submit=add-server] select[name=reads]"), "preview"))
	b.write("input[name=name]", "Mascotas\r")
	b.see("#operations")
	b.until(`document.querySelector("[data-submit=set-reads] option[value=preview][selected]") !== null`)
	b.write("[data-input=search]", "nada")
	b.see("#operations-none")
	b.do(chromedp.SetValue(chromedp.CSS("[data-submit=set-key] select"), "header"))
	eval[bool](b, `document.querySelector("[data-submit=set-key] select").dispatchEvent(new Event("change",{bubbles:true}))`)
	b.write("[data-submit=set-key] input[name=name]", "X-Key")
	b.write("[data-submit=set-key] input[name=value]", "s3cret-canary\r")
	b.see(`[data-action="remove-key"]`)
	if page := eval[string](b, `document.documentElement.outerHTML`); strings.Contains(page, "s3cret-canary") || !strings.Contains(page, "X-Key") {
		t.Error("the key is on the page, or its place is not")
	}
	b.click(`[data-action="refresh-server"]`)
	b.see("#changes li")
	b.click(".server-head .switch input")
	b.until(`document.querySelector(".toast")?.innerText.includes("desactivado") || [...document.querySelectorAll(".toast")].some(t => t.innerText.includes("desactivado"))`)
	eval[bool](b, `(document.querySelector("[data-submit=set-reads] select").value = "on") === "on"`)
	b.write("[data-submit=set-reads] input[name=circle]", "ventas\r")
	b.until(`document.querySelector("[data-submit=set-reads] option[value=on][selected]") !== null`) // the page as the server has it now
	b.world.mu.Lock()
	if reads := b.servers[eval[string](b, `document.getElementById("view").dataset.server`)].Reads; reads.Mode != tool.ReadsOn || reads.Zone != "ventas" {
		t.Errorf("what may be read was not kept: %+v", reads)
	}
	b.world.mu.Unlock()
	b.click(`[data-action="remove-server"]`)
	b.see("#ask-yes")
	b.picture("remove")
	b.do(chromedp.KeyEvent("\x1b"))
	b.until(`!document.getElementById("ask").open`)
	b.click(`[data-action="remove-server"]`)
	b.see("#ask-yes")
	b.click("#ask-yes")
	b.see(`#view[data-name=servers] input[name=url]`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.servers) != 2 {
		t.Errorf("%d servers are left", len(b.servers))
	}
}

func TestAPhoneHasADrawerAndNoSidewaysScroll(t *testing.T) {
	b := open(t, 390, 800)
	hidden := `getComputedStyle(document.getElementById("sidebar")).visibility === "hidden"`
	b.until(hidden)
	b.picture("phone-empty")
	b.click(".menu")
	b.until(`!(` + hidden + `) && document.getElementById("sidebar").contains(document.activeElement)`)
	b.until(`document.getElementById("sidebar").getBoundingClientRect().left === 0`)
	b.picture("phone-drawer")
	b.do(chromedp.KeyEvent("\x1b"))
	b.until(hidden)
	b.say("reserva")
	b.see(confirmButton)
	b.picture("phone-draft")
	b.visit("/?view=servers&id=rooms")
	b.see("#operations")
	b.picture("phone-service")
	for _, address := range []string{"/?view=servers&id=rooms", "/?view=servers", "/?view=projects", "/", "/?chat=" + b.onlyChat()} {
		b.visit(address)
		b.see("#view")
		if over := eval[int](b, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
			t.Errorf("the page goes on for %d px below its own end", over)
		}
		if wide := eval[int](b, `Math.max(document.documentElement.scrollWidth, document.getElementById("scroller").scrollWidth)`); wide > 390 {
			t.Errorf("%s is %d px wide", address, wide)
		}
	}
}

func (b *browser) onlyChat() string {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	for id := range b.chats {
		return id
	}
	return ""
}

// TestThePageReadsConfirmationsAsTheServerDoes on the server's corpus.
func TestThePageReadsConfirmationsAsTheServerDoes(t *testing.T) {
	b := open(t, 1280, 900)
	texts, decides, agrees := utterances(t)
	raw, _ := json.Marshal(texts)
	if !eval[bool](b, `import("/source/guard.js?without").then((guard) => guard.agrees("hola"))`) {
		t.Error("without the lists a message is taken for no yes")
	}
	for name, want := range map[string][]bool{"decides": decides, "agrees": agrees} {
		got := eval[[]bool](b, `(async () => {
			const guard = await import("/source/guard.js");
			await guard.loadWords();
			return `+string(raw)+`.map(guard.`+name+`);
		})()`)
		for i, text := range texts {
			if got[i] != want[i] {
				t.Errorf("%s %q: the page says %v, the server %v", name, text, got[i], want[i])
			}
		}
	}
}

// TestTheFirstScreenLeadsOn: an example sends itself, and a service is registered by its address.
func TestTheFirstScreenLeadsOn(t *testing.T) {
	b := open(t, 1280, 900)
	b.see(".begin-service input")
	b.picture("first")
	b.write(".begin-service input", "http://169.254.169.254\r")
	b.see(".begin-service .problem")
	eval[bool](b, `(document.querySelector(".begin-service input").value = "https://pets.example", true)`)
	b.click(".begin-service .button")
	b.see("#operations")
	b.click(".new-chat")
	b.see(".example")
	said := eval[string](b, `document.querySelector(".example").textContent`)
	b.click(".example")
	b.until(`document.querySelectorAll(".line.user .bubble").length === 1 && document.querySelectorAll(".line.assistant, .line.plan").length === 1`)
	if got := eval[string](b, `document.querySelector(".line.user .bubble").innerText`); got != said {
		t.Errorf("%q was sent for %q", got, said)
	}
}

// TestWhatIsWrittenAheadIsForTheNextView: who opens a new chat and writes at once loses nothing, and leaves nothing behind.
func TestWhatIsWrittenAheadIsForTheNextView(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("hola")
	b.until(`document.querySelectorAll(".line.assistant:not([data-local])").length === 1`)
	chat := eval[string](b, `document.getElementById("view").dataset.chat`)
	eval[bool](b, `((m) => { document.querySelector(".new-chat").click(); m.focus(); m.value = "Reserva"; m.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.getElementById("message"))`)
	b.see(`#view[data-name="new"]`)
	if text := eval[string](b, `document.getElementById("message").value`); text != "Reserva" {
		t.Errorf("what was written became %q", text)
	}
	b.click(`.chat-link[data-chat="` + chat + `"]`)
	b.see(`#view[data-chat="` + chat + `"]`)
	if text := eval[string](b, `document.getElementById("message").value`); text != "" {
		t.Errorf("the chat that was left has %q", text)
	}
}
