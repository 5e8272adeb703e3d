package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// Ledger counts the bytes that are kept, for all processes (package kept of the store).
type Ledger interface {
	// Hold counts bytes that are about to be written in all scopes, each with its bound; false, and nothing is counted,
	// if one has no room, or was never counted.
	Hold(ctx context.Context, bounds map[files.Scope]int64, bytes int64, until time.Time) (bool, error)
	// Settle ends that bytes are held: they were written, or they count no longer.
	Settle(ctx context.Context, scopes []files.Scope, bytes int64, written bool) error
	Count(ctx context.Context, scope files.Scope) (files.Count, error)
	// Recount replaces a count, if it is still as it was seen; false, and nothing is changed, if not.
	Recount(ctx context.Context, scope files.Scope, seen, now files.Count) (bool, error)
}

// Bounds limit the bytes that are kept of files, with earlier versions, deleted files, change sets and pieces of uploads.
type Bounds struct {
	Place   int64 // of one place
	Account int64 // of all places of an account; 0: no bound
	Ledger  Ledger
}

// MaxKept is the usual bound of a place: as much again as its files may have.
const MaxKept = 2 * workspace.MaxBytes

// heldFor is longer than any write takes.
const heldFor = 2 * time.Minute

// mostRounds is how often room is made for one content, when others take it.
const mostRounds = 30

// bounded is the files of a place, within the bounds.
type bounded struct {
	workspace.Store
	s     *Service
	place files.Place
	gone  []files.Gone
}

// Write implements workspace.Store. What makes room goes only for a content that can be written.
func (b *bounded) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if b.s.config.Bounds == nil {
		return b.Store.Write(ctx, name, content, version)
	}
	if err := errors.Join(workspace.Shown{}.Check(name), workspace.CheckSize(name, int64(len(content)))); err != nil {
		return b.Store.Write(ctx, name, content, version) // it says which
	}
	now, err := b.Stat(ctx, name)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return workspace.File{}, err
	}
	if now.Version != version {
		return workspace.File{}, workspace.ErrMoved.With("name", workspace.Printable(name))
	}
	settle, gone, err := b.s.hold(ctx, b.place, files.Cost(int64(len(content))), "")
	b.gone = append(b.gone, gone...)
	if err != nil {
		return workspace.File{}, err
	}
	f, err := b.Store.Write(ctx, name, content, version)
	kind := fault.KindOf(err)
	settle(err == nil || kind == fault.Unavailable || kind == fault.Internal) // then it may have been written
	return f, err
}

// hold counts bytes in the place and in its account before they are written, and makes room for them. What is below
// the prefix own is not removed for it. The caller calls settle once, with whether the bytes may be there.
func (s *Service) hold(ctx context.Context, p files.Place, bytes int64, own string) (settle func(written bool), gone []files.Gone, err error) {
	b := s.config.Bounds
	if b == nil {
		return func(bool) {}, nil, nil
	}
	most := map[files.Scope]int64{p.Scope(): b.Place}
	scopes := []files.Scope{p.Scope()}
	if b.Account > 0 {
		all := files.Scope{Account: p.Account}
		most[all], scopes = b.Account, append(scopes, all)
	}
	for range mostRounds {
		ok, err := b.Ledger.Hold(ctx, most, bytes, s.config.Now().Add(heldFor))
		if err != nil {
			return nil, gone, err
		}
		if ok {
			return func(written bool) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
				defer cancel()
				if err := b.Ledger.Settle(ctx, scopes, bytes, written); err != nil {
					s.config.Log.WarnContext(ctx, "files.unsettled", "bytes", bytes, "error", err) // it is held for a while
				}
			}, gone, nil
		}
		for _, scope := range scopes {
			went, err := s.makeRoom(ctx, scope, most[scope], bytes, own)
			gone = append(gone, went...)
			if err != nil {
				return nil, gone, err
			}
		}
	}
	return nil, gone, errKept(scopes[0], most[scopes[0]])
}

// holdSet counts what a set still has to write, before its first write: a set that has no room is not applied in part.
func (s *Service) holdSet(ctx context.Context, p files.Place, base workspace.Store, set overlay.Set) (settle func(written bool), err error) {
	if s.config.Bounds == nil {
		return func(bool) {}, nil
	}
	moved, err := overlay.Moved(ctx, base, set)
	if err != nil {
		return nil, err
	}
	var bytes int64
	for _, c := range set.Changes {
		if c.After != "" && !slices.Contains(moved, c.Name) {
			bytes += files.Cost(int64(len(set.Contents[c.After])))
		}
	}
	if bytes == 0 {
		return func(bool) {}, nil
	}
	settle, _, err = s.hold(ctx, p, bytes, "")
	return settle, err
}

func errKept(scope files.Scope, most int64) error {
	reason := "place"
	if scope.Place == "" {
		reason = "account"
	}
	return files.ErrKept.With("reason", reason).With("max_mb", strconv.FormatInt(most>>20, 10))
}

