package files

import (
	"time"

	"piloto/internal/ground/fault"
)

// ErrKept means that so much is kept of files, with earlier versions, deleted files and pieces of uploads, that a
// content has no room, and that a run, a draft or an undo needs what could go. Args["reason"] is "place" or "account",
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
	Place   Place
	Name    string
	Version string
	Size    int64 // bytes
	At      time.Time
	Deleted bool // the file was deleted

	Unconfirmed bool // it is a change that was prepared: Version is "", and Size 0
}

// Count is how many bytes an account, or a place, keeps.
type Count struct {
	Known bool      // it was counted once
	Kept  int64     // with Held
	Held  int64     // of contents that are being written
	Until time.Time // when what is held ends, if its writer died
}

// Scope names what is counted: a place of an account, or all of the account ("").
type Scope struct {
	Account string
	Place   string // the kind and the id of a place, escaped
}

// Scope returns the scope that has only a place.
func (p Place) Scope() Scope {
	if p.Project != "" {
		return Scope{p.Account, "p/" + escaped(p.Project) + "/"}
	}
	return Scope{p.Account, "c/" + escaped(p.Chat) + "/"}
}

// Prefix returns the beginning of the keys of all that is kept in a scope. No other scope of its kind has keys that begin so.
func (s Scope) Prefix() string { return escaped(s.Account) + "/" + s.Place }
