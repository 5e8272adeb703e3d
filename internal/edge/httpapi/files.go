package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// maxFileBody bounds the bytes of a file in a request or an answer: a function's event has at most 6 MB, where
// bytes are written as base64.
const maxFileBody = 4 << 20

// Faults of requests about files.
var (
	errUnconditional = fault.New(fault.Unconditional, "workspace.unconditional") // Args["name"]
	errFileRange     = fault.New(fault.OutOfRange, "workspace.range")            // Args["name"], Args["size"]
	errFileRanges    = fault.New(fault.TooLarge, "workspace.ranges")             // Args["name"], Args["size"]
	errFileForm      = fault.New(fault.Malformed, "workspace.form")
	errFileParts     = fault.New(fault.Malformed, "workspace.parts")
)

// Files are the files of all scopes.
type Files interface {
	Store(p files.Place) workspace.Store
	// Mark records that a scope has files.
	Mark(ctx context.Context, p files.Place) error
	// Join keeps a piece of a file, and returns the removals that made room for it. With the last piece it returns the
	// whole content.
	Join(ctx context.Context, p files.Place, piece files.Piece) (whole []byte, gone []files.Gone, err error)
	// Drop removes the pieces of an upload that was joined and written.
	Drop(ctx context.Context, p files.Place, piece files.Piece) error
	// Write writes a file as workspace.Store does, and returns the removals that made room for it. of is the last of its
	// pieces, if it came in pieces.
	Write(ctx context.Context, p files.Place, name string, content []byte, version string, of files.Piece) (workspace.File, []files.Gone, error)
}

// Workspaces serves the routes of files, of projects and of chats.
func Workspaces(c Config, f Files, owned Owned) http.Handler {
	a := newAPI(c)
	a.files(f, owned)
	return a.handler()
}

func (a *api) files(f Files, owned Owned) {
	a.function = FunctionFiles
	a.filesOf("Project", "/api/projects/{id}", fileHandler{a.config, f, projectScope(owned)})
	a.filesOf("Chat", "/api/chats/{id}", fileHandler{a.config, f, chatScope(owned)})
}

// filesOf registers the routes of the files of projects, or of chats.
func (a *api) filesOf(kind, path string, h fileHandler) {
	register(a, operation{
		method: http.MethodGet, path: path + "/files", id: "list" + kind + "Files", access: withChat,
		summary: "List the files, without hidden ones", failures: []int{404, 503},
	}, h.list)
	register(a, operation{
		method: http.MethodPost, path: path + "/files", id: "attach" + kind + "Files", access: withChat, status: http.StatusCreated, bytes: maxFileBody,
		summary:  "Add files of a form, each under a name that is free; one over 4 MB in pieces",
		failures: []int{404, 409, 413, 415, 422, 503}, describe: describeForm,
	}, h.attach)
	register(a, operation{
		method: http.MethodGet, path: path + "/files/{path+}", id: "read" + kind + "File", access: withChat,
		summary: "Read a file, or a range of it", failures: []int{404, 413, 416, 422, 503}, describe: describeBytes,
	}, h.read)
	register(a, operation{
		method: http.MethodPut, path: path + "/files/{path+}", id: "write" + kind + "File", access: withChat, bytes: maxFileBody,
		summary:  "Write a file, if it has the version that is named; over 4 MB in pieces",
		failures: []int{404, 409, 412, 413, 415, 422, 428, 503}, describe: describeWrite,
	}, h.write)
	register(a, operation{
		method: http.MethodDelete, path: path + "/files/{path+}", id: "delete" + kind + "File", access: withChat, status: http.StatusNoContent,
		summary: "Delete a file, if it has the version that is named", failures: []int{404, 412, 422, 428, 503},
	}, h.delete)
	register(a, operation{
		method: http.MethodGet, path: path + "/versions/{path+}", id: "list" + kind + "FileVersions", access: withChat,
		summary: "List the versions of a file that are kept, the newest first", failures: []int{404, 422, 503},
	}, h.versions)
	register(a, operation{
		method: http.MethodPost, path: path + "/restore", id: "restore" + kind + "File", access: withChat,
		summary: "Write an earlier version of a file again", failures: []int{404, 409, 412, 413, 415, 422, 503},
	}, h.restore)
}

// describeBytes says that an answer is the bytes of a file.
func describeBytes(_ huma.API, op *huma.Operation) {
	bytes := map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	op.Responses["200"].Content = bytes
	op.Responses["206"] = &huma.Response{Description: "The range", Content: bytes}
	op.Responses["304"] = &huma.Response{Description: "The client has this version"}
}

// describeWrite says that a request is the bytes of a file, and lists its other responses.
func describeWrite(h huma.API, op *huma.Operation) {
	op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}
	written := map[string]*huma.MediaType{"application/json": {Schema: schemaOf[File](h)}}
	op.Responses["200"].Content = written
	op.Responses["201"] = &huma.Response{Description: "The file is new", Content: written}
	op.Responses["202"] = keptResponse(h)
}

// keptResponse describes the answer to a piece that is not the last one.
func keptResponse(h huma.API) *huma.Response {
	return &huma.Response{
		Description: "The piece is kept, and the file is not written yet", Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[PieceKept](h)}},
	}
}

// describeForm describes a form with files, and its responses.
func describeForm(h huma.API, op *huma.Operation) {
	op.Responses["201"].Content = map[string]*huma.MediaType{"application/json": {Schema: schemaOf[Attached](h)}}
	op.Responses["202"] = keptResponse(h)
	most := maxParts
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{partName}, Properties: map[string]*huma.Schema{
			partName: {Type: huma.TypeArray, MaxItems: &most, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		},
	}}}}
}

