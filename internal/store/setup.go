package store

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/setup"
	"piloto/internal/conversation"
)

// SetupStore reads and caches the setups of accounts. Each read compares the version in the table, so nobody sees a value
// that was changed before the read.
type SetupStore struct {
	stores Stores

	mu   sync.Mutex
	kept map[setup.Of]keptSetup
}

// keptSetup is a setup that is at least as new as a version.
type keptSetup struct {
	setup   setup.Setup
	version int64
}

// mostSetups is how many are kept; then all are dropped.
const mostSetups = 500

// Setup returns the setup of an account, as of a time that is not before the call.
func (s *SetupStore) Setup(ctx context.Context, of setup.Of) (setup.Setup, error) {
	set, err := s.stores.versions.Read(ctx, of.Account)
	if err != nil {
		return setup.Setup{}, err
	}
	s.mu.Lock()
	kept, ok := s.kept[of]
	s.mu.Unlock()
	if ok && kept.version >= set.Version {
		return kept.setup, nil
	}
	now, err := s.read(ctx, of) // after the version, so that it is not older
	if err != nil {
		return now, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= mostSetups {
		s.kept = map[setup.Of]keptSetup{}
	}
	s.kept[of] = keptSetup{now, set.Version}
	return now, nil
}

// read reads a setup from its rows.
func (s *SetupStore) read(ctx context.Context, of setup.Of) (out setup.Setup, err error) {
	var reads errgroup.Group
	reads.Go(func() (err error) { out.AI, err = s.stores.Settings.Settings(ctx, of.Account); return })
	reads.Go(func() (err error) { out.Servers, err = s.stores.Registry.Servers(ctx, of.Account); return })
	reads.Go(func() (err error) { out.Rules, err = s.stores.Runs.Rules(ctx, of.Account); return })
	reads.Go(func() (err error) { out.Project, err = s.project(ctx, of); return })
	if of.Routed {
		reads.Go(func() (err error) {
			out.Router, err = s.stores.Router.RouterSettings(ctx, of.Account, of.Company)
			return
		})
		reads.Go(func() (err error) { out.Loops, err = s.stores.Registry.AgentChanges(ctx, of.Account); return })
	}
	if of.Agent != "" {
		reads.Go(func() (err error) { out.Agent, err = s.stores.Registry.AgentChange(ctx, of.Account, of.Agent); return })
	}
	return out, reads.Wait()
}

// project returns the project of a chat. A chat without one uses every server; a deleted one allows none.
func (s *SetupStore) project(ctx context.Context, of setup.Of) (conversation.Project, error) {
	if of.ProjectID == "" {
		return conversation.Project{All: true}, nil
	}
	p, err := s.stores.Chats.Project(ctx, of.Account, of.ProjectID)
	if errors.Is(err, conversation.ErrProjectNotFound) {
		return conversation.Project{ID: of.ProjectID}, nil
	}
	return p, err
}
