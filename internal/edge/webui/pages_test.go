package webui

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"

	"github.com/chromedp/chromedp"
)

// spend gives the account a month of usage, a ledger, sessions and settings.
func (w *world) spend() {
	w.broke(eligibility.Choice{Provider: "groq", Model: "llama-3.1-8b-instant", On: []eligibility.Reason{eligibility.InsufficientCredits}},
		eligibility.Choice{Provider: "ollama", Model: "qwen3:8b"})
	w.mu.Lock()
	defer w.mu.Unlock()
	p, now := w.purse, w.now()
	w.projects["p1"] = conversation.Project{ID: "p1", Name: "Lima <b>"}
	w.chats["c1"] = conversation.Chat{ID: "c1", Title: "Salas <mañana>", ProjectID: "p1", UpdatedAt: now}
	waits := false
	p.settings.Providers = []eligibility.Config{
		{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Keyless: true},
		{Name: "router", BaseURL: "https://openrouter.ai/api/v1", CostsCredits: &waits, Prices: map[string]credit.Price{"x/y-z": {Input: 100_000, Cached: 20_000, Output: 2_500_000}}},
	}
	p.settings.Terms = &eligibility.Terms{Policy: credit.DefaultPolicy(), Limits: credit.Limits{Day: 2_000_000, Month: 20_000_000}}
	p.settings.Checks = map[string]eligibility.Check{
		"openai": {
			Provider: "openai", BaseURL: "https://api.openai.com/v1", Status: eligibility.CheckDone, At: now.Add(-time.Hour), Model: "gpt-4o-mini", Micros: 1_234,
			Calls:    []eligibility.CheckCall{{Name: "text", OK: true, Millis: 4321, Tokens: 36}, {Name: "two_tools", Error: "provider_refused"}},
			Findings: []eligibility.Finding{{Code: "tools"}, {Code: "renames_tools", Value: "<b>x</b>"}, {Code: "window", Value: "8192"}},
		},
		"router": {
			Provider: "router", BaseURL: "https://openrouter.ai/api/v1", Status: eligibility.CheckFailed, At: now.Add(-time.Hour), Model: "x/y-z", Reason: eligibility.CheckBalance,
			Calls: []eligibility.CheckCall{{Name: "text", Millis: 80, Error: "no_balance"}},
		},
	}
	p.settings.Lessons = map[string]eligibility.Lessons{"ollama": {Provider: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Models: map[string]eligibility.Known{
		"qwen3:8b": {Quirks: json.RawMessage(`{"no_temperature":true,"thought":"<b>reasoning</b>"}`), At: now.Add(-time.Hour), Lesson: 1},
	}}}
	for i := range 30 {
		at := now.Add(-time.Duration(i) * 20 * time.Minute)
		turn := credit.Turn{
			ID: "t" + itoa(i), At: at, User: "ana", ChatID: "c1", Provider: "openai", Model: "gpt-4o-mini", Input: 4100 + i, Cached: 3000, Output: 320, Micros: 61_337, Estimated: i%7 == 0, Priced: credit.PricedByList,
			Attempts: []llm.Attempt{{At: at, Provider: "openai", Model: "gpt-4o-mini", Outcome: llm.OK}}, Outcome: "text",
		}
		if i%9 == 0 {
			turn.Outcome, turn.Model, turn.Provider, turn.Micros, turn.ChatID = credit.OutcomeBlocked, "", "", 0, "gone"
		}
		p.turns = append(p.turns, turn)
	}
	for i := range entriesPage + 5 {
		e := credit.Entry{ID: "e" + itoa(i), Kind: credit.KindSession, Amount: -1, Actor: "sistema", Reason: "Sesión de openai", SessionID: "s" + itoa(i), At: now.Add(-time.Duration(i) * time.Hour)}
		switch i {
		case 1:
			e = credit.Entry{ID: "e" + itoa(i), Kind: credit.KindAdjustment, Amount: -3, Actor: "luz<i>", Reason: "Corrección <script>1</script>", At: e.At}
		case 4:
			e = credit.Entry{ID: "e" + itoa(i), Kind: credit.KindGrant, Amount: 12_000, Actor: "ana", Reason: "Factura 2026-031", At: e.At}
		}
		p.ledger = append(p.ledger, e)
	}
	p.sessions = []credit.Session{
		{ID: "s0", Cost: 1, Tokens: 100_000, Free: 61_204, Used: 38_000, OpenedAt: now.Add(-time.Hour), ExpiresAt: now.Add(23 * time.Hour)},
		{ID: "s9", Cost: 1, Tokens: 100_000, Free: 5, OpenedAt: now.Add(-30 * time.Hour), ExpiresAt: now.Add(-time.Hour)},
	}
}

