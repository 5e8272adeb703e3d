package webui

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// serversView is the registry. Agents is how those among the servers fare, by id.
type serversView struct {
	Servers []tool.Server
	Agents  map[string]*fare
	Facts   Facts
	Admin   bool // may change it
}

// fare is how an agent stands with whoever calls it.
type fare struct {
	Phase    string    // closed, open or half_open
	Failures int       // in a row
	RetryAt  time.Time // when it is called again; zero when it is
}

// serverView is one server and what it can do.
type serverView struct {
	Server  tool.Server
	Target  target
	Entries []tool.Entry
	Fare    *fare  // of an agent, when it is known
	Problem string // why the last discovery failed, in words; "" when it did not
	Facts   Facts
	Admin   bool
}

// projectsView is the list of projects.
type projectsView struct {
	Projects []conversation.Project
	Facts    Facts
	Admin    bool
}

// projectView is one project; Choices are the servers its chats may use.
type projectView struct {
	Project conversation.Project
	Choices []choice
	Facts   Facts
	Admin   bool
}

// preset is the name under which there are words for an agent that was registered
// without any; "" when there are none.
func (v serverView) preset() string {
	if !agent.Preset(v.Server.Name) {
		return ""
	}
	return strings.ToLower(v.Server.Name)
}

// frozen reports whether a tool is another by now than the one that was approved.
func (v serverView) frozen(e tool.Entry) bool { return slices.Contains(v.Server.Frozen, e.Name) }

type choice struct {
	Server  tool.Server
	Allowed bool
}

func (s *site) serversFragment(w http.ResponseWriter, v visit) error {
	view, err := s.servers(v.Context(), v)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "servers", view)
	return nil
}

func (s *site) serverFragment(w http.ResponseWriter, v visit) error {
	view, err := s.server(v.Context(), v, v.PathValue("id"))
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "server", view)
	return nil
}

func (s *site) projectsFragment(w http.ResponseWriter, v visit) error {
	view, err := s.projects(v.Context(), v)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "projects", view)
	return nil
}

func (s *site) projectFragment(w http.ResponseWriter, v visit) error {
	view, err := s.project(v.Context(), v, v.PathValue("id"))
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "project", view)
	return nil
}

func (s *site) servers(ctx context.Context, v visit) (*serversView, error) {
	servers, err := s.Servers.Servers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	agents, err := s.fares(ctx, v, servers...)
	if err != nil {
		return nil, err
	}
	who, err := s.answers(ctx, v, "")
	return &serversView{Servers: servers, Agents: agents, Facts: who.Facts, Admin: v.who.Allows(auth.ScopeAdmin)}, err
}

// fares says how those of the servers that are agents stand, by id. An agent that
// no breaker is kept of was never missed.
func (s *site) fares(ctx context.Context, v visit, servers ...tool.Server) (map[string]*fare, error) {
	if s.Breakers == nil || !slices.ContainsFunc(servers, tool.Server.IsAgent) {
		return nil, nil
	}
	breakers, err := s.Breakers.Breakers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	fares := map[string]*fare{}
	for _, server := range servers {
		if server.IsAgent() {
			fares[server.ID] = &fare{Phase: agent.Closed.String()}
		}
	}
	for _, b := range breakers {
		if f := fares[b.Agent]; f != nil {
			*f = fare{Phase: b.Phase(v.now).String(), Failures: len(b.Failed), RetryAt: b.RetryAt()}
		}
	}
	return fares, nil
}

func (s *site) server(ctx context.Context, v visit, id string) (*serverView, error) {
	server, err := s.Servers.Server(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	entries, err := s.Servers.Entries(ctx, v.who.Account, server)
	if err != nil {
		return nil, err
	}
	who, err := s.answers(ctx, v, "")
	if err != nil {
		return nil, err
	}
	fares, err := s.fares(ctx, v, server)
	if err != nil {
		return nil, err
	}
	view := &serverView{
		Server: server, Target: targetOf(server.BaseURL), Entries: entries, Fare: fares[id], Facts: who.Facts,
		Admin: v.who.Allows(auth.ScopeAdmin),
	}
	if server.LastError != "" {
		why, known := locale.Lookup(v.tag, "fault."+server.LastError)
		if !known || strings.Contains(why, "{") { // a sentence that wants facts which are gone by now
			why = plain(server.LastError)
		}
		because := "page.server.offline_because"
		if server.Kind == tool.KindMCP {
			because = "page.server.mcp.offline_because"
		}
		view.Problem = locale.Text(v.tag, because, "why", why)
	}
	return view, nil
}

func (s *site) projects(ctx context.Context, v visit) (*projectsView, error) {
	projects, err := s.Projects.Projects(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	who, err := s.answers(ctx, v, "")
	return &projectsView{Projects: projects, Facts: who.Facts, Admin: v.who.Allows(auth.ScopeAdmin)}, err
}

// project shows one project. No list of servers means that its chats may use
// them all, so then none is ticked.
func (s *site) project(ctx context.Context, v visit, id string) (*projectView, error) {
	p, err := s.Projects.Project(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	servers, err := s.Servers.Servers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	who, err := s.answers(ctx, v, id)
	if err != nil {
		return nil, err
	}
	view := &projectView{Project: p, Facts: who.Facts, Admin: v.who.Allows(auth.ScopeAdmin)}
	for _, server := range servers {
		if server.IsAgent() { // no step calls it
			continue
		}
		view.Choices = append(view.Choices, choice{Server: server, Allowed: !p.All && p.Uses(server.ID)})
	}
	return view, nil
}
