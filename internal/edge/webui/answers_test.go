package webui

import (
	"strings"
	"testing"
	"time"

	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"

	"github.com/chromedp/chromedp"
)

// broke gives the account an assistant that costs credits, and no credits.
func (w *world) broke(fallback ...eligibility.Choice) {
	_ = w.change(func(p *purse) {
		p.settings.Assistants[""] = eligibility.Assistant{
			Active: true, Provider: "openai", Model: "gpt-4o-mini", MaxTokens: 4096, Scope: eligibility.ScopeAccount, Fallback: fallback,
			Automation: eligibility.Automation{Mode: eligibility.Automatic},
		}
	})
}

func (w *world) grant(amount int64) {
	_ = w.change(func(p *purse) {
		p.ledger = append([]credit.Entry{{ID: w.ids.New(w.now()), Kind: credit.KindGrant, Amount: amount, Reason: "Factura 7", Actor: "ana", At: w.now()}}, p.ledger...)
	})
}

const (
	blockedStrip = `.strip[data-kind="blocked"]`
	readyStrip   = `.strip[data-kind="ready"]`
)

// TestABlockIsShownAndRecoveredFrom: the block and its remedy are shown, and after the recovery the unanswered
// message is answered.
func TestABlockIsShownAndRecoveredFrom(t *testing.T) {
	b := open(t, 1280, 900)
	b.broke()
	b.visit("/")
	b.see(blockedStrip)
	said := eval[string](b, `document.querySelector(".strip").innerText`)
	for _, want := range []string{"OpenAI", "Saldo: 0 créditos.", "Gestionar créditos", "Reintentar validación"} {
		if !strings.Contains(said, want) {
			t.Errorf("the banner lacks %q: %s", want, said)
		}
	}
	if strings.Contains(said, "⚠") || eval[bool](b, `document.querySelector(".strip [role=alert]") === null || document.querySelector(".strip .icon-button") !== null`) {
		t.Errorf("it is no alert, or can be dismissed: %s", said)
	}
	b.picture("blocked-new")
	b.say("hola")
	b.see(".line.blocked")
	if line := eval[string](b, `document.querySelector(".line.blocked").innerText`); strings.Contains(line, "⚠") || !strings.Contains(line, "insufficient_credits") {
		t.Error(line)
	}
	b.picture("blocked")
	b.click(`.strip [data-action="recheck"]`)
	b.until(`!document.querySelector('.strip [data-action="recheck"]').disabled`)
	b.see(blockedStrip)

	b.click(`.strip a[href="/?view=credits"]`)
	b.see(`[data-submit="move-credit"]`)
	b.write(`[data-submit="move-credit"] [name=amount]`, "5")
	b.write(`[data-submit="move-credit"] [name=reason]`, "Factura 031\r")
	b.until(`document.getElementById("balance").innerText === "5"`)
	b.world.mu.Lock()
	if len(b.keys) != 1 || len(b.keys[0]) < 16 {
		t.Errorf("the grant's keys: %q", b.keys)
	}
	b.purse.ledger = nil // and the credit is removed at once
	b.world.mu.Unlock()
	b.visit("/?chat=" + b.onlyChat())
	b.see(blockedStrip)
	b.grant(5)
	b.click(`.strip [data-action="recheck"]`)
	b.see(readyStrip)
	b.until(`document.getElementById("announce").textContent.includes("ya puede responder")`)
	b.picture("recovered")
	b.click(readyStrip + " .button.primary")
	b.until(`document.querySelector(".line.assistant:not(.live) .prose strong")?.innerText === "tres"`)
	b.until(`document.getElementById("strip").hidden`)
	if n := eval[int](b, `document.querySelectorAll(".line.user").length`); n != 1 {
		t.Errorf("%d messages", n)
	}
	before := eval[string](b, `document.getElementById("thread").innerText`)
	b.do(chromedp.Reload())
	b.see(".line.assistant")
	if after := eval[string](b, `document.getElementById("thread").innerText`); after != before {
		t.Errorf("a reload shows\n%s\ninstead of\n%s", after, before)
	}
}

