package turn

import (
	"context"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/setup"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// loadCatalogue returns the servers that a turn may call, with their allowlists: the active ones that the project uses.
func (s *Service) loadCatalogue(ctx context.Context, account ids.Account, set setup.Setup) ([]tool.Listed, error) {
	var active []tool.Server
	for _, server := range set.Servers {
		if server.Active && !server.IsAgent() && set.Project.Uses(server.ID) {
			active = append(active, server)
		}
	}
	listed := make([]tool.Listed, len(active))
	var reads errgroup.Group
	for i, server := range active {
		reads.Go(func() error {
			list, err := s.Servers.Allowlist(ctx, account, server)
			listed[i] = list.Listed(server, callable(server))
			return err
		})
	}
	return listed, reads.Wait()
}
