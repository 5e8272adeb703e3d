package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// Ledger counts the bytes that are kept, for all processes (package kept of the store).
type Ledger interface {
	// Hold counts bytes that are about to be written in all scopes, each with its bound; false, and nothing is counted,
	// if one has no room, or was never counted.
	Hold(ctx context.Context, bounds map[files.Scope]int64, bytes int64, until time.Time) (bool, error)
	// Settle ends a hold of bytes: they were written, or they count no longer.
	Settle(ctx context.Context, scopes []files.Scope, bytes int64, written bool) error
	Count(ctx context.Context, scope files.Scope) (files.Count, error)
	// Recount replaces a count, if it is still as it was seen; false, and nothing is changed, if not.
	Recount(ctx context.Context, scope files.Scope, seen, now files.Count) (bool, error)
}

// Bounds limit the bytes that are kept of files, with earlier versions, deleted files, change sets and pieces of uploads.
type Bounds struct {
	Place   int64 // of one workspace
	Account int64 // of all workspaces of an account; 0: no bound
	Ledger  Ledger
	Needs   Needs // nil: nothing was deleted, and no prepared changes can be confirmed or go on
}

// Needs reports which workspaces and sets of an account are still needed.
type Needs interface {
	// Deleted returns the workspaces that were deleted, and may still have files.
	Deleted(ctx context.Context, account ids.Account) ([]files.Place, error)
	// Open returns a function that reports whether a set is needed, by its id and the time at which it was made: a draft, a
	// run or a job that goes on has it, or it was made from young on, and may belong to a turn: no draft that had it was
	// decided since. The function is not called for a set from before since.
	Open(ctx context.Context, account ids.Account, since, young time.Time) (func(id string, made time.Time) bool, error)
}

// MaxKept is the usual bound of a workspace: twice the size that its files may have.
const MaxKept = 2 * workspace.MaxBytes

// heldFor is longer than any write takes.
const heldFor = 2 * time.Minute

// turnFor is longer than any turn takes: until then a set may belong to one, and stand in no draft yet.
const turnFor = time.Hour

// mostRounds is how often room is made for one content, when others take it.
const mostRounds = 30

// bounded is the files of a workspace, within the bounds.
type bounded struct {
	workspace.Store
	s     *Service
	place files.Place
	gone  []files.Gone
	own   upload // of which the content was joined
}

// upload is the source of a content: the pieces of an upload, or the objects of a set. They stay until it is whole; then they
// are removed first.
type upload struct {
	prefix string // of their keys; "": it comes from none
	whole  bool
}

// has reports whether an object belongs to it.
func (u upload) has(key string) bool { return u.prefix != "" && strings.HasPrefix(key, u.prefix) }

// Write implements workspace.Store. It removes versions only for a content that can be written.
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
	settle, gone, err := b.s.hold(ctx, b.place, files.Cost(int64(len(content))), b.own)
	b.gone = append(b.gone, gone...)
	if err != nil {
		return workspace.File{}, err
	}
	f, err := b.Store.Write(ctx, name, content, version)
	kind := fault.KindOf(err)
	settle(err == nil || kind == fault.Unavailable || kind == fault.Internal) // then it may have been written
	return f, err
}

// hold counts bytes in the workspace and in its account before they are written, and makes room for them. The caller calls
// settle once; written says whether the bytes may be there.
func (s *Service) hold(ctx context.Context, p files.Place, bytes int64, own upload) (settle func(written bool), gone []files.Gone, err error) {
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
			went, err := s.makeRoom(ctx, p, scope, most[scope], bytes, own)
			gone = append(gone, went...)
			if err != nil {
				return nil, gone, err
			}
		}
	}
	return nil, gone, errKept(scopes[0], most[scopes[0]])
}

// holdSet holds the bytes that a set still has to write, before its first write: a set that has no room is not applied in part.
func (s *Service) holdSet(ctx context.Context, p files.Place, base workspace.Store, set overlay.Set) (settle func(written bool), gone []files.Gone, err error) {
	if s.config.Bounds == nil {
		return func(bool) {}, nil, nil
	}
	moved, err := overlay.Moved(ctx, base, set)
	if err != nil {
		return nil, nil, err
	}
	var bytes int64
	for _, c := range set.Changes {
		if c.After != "" && !slices.Contains(moved, c.Name) {
			bytes += files.Cost(int64(len(set.Contents[c.After])))
		}
	}
	if bytes == 0 {
		return func(bool) {}, nil, nil
	}
	return s.hold(ctx, p, bytes, upload{})
}

