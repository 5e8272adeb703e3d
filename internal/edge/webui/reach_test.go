package webui

import "testing"

// cramped returns what is wrong with a view on a small screen.
const cramped = `(() => {
	const bad = [];
	if (document.documentElement.scrollWidth > innerWidth) bad.push("the page is " + document.documentElement.scrollWidth + " px wide");
	const scroller = document.getElementById("scroller");
	if (scroller && scroller.scrollWidth > scroller.clientWidth) bad.push("the view is " + scroller.scrollWidth + " px wide of " + scroller.clientWidth);
	if (scroller && scroller.clientHeight < 100) bad.push("the view is " + scroller.clientHeight + " px high");
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
	for name, scene := range b.everyScene() {
		b.screen(1280, 900, false, false)
		b.show(scene)
		for _, s := range []struct {
			width, height int64
			look          string
			touch         bool
		}{{320, 256, cramped, false}, {844, 390, cramped, true}, {390, 844, cramped, true}, {390, 844, small, true}, {844, 390, small, true}} {
			b.screen(s.width, s.height, false, s.touch)
			b.until(stillness)
			for _, bad := range eval[[]string](b, s.look) {
				t.Errorf("%s at %d by %d: %s", name, s.width, s.height, bad)
			}
			b.picture("reach-" + name + "-" + itoa(int(s.width)))
		}
	}
}
