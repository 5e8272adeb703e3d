package webui

import (
	"fmt"
	"strconv"
	"testing"
)

// cramped returns what is wrong with a view on a small screen.
const cramped = `(() => {
	const bad = [];
	if (document.documentElement.scrollWidth > innerWidth) bad.push("the page is " + document.documentElement.scrollWidth + " px wide");
	const scroller = document.getElementById("scroller");
	if (scroller && scroller.scrollWidth > scroller.clientWidth) bad.push("the view is " + scroller.scrollWidth + " px wide of " + scroller.clientWidth);
	if (scroller && scroller.clientHeight < 100) bad.push("the view is " + scroller.clientHeight + " px high");
	for (const e of document.querySelectorAll("body *")) { // a table and code scroll in a place of their own
		if (e.scrollWidth <= e.clientWidth + 1 || !/auto|scroll/.test(getComputedStyle(e).overflowX) || e.matches(".table-box, .table-wrap, pre, textarea") || !e.checkVisibility()) continue;
		bad.push("sideways scrolls " + e.outerHTML.slice(0, 120));
	}
	const dialog = document.querySelector("dialog[open]");
	if (dialog && (dialog.scrollWidth > dialog.clientWidth || dialog.getBoundingClientRect().bottom > innerHeight)) bad.push("the dialog is " + dialog.scrollWidth + " by " + dialog.offsetHeight + " px");
	const box = document.getElementById("message");
	if (box?.checkVisibility() && box.getBoundingClientRect().bottom > innerHeight) bad.push("the message box ends at " + box.getBoundingClientRect().bottom);
	return bad;
})()`

// small returns the targets that a finger may miss: a side is under 40 px. A link within a sentence is exempt
// (WCAG 2.2, 2.5.8), and a box in a label is as large as the label.
const small = `(() => {
	const bad = [];
	for (const e of document.querySelectorAll("button, a[href], input:not([type=hidden]), select, textarea, summary")) {
		if (!e.checkVisibility({visibilityProperty: true, opacityProperty: true}) || e.closest(".prose, dialog:not([open]), .skip, .sources")) continue;
		if (e.matches("a") && getComputedStyle(e).display === "inline") continue;
		const r = (e.matches("[type=checkbox], [type=radio]") && e.closest("label") || e).getBoundingClientRect();
		if (r.width === 0 || r.width >= 39.5 && r.height >= 39.5) continue;
		bad.push(Math.round(r.width) + "x" + Math.round(r.height) + " " + e.outerHTML.slice(0, 120));
	}
	return bad;
})()`

// TestEveryViewIsUsableOnSmallScreens: at a zoom of 400 % (1280 by 1024), on a phone on its side, and by a finger.
func TestEveryViewIsUsableOnSmallScreens(t *testing.T) {
	b := open(t, 1280, 900)
	scenes := b.everyScene()
	for _, lang := range []string{"es", "en"} {
		b.do(setCookie(b.base, langCookie, lang))
		for name, scene := range scenes {
			b.usable(name+", "+lang, scene)
		}
	}
}

// usable looks at a scene in small windows, with its folds closed and open.
func (b *browser) usable(name string, scene scene) {
	b.Helper()
	b.screen(1280, 900, false, false)
	b.show(scene)
	for _, open := range []bool{false, true} {
		eval[bool](b, `document.querySelectorAll("details").forEach(fold => fold.open = `+strconv.FormatBool(open)+`) || true`)
		for _, s := range []struct {
			width, height int64
			look          string
			touch         bool
		}{{320, 256, cramped, false}, {844, 390, cramped, true}, {390, 844, cramped, true}, {390, 844, small, true}, {844, 390, small, true}} {
			b.screen(s.width, s.height, false, s.touch)
			b.until(stillness)
			for _, bad := range eval[[]string](b, s.look) {
				b.Errorf("%s at %d by %d, folds open %v: %s", name, s.width, s.height, open, bad)
			}
			b.picture(fmt.Sprintf("reach-%s-%d-%v", name, s.width, open))
		}
	}
}
