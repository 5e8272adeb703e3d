package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// pieceSize is the most bytes of a file in one request or answer.
const pieceSize = 4 << 20

// Files are the files of a project, or of a chat, at a deployment. A refusal is a Problem, which equals the fault of a
// workspace.Store with its code.
type Files struct {
	// OnRemoved is called with the versions that were removed to make room for a write; it may be nil.
	OnRemoved func([]files.Removed)

	client *Client
	of     string // "/api/projects/ID"
}

var _ workspace.Store = Files{}

// ProjectFiles returns the files of a project.
func (c *Client) ProjectFiles(id string) Files {
	return Files{client: c, of: Path("api", "projects", id)}
}

// ChatFiles returns the files of a chat: those of its project, if it has one.
func (c *Client) ChatFiles(id string) Files { return Files{client: c, of: Path("api", "chats", id)} }

// Place returns the address of the deployment, and that of the files there.
func (f Files) Place() (origin, path string) { return f.client.Origin, f.of }

// path returns the address of a file below files or versions, and an error for a name that no file can have.
func (f Files) path(below, name string) (string, error) {
	return f.of + "/" + below + Path(strings.Split(name, "/")...), workspace.Shown{}.Check(name)
}

func stored(f httpapi.File) workspace.File {
	return workspace.File{Name: f.Path, Size: f.Size, Version: f.Version, At: f.At}
}

// List returns all files.
func (f Files) List(ctx context.Context) (workspace.Listing, error) {
	got, err := Get[httpapi.FileList](ctx, f.client, f.of+"/files", nil)
	if err != nil {
		return workspace.Listing{}, err
	}
	l := workspace.Listing{Version: got.Version, Files: make([]workspace.File, len(got.Files))}
	for i, one := range got.Files {
		l.Files[i] = stored(one)
	}
	return l, nil
}

// Stat returns the present version of a file.
func (f Files) Stat(ctx context.Context, name string) (workspace.File, error) {
	if err := (workspace.Shown{}).Check(name); err != nil {
		return workspace.File{}, err
	}
	l, err := f.List(ctx)
	if err != nil {
		return workspace.File{}, err
	}
	for _, one := range l.Files {
		if one.Name == name {
			return one, nil
		}
	}
	return workspace.File{}, workspace.ErrNotFound.With("name", workspace.Printable(name))
}

// Versions returns the versions of a file that are kept.
func (f Files) Versions(ctx context.Context, name string) ([]workspace.File, error) {
	path, err := f.path("versions", name)
	if err != nil {
		return nil, err
	}
	got, err := Get[httpapi.VersionList](ctx, f.client, path, nil)
	if err != nil {
		return nil, err
	}
	all := make([]workspace.File, len(got.Versions))
	for i, v := range got.Versions {
		all[i] = workspace.File{Name: name, Size: v.Size, Version: v.Version, At: v.At}
	}
	return all, nil
}

// Read returns a part of a file. All of its requests are about one version.
func (f Files) Read(ctx context.Context, name, version string, from, n int64) ([]byte, workspace.File, error) {
	if from == 0 {
		content, file, err := f.part(ctx, name, version, "")
		if err == nil || !isCode(err, "workspace.ranges") {
			return workspace.Part(content, 0, n), file, err
		}
	}
	var all []byte
	for {
		first := from + int64(len(all))
		part, file, err := f.part(ctx, name, version, fmt.Sprintf("bytes=%d-%d", first, first+max(min(n-int64(len(all)), pieceSize), 1)-1))
		if isCode(err, "workspace.range") { // the file ends before
			file, err = f.about(ctx, name, version)
			return all, file, err
		}
		if err != nil {
			return nil, workspace.File{}, err
		}
		all, version = append(all, part...), file.Version
		if read := int64(len(all)); read >= n || from+read >= file.Size || len(part) == 0 {
			return workspace.Part(all, 0, n), file, nil
		}
	}
}

// about returns a version of a file without its content.
func (f Files) about(ctx context.Context, name, version string) (workspace.File, error) {
	if version == "" {
		return f.Stat(ctx, name)
	}
	all, err := f.Versions(ctx, name)
	for _, one := range all {
		if one.Version == version {
			return one, nil
		}
	}
	return workspace.File{}, cmp.Or(err, error(workspace.ErrNotFound.With("name", workspace.Printable(name))))
}

