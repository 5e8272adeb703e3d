package process

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"piloto/infra/local/demo"
	"piloto/internal/boot/registry"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// languageOf returns the language that a request names: chosen on the page, else preferred by its client.
func languageOf(r *http.Request) (tag locale.Tag, named bool) {
	if c, err := r.Cookie(httpapi.LanguageCookie); err == nil && c.Value != "" {
		return locale.Match(c.Value), true
	}
	accepted := r.Header.Get("Accept-Language")
	return locale.Match(accepted), accepted != ""
}

// followLanguage has the demonstration speak the language of a caller before the request is served.
func (d *demonstration) followLanguage(r *http.Request) {
	tag, named := languageOf(r)
	if !named || tag == d.service.Language() || strings.HasPrefix(r.URL.Path, "/assets/") {
		return
	}
	if _, refusal := d.identify(r); refusal != nil {
		return
	}
	if err := d.speak(r.Context(), tag); err != nil {
		d.p.log.WarnContext(r.Context(), "demo.language", "language", string(tag), "error", err.Error())
	}
}

// speak has the demonstration speak a language. The meaning of a call stays the same, so a plan that waits can still be
// confirmed.
func (d *demonstration) speak(ctx context.Context, tag locale.Tag) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.service.Speak(tag)
	servers := registry.Of(d.p.world(), d.p.Stores.Registry)
	list, err := servers.List(ctx, defaultAccount)
	if err != nil {
		return err
	}
	for _, s := range list {
		for _, part := range demoParts {
			want := part.named(s, tag)
			if s.BaseURL != d.p.origin+part.path || s.Name == want.Name && s.About == want.About {
				continue
			}
			renamed := servers
			renamed.Store = renaming{servers.Store, want}
			if _, _, _, err := renamed.Refresh(ctx, defaultAccount, s.ID, d.p.Clock()); err != nil {
				return err
			}
		}
	}
	return nil
}

// named returns a registered server of the part with the name and the description that it has in a language.
func (d demoPart) named(s tool.Server, tag locale.Tag) tool.Server {
	s.Name, s.About = cmp.Or(d.as.Name, demo.In(tag, demoServiceName)), demo.In(tag, d.as.About)
	return s
}

// renaming is a store that also writes the name and the description of the server whose allowlist is replaced.
type renaming struct {
	tool.Store
	as tool.Server
}

func (r renaming) ReplaceCatalogue(ctx context.Context, account ids.Account, s tool.Server, seen string, c tool.Catalogue) error {
	s.Name, s.About = r.as.Name, r.as.About
	return r.Store.ReplaceCatalogue(ctx, account, s, seen, c)
}
