// Package workspace owns the files of a project: which names they may have, how large they may be, and the interface
// of a store of them. Its adapters are in folders below.
package workspace

import (
	"context"
	"time"

	"piloto/internal/ground/fault"
)

// Limits of a workspace.
const (
	MaxFiles     = 2_000
	MaxFileBytes = 10 << 20
	MaxBytes     = 100 << 20           // of all files together
	MaxVersions  = 20                  // that are kept of a file
	KeepVersions = 30 * 24 * time.Hour // how long an earlier version is kept
)

// Errors of a store.
var (
	ErrName        = fault.New(fault.Invalid, "workspace.name")            // Args["name"], Inner["why"]
	ErrNotFound    = fault.New(fault.NotFound, "workspace.not_found")      // Args["name"]
	ErrMoved       = fault.New(fault.Conflict, "workspace.moved")          // it has another version than the caller read: Args["name"]
	ErrSpecial     = fault.New(fault.Invalid, "workspace.special")         // a link out, a second name of a file, a FIFO, a device: Args["name"]
	ErrTooLarge    = fault.New(fault.TooLarge, "workspace.too_large")      // CheckSize
	ErrFull        = fault.New(fault.Conflict, "workspace.full")           // too many files, or bytes in all: Limits.Check
	ErrMany        = fault.New(fault.Conflict, "workspace.many")           // a folder has too many files, or bytes in all: Args["name"], Args["max"], Args["max_mb"]
	ErrDenied      = fault.New(fault.Forbidden, "workspace.denied")        // the system does not let this program use it: Args["name"]
	ErrUnreachable = fault.New(fault.Unavailable, "workspace.unreachable") // the folder or the bucket does not answer
	ErrBusy        = fault.New(fault.Conflict, "workspace.busy")           // another job works on it: Args["name"]
	ErrGone        = fault.New(fault.Unavailable, "workspace.gone")        // the folder is not there any more: Args["name"]
)

// A File is one version of a file, without its content.
type File struct {
	Name    string // segments joined by "/", as CheckName wants them
	Size    int64  // bytes
	Version string // opaque. Two contents of one name never have one version
	At      time.Time
}

// A Listing has the files of a workspace.
type Listing struct {
	Files   []File // by name, in the order of bytes
	Version string // changes whenever a file comes, changes or goes
}

// A Store keeps the files of one workspace. It is safe for concurrent use.
type Store interface {
	// List returns all files that are not hidden.
	List(ctx context.Context) (Listing, error)
	// Stat returns the present version of a file.
	Stat(ctx context.Context, name string) (File, error)
	// Read returns at most n bytes of a file from an offset, and the version they are of. A version that is not ""
	// asks for an earlier version.
	Read(ctx context.Context, name, version string, from, n int64) ([]byte, File, error)
	// Write makes a file, or replaces its content, if its version is still the one given. "" means that there is no
	// such file. Otherwise the error is ErrMoved, and nothing is changed.
	Write(ctx context.Context, name string, content []byte, version string) (File, error)
	// Delete removes a file, if its version is still the one given. Its versions can still be read.
	Delete(ctx context.Context, name, version string) error
	// Versions returns the versions of a file that are kept, the newest first, also of a file that was deleted.
	Versions(ctx context.Context, name string) ([]File, error)
}
