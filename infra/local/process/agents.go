package process

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"piloto/internal/tools/tool"
)

// introduceAgents registers the agents that the environment names, as document 001
// does. One that cannot be reached is registered too, and looked for by functions/mcp; one
// whose address is refused keeps nothing else from starting.
func (p *Process) introduceAgents(ctx context.Context, registry tool.Registry) error {
	for _, name := range slices.Sorted(maps.Keys(p.Agents)) {
		if err := p.makeWay(ctx, registry, name); err != nil {
			return err
		}
		as := tool.Registration{URL: p.Agents[name], Name: name, Kind: tool.KindMCP, Role: tool.RoleAgent, AllowOffline: true}
		mark := firstStart{filepath.Join(p.Data, "agent."+name+".registered")}
		if err := registerDemo(ctx, registry, mark, as, p.Clock()); err != nil {
			p.log.ErrorContext(ctx, "agent.not_registered", "agent_name", name, "error", err)
		}
	}
	return nil
}

// makeWay removes the demonstration's agent of a name.
func (p *Process) makeWay(ctx context.Context, registry tool.Registry, name string) error {
	servers, err := registry.List(ctx, defaultAccount)
	for _, s := range servers {
		if s.IsAgent() && s.Name == name && s.BaseURL == p.origin+demoAgentPath {
			return registry.Delete(ctx, defaultAccount, s.ID)
		}
	}
	return err
}
