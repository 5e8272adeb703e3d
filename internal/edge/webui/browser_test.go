package webui

import (
	"context"
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture/chrome"
	"piloto/internal/access/auth"

	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "a folder to leave pictures of the page in")

// asked is "" for go test by hand, "change" for `make test`, and "every" for every test in the browser.
var asked = os.Getenv("PILOTO_TESTS")

var every = asked == "every"

// ofAChange lists the tests in the browser that each change must pass: consent, what may not be lost, and the focus. All
// others are for the night (make browsers).
var ofAChange = []string{
	"TestAPlanIsProposedConfirmedAndFollowedToItsEnd", "TestAPlanIsConfirmedByKeyboard", "TestATypedConfirmationNamesThePlanOnTheScreen",
	"TestAPlanIsEditedAndItsChangesAreSeen", "TestALongPlanIsReadBeforeItIsConfirmed", "TestATableIsReadRowByRow", "TestALongRequestIsReadBeforeItIsApproved", "TestAStepIsApprovedWhileTheChatGoesOn", "TestSeveralAreConfirmedOnlyWhenTheyWereSeen", "TestAYesIsTypedBesideWhatWasSeen",
	"TestADoubtIsResolvedAndTheRunContinued", "TestASlowPhoneStillConfirms", "TestPushedDataIsOnlyText",
	"TestAMessageIsSentAgainOnce", "TestFilesAreAttached", "TestTheFocusStaysWhereThingsGo", "TestARunIsToldOnceAndKeepsTheFocus",
	"TestTheRegistryIsManagedFromThePage", "TestAPhoneHasADrawerAndNoSidewaysScroll",
	"TestAnIdlePageAsksForNothing", "TestALostPushIsNoticedAtTheNextOne", "TestAHiddenTabHearsOfWhatWaits",
	"TestThePageReadsConfirmationsAsTheServerDoes", "TestAYesConfirmsThePlanShownWhenItWasBegun", "TestWhatContradictsATextIsSeenAboveIt", "TestAPlanIsConfirmedBeneathALaterText",
}

// browser is a real browser with a world of its own, signed in.
type browser struct {
	*testing.T
	*world
	ctx    context.Context
	base   string
	server *httptest.Server
}

// open starts a browser of a size and signs it in with a one-time code. Every console error fails the test, except
// for requests that are refused on purpose.
func open(t *testing.T, width, height int64) *browser {
	t.Helper()
	if testing.Short() && asked == "" {
		t.Skip("a browser takes a minute")
	}
	if name, _, _ := strings.Cut(t.Name(), "/"); !every && !slices.Contains(ofAChange, name) {
		t.Skip("in the browser in the night (make browsers)")
	}
	t.Parallel()
	w := newWorld(time.Now, Facts{Provider: "demo", Model: "reglas", Demo: true, Local: true})
	w.furnish()
	server := httptest.NewServer(w)
	ctx, stop := context.WithTimeout(context.Background(), 10*patience)
	t.Cleanup(stop)
	ctx, stop = chrome.Open(ctx, t)
	b := &browser{T: t, world: w, ctx: ctx, base: server.URL, server: server}
	t.Cleanup(func() { b.server.Close() })
	_ = w.PutToken(ctx, auth.Token{Hash: hashOf("once"), Kind: auth.KindCode, Account: w.account, User: "ana", Scopes: ana.Scopes, ExpiresAt: time.Now().Add(time.Hour)})
	b.do(chromedp.EmulateViewport(width, height))
	heard := b.listen()
	t.Cleanup(func() {
		stop()
		for _, text := range <-heard {
			t.Errorf("console: %s", text)
		}
	})
	b.visit("/signin?code=once")
	b.see("#message")
	return b
}

// stop ends the server and every connection to it.
func (b *browser) stop() {
	b.server.Listener.Close()
	b.hub.cut()
	b.server.CloseClientConnections()
	b.server.Close()
}

// start serves the world again, at the same address.
func (b *browser) start() {
	b.Helper()
	listener, err := net.Listen("tcp", b.server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: b.world}}
	b.server.Start()
}

// listen returns the console errors when the browser is closed.
func (b *browser) listen() <-chan []string {
	heard := make(chan []string, 1)
	messages := chromedp.Console(b.ctx)
	go func() {
		var bad []string
		for m, err := range messages {
			if err != nil {
				break
			}
			if m.Source != "network" && (m.IsException() || m.Type == "error" || m.Source == "security") {
				bad = append(bad, m.String())
			}
		}
		heard <- bad
	}()
	return heard
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chrome.Do(b.ctx, b, actions...); err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
		b.Fatalf("%v; the page reads:\n%s", err, page)
	}
}

func (b *browser) visit(address string) {
	b.Helper()
	b.do(chromedp.Navigate(b.base + address))
}

func (b *browser) see(css string) {
	b.Helper()
	b.until(`(e => e !== null && e.checkVisibility({visibilityProperty: true}))(document.querySelector(` + "`" + css + "`" + `))`)
}

// click presses an element once it stays at its place: a page that scrolls would be pressed beside it.
func (b *browser) click(css string) {
	b.Helper()
	b.see(css)
	b.until(chrome.Rests(css))
	b.do(chromedp.Click(chromedp.CSS(css)))
}

// write types a text into a field, which the page may replace until then.
func (b *browser) write(css, text string) {
	b.Helper()
	b.see(css)
	b.until(`(e => { e?.focus(); return e !== null && document.activeElement === e })(document.querySelector(` + quoted(css) + `))`)
	b.types(text)
}

func (b *browser) say(text string) {
	b.Helper()
	b.write("#message", text)
	b.until(`!document.getElementById("send").disabled`)
	b.enter()
}

// enter presses Enter at the focus. (A synthetic keystroke types its character even when the page handles the key,
// unlike a keyboard.)
func (b *browser) enter() {
	b.Helper()
	eval[bool](b, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true})) || true`)
}

// eval returns the value of an expression in the page, after awaiting it.
func eval[T any](b *browser, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// patience is how long a page may take on a machine that has much else to do.
const patience = 3 * time.Minute

// until waits until an expression in the page is true.
func (b *browser) until(expression string) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](
		`new Promise((done, fail) => { const look = () => (async () => (`+expression+`))().then(ok => ok ? done(true) : setTimeout(look, 20), fail); look(); })`, chromedp.EvalAwaitPromise))
	if err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
		b.Fatalf("%s: %v; the page reads:\n%s", expression, err, page)
	}
}

// lastSent returns the last message that reached the server, and waits until one that has some words did: the page shows what a
// person wrote before that.
func (b *browser) lastSent(words string) (last string) {
	b.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		b.mu.Lock()
		if n := len(b.sends); n > 0 {
			last = b.sends[n-1]
		}
		b.mu.Unlock()
		if strings.Contains(last, words) {
			return last
		}
	}
	b.Fatalf("the last message that was sent is %q", last)
	return ""
}

func (b *browser) picture(name string) {
	b.Helper()
	if *shots == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// quoted returns a text as a JavaScript expression.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
