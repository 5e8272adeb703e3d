package serve

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// clearAtOnce is how many files are deleted at the same time.
const clearAtOnce = 16

// Clear deletes the files and the sets of a workspace that was deleted. The rules of the bucket remove the versions.
func (s *Service) Clear(ctx context.Context, p files.Place) (err error) {
	defer s.guard(ctx, &err)
	store := s.config.Store(p)
	l, err := store.List(ctx)
	if err != nil {
		return err
	}
	keys, err := s.config.Objects.List(ctx, setsOf(p))
	if err != nil {
		return err
	}
	g, deleting := errgroup.WithContext(ctx)
	g.SetLimit(clearAtOnce)
	for _, f := range l.Files {
		g.Go(func() error {
			err := store.Delete(deleting, f.Name, f.Version)
			if errors.Is(err, workspace.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	for _, key := range keys {
		g.Go(func() error { return s.config.Objects.Delete(deleting, key) })
	}
	return g.Wait()
}
