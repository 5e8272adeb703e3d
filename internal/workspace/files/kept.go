package files

import (
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// ErrKept means that the files, with earlier versions, deleted files and pieces of uploads, leave no room for a content, and
// that a run, a draft or an undo needs each version that could be removed. Args["reason"] is "place" or "account",
// Args["max_mb"] the bound.
var ErrKept = fault.New(fault.Conflict, "workspace.kept")

// Kept is one version of an object of the bucket of files.
type Kept struct {
	Key     string
	ID      string // of this version only
	Version string // of the file: workspace.File
	Size    int64  // bytes
	At      time.Time
	Present bool // it is the present version
}

// Cost returns how many bytes a content of a size counts as: whole blocks of a disk, and one for its row.
func Cost(size int64) int64 {
	const block = 4 << 10
	return (size+block-1)/block*block + block
}

// Gone is an earlier version, the last one of a deleted file, or a change that nobody confirmed, that made room for another
// content.
type Gone struct {
	Place   Place     `json:"place"`
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Size    int64     `json:"size,omitempty"` // bytes
	At      time.Time `json:"at"`
	Deleted bool      `json:"deleted,omitempty"` // the file was deleted

	Unconfirmed bool `json:"unconfirmed,omitempty"` // it is a change that was prepared: Version is "", and Size 0
}

// Removed is an earlier version of a file, the last one of a deleted file, or a change that nobody confirmed, that made room
// for another content.
type Removed struct {
	Path      string    `json:"path"`
	Version   string    `json:"version" doc:"empty of a change"`
	Size      int64     `json:"size" doc:"bytes"`
	At        time.Time `json:"at"`
	Deleted   bool      `json:"deleted" doc:"the file was deleted before"`
	ProjectID string    `json:"project_id,omitempty" doc:"of a file of another project"`
	ChatID    string    `json:"chat_id,omitempty" doc:"of a file of another chat"`

	Unconfirmed bool `json:"unconfirmed,omitempty" doc:"it is a change that was prepared, and that no draft, run or job had any more"`
}

// RemovedFor returns the versions that were removed to make room in a workspace, as a person reads them.
func RemovedFor(p Place, gone []Gone) (list []Removed) {
	for _, g := range gone {
		r := Removed{Path: g.Name, Version: g.Version, Size: g.Size, At: g.At.UTC(), Deleted: g.Deleted, Unconfirmed: g.Unconfirmed}
		if g.Place != p {
			r.ProjectID, r.ChatID = g.Place.Project, g.Place.Chat
		}
		list = append(list, r)
	}
	return list
}

// mostNamed is how many files MadeRoom names.
const mostNamed = 10

// MadeRoom returns the sentence about the removed versions, each file once. n is how many were removed, of which the list may
// have a part; show returns a name as text of the message.
func MadeRoom(list []Removed, n int, show func(name string) locale.Phrase) locale.Phrase {
	type named struct {
		path      string
		elsewhere bool
	}
	var all []named
	for _, r := range list {
		if one := (named{r.Path, r.ProjectID+r.ChatID != ""}); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	var some []locale.Phrase
	for _, one := range all[:min(len(all), mostNamed)] {
		name := show(one.path)
		if one.elsewhere {
			name = locale.Say("files.elsewhere", "name", name)
		}
		some = append(some, name)
	}
	if len(all) > mostNamed {
		some = append(some, locale.Verbatim("…"))
	}
	return locale.Say("files.made_room", "n", n, "names", locale.Joined{Phrases: some, Between: ", "})
}

// Count is how many bytes an account, or a workspace, keeps.
type Count struct {
	Known bool      // it was counted once
	Kept  int64     // with Held
	Held  int64     // of contents that are being written
	Until time.Time // when the hold ends, if its writer died
}

// Scope identifies a count: of one workspace, or of all of an account ("").
type Scope struct {
	Account ids.Account
	Place   string // the kind and the id of a workspace, escaped
}

// Scope returns the scope of one workspace.
func (p Place) Scope() Scope {
	if p.Project != "" {
		return Scope{p.Account, "p/" + escaped(p.Project) + "/"}
	}
	return Scope{p.Account, "c/" + escaped(p.Chat) + "/"}
}

// Prefix returns the prefix of the keys of a scope. No other scope of its kind has it.
func (s Scope) Prefix() string { return escaped(string(s.Account)) + "/" + s.Place }
