package serve

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// version is one version of a file.
type version struct{ key, version string }

// needs are the objects and versions of a scope that must stay, and the sets that need not.
type needs struct {
	objects map[string]bool    // the keys of sets, contents and marks
	copies  map[version]string // of an earlier version: the id of the copy that stays; of equal ones one is enough
	deleted map[files.Place]bool
	unused  map[string]unused // by the key of a set, or of a content of it
}

// unused is a set that was not applied, and that no draft, run or job has, or that cannot be applied any more.
type unused struct {
	key   string
	names []string
	at    time.Time
}

// keptSet is a set that is kept.
type keptSet struct {
	files.Kept
	place   files.Place
	changes []overlay.Change
	begun   time.Time // to be applied or undone, the last time; zero: it was not applied
}

func (s keptSet) id() string { return strings.TrimPrefix(s.Key, keyOfSet(s.place, "")) }

func (s keptSet) file(c overlay.Change) string { return "files/" + s.place.Prefix() + c.Name }

// needed returns the needs of the change sets of the last 30 days, so that each can be shown, applied and undone: the
// earlier versions of their files, their contents and their marks. After that time an earlier version is not kept.
// A set that was not applied is needed only while a draft, a run or a job has it, and it can be applied. One that was
// applied is needed until a file of it is gone and no undo brings it back: then it cannot be undone.
func (s *Service) needed(ctx context.Context, account ids.Account, all []files.Kept) (needs, error) {
	n := needs{objects: map[string]bool{}, copies: map[version]string{}, deleted: map[files.Place]bool{}, unused: map[string]unused{}}
	know := s.config.Bounds.Needs
	if know != nil {
		deleted, err := know.Deleted(ctx, account)
		if err != nil {
			return n, err
		}
		for _, p := range deleted {
			n.deleted[p] = true
		}
	}
	there := map[string]files.Kept{} // the present versions
	for _, k := range all {
		if k.Present {
			there[k.Key] = k
		}
	}
	oldest := s.config.Now()
	since, young := oldest.Add(-workspace.KeepVersions), oldest.Add(-turnFor)
	prepared, applied, err := s.setsIn(ctx, all, there, n, since)
	if err != nil {
		return n, err
	}
	n.addApplied(applied, all, there, young)
	open := func(_ string, made time.Time) bool { return !made.Before(young) }
	if know != nil && len(prepared) > 0 {
		for _, set := range prepared {
			if set.At.Before(oldest) {
				oldest = set.At
			}
		}
		if open, err = know.Open(ctx, account, oldest, young); err != nil {
			return n, err
		}
	}
	for _, set := range prepared {
		moved := slices.ContainsFunc(set.changes, func(c overlay.Change) bool { return there[set.file(c)].Version != c.Before })
		if open(set.id(), set.At) && !moved {
			n.addObjects(set) // its files are present
		} else {
			n.addUnused(set)
		}
	}
	return n, nil
}

// setsIn reads the sets that were made since a moment. It notes the marks of those that were applied.
func (s *Service) setsIn(ctx context.Context, all []files.Kept, there map[string]files.Kept, n needs, since time.Time) (prepared, applied []keptSet, err error) {
	for _, k := range all {
		rest, isSet := strings.CutPrefix(k.Key, "changes/")
		p, name, ok := files.ReadPlace(rest)
		if !isSet || !ok || !k.Present || k.At.Before(since) || n.deleted[p] {
			continue
		}
		if strings.HasPrefix(name, "begun/") {
			n.objects[k.Key] = true
		}
		id, isManifest := strings.CutPrefix(name, "set/")
		if !isManifest {
			continue
		}
		raw, err := s.config.Objects.Get(ctx, k.Key)
		if errors.Is(err, workspace.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		var m manifest
		if json.Unmarshal(raw, &m) != nil {
			continue // it is damaged: nobody can use it
		}
		set := keptSet{Kept: k, place: p, changes: m.Changes, begun: there[keyOfBegun(p, id)].At}
		if set.begun.IsZero() {
			prepared = append(prepared, set)
			continue
		}
		if undo, ok := there[keyOfBegun(p, id+undoSuffix)]; ok {
			set.begun = undo.At
		}
		applied = append(applied, set)
	}
	return prepared, applied, nil
}

// addApplied notes the versions that undos of sets need. A file that is gone comes back by the undo of a set that deleted it,
// and else by none. Of equal versions one is enough: the present one, except where a delete of a person would not free it. That
// is so of a file that a set deleted, and while a set may be on its way; then it is the newest one that is not the present one,
// because it stays the longest.
func (n needs) addApplied(sets []keptSet, all []files.Kept, there map[string]files.Kept, young time.Time) {
	deleted := map[string]bool{}
	for _, set := range sets {
		for _, c := range set.changes {
			deleted[set.file(c)] = deleted[set.file(c)] || c.After == ""
		}
	}
	for _, set := range sets {
		onItsWay := !set.begun.Before(young)
		lost := func(c overlay.Change) bool { _, ok := there[set.file(c)]; return !ok && !deleted[set.file(c)] }
		if !onItsWay && slices.ContainsFunc(set.changes, lost) {
			continue
		}
		n.addObjects(set)
		for _, c := range set.changes {
			file := set.file(c)
			if c.Before != "" && (there[file].Version != c.Before || deleted[file] || onItsWay) {
				n.copies[version{file, c.Before}] = ""
			}
		}
	}
	best := map[version]files.Kept{}
	for _, k := range all {
		v := version{k.Key, k.Version}
		if _, needed := n.copies[v]; !needed {
			continue
		}
		was, known := best[v]
		if !known || was.Present && !k.Present || was.Present == k.Present && k.At.After(was.At) {
			best[v], n.copies[v] = k, k.ID
		}
	}
}

// addObjects notes that a set and its contents are needed.
func (n needs) addObjects(set keptSet) {
	n.objects[set.Key] = true
	for _, c := range set.changes {
		if c.After != "" {
			n.objects[keyOfContent(set.place, c.After)] = true
		}
	}
}

// addUnused notes that nothing has a set.
func (n needs) addUnused(set keptSet) {
	u := unused{key: set.Key, at: set.At}
	for _, c := range set.changes {
		u.names = append(u.names, c.Name)
	}
	for _, c := range set.changes {
		if c.After != "" {
			n.unused[keyOfContent(set.place, c.After)] = u
		}
	}
	n.unused[set.Key] = u
}
