package webui

import (
	"encoding/json"
	"net/http"

	"piloto/internal/ground/locale"
)

// manifest is the Web Application Manifest (W3C), with which a browser installs the page. There is no service worker,
// because one could show an old plan as a new one.
type manifest struct {
	ID              string         `json:"id"`
	Name            string         `json:"name"`
	ShortName       string         `json:"short_name"`
	Description     string         `json:"description"`
	Lang            locale.Tag     `json:"lang"`
	StartURL        string         `json:"start_url"`
	Scope           string         `json:"scope"`
	Display         string         `json:"display"`
	BackgroundColor string         `json:"background_color"`
	ThemeColor      string         `json:"theme_color"`
	Icons           []manifestIcon `json:"icons"`
}

type manifestIcon struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose,omitempty"`
}

// manifest serves the manifest, in the language of the visit. It opens the waits of the person.
func (a assets) manifest(w http.ResponseWriter, v visit) error {
	m := manifest{
		ID: "/", Name: locale.Text(v.tag, "page.brand"), ShortName: locale.Text(v.tag, "page.brand"), Description: locale.Text(v.tag, "page.welcome.text"),
		Lang: v.tag, StartURL: "/?view=waiting", Scope: "/", Display: "standalone", BackgroundColor: "#ffffff", ThemeColor: "#4a54c8",
	}
	for _, icon := range []struct{ name, sizes, kind, purpose string }{
		{"icon.svg", "any", "image/svg+xml", ""},
		{"icon-192.png", "192x192", "image/png", ""},
		{"icon-512.png", "512x512", "image/png", ""},
		{"icon-mask.png", "512x512", "image/png", "maskable"},
	} {
		src, err := a.url(icon.name)
		if err != nil {
			return err
		}
		m.Icons = append(m.Icons, manifestIcon{src, icon.sizes, icon.kind, icon.purpose})
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/manifest+json")
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Cookie, Accept-Language, Accept-Encoding")
	send(w, v.req, http.StatusOK, body, func() []byte { return zipped(body) })
	return nil
}
