package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// Limits of a form with files.
const (
	partName = "file"
	maxParts = 20
	maxNames = 1_000 // names that are tried for one file
)

// Attached is the answer to a form: the outcome of each of its files.
type Attached struct {
	Files   []File        `json:"files" nullable:"false"`
	Refused []RefusedFile `json:"refused" nullable:"false"`
}

// RefusedFile is a file of a form that was not written.
type RefusedFile struct {
	Name    string `json:"name"`
	Code    string `json:"code" doc:"that of a problem"`
	Message string `json:"message" doc:"for a person"`
}

// part is one file of a form.
type part struct {
	name    string // as the client wrote it
	content []byte
	of      files.Piece // the last of its pieces; zero: it came whole
}

// attachInput is a form. With a piece it has one file.
type attachInput struct {
	PlaceInput
	PieceInput
	Media string `header:"Content-Type" doc:"multipart/form-data with its boundary"`
}

// attachReply has an Attached, or a PieceKept.
type attachReply struct {
	Status int
	Body   any
}

func (h fileHandler) attach(ctx context.Context, in *attachInput) (*attachReply, error) {
	p, err := h.scope(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	parts, err := readForm(in.Media, bodyOf(ctx))
	if err != nil {
		return nil, err
	}
	if err := h.config.takeBytes(ctx, len(bodyOf(ctx))); err != nil {
		return nil, err
	}
	var removed []files.Removed
	if !in.empty() {
		if len(parts) != 1 {
			return nil, errFileParts
		}
		name, err := attachedName(parts[0].name) // a name that is refused is refused with the first piece
		if err != nil {
			return nil, err
		}
		kept, piece, whole, err := h.join(ctx, p.Place, in.PieceInput, name, parts[0].content)
		if err != nil {
			return nil, err
		}
		if whole == nil {
			return &attachReply{Status: http.StatusAccepted, Body: kept}, nil
		}
		parts[0].content, parts[0].of, removed = whole, piece, kept.Removed
	}
	out, err := h.addAll(ctx, p, parts)
	if err != nil {
		return nil, err
	}
	if len(out.Files) > 0 {
		out.Files[0].Removed = append(removed, out.Files[0].Removed...)
		h.drop(ctx, p.Place, parts[0].of)
	}
	return &attachReply{Status: http.StatusCreated, Body: out}, nil
}

// addAll writes files, and returns the outcome of each. An error says that none was written, and that it may be tried again.
func (h fileHandler) addAll(ctx context.Context, p scope, parts []part) (Attached, error) {
	out := Attached{Files: []File{}, Refused: []RefusedFile{}}
	l, err := h.files.Store(p.Place).List(ctx)
	if err != nil {
		return out, err
	}
	taken := l.Files
	for _, one := range parts {
		f, err := h.add(ctx, &p, one, taken)
		if err != nil && len(out.Files) == 0 && isOurs(err) {
			return out, err
		}
		if err != nil {
			why := problem(ctx, err)
			out.Refused = append(out.Refused, RefusedFile{workspace.Printable(one.name), why.Code, fmt.Sprint(why.Detail)})
			continue
		}
		taken = append(taken, workspace.File{Name: f.Path})
		out.Files = append(out.Files, f)
	}
	return out, nil
}

// isOurs reports whether a failure is none of the file's, so that the request may be repeated.
func isOurs(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Internal || kind == fault.Unavailable
}

// readForm returns the files of a form.
func readForm(media string, body []byte) ([]part, error) {
	kind, params, err := mime.ParseMediaType(media)
	if err != nil || kind != "multipart/form-data" {
		return nil, errMedia
	}
	var parts []part
	form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errFileForm.Because(err)
		}
		_, disposition, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
		if err != nil || p.FormName() != partName || len(parts) == maxParts {
			return nil, errFileForm.Because(err)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return nil, errFileForm.Because(err)
		}
		parts = append(parts, part{name: disposition["filename"], content: content})
	}
	if len(parts) == 0 {
		return nil, errFileForm
	}
	return parts, nil
}

// add writes a file under a name that is free. It marks the scope before.
func (h fileHandler) add(ctx context.Context, p *scope, one part, taken []workspace.File) (File, error) {
	name, err := attachedName(one.name)
	if err != nil {
		return File{}, err
	}
	if !p.marked {
		if err := h.files.Mark(ctx, p.Place); err != nil {
			return File{}, err
		}
		p.marked = true
	}
	for n := 1; n <= maxNames; n++ {
		free := numbered(name, n)
		if clashes(free, taken) {
			continue
		}
		f, gone, err := h.files.Write(ctx, p.Place, free, one.content, "", one.of)
		if errors.Is(err, workspace.ErrMoved) { // somebody took the name meanwhile
			continue
		}
		return showWritten(f, p.Place, gone), err
	}
	return File{}, workspace.ErrMoved.With("name", workspace.Printable(name))
}

// attachedName returns the name that a file of a client gets, before it is numbered; an error when it is hidden, or has none.
func attachedName(client string) (string, error) {
	last := client[strings.LastIndexAny(client, `/\`)+1:]
	name := cleaned(last)
	if (workspace.Shown{}).Hidden(last) {
		name = last
	}
	return name, workspace.Shown{}.Check(name)
}

func clashes(name string, taken []workspace.File) bool {
	for _, f := range taken {
		if f.Name == name || workspace.CheckNew(name, f.Name) != nil {
			return true
		}
	}
	return false
}

// cleaned returns a name that a file can have: characters that no system takes become "_", and those that nobody sees go.
func cleaned(name string) string {
	name = norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`:*?"<>|`, r):
			return '_'
		case r == utf8.RuneError || workspace.CheckName("x"+string(r)+"x") != nil:
			return -1
		}
		return r
	}, norm.NFC.String(name)))
	name = cut(strings.TrimRight(strings.TrimLeftFunc(name, unicode.IsSpace), ". "), maxAttached)
	if errors.Is(workspace.CheckName(name), workspace.ErrName) && workspace.CheckName("_"+name) == nil && name != "" {
		return "_" + name // the name of a device
	}
	return name
}

// maxAttached is the size in bytes of a name before it is numbered.
const maxAttached = 240

// cut shortens a name, and keeps its extension.
func cut(name string, most int) string {
	extension := path.Ext(name)
	if len(extension) > 20 {
		extension = ""
	}
	stem := strings.TrimSuffix(name, extension)
	for len(stem)+len(extension) > most {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	return strings.TrimRight(stem, ". ") + extension
}

// numbered returns "name (2).ext" for the second file of a name.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	extension := path.Ext(name)
	return fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, extension), n, extension)
}
