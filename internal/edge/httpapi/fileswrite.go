package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// Limits of the pieces of a file. A piece that is not the last one has a least size, so that a file has few.
const (
	minPiece  = 1 << 20
	maxUpload = 64 // bytes of the name of an upload
)

// writeInput changes a file.
type writeInput struct {
	FileInput
	IfMatch     string `header:"If-Match" doc:"the version that the file has now, in quotes"`
	IfNoneMatch string `header:"If-None-Match" doc:"*: there is no such file"`
	PieceInput
}

// PieceInput says which piece of a file a request has. It is empty in a request that has the whole file.
type PieceInput struct {
	Range  string `header:"Content-Range" doc:"bytes FIRST-LAST/TOTAL of a piece, with upload"`
	Upload string `query:"upload" doc:"of a piece: a name of the client's for all pieces of this file, of at most 64 bytes"`
}

func (in PieceInput) empty() bool { return in == PieceInput{} }

// version returns the version that a file must have to be changed, "" for one that must not be there.
func (in writeInput) version() (string, error) {
	tag, quoted := strings.CutPrefix(in.IfMatch, `"`)
	version, closed := strings.CutSuffix(tag, `"`)
	switch {
	case in.IfMatch == "" && in.IfNoneMatch == "*":
		return "", nil
	case in.IfNoneMatch != "" || !quoted || !closed || version == "" || strings.Contains(version, `"`):
		return "", errUnconditional.With("name", workspace.Printable(in.Path))
	}
	return version, nil
}

// PieceKept is the answer to a piece that is not the last one.
type PieceKept struct {
	Received int64 `json:"received" doc:"the bytes up to the end of this piece"`
	Total    int64 `json:"total"`

	Removed []files.Removed `json:"removed,omitempty" doc:"what made room for the file, and is gone"`
}

// writeReply has a File, or a PieceKept.
type writeReply struct {
	Status int
	ETag   string `header:"ETag"`
	Body   any
}

func (h fileHandler) write(ctx context.Context, in *writeInput) (*writeReply, error) {
	p, store, err := h.store(ctx, in.FileInput)
	if err != nil {
		return nil, err
	}
	version, err := in.version()
	if err != nil {
		return nil, err
	}
	if !in.empty() { // else only the last piece would find it
		now, err := store.Stat(ctx, in.Path)
		if err != nil && !errors.Is(err, workspace.ErrNotFound) {
			return nil, err
		}
		if now.Version != version {
			return nil, outdated(workspace.ErrMoved.With("name", workspace.Printable(in.Path)))
		}
	}
	content := bodyOf(ctx)
	if err := h.config.takeBytes(ctx, len(content)); err != nil {
		return nil, err
	}
	var last files.Piece
	var removed []files.Removed
	if !in.empty() {
		kept, piece, whole, err := h.join(ctx, p.Place, in.PieceInput, in.Path, content)
		if err != nil {
			return nil, err
		}
		if whole == nil {
			return &writeReply{Status: http.StatusAccepted, Body: kept}, nil
		}
		content, last, removed = whole, piece, kept.Removed
	}
	f, err := h.put(ctx, p, in.Path, content, version, last)
	if err != nil {
		return nil, err
	}
	f.Removed = append(removed, f.Removed...)
	h.drop(ctx, p.Place, last)
	out := &writeReply{Status: http.StatusOK, ETag: tagOf(f.Version), Body: f}
	if version == "" {
		out.Status = http.StatusCreated
	}
	return out, nil
}

// join keeps a piece of a file. With the last piece it returns the whole content, and nil before.
func (h fileHandler) join(ctx context.Context, p files.Place, in PieceInput, name string, content []byte) (PieceKept, files.Piece, []byte, error) {
	piece, err := in.piece(name, content)
	if err != nil {
		return PieceKept{}, piece, nil, err
	}
	whole, gone, err := h.files.Join(ctx, p, piece)
	return PieceKept{piece.From + int64(len(content)), piece.Total, files.RemovedFor(p, gone)}, piece, whole, err
}

// piece returns the piece of a file that a request has.
func (in PieceInput) piece(name string, content []byte) (files.Piece, error) {
	p := files.Piece{Upload: in.Upload, Name: name, Content: content}
	var last int64
	n, err := fmt.Sscanf(in.Range, "bytes %d-%d/%d", &p.From, &last, &p.Total)
	if err != nil || n != 3 || in.Range != fmt.Sprintf("bytes %d-%d/%d", p.From, last, p.Total) {
		return p, errFileParts
	}
	if err := workspace.CheckSize(name, p.Total); err != nil {
		return p, err
	}
	switch {
	case in.Upload == "" || len(in.Upload) > maxUpload:
		return p, errFileParts
	case p.From < 0 || last-p.From+1 != int64(len(content)) || len(content) == 0 || last >= p.Total:
		return p, errFileParts
	case !p.Last() && len(content) < minPiece:
		return p, errFileParts
	}
	return p, nil
}

// drop removes the pieces of a file that was written; last is one of them, or zero. Those that stay are removed later, by the rules of the
// bucket.
func (h fileHandler) drop(ctx context.Context, p files.Place, last files.Piece) {
	if last.Upload == "" {
		return
	}
	if err := h.files.Drop(ctx, p, last); err != nil {
		h.config.Log.WarnContext(ctx, "files.pieces_stay", "error", err)
	}
}

// put writes a file that must have a version. It marks the scope before.
func (h fileHandler) put(ctx context.Context, p scope, name string, content []byte, version string, of files.Piece) (File, error) {
	if !p.marked {
		if err := h.files.Mark(ctx, p.Place); err != nil {
			return File{}, err
		}
	}
	f, gone, err := h.files.Write(ctx, p.Place, name, content, version, of)
	return showWritten(f, p.Place, gone), outdated(err)
}

// outdated makes an error of kind Outdated of ErrMoved.
func outdated(err error) error {
	if !errors.Is(err, workspace.ErrMoved) {
		return err
	}
	f := *fault.Of(err)
	f.Kind = fault.Outdated
	return &f
}

func (h fileHandler) delete(ctx context.Context, in *writeInput) (*nothing, error) {
	_, store, err := h.store(ctx, in.FileInput)
	if err != nil {
		return nil, err
	}
	version, err := in.version()
	if err == nil && version == "" {
		err = errUnconditional.With("name", workspace.Printable(in.Path))
	}
	if err != nil {
		return nil, err
	}
	return nil, outdated(store.Delete(ctx, in.Path, version))
}

// bodyOf returns the body of the request.
func bodyOf(ctx context.Context) []byte {
	s, _ := ctx.Value(identityKey{}).(requestIdentity)
	return s.body
}
