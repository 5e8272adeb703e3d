package jobs

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/agent"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
)

// tellWhere says, before anything of a person is sent, where the prompt and the files that the agent reads go: to the host of
// the deployment, if that is elsewhere, and from there to the provider and the model that work, and to those that stand in for it.
func (g *Group) tellWhere(ctx context.Context, c *client.Client, w *work, chosen *agent.Assistant) error {
	who, providers, err := g.models(ctx, c, w, chosen)
	if refused, ok := errors.AsType[*client.Problem](err); ok && refused != nil { // the error of the job says so
		err = nil
	}
	if err != nil {
		return err
	}
	to := func(name, model string) string {
		known := []string{model}
		if at := slices.IndexFunc(providers, func(p httpapi.Provider) bool { return p.Name == name }); at >= 0 {
			known = append(known, hostOf(providers[at].BaseURL))
		}
		known = slices.DeleteFunc(known, func(s string) bool { return s == "" || s == name })
		if len(known) == 0 {
			return visible.Line(name)
		}
		return visible.Line(name + " (" + strings.Join(known, ", ") + ")")
	}
	from := visible.Line(hostOf(c.Origin))
	key := "cli.goes"
	switch to, err := g.Deployment.Target(); {
	case who.Provider == "":
		key = "cli.goes.nowhere"
	case err == nil && to.Origin == reach.Here: // its process is on this machine
		key = "cli.goes.here"
	}
	said := g.Con.Text(key, "host", from, "provider", to(who.Provider, who.Model))
	var others []string
	for _, name := range who.Order {
		if name != who.Provider {
			others = append(others, to(name, ""))
		}
	}
	if len(others) > 0 {
		said += " " + g.Con.Text("cli.goes.else", "others", strings.Join(others, ", "))
	}
	g.Con.Say(said)
	return nil
}

// models returns which provider and model would work now, and the providers. The provider is "" where the deployment would
// not have it answered.
func (g *Group) models(ctx context.Context, c *client.Client, w *work, chosen *agent.Assistant) (who httpapi.Eligibility, list []httpapi.Provider, err error) {
	query := url.Values{}
	if w.chat != "" {
		query.Set("chat_id", w.chat)
	}
	if who, err = client.Get[httpapi.Eligibility](ctx, c, "/ai/eligibility", query); err != nil {
		return who, nil, err
	}
	as, err := client.Get[httpapi.AgentView](ctx, c, client.Path("api", "agents", w.agent), nil)
	if err != nil {
		return who, nil, err
	}
	if chosen = cmp.Or(chosen, as.Assistant); chosen != nil {
		who.Provider, who.Model = chosen.Provider, chosen.Model
	}
	all, err := client.Get[httpapi.ProviderList](ctx, c, "/ai/providers", nil)
	return who, all.Providers, err
}

// hostOf returns the host of an address, as it is when it has none.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}
