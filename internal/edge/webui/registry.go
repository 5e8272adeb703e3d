package webui

import (
	"context"
	"slices"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// serversView is the registry. By the id of a server, Agents is the state of an agent, and Changed is how many of the
// tools that were to be read are not, because they changed.
type serversView struct {
	Servers []tool.Server
	Agents  map[string]*agentState
	Changed map[string]int
	Facts   Facts
	Admin   bool // the viewer may change it
}

// agentState is the state of an agent's breaker.
type agentState struct {
	Phase    string    // closed, open or half_open
	Failures int       // in a row
	RetryAt  time.Time // time of the next call; zero: now
}

// serverView is one server and its operations.
type serverView struct {
	Server     tool.Server
	Target     target
	Entries    []tool.Entry
	Keys       []tool.KeyState // the places of its keys
	AgentState *agentState     // of an agent, if known
	Problem    string          // the failure of the last discovery; "" when it succeeded
	Facts      Facts
	Admin      bool
}

// projectsView is the list of projects.
type projectsView struct {
	Projects []conversation.Project
	Facts    Facts
	Admin    bool
}

// projectView is one project; Choices are the servers that its chats may use.
type projectView struct {
	Project conversation.Project
	Choices []choice
	Facts   Facts
	Admin   bool
}

// preset returns the name of a known agent that was registered without keywords; "" for another.
func (v serverView) preset() string {
	if !agent.Preset(v.Server.Name) {
		return ""
	}
	return strings.ToLower(v.Server.Name)
}

// readable reports whether a person named a tool as one that only reads, and it is still the one that was named.
func (v serverView) readable(e tool.Entry) bool { return v.Server.Names(e) }

// unread returns the tools that were to be read without a confirmation and are not, because they changed.
func (v serverView) unread() []string { return unread(v.Server, v.Entries) }

func unread(s tool.Server, entries []tool.Entry) (changed []string) {
	if s.Reads.Mode == tool.ReadsOn {
		_, changed = s.NamedTools(entries)
	}
	return changed
}

// frozen reports whether a tool differs from the approved one.
func (v serverView) frozen(e tool.Entry) bool { return slices.Contains(v.Server.Frozen, e.Name) }

type choice struct {
	Server  tool.Server
	Allowed bool
}

// registry reads the views of services; breakers is nil when no state of agents is shown.
type registry struct {
	servers  Servers
	breakers agent.BreakerLister
	answers  responders
}

func (r registry) all(ctx context.Context, v visit) (*serversView, error) {
	servers, err := r.servers.Servers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	agents, err := r.agentStates(ctx, v, servers...)
	if err != nil {
		return nil, err
	}
	changed := map[string]int{}
	for _, server := range servers {
		if len(server.Reads.Tools) == 0 {
			continue
		}
		entries, err := r.servers.Entries(ctx, v.who.Account, server)
		if err != nil {
			return nil, err
		}
		changed[server.ID] = len(unread(server, entries))
	}
	who, err := r.answers.of(ctx, v, "")
	return &serversView{Servers: servers, Agents: agents, Changed: changed, Facts: who.Facts, Admin: v.who.Allows(auth.ScopeAdmin)}, err
}

// agentStates returns the state of the agents among the servers, by id. An agent without a breaker never failed.
func (r registry) agentStates(ctx context.Context, v visit, servers ...tool.Server) (map[string]*agentState, error) {
	if r.breakers == nil || !slices.ContainsFunc(servers, tool.Server.IsAgent) {
		return nil, nil
	}
	breakers, err := r.breakers.Breakers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	fares := map[string]*agentState{}
	for _, server := range servers {
		if server.IsAgent() {
			fares[server.ID] = &agentState{Phase: agent.Closed.String()}
		}
	}
	for _, b := range breakers {
		if f := fares[b.Agent]; f != nil {
			*f = agentState{Phase: b.Phase(v.now).String(), Failures: len(b.Failed), RetryAt: b.RetryAt()}
		}
	}
	return fares, nil
}

func (r registry) one(ctx context.Context, v visit, id string) (*serverView, error) {
	server, err := r.servers.Server(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	entries, err := r.servers.Entries(ctx, v.who.Account, server)
	if err != nil {
		return nil, err
	}
	who, err := r.answers.of(ctx, v, "")
	if err != nil {
		return nil, err
	}
	fares, err := r.agentStates(ctx, v, server)
	if err != nil {
		return nil, err
	}
	view := &serverView{
		Server: server, Target: targetOf(server.BaseURL), Entries: entries, Keys: server.KeyStates(), AgentState: fares[id], Facts: who.Facts,
		Admin: v.who.Allows(auth.ScopeAdmin),
	}
	if server.LastError != "" {
		why, known := locale.Lookup(v.tag, "fault."+server.LastError)
		if !known || strings.Contains(why, "{") { // a text with arguments that are not stored
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

// projectReader reads the views of projects.
type projectReader struct {
	projects Projects
	servers  tool.ServerLister
	answers  responders
}

func (r projectReader) all(ctx context.Context, v visit) (*projectsView, error) {
	projects, err := r.projects.Projects(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	who, err := r.answers.of(ctx, v, "")
	return &projectsView{Projects: projects, Facts: who.Facts, Admin: v.who.Allows(auth.ScopeAdmin)}, err
}

// one reads one project. A project with all servers has none of them checked.
func (r projectReader) one(ctx context.Context, v visit, id string) (*projectView, error) {
	p, err := r.projects.Project(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	servers, err := r.servers.Servers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	who, err := r.answers.of(ctx, v, id)
	if err != nil {
		return nil, err
	}
	view := &projectView{Project: p, Facts: who.Facts, Admin: v.who.Allows(auth.ScopeAdmin)}
	for _, server := range servers {
		if server.IsAgent() { // steps do not call agents
			continue
		}
		view.Choices = append(view.Choices, choice{Server: server, Allowed: !p.All && p.Uses(server.ID)})
	}
	return view, nil
}

// servicesOf names the services that were read, each once.
func servicesOf(list []conversation.Source) string {
	var names []string
	for _, s := range list {
		if !slices.Contains(names, s.Service) {
			names = append(names, s.Service)
		}
	}
	return strings.Join(names, ", ")
}