// part reads a file, or a range of it.
func (f Files) part(ctx context.Context, name, version, part string) ([]byte, workspace.File, error) {
	path, err := f.path("files", name)
	if err != nil {
		return nil, workspace.File{}, err
	}
	call := Call{Method: http.MethodGet, Path: path, Header: http.Header{}}
	if version != "" {
		call.Query = url.Values{"version": {version}}
	}
	if part != "" {
		call.Header.Set("Range", part)
	}
	got, err := f.client.answer(ctx, call, "*/*")
	if err != nil {
		return nil, workspace.File{}, err
	}
	file := workspace.File{Name: name, Size: int64(len(got.body)), Version: strings.Trim(got.header.Get("ETag"), `"`)}
	if file.Version == "" {
		return nil, file, f.client.Strange(call, CameOther, errors.New("the answer has no version, and is not one of Piloto"))
	}
	file.At, _ = http.ParseTime(got.header.Get("Last-Modified"))
	if got.status == http.StatusPartialContent {
		_, size, _ := strings.Cut(got.header.Get("Content-Range"), "/")
		if file.Size, err = strconv.ParseInt(size, 10, 64); err != nil {
			return nil, file, f.client.Strange(call, CameOther, fmt.Errorf("the range of an answer is not one: %w", err))
		}
	}
	return got.body, file, nil
}

// Write makes a file, or replaces its content, if its version is still the one given; "" is none. It may be repeated.
func (f Files) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if len(content) <= pieceSize {
		return f.put(ctx, name, version, append([]byte{}, content...), nil, nil)
	}
	if err := workspace.CheckSize(name, int64(len(content))); err != nil {
		return workspace.File{}, err
	}
	upload := url.Values{"upload": {ids.Secret()}}
	for from := 0; ; from += pieceSize {
		to := min(from+pieceSize, len(content))
		part := []string{fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(content))}
		file, err := f.put(ctx, name, version, content[from:to], part, upload)
		if err != nil || to == len(content) {
			return file, err
		}
	}
}

// put sends a file, or a piece of it.
func (f Files) put(ctx context.Context, name, version string, content []byte, part []string, query url.Values) (workspace.File, error) {
	path, err := f.path("files", name)
	if err != nil {
		return workspace.File{}, err
	}
	call := Call{Method: http.MethodPut, Path: path, Query: query, Bytes: content, Header: http.Header{}, Repeat: true}
	call.Header["Content-Range"] = part
	condition(call.Header, version)
	got, err := Send[httpapi.File](ctx, f.client, call)
	if isAgain(err, workspace.ErrMoved) {
		return f.mine(ctx, name, content, part, err)
	}
	if err == nil && len(got.Removed) > 0 && f.OnRemoved != nil {
		f.OnRemoved(got.Removed)
	}
	return stored(got), err
}

// isAgain reports whether an error is that of a request that was sent before. Its first answer may be lost.
func isAgain(err, want error) bool {
	var p *Problem
	return errors.Is(err, want) && errors.As(err, &p) && p.Sent > 1
}

// mine returns the present version of a file if it ends with the written content, and otherwise an error.
func (f Files) mine(ctx context.Context, name string, content []byte, part []string, err error) (workspace.File, error) {
	var from, last, total int64
	if len(part) > 0 {
		_, _ = fmt.Sscanf(part[0], "bytes %d-%d/%d", &from, &last, &total)
	}
	there, now, readErr := f.Read(ctx, name, "", from, int64(len(content))+1)
	if readErr == nil && bytes.Equal(there, content) {
		return now, nil
	}
	return workspace.File{}, err
}

// condition says which version a file must have.
func condition(h http.Header, version string) {
	if version == "" {
		h.Set("If-None-Match", "*")
	} else {
		h.Set("If-Match", strconv.Quote(version))
	}
}

// Delete removes a file, if its version is still the one given.
func (f Files) Delete(ctx context.Context, name, version string) error {
	path, err := f.path("files", name)
	if err != nil {
		return err
	}
	if version == "" { // no file has it
		if _, err := f.Stat(ctx, name); err != nil {
			return err
		}
		return workspace.ErrMoved.With("name", workspace.Printable(name))
	}
	call := Call{Method: http.MethodDelete, Path: path, Header: http.Header{}}
	condition(call.Header, version)
	call.Repeat = true
	_, err = f.client.Raw(ctx, call, "application/json")
	if isAgain(err, workspace.ErrNotFound) {
		return nil
	}
	return err
}

func isCode(err error, code string) bool {
	var p *Problem
	return errors.As(err, &p) && p.Code == code
}
