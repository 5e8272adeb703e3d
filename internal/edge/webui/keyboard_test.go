package webui

import (
	"strings"
	"testing"

	"piloto/infra/local/fixture/chrome"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// keyCodes are the keys without a character, and Enter.
var keyCodes = map[string]int64{"Enter": 13, "Tab": 9, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40, "Home": 36, "End": 35}

// press presses keys as a keyboard does: one that the page handles types no character. "Ctrl+k" is a key with another.
func (b *browser) press(keys ...string) {
	b.Helper()
	for _, key := range keys {
		p := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown}
		for _, m := range []struct {
			name string
			mod  chromedp.Modifier
		}{{"Ctrl+", chromedp.ModifierCtrl}, {"Shift+", chromedp.ModifierShift}} {
			if rest, ok := strings.CutPrefix(key, m.name); ok {
				key, p.Modifiers = rest, p.Modifiers|int64(m.mod)
			}
		}
		p.Key, p.WindowsVirtualKeyCode = key, keyCodes[key]
		switch {
		case key == "Enter":
			p.Text = "\r"
		case keyCodes[key] == 0 || key == " ":
			p.Text, p.WindowsVirtualKeyCode = key, int64(strings.ToUpper(key)[0])
		}
		if p.Modifiers&int64(chromedp.ModifierCtrl) != 0 {
			p.Text = ""
		}
		up := p
		up.Type, up.Text = input.DispatchKeyEventTypeKeyUp, ""
		for _, event := range []input.DispatchKeyEventParams{p, up} {
			b.do(chrome.Call(input.DispatchKeyEvent, event))
		}
	}
}

// types types a text at the focus.
func (b *browser) types(text string) {
	b.Helper()
	b.do(chromedp.KeyEvent(text))
}

// at waits until the focus is at an element.
func (b *browser) at(css string) {
	b.Helper()
	b.until(`document.activeElement.matches(` + quoted(css) + `)`)
}

// reach goes to an element by Tab alone, or back by Shift and Tab. It waits until the element is there and not switched off.
func (b *browser) reach(css string) {
	b.Helper()
	b.until(`(e => e !== null && !e.disabled && e.checkVisibility({visibilityProperty: true}))(document.querySelector(` + quoted(css) + `))`)
	for range 300 {
		switch eval[int](b, `(at => at.matches(`+quoted(css)+`) ? 0 : at.compareDocumentPosition(document.querySelector(`+quoted(css)+`)) & Node.DOCUMENT_POSITION_PRECEDING ? 1 : 2)(document.activeElement)`) {
		case 0:
			return
		case 1:
			b.press("Shift+Tab")
		case 2:
			b.press("Tab")
		}
	}
	b.Fatalf("Tab does not come to %s; it is at %s", css, eval[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
}

// keepsFocus fails the test when the focus was nowhere since hear.
func (b *browser) keepsFocus() {
	b.Helper()
	for _, had := range eval[[]string](b, `lost`) {
		b.Errorf("the focus was nowhere for a frame; before, it was at what is %s", had)
	}
}

// TestThePaletteOpensAndDoes by the keyboard alone: a view, a chat that is searched, an action, nothing, and back.
func TestThePaletteOpensAndDoes(t *testing.T) {
	b := open(t, 1280, 900)
	b.talks("Norte", "Sur", "Este")
	b.visit("/?chat=c1")
	b.see(`[data-row="c3"]`)
	b.do(chromedp.Focus(chromedp.CSS("#message")))
	eval[bool](b, hear)
	count := func(n string) {
		b.until(`document.getElementById("palette-count").textContent.startsWith(` + quoted(n) + `)`)
	}
	options := func() []string {
		return eval[[]string](b, `[...document.querySelectorAll("#palette [role=option]")].map(o => o.innerText)`)
	}
	openPalette := func() {
		b.press("Ctrl+k")
		b.at("#palette[open] #palette-words")
	}
	openPalette()
	b.picture("palette")
	all := strings.Join(options(), "|")
	for _, want := range []string{"Nueva conversación", "Copiar la última respuesta", "Descargar la conversación: PDF", "Tema: Oscuro", "Idioma: English", "Pendiente de ti", "Historial", "Servicios", "Asistentes", "Ajustes", "Norte", "Sur", "Este"} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not offer %q: %s", want, all)
		}
	}
	// The chosen option is announced. After the last one comes the first one.
	const chosen = `document.getElementById(document.getElementById("palette-words").getAttribute("aria-activedescendant")).matches("[aria-selected=true]") && [...document.querySelectorAll("#palette [role=option]")].findIndex(o => o.ariaSelected === "true")`
	for _, step := range []struct {
		key  string
		want int
	}{{"ArrowDown", 1}, {"ArrowUp", 0}, {"ArrowUp", len(options()) - 1}, {"ArrowDown", 0}} {
		b.press(step.key)
		if at := eval[int](b, chosen); at != step.want {
			t.Errorf("after %s it is %d, and not %d", step.key, at, step.want)
		}
	}
	b.types("ajus")
	count("1 resultado")
	b.press("Enter")
	b.until(`location.search === "?view=settings" && !document.getElementById("palette").open && document.activeElement.id === "view"`)

	openPalette()
	b.types("expor") // which is another word for downloading; the view has no chat to export
	count("Nada se llama así")
	b.press("Escape")

	openPalette()
	b.types("camara sur")
	b.until(`document.querySelector("#palette mark") !== null`)
	count("1 resultado")
	b.picture("palette-chat")
	b.press("Enter")
	b.until(`location.search === "?chat=c2" && location.hash === "#m-c2m0" && document.activeElement.id === "m-c2m0"`)

	// Nothing has the name: it says so, Enter does nothing, and Escape goes back to where it was.
	openPalette()
	b.types("nada de eso")
	count("Nada se llama así")
	b.press("Enter")
	if open := eval[bool](b, `document.getElementById("palette").open && document.getElementById("palette-words").ariaExpanded === "false" && document.getElementById("palette-list").hidden`); !open {
		t.Error("it does not show that there is nothing")
	}
	b.press("Escape")
	b.at("#m-c2m0")
	openPalette()
	b.press("Ctrl+k")
	b.at("#m-c2m0")

	// A control of the view is pressed, and what it opens gives the focus back.
	openPalette()
	b.types("export")
	count("3 resultados")
	b.press("Ctrl+a")
	b.types("renombrar")
	count("1 resultado")
	b.press("Enter")
	b.at("#ask-input")
	b.press("Escape")
	b.at("#m-c2m0")
	b.keepsFocus()

	openPalette()
	b.types("oscuro")
	count("1 resultado")
	b.press("Enter")
	b.untilLoaded(`document.documentElement.dataset.theme === "dark" && location.search === "?chat=c2"`)
}