// fileHandler serves the files of the scopes that a path names.
type fileHandler struct {
	config Config
	files  Files
	scope  scopeOf
}

// scope is a project or a chat that owns files, and whether it is marked as one with files.
type scope struct {
	files.Place
	marked bool
}

// scopeOf returns the scope of an id.
type scopeOf func(ctx context.Context, id string) (scope, error)

func projectScope(owned Owned) scopeOf {
	return func(ctx context.Context, id string) (scope, error) {
		if !ids.Valid(id) {
			return scope{}, conversation.ErrProjectNotFound
		}
		account := caller(ctx).Account
		p, err := owned.Project(ctx, account, id)
		return scope{files.Place{Account: account, Project: id}, p.Files}, err
	}
}

// chatScope returns the scope of a chat: that of its project, if it has one.
func chatScope(owned Owned) scopeOf {
	ofProject := projectScope(owned)
	return func(ctx context.Context, id string) (scope, error) {
		if !ids.Valid(id) {
			return scope{}, conversation.ErrChatNotFound
		}
		account := caller(ctx).Account
		chat, err := owned.Chat(ctx, account, id)
		if err == nil && chat.ProjectID != "" {
			return ofProject(ctx, chat.ProjectID)
		}
		return scope{files.PlaceOf(account, "", id), chat.Files}, err
	}
}

// PlaceInput names a project, or a chat.
type PlaceInput struct {
	ID string `path:"id"`
}

// FileInput names a file.
type FileInput struct {
	PlaceInput
	Path string `path:"path" doc:"segments that are joined by /"`
}

// store returns the files that an input names, and an error for a name that no file can have.
func (h fileHandler) store(ctx context.Context, in FileInput) (scope, workspace.Store, error) {
	p, err := h.scope(ctx, in.ID)
	if err != nil {
		return p, nil, err
	}
	return p, h.files.Store(p.Place), workspace.Shown{}.Check(in.Path)
}

// File is a file without its content.
type File struct {
	Path    string          `json:"path"`
	Size    int64           `json:"size" doc:"bytes"`
	Version string          `json:"version" doc:"another one for each content"`
	At      time.Time       `json:"at"`
	Removed []files.Removed `json:"removed,omitempty" doc:"of a write: earlier versions, deleted files and unconfirmed changes that made room for it, and are gone"`
}

func showFile(f workspace.File) File {
	return File{Path: f.Name, Size: f.Size, Version: f.Version, At: f.At.UTC()}
}

// showWritten returns a file that was written, with the removals that made room for it.
func showWritten(f workspace.File, p files.Place, gone []files.Gone) File {
	out := showFile(f)
	out.Removed = files.RemovedFor(p, gone)
	return out
}

// FileList lists the files of a scope.
type FileList struct {
	Files   []File `json:"files" nullable:"false"`
	Version string `json:"version" doc:"changes whenever a file comes, changes or goes"`
	Bytes   int64  `json:"bytes" doc:"of all files together"`
}

func (h fileHandler) list(ctx context.Context, in *PlaceInput) (*reply[FileList], error) {
	p, err := h.scope(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	l, err := h.files.Store(p.Place).List(ctx)
	if err != nil {
		return nil, err
	}
	out := FileList{Files: make([]File, len(l.Files)), Version: l.Version}
	for i, f := range l.Files {
		out.Files[i] = showFile(f)
		out.Bytes += f.Size
	}
	return answer(out), nil
}

// FileVersion is one version of a file.
type FileVersion struct {
	Version string    `json:"version"`
	Size    int64     `json:"size" doc:"bytes"`
	At      time.Time `json:"at"`
}

// VersionList is the versions of a file.
type VersionList struct {
	Versions []FileVersion `json:"versions" nullable:"false"`
}

func (h fileHandler) versions(ctx context.Context, in *FileInput) (*reply[VersionList], error) {
	_, store, err := h.store(ctx, *in)
	if err != nil {
		return nil, err
	}
	all, err := store.Versions(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	out := VersionList{Versions: make([]FileVersion, len(all))}
	for i, f := range all {
		out.Versions[i] = FileVersion{Version: f.Version, Size: f.Size, At: f.At.UTC()}
	}
	return answer(out), nil
}

// RestoreRequest is the body that writes an earlier version again.
type RestoreRequest struct {
	Path    string `json:"path" minLength:"1"`
	Version string `json:"version" minLength:"1" doc:"the one to write again"`
	IfMatch string `json:"if_match,omitempty" doc:"the version that the file has now; absent: it is deleted"`
}

func (h fileHandler) restore(ctx context.Context, in *struct {
	PlaceInput
	Body RestoreRequest
},
) (*reply[File], error) {
	p, store, err := h.store(ctx, FileInput{in.PlaceInput, in.Body.Path})
	if err != nil {
		return nil, err
	}
	content, _, err := workspace.ReadAll(ctx, store, in.Body.Path, in.Body.Version)
	if err != nil {
		return nil, err
	}
	if err := h.config.takeBytes(ctx, len(content)); err != nil {
		return nil, err
	}
	f, err := h.put(ctx, p, in.Body.Path, content, in.Body.IfMatch, files.Piece{})
	if err != nil {
		return nil, err
	}
	return answer(f), nil
}

func sized(f *fault.Error, file workspace.File) error {
	return f.With("name", workspace.Printable(file.Name)).With("size", strconv.FormatInt(file.Size, 10))
}