// dim switches the page to the dark scheme.
func (b *browser) dim() { eval[bool](b, `(document.documentElement.style.colorScheme = "dark", true)`) }

func TestCreditIsManagedFromThePage(t *testing.T) {
	b := open(t, 1280, 1500)
	b.spend()
	b.visit("/?view=credits")
	b.see("#usage tbody tr")
	b.picture("credits")
	amount, reason := `[data-submit="move-credit"] [name=amount]`, `[data-submit="move-credit"] [name=reason]`
	// The page shows the server's message at its field.
	eval[bool](b, `(document.querySelector(`+quoted(amount)+`).removeAttribute("min"), true)`)
	b.write(amount, "-4")
	b.write(reason, "mal\r")
	b.see(".field-error")
	if eval[bool](b, `document.activeElement.name !== "amount" || document.activeElement.getAttribute("aria-invalid") !== "true" || !document.getElementById(document.activeElement.getAttribute("aria-describedby")).textContent.includes("Fuera de los límites")`) {
		t.Error("the refusal is not at its field")
	}
	b.do(chromedp.SetValue(chromedp.CSS(amount), "40"))
	b.click(`[data-submit="move-credit"] .primary`)
	b.until(`document.getElementById("balance").innerText === "12.014"`)
	b.click(`#usage [href*="by=model"]`)
	b.until(`document.querySelector("#usage tbody th")?.innerText === "openai/gpt-4o-mini" && location.search.includes("by=model")`)
	if href := eval[string](b, `document.querySelector("#usage a[download]").getAttribute("href")`); href != "/ai/usage?by=model&format=csv" {
		t.Error(href)
	}
	b.click(`[data-action="more-entries"]`)
	b.until(`document.querySelectorAll("#entries .entry").length === 26`)
	b.click(`[data-action="refund"]`)
	b.see("#ask-yes")
	b.write("#ask-input", "no se usó\r")
	b.until(`document.querySelector("#entries .entry-name").innerText === "Devolución"`)
	b.do(chromedp.SetValue(chromedp.CSS("[name=day_micros]"), "2.5"), chromedp.SetValue(chromedp.CSS("[name=month_micros]"), ""))
	b.click(`[data-submit="save-limits"] .primary`)
	b.until(`[...document.querySelectorAll(".toast")].some(t => t.innerText === "Guardado")`)
	b.world.mu.Lock()
	terms := *b.purse.settings.Terms
	b.world.mu.Unlock()
	if terms.Limits != (credit.Limits{Day: 2_500_000}) || terms.Policy != credit.DefaultPolicy() {
		t.Errorf("%+v", terms)
	}
}