// untilLoaded waits for an expression that a navigation makes true, which ends pending evaluations.
func (b *browser) untilLoaded(expression string) {
	b.Helper()
	for ok := false; !ok; {
		ok, _ = chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if b.ctx.Err() != nil {
			b.Fatalf("%s did not become true", expression)
		}
	}
}

// TestThePaletteByFinger: a phone has a button for it, in the drawer.
func TestThePaletteByFinger(t *testing.T) {
	b := open(t, 390, 844)
	b.talks("Norte", "Sur")
	b.screen(390, 844, false, true)
	b.visit("/")
	b.click(".menu")
	b.until(stillness)
	b.click(".palette-open")
	b.until(`document.getElementById("palette").open && !document.body.classList.contains("drawer")`)
	b.types("sur")
	b.until(`document.querySelectorAll("#palette [role=option]").length === 1`)
	b.picture("palette-phone")
	b.until(stillness)
	for _, look := range []string{cramped, small} {
		for _, bad := range eval[[]string](b, look) {
			t.Error(bad)
		}
	}
	b.click("#palette [role=option]")
	b.until(`location.search === "?chat=c2"`)
	b.click(".menu")
	b.until(stillness)
	b.click(".palette-open")
	b.see("#palette[open]")
	b.click("#palette .icon-button")
	b.at(".menu")
}

