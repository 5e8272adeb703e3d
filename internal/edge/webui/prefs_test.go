package webui

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"piloto/internal/access/auth"

	"github.com/chromedp/chromedp"
)

// TestChoicesAreRememberedAndForgotten: of the theme and of the language, without the script.
func TestChoicesAreRememberedAndForgotten(t *testing.T) {
	w, _, _ := furnishedWorld(t)
	choose := func(path, field, value string) *http.Cookie {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(url.Values{field: {value}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Referer", "http://"+r.Host+"/?view=settings")
		got := httptest.NewRecorder()
		w.page.ServeHTTP(got, r)
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/?view=settings" || len(got.Result().Cookies()) != 1 {
			t.Fatalf("%s %q: %d %v", path, value, got.Code, got.Header())
		}
		return got.Result().Cookies()[0]
	}
	see := func(path string, c *http.Cookie) string {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Language", "es")
		if c.MaxAge >= 0 {
			r.AddCookie(c)
		}
		got := httptest.NewRecorder()
		w.page.ServeHTTP(got, r.WithContext(auth.NewContext(r.Context(), ana)))
		return got.Body.String()
	}
	for _, c := range []struct{ path, field, value, root, pressed string }{
		{"/ui/theme", "theme", "dark", `<html lang="es" data-theme="dark">`, `value="dark" aria-pressed="true"`},
		{"/ui/theme", "theme", "light", `<html lang="es" data-theme="light">`, `value="light" aria-pressed="true"`},
		{"/ui/theme", "theme", "", `<html lang="es">`, `name="theme" value="" aria-pressed="true"`},
		{"/ui/theme", "theme", `"><b>`, `<html lang="es">`, `name="theme" value="" aria-pressed="true"`},
		{"/ui/lang", "lang", "en", `<html lang="en">`, `value="en" lang="en" aria-pressed="true"`},
		{"/ui/lang", "lang", "", `<html lang="es">`, `name="lang" value="" aria-pressed="true"`},
	} {
		page := see("/?view=settings", choose(c.path, c.field, c.value))
		if !strings.Contains(page, c.root) || !strings.Contains(page, c.pressed) {
			t.Errorf("%s %q: %.300s", c.path, c.value, page)
		}
	}
}

func TestTheChosenThemeIsShown(t *testing.T) {
	b := open(t, 1000, 800)
	ground := `getComputedStyle(document.body).backgroundColor`
	light := eval[string](b, ground)
	b.visit("/?view=settings")
	b.click(`[name=theme][value=dark]`)
	for dark := false; !dark; { // the navigation ends pending evaluations
		dark, _ = chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.documentElement.dataset.theme === "dark" && document.querySelector("[data-view=settings] [value=dark][aria-pressed=true]") !== null`))
		if b.ctx.Err() != nil {
			t.Fatal("the dark theme is not shown")
		}
	}
	if dark := eval[string](b, ground); dark == light {
		t.Errorf("the ground is %s in both themes", dark)
	}
	b.picture("settings")
	b.visit("/")
	b.until(`document.documentElement.dataset.theme === "dark"`)
}