// TestAProviderIsCheckedFromThePage: the page says that a check goes on, and what it found once it has ended.
func TestAProviderIsCheckedFromThePage(t *testing.T) {
	b := open(t, 1280, 1700)
	b.spend()
	b.visit("/?view=assistants")
	b.until(`document.getElementById("ai-status")?.ariaBusy !== "true"`)
	eval[bool](b, `(document.querySelector('[data-provider="openai"] details').open = true)`)
	eval[bool](b, `(document.querySelector('[data-provider="router"] details').open = true)`)
	eval[bool](b, `(document.querySelector('[data-provider="openai"]').scrollIntoView(), true)`)
	b.picture("provider-checked")
	b.click(`[data-provider="ollama"] > details > summary`)
	b.write(`[data-provider="ollama"] [data-submit="check-provider"] [name=model]`, "qwen3:8b")
	b.click(`[data-provider="ollama"] [data-submit="check-provider"] button`)
	b.until(`document.querySelector('[data-provider="ollama"] [role=status]')?.innerText.includes("Comprobando…")`)
	b.picture("provider-checking")
	b.until(`document.querySelector('[data-provider="ollama"] .findings')?.innerText === "Usa herramientas."`)
	if asked := b.world.checked; !slices.Equal(asked, []string{"ollama qwen3:8b"}) {
		t.Errorf("%q", asked)
	}
	if on := eval[bool](b, `document.querySelector('[data-provider="ollama"] [data-submit="check-provider"] button').disabled`); on {
		t.Error("it cannot be checked again")
	}
}

func TestAssistantsAndProvidersAreManagedFromThePage(t *testing.T) {
	b := open(t, 1280, 1700)
	b.spend()
	b.visit("/?view=assistants")
	b.until(`document.getElementById("ai-status-line").innerText.includes("no contesta")`)
	b.picture("assistants")
	if said := eval[string](b, `document.querySelector('[data-provider="groq"] [data-key-state]').innerText`); said != "sin clave en el despliegue" {
		t.Error(said)
	}
	if price := eval[string](b, `document.querySelector("[data-price]").innerText`); !strings.Contains(price, "0,15 USD") {
		t.Errorf("the price reads %q", price)
	}
	// A duplicate fallback is refused in its row.
	b.click(`[data-action="add-stand-in"]`)
	b.write(`.stand-in:last-child [name=fallback_model]`, "gpt-4o-mini")
	b.do(chromedp.SetValue(chromedp.CSS(`.stand-in:last-child select`), "openai"))
	b.click(`[data-submit="save-assistant"] .primary`)
	b.until(`document.querySelector(".stand-in:last-child .field-error")?.innerText === "Está repetido"`)
	b.picture("assistant-refused")
	b.click(`.stand-in:last-child [data-action="stand-in-remove"]`)
	b.click(`.stand-in:last-child [data-action="stand-in-up"]`)
	b.do(chromedp.SetValue(chromedp.CSS("[name=delay]"), "1.5"), chromedp.SetValue(chromedp.CSS("[name=temperature]"), "0.7"),
		chromedp.SetValue(chromedp.CSS("[name=time_zone]"), "Europe/Madrid"))
	b.click(`[data-submit="save-assistant"] .primary`)
	b.until(`[...document.querySelectorAll(".toast")].some(t => t.innerText === "Guardado")`)
	b.world.mu.Lock()
	a := b.purse.settings.Assistants[""]
	b.world.mu.Unlock()
	if len(a.Fallback) != 2 || a.Fallback[0].Provider != "ollama" || len(a.Fallback[0].On) != 0 || len(a.Fallback[1].On) != 1 || a.Automation.DelayMS != 1500 || a.Temperature != .7 || a.TimeZone != "Europe/Madrid" {
		t.Errorf("%+v", a)
	}
	b.click(`[data-provider="groq"] summary`)
	b.write(`[data-provider="groq"] [name=key]`, "gsk-canary\r")
	b.until(`document.querySelector('[data-provider="groq"] [data-key-state]').innerText === "clave propia guardada"`)
	if page := eval[string](b, `document.documentElement.outerHTML`); strings.Contains(page, "gsk-canary") {
		t.Error("the key is on the page")
	}
	price := `[data-provider="router"] [data-submit="save-price"] `
	b.click(`[data-provider="router"] summary`)
	b.write(price+"[name=model]", "a/b")
	b.write(price+"[name=input_micros]", "0.5")
	b.write(price+"[name=output_micros]", "2\r")
	b.until(`document.querySelectorAll('[data-provider="router"] .own-price').length === 2 && document.querySelector('[data-provider="router"] details').open`)
	b.picture("provider")
	b.click(`[data-provider="router"] [data-model="x/y-z"]`)
	b.until(`document.querySelectorAll('[data-provider="router"] .own-price').length === 1`)
	window := `[data-provider="router"] [data-submit="save-window"] `
	for model, tokens := range map[string]string{"a/b": "8192", "c": "2000"} {
		b.write(window+"[name=model]", model)
		b.write(window+"[name=tokens]", tokens+"\r")
		b.see(window + `[data-model="` + model + `"]`)
	}
	b.click(window + `[data-model="c"]`)
	b.until(`document.querySelectorAll('[data-provider="router"] .own-price').length === 2`)
	b.world.mu.Lock()
	for _, c := range b.purse.settings.Providers {
		if c.Name == "router" && (c.BaseURL != "https://openrouter.ai/api/v1" || c.CostsCredits == nil || c.Prices["a/b"] != credit.Price{Input: 500_000, Output: 2_000_000} || len(c.Prices) != 1 ||
			len(c.Windows) != 1 || c.Windows["a/b"] != 8192) {
			t.Errorf("%+v", c)
		}
	}
	b.world.mu.Unlock()
	b.click(`.add-provider summary`)
	b.write(`[data-submit="add-provider"] [name=name]`, "meta")
	b.write(`[data-submit="add-provider"] [name=base_url]`, "http://169.254.169.254/v1\r")
	b.see(`[data-submit="add-provider"] .field-error`)
	b.do(chromedp.SetValue(chromedp.CSS(`[data-submit="add-provider"] [name=base_url]`), "https://api.meta.example/v1"))
	b.click(`[data-submit="add-provider"] .primary`)
	b.see(`[data-provider="meta"]`)
	b.click(`[data-submit="save-entitlement"] .track`)
	b.click(`[data-submit="save-entitlement"] .primary`)
	b.until(`document.querySelector('[data-submit="save-entitlement"] [name=enabled]').checked === false`)
	b.visit("/")
	b.see(`.strip[data-kind="blocked"] a[href="/?view=assistants"]`)
}

