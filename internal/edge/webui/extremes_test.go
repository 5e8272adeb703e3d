package webui

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	images "image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"piloto/infra/local/fixture/chrome"
	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

// extreme is a chat with something that no designer drew.
type extreme struct {
	name string
	fill func(w *world, chat string)
	see  string // an expression in the page that says that it is shown
}

// titled sets the title of a chat. The lock is held.
func (w *world) titled(chat, title string) {
	w.chats[chat] = conversation.Chat{ID: chat, Title: title, CreatedAt: w.now(), UpdatedAt: w.now()}
}

// talked fills a chat with a message and an answer. The lock is held.
func talked(question, answer string) func(*world, string) {
	return func(w *world, chat string) {
		w.titled(chat, question)
		w.say(chat, conversation.RoleUser, conversation.KindText, "", question)
		w.say(chat, conversation.RoleAssistant, conversation.KindText, "", answer)
	}
}

// ran fills a chat with a run that is done, whose first step was answered with a body. The lock is held.
func ran(body any) func(*world, string) {
	return func(w *world, chat string) {
		w.titled(chat, "Resultado")
		r := w.propose(chat, roomPlan(w.now()))
		w.start(r.ID)
		for r = w.runs[r.ID]; r.Status.Active(); {
			w.advance(&r)
		}
		raw, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		r.Steps[0].Result = &plan.Result{Status: 200, Bytes: len(raw), Body: raw}
		w.runs[r.ID] = r
	}
}

// many returns a plan that reads a list, and then has n steps for each of its elements.
func many(now time.Time, n int) plan.Plan {
	p := roomPlan(now)
	p.Goal, p.Steps, p.Bindings = "Avisar a todas las sedes", p.Steps[:1], p.Bindings[:1]
	for i := range n {
		id := plan.EffectOf(fmt.Sprintf("s%d", i+2))
		p.Steps = append(p.Steps, plan.Step{
			ID: id, Title: fmt.Sprintf("Avisar a la sede %d", i+1), MCPID: "rooms", Method: "POST", Path: "/notices", ForEach: "${s1.body.items}",
			Body: json.RawMessage(fmt.Sprintf(`{"to":"${item.email}","site":%d,"text":"Mañana a las 10 hay simulacro"}`, i+1)), Needs: []string{"s1"}, Risk: plan.Write,
		})
		p.Bindings = append(p.Bindings, plan.Binding{StepID: id, MCPID: "rooms", ServerName: "Salas de demostración", BaseURL: roomsURL, Template: "/notices", Summary: "Envía un aviso", Fingerprint: "f"})
	}
	return p
}

// wide returns rows with n columns.
func wide(n int) any {
	rows := make([]map[string]any, 30)
	for i := range rows {
		rows[i] = map[string]any{}
		for k := range n {
			rows[i][fmt.Sprintf("columna_%03d", k)] = i * k
		}
	}
	return map[string]any{"items": rows}
}

