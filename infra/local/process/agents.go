package process

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"piloto/internal/tools/tool"
)

// registerAgents registers the agents that the environment names (document 001). An agent that
// cannot be reached is registered too, and functions/mcp retries it later. A refused address is
// logged and does not stop the start.
func (p *Process) registerAgents(ctx context.Context, registry tool.Registry) error {
	for _, name := range slices.Sorted(maps.Keys(p.Settings.Agents)) {
		if err := p.removeDemoAgent(ctx, registry, name); err != nil {
			return err
		}
		as := tool.Registration{URL: p.Settings.Agents[name], Name: name, Kind: tool.KindMCP, Role: tool.RoleAgent, AllowOffline: true}
		mark := firstStart{filepath.Join(p.Data, "agent."+name+".registered")}
		if err := registerDemo(ctx, registry, mark, as, p.Clock()); err != nil {
			p.log.ErrorContext(ctx, "agent.not_registered", "agent_name", name, "error", err)
		}
	}
	return nil
}

// removeDemoAgent removes the agent of the demonstration that has this name.
func (p *Process) removeDemoAgent(ctx context.Context, registry tool.Registry, name string) error {
	servers, err := registry.List(ctx, defaultAccount)
	for _, s := range servers {
		if s.IsAgent() && s.Name == name && s.BaseURL == p.origin+demoAgentPath {
			return registry.Delete(ctx, defaultAccount, s.ID)
		}
	}
	return err
}