func TestAutomaticCannotBeChosenWhileBlocked(t *testing.T) {
	b := open(t, 1280, 900)
	option := func(value string) string { return `document.querySelector('#mode option[value="` + value + `"]')` }
	choose := func(value string) {
		b.do(chromedp.SetValue(chromedp.CSS("#mode"), value))
		eval[bool](b, `document.getElementById("mode").dispatchEvent(new Event("change", {bubbles: true}))`)
	}
	b.until(option("") + `.textContent === "Automático (asistente)"`)
	if eval[bool](b, option("automatic")+`.disabled || document.getElementById("mode-why").textContent !== ""`) {
		t.Error("automatic is barred without a block")
	}
	b.say("hola")
	b.until(`document.querySelector(".line.assistant[data-kind=text]") !== null`)
	b.broke()
	b.visit("/?chat=" + b.onlyChat())
	b.see(blockedStrip)
	b.until(option("automatic") + `.disabled`)
	if why := eval[string](b, `document.getElementById(document.getElementById("mode").getAttribute("aria-describedby")).textContent`); !strings.Contains(why, "OpenAI") {
		t.Errorf("the reason reads %q", why)
	}
	if eval[bool](b, option("manual")+`.disabled || `+option("off")+`.disabled`) {
		t.Error("the other modes are barred, too")
	}

	// Off: the page shows it, nothing is blocked, and automatic stays disabled for the remaining reason.
	choose("off")
	b.see(`.strip[data-kind="off"]`)
	b.until(option("automatic") + `.disabled`)
	b.grant(9)
	choose("manual")
	b.see(`.strip[data-kind="manual"]`)
	b.until(`!` + option("automatic") + `.disabled`)
	b.say("qué salas hay")
	b.see(`.strip[data-kind="manual"] .button`)
	b.picture("manual")
	if n := eval[int](b, `document.querySelectorAll(".line.assistant[data-kind=text]").length`); n != 1 {
		t.Errorf("%d answers without asking", n)
	}
	b.click(`.strip[data-kind="manual"] .button`)
	b.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 2`)
	b.until(`document.querySelector('.strip[data-kind="manual"] .button') === null`)
	b.do(chromedp.Reload())
	b.see(`.strip[data-kind="manual"]`)
	if mode := eval[string](b, `document.getElementById("mode").value`); mode != "manual" {
		t.Errorf("a reload finds mode %q", mode)
	}
	choose("")
	b.until(`document.getElementById("strip").hidden`)
}

func TestAReplacedProviderIsShown(t *testing.T) {
	b := open(t, 1280, 900)
	b.world.mu.Lock()
	b.purse.platform["groq"] = true
	b.world.mu.Unlock()
	b.broke(eligibility.Choice{Provider: "groq", Model: "llama-3.1-8b-instant"})
	b.visit("/")
	b.see(`.strip[data-kind="swap"]`)
	b.say("hola")
	b.see(".line.assistant .by")
	b.picture("stood-in")
	if said := eval[string](b, `document.querySelector(".by").innerText`); !strings.Contains(said, "Respondió Groq: OpenAI no tiene créditos") {
		t.Error(said)
	}
}

// TestPushedDataIsOnlyText: no provider, reason or partial answer becomes markup.
func TestPushedDataIsOnlyText(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("hola")
	b.until(`document.querySelector(".line.assistant[data-kind=text]") !== null`)
	b.until(`document.querySelector("#writing") === null`)
	chat := b.onlyChat()
	evil := `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script> [x](javascript:1) ![y](https://evil.example/y.png)`
	b.waitForSocket()
	b.hub.push("ai:text", map[string]any{"conversationId": chat, "turn": "t<b>", "offset": 0, "text": evil})
	b.until(`document.querySelector("#writing .prose")?.textContent === ` + quoted(evil))
	for _, frame := range []string{
		`{`, `null`, `[]`, `"x"`, `{"type":"ai:text"}`, `{"type":"ai:text","data":{"conversationId":"` + chat + `","turn":7,"offset":"x","text":{}}}`,
		`{"type":"__proto__","data":null}`, `{"type":"run","data":{"conversationId":"` + chat + `","run_id":"\"]<i>"}}`, `{"type":"message","seq":"9","data":[]}`,
	} {
		b.hub.raw(frame)
	}
	b.hub.push("ai:text", map[string]any{"conversationId": chat, "turn": "t<b>", "offset": len(evil), "text": " fin"})
	b.until(`document.querySelector("#writing .prose")?.textContent.endsWith(" fin")`)
	if eval[bool](b, `document.querySelector("#writing img, #writing a, #writing script, #writing b") !== null || document.title === "owned"`) {
		t.Error("it became markup")
	}
	b.visit("/?view=assistants")
	b.see("#ai-attempts")
	b.click("#ai-attempts summary")
	if text := eval[string](b, `document.querySelector("#ai-attempts tbody").textContent`); !strings.Contains(text, "<b>x</b>") || !strings.Contains(text, "<i>odd</i>") {
		t.Error(text)
	}
}

// waitForSocket waits for the page's socket.
func (b *browser) waitForSocket() {
	b.Helper()
	b.until(`document.documentElement.hasAttribute("data-live")`)
}

func TestAnAnswerGrowsAndEscapeStopsIt(t *testing.T) {
	b := open(t, 1280, 900)
	next := make(chan struct{})
	b.world.mu.Lock()
	b.tale, b.next = []string{"Había una vez ", "un niño: ", "«¿qué tal?» ", "y nada más."}, next
	b.world.mu.Unlock()
	b.waitForSocket()
	b.say("cuéntame un cuento")
	b.see("#stop")
	for i, want := range []string{"Había una vez ", "Había una vez un niño: ", "Había una vez un niño: «¿qué tal?» "} {
		next <- struct{}{}
		b.until(`document.querySelector("#writing.live .prose")?.textContent === ` + quoted(want))
		if i == 2 {
			b.picture("writing")
		}
	}
	if said := eval[string](b, `document.getElementById("announce").textContent`); strings.Contains(said, "Había") {
		t.Errorf("the live region was told %q on the way", said)
	}
	// A dialog handles Escape itself.
	b.click(`[data-action="rename-chat"]`)
	b.see("#ask-yes")
	b.do(chromedp.KeyEvent("\x1b"))
	b.until(`!document.getElementById("ask").open`)
	if eval[bool](b, `document.getElementById("stop").disabled`) {
		t.Error("closing a dialog stopped the answer")
	}
	b.do(chromedp.KeyEvent("\x1b"))
	b.see(".line.assistant .stopped")
	b.until(`document.getElementById("writing") === null && document.getElementById("stop").hidden`)
	if said := eval[string](b, `document.querySelector(".line.assistant .prose").innerText`); said != "Había una vez un niño: «¿qué tal?»" {
		t.Errorf("what stays is %q", said)
	}
	b.picture("stopped")
	b.until(`document.getElementById("announce").textContent.includes("detenida")`)
}

// TestAnAnswerWithAGapWaitsForItsEnd: a piece with a gap stops the streaming, and the message has the complete
// text.
func TestAnAnswerWithAGapWaitsForItsEnd(t *testing.T) {
	b := open(t, 1280, 900)
	b.say("hola")
	b.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 1 && document.getElementById("writing") === null`)
	b.waitForSocket()
	chat := b.onlyChat()
	text := func(kind string, offset int, text string) {
		b.hub.push(kind, map[string]any{"conversationId": chat, "turn": "t1", "offset": offset, "text": text})
	}
	shows := func(want string) {
		b.Helper()
		b.until(`document.querySelector("#writing .prose")?.textContent === ` + quoted(want))
	}
	text("ai:text", 0, "uno ñ ")
	shows("uno ñ ")
	text("ai:text", 0, "uno ñ ") // twice
	text("ai:text", 7, "dos ")   // in bytes
	shows("uno ñ dos ")
	text("ai:text", 99, "perdido")
	text("ai:text", 11, "tres")
	text("ai:text_reset", 0, "")
	b.until(`document.querySelector("#writing.thinking") !== null`)
	text("ai:text", 0, "de nuevo")
	shows("de nuevo")
	b.hub.push("ai:text", map[string]any{"conversationId": "another", "turn": "t9", "offset": 0, "text": "ajeno"})
	b.world.mu.Lock()
	b.world.say(chat, "assistant", "text", "", "**Todo**")
	b.world.mu.Unlock()
	b.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 2 && document.getElementById("writing") === null`)
	text("ai:text", 8, " tarde")
	b.do(chromedp.Sleep(200 * time.Millisecond))
	if eval[bool](b, `document.getElementById("writing") !== null`) {
		t.Error("a late piece began the answer again")
	}
}

