// Package files owns the interface of a workspace on a server: the calls of a model's file tools, and the changes that a job
// made, which a person confirms as one step of a plan.
//
// The function files implements it, and it alone may use the bucket. All other functions call that function (package
// call), because a client of S3 is a megabyte.
package files

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/workspace/overlay"
)

// Errors of a workspace on a server.
var (
	ErrSet    = fault.New(fault.NotFound, "workspace.set")    // it is not kept, or not any more
	ErrPieces = fault.New(fault.Conflict, "workspace.pieces") // some are missing: Args["from"] is the first byte
)

// A Place identifies a workspace: that of a project or, for a chat without a project, that of the chat.
type Place struct {
	Account ids.Account `json:"account"`
	Project string      `json:"project,omitempty"`
	Chat    string      `json:"chat,omitempty"` // only without Project
}

// PlaceOf returns the workspace of a chat.
func PlaceOf(account ids.Account, project, chat string) Place {
	if project != "" {
		return Place{Account: account, Project: project}
	}
	return Place{Account: account, Chat: chat}
}

// Prefix returns the prefix of the keys of a workspace. No other workspace has it.
func (p Place) Prefix() string { return p.Scope().Prefix() }

// escaped returns a text as a segment of a key.
func escaped(text string) string { return url.QueryEscape(text) }

// ReadPlace returns the workspace and the rest of a key below a prefix that ends before the account.
func ReadPlace(key string) (p Place, rest string, ok bool) {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 4 {
		return Place{}, "", false
	}
	account, errAccount := url.QueryUnescape(parts[0])
	id, errID := url.QueryUnescape(parts[2])
	switch p.Account = ids.Account(account); parts[1] {
	case "p":
		p.Project = id
	case "c":
		p.Chat = id
	}
	return p, parts[3], errAccount == nil && errID == nil && p.Project+p.Chat != ""
}

// Workspace reads and changes the files of workspaces for a turn, a job or a step. Errors are those of workspace.Store, and
// ErrSet.
//
// A change set is named by its digest. It is kept for 90 days after it was made, and never changes: a call with the same
// set does the same again. The set "" has no changes.
type Workspace interface {
	// Use makes the calls of file tools in order, over a set. The stored files are not changed. The answer has the set
	// afterwards.
	Use(ctx context.Context, p Place, set string, calls []Call, o Options) (Used, error)
	// Tree describes the files for a prompt.
	Tree(ctx context.Context, p Place, set string) (Tree, error)
	// Show returns a set, and its changes as a unified diff.
	Show(ctx context.Context, p Place, set string) (Shown, error)
	// Without makes a set without the changes of some files.
	Without(ctx context.Context, p Place, set string, names []string) (Set, error)
	// Rebase makes a set without the changes of files that are not as they were any more, and returns their names.
	Rebase(ctx context.Context, p Place, set string) (Set, []string, error)
	// Apply makes all changes of the set in the stored files, or none. workspace.ErrMoved, with the names in Args["name"],
	// means that files changed since the job read them. It may be repeated with the same set.
	Apply(ctx context.Context, p Place, set string) (Applied, error)
	// Undo reverts the changes of Apply. workspace.ErrMoved means that files changed since, or that their earlier
	// versions are not kept any more. It may be repeated.
	Undo(ctx context.Context, p Place, set string, done []overlay.Done) (Applied, error)
}

// All is the interface of the function files.
type All interface {
	Workspace
	// Clear deletes all files of a workspace that was deleted. It may be repeated.
	Clear(ctx context.Context, p Place) error
}

// A Tree has the names of the files as an indented list, and what their guides say (filetool.Guide); "" if there are none.
type Tree struct {
	Names string `json:"names,omitempty"`
	Guide string `json:"guide,omitempty"`
}

// A Call is one call of a file tool (filetool), with the arguments as the model wrote them.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Options are the permissions of the calls.
type Options struct {
	Write       bool `json:"write,omitempty"`        // tools that change files, too
	AllowDelete bool `json:"allow_delete,omitempty"` // delete_file, too
}

// A Result answers a call: Output if it is OK, else Error, a sentence for the model.
type Result struct {
	OK     bool   `json:"ok"`
	Output string `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
}

// A Set has the changes of a set, without contents. ID is its digest (overlay.Set.Digest); "" if it has no changes.
type Set struct {
	ID      string           `json:"id,omitempty"`
	Changes []overlay.Change `json:"changes"`
}

// Used is the answer of Use: a result for each call, the set afterwards, and the versions removed to make room for it.
type Used struct {
	Results []Result `json:"results"`
	Set     Set      `json:"set"`
	Gone    []Gone   `json:"gone,omitempty"`
}

// Applied is the answer of Apply and Undo: the changes that the files have, and the versions removed to make room for them.
type Applied struct {
	Done []overlay.Done
	Gone []Gone
}

// Shown is the answer of Show. Unseen are the files whose new content is not in the diff.
type Shown struct {
	Set    Set      `json:"set"`
	Diff   string   `json:"diff"`
	Unseen []string `json:"unseen,omitempty"`
}

// A Piece is a part of a file that is sent in several requests, the last one with its end.
type Piece struct {
	Upload  string // the client's name for all pieces together
	Name    string // of the file
	From    int64  // bytes before it
	Total   int64  // bytes of the file
	Content []byte
}

// Last reports whether the file ends with the piece.
func (p Piece) Last() bool { return p.From+int64(len(p.Content)) == p.Total }
