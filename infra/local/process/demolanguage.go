package process

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"

	"piloto/infra/local/demo"
	"piloto/internal/boot/registry"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// demoSpeech is the language of the demonstration: that of the person who asked last, of the terminal at the start. Its
// service and its agent describe themselves in it, and what is registered of them follows.
type demoSpeech struct {
	service *demo.Service
	mu      sync.Mutex // held while the registered servers change
}

// languageOf returns the language that a request names: chosen on the page, else preferred by its client.
func languageOf(r *http.Request) (tag locale.Tag, named bool) {
	if c, err := r.Cookie(httpapi.LanguageCookie); err == nil && c.Value != "" {
		return locale.Match(c.Value), true
	}
	accepted := r.Header.Get("Accept-Language")
	return locale.Match(accepted), accepted != ""
}

// followLanguage has the demonstration speak the language of a caller before the request is served.
func (p *Process) followLanguage(r *http.Request) {
	tag, named := languageOf(r)
	if !named || tag == p.demoSpeech.service.Language() || strings.HasPrefix(r.URL.Path, "/assets/") {
		return
	}
	if _, refusal := gateway.Identify(r.Context(), p.Stores.Access, p.functions.meter, p.Clock(), gateway.RequestInfo{
		Method: r.Method, Header: r.Header, Host: r.Host, Address: r.RemoteAddr,
	}); refusal != nil {
		return
	}
	if err := p.speakDemo(r.Context(), tag); err != nil {
		p.log.WarnContext(r.Context(), "demo.language", "language", string(tag), "error", err.Error())
	}
}

// speakDemo has the demonstration speak a language. What a call means stays the same, so a plan that waits can still be
// confirmed.
func (p *Process) speakDemo(ctx context.Context, tag locale.Tag) error {
	p.demoSpeech.mu.Lock()
	defer p.demoSpeech.mu.Unlock()
	p.demoSpeech.service.Speak(tag)
	servers := registry.Of(p.world(), p.Stores.Registry)
	list, err := servers.List(ctx, defaultAccount)
	if err != nil {
		return err
	}
	for _, s := range list {
		for _, part := range demoParts {
			want := part.named(s, tag)
			if s.BaseURL != p.origin+part.path || s.Name == want.Name && s.About == want.About {
				continue
			}
			renamed := servers
			renamed.Store = renaming{servers.Store, want}
			if _, _, _, err := renamed.Refresh(ctx, defaultAccount, s.ID, p.Clock()); err != nil {
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

func (r renaming) ReplaceCatalogue(ctx context.Context, account string, s tool.Server, seen string, c tool.Catalogue) error {
	s.Name, s.About = r.as.Name, r.as.About
	return r.Store.ReplaceCatalogue(ctx, account, s, seen, c)
}
