// Package serve implements files.Workspace for turns, jobs and steps, over a store of files for each workspace and a store
// of objects for change sets and the pieces of uploads.
//
// A change set is two kinds of objects: a manifest, which has the changes and is named by the digest of the set, and the
// new contents, each named by its SHA-256. Both stand below the prefix of their workspace, so a set cannot be found from
// another workspace. The contents are written first. So a manifest that is there is whole, wherever a process dies, and a
// call that is repeated writes the same objects again.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/filetool"
	"piloto/internal/workspace/overlay"
)

// ErrDamaged means that a set is stored but cannot be used, or that this program failed over it. The log says why.
var ErrDamaged = fault.New(fault.Internal, "workspace.damaged")

// Objects keeps contents under keys that always have the same content.
type Objects interface {
	// Put keeps an object. One that is there with that key may stay as it is.
	Put(ctx context.Context, key string, content []byte) error
	// Get returns an object, or workspace.ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns the keys that begin with a prefix, in the order of bytes.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes an object, if it is there.
	Delete(ctx context.Context, key string) error
	// Kept returns every version of the objects whose keys begin with a prefix, also of files.
	Kept(ctx context.Context, prefix string) ([]files.Kept, error)
	// Remove removes versions for good. One that is gone already is no error.
	Remove(ctx context.Context, list []files.Kept) error
}

// Config has the dependencies of a service.
type Config struct {
	Store   func(files.Place) workspace.Store
	Objects Objects
	Mark    func(context.Context, files.Place) error // records that a workspace has files, before its first one. nil: nowhere
	Bounds  *Bounds                                  // nil: none
	Now     func() time.Time
	Log     *slog.Logger
}

// Service implements files.All.
type Service struct{ config Config }

var _ files.All = (*Service)(nil)

// New returns the service of a configuration.
func New(c Config) *Service { return &Service{c} }

// Store returns the files of a workspace.
func (s *Service) Store(p files.Place) workspace.Store {
	return &bounded{Store: s.config.Store(p), s: s, place: p}
}

// Write writes a file as workspace.Store does, and returns the versions removed to make room for it. The pieces of which it
// was joined are removed first, if of is one.
func (s *Service) Write(ctx context.Context, p files.Place, name string, content []byte, version string, of files.Piece) (f workspace.File, gone []files.Gone, err error) {
	defer s.guard(ctx, &err)
	store := &bounded{Store: s.config.Store(p), s: s, place: p}
	if of.Upload != "" {
		store.own = upload{prefix: uploadOf(p, of), whole: true}
	}
	f, err = store.Write(ctx, name, content, version)
	return f, store.gone, err
}

// Mark records that a workspace has files.
func (s *Service) Mark(ctx context.Context, p files.Place) error {
	if s.config.Mark == nil {
		return nil
	}
	return s.config.Mark(ctx, p)
}