func errKept(scope files.Scope, most int64) error {
	reason := "place"
	if scope.Place == "" {
		reason = "account"
	}
	return files.ErrKept.With("reason", reason).With("max_mb", strconv.FormatInt(most>>20, 10))
}

// makeRoom counts a scope, and removes victims in their order until bytes for the workspace p fit. It does nothing if there is
// room.
func (s *Service) makeRoom(ctx context.Context, p files.Place, scope files.Scope, most, bytes int64, own upload) ([]files.Gone, error) {
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
	var n needs
	if now.Kept+bytes > most {
		if n, err = s.needed(ctx, p.Account, all); err != nil {
			return nil, err
		}
		for _, k := range s.victims(p, all, own, n) {
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
	gone := n.gone(remove, all)
	for _, g := range gone {
		s.config.Log.InfoContext(ctx, "files.made_room", "account", p.Account, "project_id", g.Place.Project, "chat_id", g.Place.Chat,
			"name", workspace.Printable(g.Name), "version", g.Version, "bytes", g.Size, "for_project_id", p.Project, "for_chat_id", p.Chat)
	}
	_, err = b.Ledger.Recount(ctx, scope, seen, now) // if it moved meanwhile, the next round sees it
	return gone, err
}

// gone returns the removed versions that a person may miss.
func (n needs) gone(removed, all []files.Kept) []files.Gone {
	there := map[string]bool{}
	for _, k := range all {
		there[k.Key] = there[k.Key] || k.Present
	}
	var gone []files.Gone
	for _, k := range removed {
		kind, rest, _ := strings.Cut(k.Key, "/")
		p, name, ok := files.ReadPlace(rest)
		if !ok || n.deleted[p] {
			continue
		}
		if kind == "files" {
			gone = append(gone, files.Gone{Place: p, Name: name, Version: k.Version, Size: k.Size, At: k.At, Deleted: !there[k.Key]})
		}
		if set := n.unused[k.Key]; set.key == k.Key { // it stands for its contents, too
			for _, name := range set.names {
				gone = append(gone, files.Gone{Place: p, Name: name, At: set.at, Unconfirmed: true})
			}
		}
	}
	return gone
}

// victims returns the versions that may be removed for a content of the workspace p, in order: those that nothing can read any
// more; change sets that nobody confirmed and nothing has any more; then, of p before all other workspaces, earlier versions
// and deleted files, the oldest first, change sets that no undo can need, and pieces of uploads, the oldest first.
func (s *Service) victims(p files.Place, all []files.Kept, own upload, n needs) []files.Kept {
	rank := func(k files.Kept) int {
		kind, rest, _ := strings.Cut(k.Key, "/")
		of, _, _ := files.ReadPlace(rest)
		isFile, others := kind == "files", 0
		if of != p {
			others = 10
		}
		switch {
		case own.has(k.Key) && !own.whole, n.objects[k.Key]:
			return 0
		case own.has(k.Key), n.deleted[of]:
			return 1
		case isFile && (k.Present || n.copies[version{k.Key, k.Version}] == k.ID):
			return 0
		case isFile:
			return others + 3
		case !k.Present:
			return 1
		case kind == "changes" && s.config.Now().Sub(k.At) < heldFor: // its set may be on its way
			return 0
		case n.unused[k.Key].key != "":
			return 2
		case kind == "changes":
			return others + 4
		}
		return others + 5
	}
	list := slices.DeleteFunc(slices.Clone(all), func(k files.Kept) bool { return rank(k) == 0 })
	at := func(k files.Kept) time.Time { // a set and its contents go together
		if set := n.unused[k.Key]; set.key != "" {
			return set.at
		}
		return k.At
	}
	apart := func(k files.Kept) int { // a set goes before its contents, so that it is listed once
		if n.unused[k.Key].key == k.Key {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b files.Kept) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), at(a).Compare(at(b)), apart(a)-apart(b))
	})
	return list
}
