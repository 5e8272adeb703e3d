package webui

import (
	"context"
	"net/http"

	"piloto/internal/ground/locale"
)

const themeCookie = "piloto_theme"

// theme returns the theme that was chosen on the page, "light" or "dark"; "" means that of the system.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// settingsView has a person's settings of this browser.
type settingsView struct {
	Facts    Facts
	Language locale.Tag // "": that of the browser
	Theme    string     // "": that of the system
	Themes   []string
}

func (s *site) settings(_ context.Context, v visit) (settingsView, error) {
	view := settingsView{Facts: s.print.facts, Theme: theme(v.req), Themes: []string{"", "light", "dark"}}
	if c, err := v.req.Cookie(langCookie); err == nil {
		view.Language = locale.Match(c.Value)
	}
	return view, nil
}

// chooseLanguage stores the language, or forgets it when the browser's is to be used, and returns to the page of the form.
func chooseLanguage(w http.ResponseWriter, v visit) error {
	lang := chosen(w, v, "lang")
	if lang != "" {
		lang = string(locale.Match(lang))
	}
	remember(w, v, langCookie, lang)
	return nil
}

// chooseTheme stores the theme, or forgets it when the system's is to be used, and returns to the page of the form.
func chooseTheme(w http.ResponseWriter, v visit) error {
	theme := chosen(w, v, "theme")
	if theme != "light" && theme != "dark" {
		theme = ""
	}
	remember(w, v, themeCookie, theme)
	return nil
}

// chosen returns a field of a small form.
func chosen(w http.ResponseWriter, v visit, name string) string {
	v.req.Body = http.MaxBytesReader(w, v.req.Body, 4<<10)
	return v.req.FormValue(name)
}

// remember stores a choice in this browser for a year; "" deletes it.
func remember(w http.ResponseWriter, v visit, name, value string) {
	age := 365 * 24 * 3600
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure(v.req),
	})
	http.Redirect(w, v.req, back(v.req), http.StatusSeeOther)
}
