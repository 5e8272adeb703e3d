package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"piloto/infra/local/fixture/chrome"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The two screen sizes of the tests.
const (
	wide, high     = 1280, 860
	narrow, longer = 390, 844
)

// browser is a real browser on a deployment.
type browser struct {
	testing.TB
	d   *deployment
	ctx context.Context
}

// openBrowser starts a browser. The test is skipped, with a reason, when there is no browser, and when functions
// are executables.
func openBrowser(t testing.TB, d *deployment) *browser {
	t.Helper()
	if asProcesses() {
		t.Skip("skipped: what a browser sees does not depend on how functions run, and the page's own tests run here too")
	}
	ctx, _ := chrome.Open(context.Background(), t)
	b := &browser{TB: t, d: d, ctx: ctx}
	b.do(chromedp.EmulateViewport(wide, high))
	return b
}

// signInAddress makes the process create an address that signs in, as -open does.
func (d *deployment) signInAddress(t testing.TB) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "open", "--data", d.data)
	cmd.Env = passed
	said, err := cmd.CombinedOutput()
	address := strings.TrimSpace(string(said))
	if err != nil || !strings.HasPrefix(address, d.url()+"/signin?code=") {
		t.Fatalf("%v: %s", err, said)
	}
	return address
}

// signIn opens an address that signs in.
func (b *browser) signIn() {
	b.Helper()
	b.do(chromedp.Navigate(b.d.signInAddress(b)))
	b.see("#message")
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if b.ctx == ctx || chromedp.FromContext(b.ctx).Target == nil {
		ctx = b.ctx // the browser belongs to the context of the first call
	}
	if err := chrome.Do(ctx, b, actions...); err != nil {
		b.Fatalf("%v; the page reads:\n%s", err, b.text("body"))
	}
}

// value returns the value of an expression on the page. It waits for a promise.
func value[T any](b *browser, expression string) (T, error) {
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// still is true when nothing moves except endless animations.
const still = `document.getAnimations().every(a => a.playState !== "running" || a.effect.getTiming().iterations === Infinity)`

func (b *browser) text(css string) string {
	text, err := value[string](b, `document.querySelector(`+strconv.Quote(css)+`)?.innerText ?? ""`)
	if err != nil {
		return err.Error()
	}
	return text
}

// until waits for an expression of the page to be true.
func (b *browser) until(expression string) {
	b.Helper()
	if err := eventually(patience, func() error {
		ok, err := value[bool](b, expression)
		if err == nil && !ok {
			err = fmt.Errorf("never true: %s", expression)
		}
		return err
	}); err != nil {
		b.Fatalf("%v; the page reads:\n%s", err, b.text("body"))
	}
}

func (b *browser) see(css string) {
	b.Helper()
	b.until(`document.querySelector(` + strconv.Quote(css) + `)?.checkVisibility() ?? false`)
}

// reads waits until the element at css has a text that matches.
func (b *browser) reads(css, pattern string) {
	b.Helper()
	if err := eventually(patience, func() error { return matches(pattern, b.text(css)) }); err != nil {
		b.Fatalf("%s: %v; the page reads:\n%s", css, err, b.text("body"))
	}
}

// unfold shows the whole requests of the plan that waits.
func (b *browser) unfold() {
	b.Helper()
	b.until(`(document.querySelectorAll(".card[data-draft] details[data-request]").forEach((fold) => (fold.open = true)), true)`)
}

func (b *browser) click(css string) {
	b.Helper()
	b.until(still) // a moving element is not yet at its place
	b.until(`(e => e && !e.disabled && e.checkVisibility())(document.querySelector(` + strconv.Quote(css) + `)) ?? false`)
	b.until(chrome.Rests(css))
	b.do(chromedp.Click(chromedp.CSS(css)))
}

func (b *browser) say(message string) {
	b.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS("#message"), message))
	b.click("#send")
}

// fill types into a field.
func fill(css, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(chromedp.CSS(css), text)
}

func (b *browser) visit(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.d.url() + path))
}

// screen sets the size of the window, and whether the person prefers the dark theme.
func (b *browser) screen(width, height int64, dark bool) {
	b.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(width, height), chrome.Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// pictures writes screenshots to $PILOTO_SHOTS, wide and narrow, light and dark. It always checks that nothing
// overflows the narrow screen.
func (b *browser) pictures(name string) {
	b.Helper()
	folder := os.Getenv("PILOTO_SHOTS")
	for _, s := range []struct {
		name          string
		width, height int64
		dark          bool
	}{
		{"narrow-light", narrow, longer, false},
		{"narrow-dark", narrow, longer, true},
		{"wide-dark", wide, high, true},
		{"wide-light", wide, high, false},
	} {
		if folder == "" && s.dark {
			continue
		}
		b.screen(s.width, s.height, s.dark)
		b.until(fmt.Sprintf(`innerWidth === %d && document.documentElement.scrollWidth <= innerWidth`, s.width))
		if folder == "" {
			continue
		}
		b.until(still)
		png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+"-"+s.name+".png"), png, 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