// drawn returns a PNG of one colour.
func drawn() []byte {
	img := images.NewRGBA(images.Rect(0, 0, 64, 32))
	for i := range 64 * 32 {
		img.Set(i%64, i/64, color.RGBA{200, 80, 20, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

var extremes = []extreme{
	{"title-10000", func(w *world, chat string) {
		talked("hola", "Hola.")(w, chat)
		w.titled(chat, strings.Repeat("x", 10_000))
	}, `document.querySelector(".line.assistant") !== null`},
	{"words-10000", talked(strings.Repeat("palabra", 1500), strings.Repeat("W", 10_000)), `document.querySelector(".line.assistant") !== null`},
	{"right-to-left", talked("\u202eoirartnoc la \u2066", "مرحبا **بالعالم**\n\nEnglish, then עברית.\n\n- واحد\n- two"), `document.querySelector(".line.assistant li") !== null`},
	{"script", talked(`<script>hacked=1</script><img src=x onerror="hacked=1">`, `<script>hacked=1</script> [x](javascript:hacked=1) <b onclick="hacked=1">b</b> ![i](https://evil.example/i.png)`), `document.querySelector(".line.assistant") !== null`},
	{"messages-2000", func(w *world, chat string) {
		w.titled(chat, "Dos mil mensajes")
		for i := range 1000 {
			w.say(chat, conversation.RoleUser, conversation.KindText, "", fmt.Sprintf("pregunta %d", i))
			w.say(chat, conversation.RoleAssistant, conversation.KindText, "", fmt.Sprintf("respuesta **%d**", i))
		}
	}, `document.getElementById("thread").innerText.includes("respuesta 999")`},
	{"chats-500", func(w *world, chat string) {
		for i := range 500 {
			id := fmt.Sprintf("z%03d", i)
			w.titled(id, fmt.Sprintf("Conversación número %d", i))
		}
		talked("hola", "Hola.")(w, chat)
	}, `document.querySelectorAll("[data-row]").length > 20`},
	{"steps-50x50", func(w *world, chat string) {
		w.titled(chat, "Avisos")
		w.propose(chat, many(w.now(), 49))
	}, `document.querySelector('` + confirmButton + `') !== null`},
	{"result-1MB", ran(map[string]any{"text": strings.Repeat("Lorem ipsum dolor sit amet. ", 40_000)}), `document.querySelector(".card[data-status=done]") !== null`},
	{"no-image", ran(map[string]any{"picture": "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("<svg onload=hacked=1>")), "photo_url": "https://evil.example/p.png"}), `document.querySelector(".card[data-status=done]") !== null && document.querySelector("img.picture") === null`},
	{"image", ran(map[string]any{"picture": "data:image/png;base64," + base64.StdEncoding.EncodeToString(drawn())}), `document.querySelector(".card[data-status=done] img.picture")?.naturalWidth === 64`},
	{"table-100-columns", ran(wide(100)), `document.querySelector(".card[data-status=done] table") !== null`},
	{"markdown-100-columns", talked("tabla", "|"+strings.Repeat(" c |", 100)+"\n|"+strings.Repeat("---|", 100)+"\n|"+strings.Repeat(" largo |", 100)), `document.querySelector(".line.assistant table") !== null`},
	{"sources", func(w *world, chat string) {
		talked("¿Qué salas hay?", "Hay muchas.")(w, chat)
		list, row := w.messages[chat], `{"id":"`+strings.Repeat("i", 300)+`","name":"Sala"}`
		at := len(list) - 1
		list[at].Sources = []conversation.Source{
			{ID: "l1", Service: "Salas", Method: "GET", URL: roomsURL + "/" + strings.Repeat("x", 400), Status: 200, At: w.now(), Answer: `{"items":[` + row + `,` + row + `]}`},
			{ID: "l2", Service: "Salas", Tool: "find", At: w.now(), Answer: "texto " + strings.Repeat("y", 3000)},
		}
	}, `(f => f && (f.open = true, getComputedStyle(f.querySelector("summary .icon")).rotate === "none" && f.querySelector("td") !== null && [...f.querySelectorAll("p, pre")].every(p => p.scrollWidth <= p.clientWidth + 1)))(document.querySelector("details.sources"))`},
	{"equal-steps", func(w *world, chat string) {
		w.titled(chat, "Pedidos")
		p := many(w.now(), 12)
		p.Steps, p.Bindings = p.Steps[1:], p.Bindings[1:]
		for i := range p.Steps {
			p.Steps[i].ForEach, p.Steps[i].Needs, p.Steps[i].Title = "", []string{}, "Avisar"
			p.Steps[i].Body = json.RawMessage(fmt.Sprintf(`{"to":"cliente-%d","amount":%d.5,"units":%d,"text":"Mañana"}`, i, 100+i, i))
		}
		w.propose(chat, p)
	}, `document.querySelector(".step.group") !== null`},
	{"name-is-a-url", func(w *world, chat string) {
		w.titled(chat, "https://evil.example/"+strings.Repeat("camino/", 40))
		p := roomPlan(w.now())
		p.Goal = "https://evil.example/?q=" + strings.Repeat("y", 300)
		for i := range p.Bindings {
			p.Bindings[i].ServerName = "https://banco.example/" + strings.Repeat("z", 120)
		}
		w.propose(chat, p)
	}, `document.querySelector('` + confirmButton + `') !== null`},
}

// TestExtremesAreShown: what nobody expected is shown whole, within the width of the page, and without executing or
// fetching anything. `make shots` leaves a picture of each.
func TestExtremesAreShown(t *testing.T) {
	b := open(t, 1440, 900)
	b.hold(true)
	b.world.mu.Lock()
	for i, x := range extremes {
		x.fill(b.world, fmt.Sprintf("x%02d", i))
	}
	b.world.mu.Unlock()
	for i, x := range extremes {
		b.visit(fmt.Sprintf("/?chat=x%02d", i))
		b.until(x.see)
		eval[bool](b, `document.querySelectorAll(".card[data-status=done] details").forEach(fold => fold.open = true) || true`)
		for _, width := range []int64{1440, 768, 390} {
			b.screen(width, 844, width == 768, width == 390)
			b.until(stillness)
			b.picture(fmt.Sprintf("extreme-%s-%d", x.name, width))
			if hidden := eval[int](b, `[...document.querySelectorAll("#view :is(td, th)")].filter(cell => getComputedStyle(cell).display === "none").length`); hidden > 0 {
				t.Errorf("%s: at %d px %d cells of tables are hidden", x.name, width, hidden)
			}
			if over := eval[string](b, overflowing); over != "" {
				t.Errorf("%s: at %d px the page is wider than the screen: %s", x.name, width, over)
			}
		}
		if eval[bool](b, `window.hacked !== undefined || performance.getEntriesByType("resource").some(r => !r.name.startsWith(location.origin) && !r.name.startsWith("data:"))`) {
			t.Errorf("%s: something was executed, or fetched from elsewhere", x.name)
		}
		b.screen(1440, 900, false, false)
	}
}

// overflowing is an expression: the first elements that make the page wider than the screen; "" when none does.
const overflowing = `document.scrollingElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)).join(", ") || "?"`

// readAndConfirm says that a card was read, where not all of it was in sight, and confirms it when its message was answered.
func (b *browser) readAndConfirm() {
	b.Helper()
	eval[bool](b, `(document.querySelector('[data-action="seen"]')?.click(), true)`)
	b.until(`document.querySelector("[data-unseen]")?.checkVisibility() !== true && !document.querySelector('` + confirmButton + `').disabled`)
	b.click(confirmButton)
}

// TestASlowPhoneStillConfirms confirms a plan with a sixth of the processor and a network of the third generation.
func TestASlowPhoneStillConfirms(t *testing.T) {
	b := open(t, 390, 844)
	b.do(chrome.Call(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 6}),
		chrome.Either(slowNetwork(network.EmulateNetworkConditionsByRule.Method), slowNetwork("Network.emulateNetworkConditions")))
	b.visit("/")
	b.see("#message")
	b.say("reserva")
	b.see(confirmButton)
	b.picture("slow-draft")
	b.readAndConfirm()
	b.until(`document.querySelector(".card[data-status=done]") !== null`)
	b.picture("slow-done")
}

// slowNetwork is a network of the third generation, by one of the two calls that versions of the browser have for it: for
// the requests of a rule, or for all. Some versions want to be told that the network is there.
func slowNetwork(method string) chromedp.Action[chromedp.Void] {
	type conditions struct {
		URLPattern string  `json:"urlPattern"`
		Offline    bool    `json:"offline"`
		Latency    float64 `json:"latency"`            // ms
		Download   float64 `json:"downloadThroughput"` // bytes a second
		Upload     float64 `json:"uploadThroughput"`
	}
	slow := conditions{Latency: 300, Download: 50_000, Upload: 25_000}
	return chrome.Call(cdp.Command[any, cdp.Empty]{Method: method}, any(struct {
		conditions
		Matched []conditions `json:"matchedNetworkConditions"`
	}{slow, []conditions{slow}}))
}

// TestTwoTabsDecideAtOnce: one of two tabs confirms, and the other, which still shows the button, is told so.
func TestTwoTabsDecideAtOnce(t *testing.T) {
	b := open(t, 1280, 900)
	b.hold(true)
	b.say("reserva")
	b.until(`document.querySelector('` + confirmButton + `')?.disabled === false`)
	run := b.onlyRun()
	b.world.mu.Lock()
	tell := b.world.tell
	b.world.tell = func(string, map[string]any) {} // this tab hears nothing
	b.world.start(run.ID)
	b.world.tell = tell
	b.world.mu.Unlock()
	eval[bool](b, `(document.querySelector('`+confirmButton+`')?.click(), true)`)
	b.until(`document.querySelector(".card[data-status=queued], .card[data-status=running]") !== null`)
	b.picture("two-tabs")
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if n := len(b.world.events[run.ID]); n != 2 {
		t.Errorf("%d events: it was confirmed again", n)
	}
}

// TestACardExpiresWhileItIsRead: its buttons go when its time is over, without a reload, and a late press confirms
// nothing.
func TestACardExpiresWhileItIsRead(t *testing.T) {
	b := open(t, 1280, 900)
	b.world.mu.Lock()
	b.world.titled("c-late", "Tarde")
	p := roomPlan(b.now())
	p.ExpiresAt = b.now().Add(4 * time.Second)
	b.world.propose("c-late", p)
	b.world.mu.Unlock()
	b.visit("/?chat=c-late")
	b.see(".card")
	b.until(`document.querySelector('` + confirmButton + `') === null || document.querySelector('` + confirmButton + `').disabled`)
	b.picture("expired-while-read")
	if text := eval[string](b, `document.querySelector(".card").innerText`); !strings.Contains(strings.ToLower(text), "caduc") {
		t.Errorf("the card does not say that it expired:\n%s", text)
	}
}

// TestAClockThatIsWrong: the browser's clock is an hour ahead or behind. The card counts by the server's.
func TestAClockThatIsWrong(t *testing.T) {
	for name, shift := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			b := open(t, 1280, 900)
			b.do(chrome.Call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
				Source: fmt.Sprintf(`const now = Date.now; Date.now = () => now() + %d;`, shift.Milliseconds()),
			}))
			b.world.mu.Lock()
			b.world.titled("c-clock", "Reloj")
			p := roomPlan(b.now())
			p.ExpiresAt = b.now().Add(30 * time.Minute)
			b.world.propose("c-clock", p)
			b.world.mu.Unlock()
			b.visit("/?chat=c-clock")
			b.see(confirmButton)
			b.picture("clock-" + name)
			text := eval[string](b, `document.querySelector(".card").innerText`)
			if !strings.Contains(text, "29 min") && !strings.Contains(text, "30 min") {
				t.Errorf("the card says of its time:\n%s", text)
			}
			b.readAndConfirm()
			b.until(`document.querySelector(".card[data-status=done]") !== null`)
		})
	}
}

// TestWithoutCookies: a browser that keeps no cookie is told so after it signed in, and the page that it wanted is a
// link. With the cookie it goes there.
func TestWithoutCookies(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	_ = w.PutToken(t.Context(), auth.Token{Hash: hashOf("tok"), Kind: auth.KindToken, Account: w.account, User: "ana", Scopes: ana.Scopes})
	server := httptest.NewServer(w)
	defer server.Close()
	signIn := func(jar http.CookieJar) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/signin", strings.NewReader("token=tok"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", server.URL)
		r.Header.Set("Referer", server.URL+"/?view=waiting&x=%2F%2Fevil.example")
		a, err := (&http.Client{Jar: jar}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a, string(body)
	}
	a, body := signIn(nil)
	if a.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "no ha guardado la sesión") || !strings.Contains(body, `href="/?view=waiting&amp;x=%2F%2Fevil.example"`) {
		t.Errorf("%d\n%s", a.StatusCode, body)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, body = signIn(jar); a.StatusCode != http.StatusOK || a.Request.URL.RequestURI() != "/?view=waiting&x=%2F%2Fevil.example" {
		t.Errorf("%d %s\n%s", a.StatusCode, a.Request.URL, body)
	}
}
