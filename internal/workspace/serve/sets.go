package serve

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// atOnce is how many objects are read or written at the same time.
const atOnce = 8

// manifest is the stored form of a set, without its contents.
type manifest struct {
	Changes []overlay.Change `json:"changes"`
}

func setsOf(p files.Place) string { return "changes/" + p.Prefix() }

func keyOfSet(p files.Place, id string) string { return setsOf(p) + "set/" + id }

func keyOfContent(p files.Place, sum string) string { return setsOf(p) + "content/" + sum }

// undoSuffix follows the id of a set in the name of its undo.
const undoSuffix = "-undone"

// keyOfBegun is the key of the mark that a set, or its undo, is being applied.
func keyOfBegun(p files.Place, id string) string { return setsOf(p) + "begun/" + id }

// load returns a set of a workspace. The error is ErrSet if it is not kept, and ErrDamaged if its digest is not its name.
func (s *Service) load(ctx context.Context, p files.Place, id string) (overlay.Set, error) {
	set := overlay.Set{Changes: []overlay.Change{}, Contents: map[string][]byte{}}
	if id == "" {
		return set, nil
	}
	if !isSum(id) {
		return set, files.ErrSet
	}
	raw, err := s.config.Objects.Get(ctx, keyOfSet(p, id))
	if err != nil {
		return set, missing(err)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return set, ErrDamaged.Because(fmt.Errorf("set %s: %w", id, err))
	}
	set.Changes = m.Changes
	if sum, err := set.Digest(); err != nil || sum != id {
		return set, ErrDamaged.Because(fmt.Errorf("set %s has the digest %s: %w", id, sum, err))
	}
	if set.Contents, err = s.contents(ctx, p, m.Changes); err != nil {
		return set, err
	}
	return set, nil
}

// contents reads the new contents of changes.
func (s *Service) contents(ctx context.Context, p files.Place, changes []overlay.Change) (map[string][]byte, error) {
	var mu sync.Mutex
	all := map[string][]byte{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	wanted := map[string]bool{"": true}
	for _, c := range changes {
		if wanted[c.After] {
			continue
		}
		wanted[c.After] = true
		g.Go(func() error {
			content, err := s.config.Objects.Get(ctx, keyOfContent(p, c.After))
			if err != nil {
				return missing(err)
			}
			if workspace.Sum(content) != c.After {
				return ErrDamaged.Because(fmt.Errorf("the content %s is another one", c.After))
			}
			mu.Lock()
			defer mu.Unlock()
			all[c.After] = content
			return nil
		})
	}
	return all, g.Wait()
}

// save keeps a set that was made of another one, whose contents are kept. It returns the versions removed to make room for it.
func (s *Service) save(ctx context.Context, p files.Place, set, before overlay.Set) (files.Set, []files.Gone, error) {
	saved := files.Set{Changes: list(set.Changes)}
	if len(set.Changes) == 0 {
		return saved, nil, nil
	}
	id, err := set.Digest()
	if err != nil {
		return files.Set{}, nil, err
	}
	saved.ID = id
	raw, err := json.Marshal(manifest{saved.Changes})
	if err != nil {
		return files.Set{}, nil, err
	}
	size := files.Cost(int64(len(raw)))
	for sum, content := range set.Contents {
		if _, kept := before.Contents[sum]; !kept {
			size += files.Cost(int64(len(content)))
		}
	}
	settle, gone, err := s.hold(ctx, p, size, upload{prefix: keyOfSet(p, id)})
	if err != nil {
		return files.Set{}, gone, err
	}
	defer settle(true)
	g, writing := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for sum, content := range set.Contents {
		if _, kept := before.Contents[sum]; !kept {
			g.Go(func() error { return s.config.Objects.Put(writing, keyOfContent(p, sum), content) })
		}
	}
	if err := g.Wait(); err != nil {
		return files.Set{}, gone, err
	}
	return saved, gone, s.config.Objects.Put(ctx, keyOfSet(p, id), raw)
}

// isSum reports whether a text is a SHA-256 in lower hexadecimal.
func isSum(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32 && hex.EncodeToString(raw) == text
}