func TestSettingsFitANarrowScreen(t *testing.T) {
	b := open(t, 390, 844)
	b.spend()
	for _, address := range []string{"/?view=credits", "/?view=assistants", "/?view=assistants&id=p1", "/"} {
		b.visit(address)
		b.see("#view")
		b.until(`document.getElementById("ai-status")?.ariaBusy !== "true"`)
		if over := eval[int](b, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
			t.Errorf("the page goes on for %d px below its own end", over)
		}
		if wide := eval[int](b, `Math.max(document.documentElement.scrollWidth, document.getElementById("scroller").scrollWidth)`); wide > 390 {
			t.Errorf("%s is %d px wide: %s", address, wide, eval[string](b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 391).map(e => e.tagName + "." + e.className).join(" ")`))
		}
	}
	if *shots == "" {
		return
	}
	b.do(chromedp.EmulateViewport(390, 2600))
	b.visit("/?view=credits")
	b.see("#usage tbody")
	b.picture("credits-narrow")
	b.visit("/?view=assistants")
	b.until(`document.getElementById("ai-status")?.ariaBusy !== "true"`)
	eval[bool](b, `(document.querySelector('[data-provider="openai"] details').open = true)`)
	b.picture("assistants-narrow")
	b.do(chromedp.EmulateViewport(390, 700))
	_ = b.change(func(p *purse) { p.ledger, p.sessions = nil, nil })
	b.broke()
	b.visit("/")
	b.see(".strip")
	b.picture("blocked-narrow")
	b.dim()
	b.picture("blocked-narrow-dark")
	b.do(chromedp.EmulateViewport(1280, 1500))
	b.spend()
	b.visit("/?view=credits")
	b.see("#usage tbody")
	b.dim()
	b.picture("credits-dark")
	b.visit("/?view=assistants")
	b.until(`document.getElementById("ai-status")?.ariaBusy !== "true"`)
	b.dim()
	b.picture("assistants-dark")
}
