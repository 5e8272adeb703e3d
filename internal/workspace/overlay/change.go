package overlay

import (
	"fmt"
	"slices"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
)

// A Change is the change of one file.
type Change struct {
	Name    string `json:"name"`
	Before  string `json:"before,omitempty"`  // its version in the base; "": there is no such file
	After   string `json:"after,omitempty"`   // hex SHA-256 of its new content; "": it is deleted
	Added   int    `json:"added,omitempty"`   // lines, of a text
	Removed int    `json:"removed,omitempty"` // lines, of a text
	Binary  bool   `json:"binary,omitempty"`  // its content, before or after, is no text in UTF-8, or has over 500,000 lines: it has no diff
}

// A Set has the changes that are made together, by name in the order of bytes, and the new contents by their After. It
// can be stored as JSON.
type Set struct {
	Changes  []Change          `json:"changes"`
	Contents map[string][]byte `json:"contents,omitempty"`
}

// Digest returns the hex SHA-256 of the canonical form of the changes. It covers each name, the version before and the
// content after.
func (s Set) Digest() (string, error) {
	return jcs.Sum(append([]Change{}, s.Changes...)) // an empty list is no null
}

// Lines returns how many lines the set adds and removes.
func (s Set) Lines() (added, removed int) {
	for _, c := range s.Changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	return added, removed
}

// Title returns the sentence of the step that applies the set.
func (s Set) Title() locale.Phrase {
	added, removed := s.Lines()
	return locale.Say("changes.title", "n", len(s.Changes), "added", added, "removed", removed)
}

// Inverse returns the change that takes it back, without the versions.
func (c Change) Inverse() Change {
	return Change{Name: c.Name, Before: c.After, After: c.Before, Added: c.Removed, Removed: c.Added, Binary: c.Binary}
}

// Phrase returns the sentence of the change, for a list of changes.
func (c Change) Phrase() locale.Phrase {
	key := "changes.changed"
	switch {
	case c.After == "":
		key = "changes.deleted"
	case c.Before == "":
		key = "changes.made"
	}
	if c.Binary {
		key += "_binary"
	}
	return locale.Say(key, "name", c.Name, "added", c.Added, "removed", c.Removed)
}

// Only returns the changes of some files.
func (s Set) Only(names ...string) Set {
	return s.filter(func(name string) bool { return slices.Contains(names, name) })
}

// Without returns the changes of all other files. An overlay that is made from the rest shows these files as the base
// has them.
func (s Set) Without(names ...string) Set {
	return s.filter(func(name string) bool { return !slices.Contains(names, name) })
}

func (s Set) filter(keep func(name string) bool) Set {
	out := Set{Contents: map[string][]byte{}}
	for _, c := range s.Changes {
		if !keep(c.Name) {
			continue
		}
		out.Changes = append(out.Changes, c)
		if content, ok := s.Contents[c.After]; ok {
			out.Contents[c.After] = content
		}
	}
	return out
}

// check returns an error if a name stands twice, or if a content is missing or another one than its change says.
func (s Set) check() error {
	seen := map[string]bool{}
	for _, c := range s.Changes {
		content, ok := s.Contents[c.After]
		switch {
		case seen[c.Name]:
			return fmt.Errorf("overlay: %q is changed twice", c.Name)
		case c.Before == "" && c.After == "":
			return fmt.Errorf("overlay: the change of %q changes nothing", c.Name)
		case c.After != "" && (!ok || workspace.Sum(content) != c.After):
			return fmt.Errorf("overlay: the content of %q is missing, or another one", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}