// TestTheListOfShortcutsIsTrue compares the list with this test's, and presses each key.
func TestTheListOfShortcutsIsTrue(t *testing.T) {
	b := open(t, 1280, 900)
	b.talks("Norte", "Sur")
	b.fill("c-draft", "reserva", "draft")
	b.visit("/?view=waiting")
	b.see(".wait")
	b.press("?")
	b.see("dialog.keys[open]")
	b.picture("keys")
	listed := eval[string](b, `[...document.querySelectorAll("dialog.keys dl > div")].map(row => [...row.querySelectorAll("kbd")].map(k => k.innerText).join("+") + " " + row.querySelector("dd").innerText).join("\n")`)
	b.press("Escape")
	b.until(`document.querySelector("dialog.keys") === null`)

	visit := func(path, css string) func() {
		return func() {
			b.visit(path)
			b.see(css)
			b.waitForSocket()
		}
	}
	inbox, chat := visit("/?view=waiting", ".wait"), visit("/?chat=c1", "#m-c1m1")
	first := `.wait:first-child summary`
	search := `[data-input="find-chats"]`
	focus := func(css string) {
		b.until(`(document.querySelector(` + quoted(css) + `)?.focus(), document.activeElement?.matches(` + quoted(css) + `))`)
	}
	var want []string
	for _, c := range []struct {
		row    string
		before func()
		keys   []string
		then   string
	}{
		{"Ctrl+K Ir a una conversación, una vista o una acción", chat, []string{"Ctrl+k"}, `document.getElementById("palette").open`},
		{"/ Buscar", chat, []string{"/"}, `document.activeElement.matches('[data-input="find-chats"]') && document.activeElement.value === ""`},
		{"M Escribir un mensaje", chat, []string{"m"}, `document.activeElement.id === "message" && document.activeElement.value === ""`},
		{"Esc Detener la respuesta; cerrar lo que está abierto", chat, []string{"Ctrl+k", "Escape"}, `!document.getElementById("palette").open`},
		{"? Ver los atajos", chat, []string{"?"}, `document.querySelector("dialog.keys[open]") !== null`},
		{"J La siguiente", inbox, []string{"j"}, `document.activeElement.matches("` + first + `")`},
		{"K La anterior", inbox, []string{"j", "k"}, `document.activeElement.matches("` + first + `")`},
		{"Enter Abrirla o cerrarla", inbox, []string{"j", "Enter"}, `document.querySelector(".wait-fold[open] .card") !== null`},
		{"X Elegirla para decidir varias juntas", inbox, []string{"j", "x"}, `document.querySelector(".wait-pick:checked") !== null`},
		{"↓ La siguiente conversación", func() { chat(); focus(search) }, []string{"ArrowDown"}, `document.activeElement.matches(".chat-list > li:first-child > .chat-link")`},
		{"↑ La anterior", func() { chat(); focus(search) }, []string{"ArrowDown", "ArrowDown", "ArrowUp"}, `document.activeElement.matches(".chat-list > li:first-child > .chat-link")`},
		{"Enter Abrir la primera", func() {
			chat()
			focus(search)
			b.types("sur")
			b.until(`document.querySelectorAll(".chat-list [data-row]").length === 1`)
		}, []string{"Enter"}, `location.search === "?chat=c2"`},
		{"Esc Vaciar la búsqueda", func() { chat(); focus(search); b.types("sur") }, []string{"Escape"}, `document.querySelector('[data-input="find-chats"]').value === ""`},
		{"Enter Enviar", func() { chat(); focus("#message"); b.types("hola") }, []string{"Enter"}, `document.querySelectorAll(".line.assistant[data-kind=text]").length === 2`},
		{"Shift+Enter Línea nueva", func() { chat(); focus("#message"); b.types("a") }, []string{"Shift+Enter"}, `document.getElementById("message").value === "a\n"`},
		{"↑ Recuperar tu último mensaje, si no hay nada escrito", func() {
			chat()
			focus("#message")
			eval[bool](b, `(document.getElementById("message").value = "", document.getElementById("message").dispatchEvent(new Event("input", {bubbles: true})), true)`)
			b.types("otra")
			b.press("Enter")
			b.until(`document.getElementById("message").value === "" && document.querySelectorAll(".line.user.sending").length === 0`)
		}, []string{"ArrowUp"}, `document.getElementById("message").value === "otra"`},
		{"Esc Dejar de editar; salir del cuadro", func() { chat(); focus("#message") }, []string{"Escape"}, `document.activeElement.id !== "message"`},
	} {
		want = append(want, c.row)
		c.before()
		b.press(c.keys...)
		b.until(c.then)
	}
	if got := strings.Join(want, "\n"); got != listed {
		t.Errorf("it lists\n%s\nand not\n%s", listed, got)
	}
}

// TestWhatIsTypedGoesToTheMessage, wherever the focus is, unless it is a shortcut; and to the message alone when a person
// switched the shortcuts off.
func TestWhatIsTypedGoesToTheMessage(t *testing.T) {
	b := open(t, 1280, 900)
	b.talks("Norte")
	const at, text = `document.activeElement.id`, `document.getElementById("message").value`
	empty := func() {
		eval[bool](b, `(document.getElementById("message").value = "", document.getElementById("view").focus(), true)`)
	}
	b.visit("/")
	b.waitForSocket()
	b.until(`document.activeElement !== document.body`) // as the page is loaded
	for _, c := range []struct{ path, keys, text string }{
		{"/", "mañana", "mañana"}, {"/", "Reserva", "Reserva"}, {"/?chat=c1", "Reserva", "Reserva"}, {"/?chat=c1", "mañana", "añana"},
	} {
		b.visit(c.path)
		b.waitForSocket()
		empty()
		for _, key := range c.keys {
			b.press(string(key))
		}
		if got := eval[string](b, text); got != c.text || eval[string](b, at) != "message" {
			t.Errorf("%s: %q is %q, with the focus at %q", c.path, c.keys, got, eval[string](b, at))
		}
		empty()
	}
	b.visit("/?view=settings")
	b.reach(`[data-change="letters"]`)
	b.press(" ")
	b.until(`document.querySelector('[data-change="letters"]').checked === false`)
	b.picture("letters")
	b.press("?")
	b.visit("/?chat=c1")
	b.waitForSocket()
	empty()
	b.press("m", "?")
	if got := eval[string](b, text); got != "m?" || eval[bool](b, `document.querySelector("dialog.keys") !== null`) {
		t.Errorf("without shortcuts, m? is %q", got)
	}
	b.press("Ctrl+k")
	b.at("#palette-words")
	b.press("Escape")
	b.visit("/?view=settings")
	b.reach(`[data-change="letters"]`)
	b.press(" ")
	b.press("?")
	b.see("dialog.keys[open]")
}