// makeRoom counts what is there in a scope, and removes as much of it, in the order of victims, as bytes need. It does
// nothing if there is room.
func (s *Service) makeRoom(ctx context.Context, scope files.Scope, most, bytes int64, own string) ([]files.Gone, error) {
	b := s.config.Bounds
	seen, err := b.Ledger.Count(ctx, scope)
	if err != nil || seen.Known && seen.Kept+bytes <= most {
		return nil, err
	}
	now := files.Count{Known: true}
	if seen.Until.After(s.config.Now()) {
		now.Held, now.Until = max(seen.Held, 0), seen.Until
	}
	now.Kept = now.Held
	var all []files.Kept
	for _, kind := range []string{"files/", "changes/", "uploads/"} {
		some, err := s.config.Objects.Kept(ctx, kind+scope.Prefix())
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	for _, k := range all {
		now.Kept += files.Cost(k.Size)
	}
	var remove []files.Kept
	if now.Kept+bytes > most {
		list, err := s.victims(ctx, all, own)
		if err != nil {
			return nil, err
		}
		for _, k := range list {
			if now.Kept+bytes <= most {
				break
			}
			remove, now.Kept = append(remove, k), now.Kept-files.Cost(k.Size)
		}
	}
	if now.Kept+bytes > most { // nothing goes in vain
		return nil, errKept(scope, most)
	}
	if err := s.config.Objects.Remove(ctx, remove); err != nil {
		return nil, err
	}
	_, err = b.Ledger.Recount(ctx, scope, seen, now) // if it moved meanwhile, the next round sees it
	return goneOf(remove, all), err
}

// goneOf returns what a person misses of what was removed.
func goneOf(removed, all []files.Kept) []files.Gone {
	there := map[string]bool{}
	for _, k := range all {
		there[k.Key] = there[k.Key] || k.Present
	}
	var gone []files.Gone
	for _, k := range removed {
		rest, isFile := strings.CutPrefix(k.Key, "files/")
		if p, name, ok := files.ReadPlace(rest); isFile && ok {
			gone = append(gone, files.Gone{Place: p, Name: name, Version: k.Version, Size: k.Size, At: k.At, Deleted: !there[k.Key]})
		}
	}
	return gone
}

// victims returns what may be removed, in order: what nothing can read any more; earlier versions and deleted files,
// the oldest first; change sets that no draft, run or undo can need; and pieces of uploads, the oldest first.
func (s *Service) victims(ctx context.Context, all []files.Kept, own string) ([]files.Kept, error) {
	needed, err := s.needed(ctx, all)
	if err != nil {
		return nil, err
	}
	rank := func(k files.Kept) int {
		isFile := strings.HasPrefix(k.Key, "files/")
		switch {
		case own != "" && strings.HasPrefix(k.Key, own), needed[version{k.Key, ""}], isFile && (k.Present || needed[version{k.Key, k.Version}]):
			return 0
		case isFile:
			return 2
		case !k.Present:
			return 1
		case strings.HasPrefix(k.Key, "changes/"):
			if s.config.Now().Sub(k.At) < heldFor { // its set may be on its way
				return 0
			}
			return 3
		}
		return 4
	}
	list := slices.DeleteFunc(slices.Clone(all), func(k files.Kept) bool { return rank(k) == 0 })
	slices.SortStableFunc(list, func(a, b files.Kept) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.At.Compare(b.At))
	})
	return list, nil
}

// version is one version of an object, or all of them ("").
type version struct{ key, version string }

// needed returns what the change sets of the last 30 days need, so that each can be shown, applied and undone: the
// earlier versions of their files, their contents and their marks. After that time an earlier version is not kept.
func (s *Service) needed(ctx context.Context, all []files.Kept) (map[version]bool, error) {
	since := s.config.Now().Add(-workspace.KeepVersions)
	needed := map[version]bool{}
	for _, k := range all {
		rest, isSet := strings.CutPrefix(k.Key, "changes/")
		p, name, ok := files.ReadPlace(rest)
		if !isSet || !ok || !k.Present || k.At.Before(since) {
			continue
		}
		switch {
		case strings.HasPrefix(name, "begun/"):
			needed[version{k.Key, ""}] = true
		case strings.HasPrefix(name, "set/"):
			raw, err := s.config.Objects.Get(ctx, k.Key)
			if errors.Is(err, workspace.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			var m manifest
			if err := json.Unmarshal(raw, &m); err != nil {
				continue // it is damaged: nobody can use it
			}
			needed[version{k.Key, ""}] = true
			for _, c := range m.Changes {
				needed[version{"files/" + p.Prefix() + c.Name, c.Before}] = c.Before != ""
				needed[version{keyOfContent(p, c.After), ""}] = true
			}
		}
	}
	return needed, nil
}