// guard makes ErrDamaged of a panic.
func (s *Service) guard(ctx context.Context, err *error) {
	if p := recover(); p != nil {
		s.config.Log.ErrorContext(ctx, "files.panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = ErrDamaged.Because(fmt.Errorf("panic: %v", p))
	}
}

// over returns the files of a workspace with the changes of a set.
func (s *Service) over(ctx context.Context, p files.Place, id string) (*overlay.Overlay, overlay.Set, error) {
	set, err := s.load(ctx, p, id)
	if err != nil {
		return nil, overlay.Set{}, err
	}
	v, err := overlay.New(s.config.Store(p), set, overlay.Options{Now: s.config.Now, Check: workspace.Shown{}.Check})
	if err != nil {
		return nil, overlay.Set{}, ErrDamaged.Because(err)
	}
	return v, set, nil
}

// Use implements files.Workspace.
func (s *Service) Use(ctx context.Context, p files.Place, id string, calls []files.Call, o files.Options) (used files.Used, err error) {
	defer s.guard(ctx, &err)
	v, before, err := s.over(ctx, p, id)
	if err != nil {
		return files.Used{}, err
	}
	tools := map[string]filetool.Tool{}
	for _, tool := range filetool.New(v, filetool.Options{AllowDelete: o.AllowDelete, Log: s.config.Log}).Tools() {
		tools[tool.Name] = tool
	}
	used.Results = make([]files.Result, len(calls))
	for i, call := range calls {
		tool, ok := tools[call.Name]
		if why := mayNot(tool, ok, o); why != "" {
			used.Results[i] = files.Result{Error: why}
			continue
		}
		used.Results[i] = resultOf(tool.Do(ctx, call.Arguments))
	}
	if err := ctx.Err(); err != nil {
		return files.Used{}, err // a call may have been cut short: the set would be another one the next time
	}
	used.Set, used.Gone, err = s.save(ctx, p, v.Changes(), before)
	return used, err
}

// mayNot returns why a tool may not be used, for the model; "" if it may.
func mayNot(tool filetool.Tool, known bool, o files.Options) string {
	switch {
	case !known:
		return "There is no such file tool here. Nothing was changed. Use one of the tools that are offered."
	case tool.Class == filespec.Write && !o.Write:
		return "Files cannot be changed here: only the tools that read can be used. Nothing was changed."
	}
	return ""
}

// Tree implements files.Workspace.
func (s *Service) Tree(ctx context.Context, p files.Place, id string) (tree files.Tree, err error) {
	defer s.guard(ctx, &err)
	v, _, err := s.over(ctx, p, id)
	if err != nil {
		return files.Tree{}, err
	}
	l, err := v.List(ctx)
	if err != nil || len(l.Files) == 0 {
		return files.Tree{}, err
	}
	tools := filetool.New(v, filetool.Options{Log: s.config.Log})
	if tree.Names, err = tools.Tree(ctx); err != nil {
		return files.Tree{}, err
	}
	tree.Guide = tools.Guide(ctx, nil)
	return tree, nil
}

// maxDiff is the size in bytes of a diff. A file that does not fit is named with its counts of lines.
const maxDiff = 1 << 20

// Show implements files.Workspace.
func (s *Service) Show(ctx context.Context, p files.Place, id string) (shown files.Shown, err error) {
	defer s.guard(ctx, &err)
	set, err := s.load(ctx, p, id)
	if err != nil {
		return files.Shown{}, err
	}
	shown.Set, shown.Unseen = files.Set{ID: id, Changes: list(set.Changes)}, set.Unseen()
	for _, c := range set.Changes {
		diff, err := overlay.Diff(ctx, s.config.Store(p), set.Only(c.Name))
		if err != nil {
			return files.Shown{}, err
		}
		if len(shown.Diff)+len(diff) > maxDiff {
			diff = fmt.Sprintf("--- a/%s\n+++ b/%s\n(+%d −%d: too long to be shown)\n", c.Name, c.Name, c.Added, c.Removed)
			shown.Unseen = append(shown.Unseen, c.Name)
		}
		shown.Diff += diff
	}
	return shown, nil
}

// Without implements files.Workspace.
func (s *Service) Without(ctx context.Context, p files.Place, id string, names []string) (rest files.Set, err error) {
	defer s.guard(ctx, &err)
	set, err := s.load(ctx, p, id)
	if err != nil {
		return files.Set{}, err
	}
	rest, _, err = s.save(ctx, p, set.Without(names...), set) // a part of a set has no content of its own
	return rest, err
}

// Rebase implements files.Workspace.
func (s *Service) Rebase(ctx context.Context, p files.Place, id string) (rest files.Set, moved []string, err error) {
	defer s.guard(ctx, &err)
	set, err := s.load(ctx, p, id)
	if err != nil {
		return files.Set{}, nil, err
	}
	if moved, err = overlay.Moved(ctx, s.config.Store(p), set); err != nil {
		return files.Set{}, nil, err
	}
	rest, _, err = s.save(ctx, p, set.Without(moved...), set)
	return rest, moved, err
}

// Apply implements files.Workspace.
func (s *Service) Apply(ctx context.Context, p files.Place, id string) (applied files.Applied, err error) {
	defer s.guard(ctx, &err)
	set, err := s.load(ctx, p, id)
	if err != nil {
		return applied, err
	}
	return s.apply(ctx, p, id, set)
}

// ErrHalf means that a part of a set was applied, and could not be taken back, because a file changed meanwhile.
var ErrHalf = fault.New(fault.Internal, "workspace.half")

// apply writes a set to the files of a workspace; id names it there. When the store refuses a file, the writes of this call
// are reverted, and those of an earlier attempt, which has left a mark.
func (s *Service) apply(ctx context.Context, p files.Place, id string, set overlay.Set) (applied files.Applied, err error) {
	if len(set.Contents) > 0 {
		if err := s.Mark(ctx, p); err != nil {
			return applied, err
		}
	}
	base, mark := s.config.Store(p), keyOfBegun(p, id)
	settle, gone, err := s.holdSet(ctx, p, base, set)
	if err != nil {
		return applied, err
	}
	defer settle(true) // reverted contents were written, too
	_, err = s.config.Objects.Get(ctx, mark)
	begun := err == nil
	if errors.Is(err, workspace.ErrNotFound) {
		err = s.config.Objects.Put(ctx, mark, nil)
	}
	if err != nil {
		return applied, err
	}
	done, err := overlay.Apply(ctx, base, set)
	if k := fault.KindOf(err); err == nil || k == fault.Unavailable || k == fault.Internal { // a repetition goes on
		return files.Applied{Done: done, Gone: gone}, err
	}
	ours := done
	if !begun { // contents that were there already are somebody else's
		ours = overlay.Written(done)
	}
	if len(ours) == 0 {
		s.unmark(ctx, mark)
		return applied, err
	}
	back, backErr := overlay.Undo(ctx, base, set, ours)
	if backErr == nil {
		_, backErr = overlay.Apply(ctx, base, back)
	}
	switch k := fault.KindOf(backErr); {
	case backErr == nil:
		s.unmark(ctx, mark)
		return applied, err
	case k == fault.Unavailable || k == fault.Internal: // a repetition tries it again
		return applied, backErr
	}
	return applied, ErrHalf.Because(errors.Join(err, backErr))
}

// unmark removes the mark of a set that was refused, and of which nothing is left: it was not applied.
func (s *Service) unmark(ctx context.Context, mark string) {
	if err := s.config.Objects.Delete(ctx, mark); err != nil {
		s.config.Log.WarnContext(ctx, "files.mark_stays", "mark", mark, "error", err) // the versions that it needs stay, too
	}
}

// Undo implements files.Workspace.
func (s *Service) Undo(ctx context.Context, p files.Place, id string, done []overlay.Done) (undone files.Applied, err error) {
	defer s.guard(ctx, &err)
	set, err := s.load(ctx, p, id)
	if err != nil {
		return undone, err
	}
	back, err := overlay.Undo(ctx, s.config.Store(p), set, done)
	if err != nil {
		return undone, err
	}
	return s.apply(ctx, p, id+undoSuffix, back)
}

// list returns an empty list instead of nil, so that JSON never has null.
func list(changes []overlay.Change) []overlay.Change {
	if changes == nil {
		return []overlay.Change{}
	}
	return changes
}

// missing makes ErrSet of an object that is not there.
func missing(err error) error {
	if errors.Is(err, workspace.ErrNotFound) {
		return files.ErrSet.Because(err)
	}
	return err
}

func resultOf(r filetool.Result) files.Result {
	return files.Result{OK: r.OK, Output: r.Output, Error: r.Error}
}
