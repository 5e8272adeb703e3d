package turn

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"piloto/internal/conversation"
	"piloto/internal/tools/tool"
)

// loadProject returns a chat's project. A deleted project allows no server.
func (s *Service) loadProject(ctx context.Context, account, id string) (conversation.Project, error) {
	if id == "" {
		return conversation.Project{All: true}, nil
	}
	p, err := s.Store.Project(ctx, account, id)
	if errors.Is(err, conversation.ErrProjectNotFound) {
		return conversation.Project{ID: id}, nil
	}
	return p, err
}

// loadCatalogue returns the active servers with their allowlists.
func (s *Service) loadCatalogue(ctx context.Context, account string) ([]tool.Listed, error) {
	servers, err := s.Store.Servers(ctx, account)
	if err != nil {
		return nil, err
	}
	var active []tool.Server
	for _, server := range servers {
		if server.Active && !server.IsAgent() {
			active = append(active, server)
		}
	}
	listed := make([]tool.Listed, len(active))
	var reads errgroup.Group
	for i, server := range active {
		reads.Go(func() error {
			entries, err := s.Store.Entries(ctx, account, server)
			listed[i] = tool.Listed{Server: server, Entries: callableEntries(server, entries)}
			return err
		})
	}
	return listed, reads.Wait()
}

// allowedServers returns the servers that the project uses.
func allowedServers(listed []tool.Listed, p conversation.Project) []tool.Listed {
	var some []tool.Listed
	for _, l := range listed {
		if p.Uses(l.Server.ID) {
			some = append(some, l)
		}
	}
	return some
}