// TestTheBannerGoesWhenItIsPaid, wherever that was done: nobody presses anything here.
func TestTheBannerGoesWhenItIsPaid(t *testing.T) {
	b := open(t, 1280, 900)
	b.stopClock()
	b.broke()
	b.visit("/")
	b.see(blockedStrip)
	if said := eval[string](b, `document.querySelector(".strip").innerText`); !strings.Contains(said, "Añade al menos 1 crédito y") {
		t.Errorf("it does not say how many are missing: %s", said)
	}
	b.grant(5)
	b.pass(20)
	b.until(`document.getElementById("strip").hidden`)
}

// TestARejectedKeyLeadsToItsField: while the provider rejects the key nothing says that an answer can be had.
func TestARejectedKeyLeadsToItsField(t *testing.T) {
	b := open(t, 1280, 900)
	b.broke()
	b.grant(5)
	ctx := t.Context()
	if _, err := b.ai.SetKey(ctx, b.account, "openai", "sk-wrong"); err != nil {
		t.Fatal(err)
	}
	if err := b.ai.Store.PutHealth(ctx, b.account, eligibility.Health{Provider: "openai", At: b.now().Add(time.Second), Outcome: string(eligibility.NoAPIKey)}); err != nil {
		t.Fatal(err)
	}
	b.visit("/")
	b.see(blockedStrip)
	said := eval[string](b, `document.querySelector(".strip").innerText`)
	if !strings.Contains(said, "OpenAI rechaza la API key configurada") || !strings.Contains(said, "Cambiar la clave") || strings.Contains(said, "ya puede") {
		t.Errorf("the banner says %s", said)
	}
	b.picture("rejected-key")
	b.click(`.strip a.button`)
	b.until(`document.activeElement.id === "key-openai" && document.activeElement.checkVisibility()`)
	b.picture("rejected-key-field")
	b.write("#key-openai", "sk-right\r")
	b.until(`document.querySelector("#key-openai").value === ""`)
	b.visit("/")
	b.until(`document.getElementById("strip").hidden`)
	// Another key that nobody tried is no answer yet.
	if err := b.ai.Store.PutHealth(ctx, b.account, eligibility.Health{Provider: "openai", At: b.now().Add(time.Second), Outcome: string(eligibility.NoAPIKey)}); err != nil {
		t.Fatal(err)
	}
	b.visit("/")
	b.see(blockedStrip)
	if _, err := b.ai.SetKey(ctx, b.account, "openai", "sk-other"); err != nil {
		t.Fatal(err)
	}
	eval[bool](b, `import("/source/eligible.js").then(e => e.recheck()).then(() => true)`)
	b.until(`document.getElementById("strip").hidden`)
	b.until(`document.getElementById("announce").innerText.includes("Puedes intentarlo otra vez")`)
}
