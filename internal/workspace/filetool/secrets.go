package filetool

import (
	"bytes"
	"context"
	"fmt"

	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// masked returns the content of a file as a model may read it, and how many of its secrets have a mask.
func (f *Files) masked(name string, content []byte) ([]byte, int) {
	return f.known().Content(f.options.Shown, name, content)
}

// known returns the secrets of the other files; nil: none is known.
func (f *Files) known() *mask.Known {
	if f.options.Known == nil {
		return nil
	}
	return f.options.Known()
}

// veiled returns a file without its secrets.
func (f *Files) veiled(name string, content []byte) mask.Veil {
	v := f.known().Veil(f.options.Shown, name, content)
	if f.options.Seen != nil && f.options.Seen(name) {
		return v.Seen()
	}
	return v
}

// withoutSecrets returns the lines of a file as a model reads a part of them, which begins at line from. In a part with
// secrets, and in a file that usually has some, masks stand for them, unless there is a person who lets the model read
// them. secrets is how many of the file have a mask; 0 if no line of the part has one.
func (f *Files) withoutSecrets(ctx context.Context, name string, content []byte, part [][]byte, from int) (lines [][]byte, secrets int, err error) {
	plain := newDocument(content).lines()
	safe, all := f.masked(name, content)
	masked := newDocument(safe).lines()
	has := false
	for i := range part {
		has = has || !bytes.Equal(part[i], masked[from-1+i])
	}
	asks := f.options.AskSecrets != nil && (has || f.options.Shown.Secrets(name) != workspace.NoSecrets)
	switch {
	case asks:
		if refused := f.options.AskSecrets(ctx, name, all); refused != "" {
			return nil, 0, errorf("%s", refused)
		}
		return plain, 0, nil
	case has:
		return masked, all, nil
	}
	return plain, 0, nil
}

// maskedNote explains the mask to a model, if there is one.
func maskedNote(secrets int) string {
	if secrets == 0 {
		return ""
	}
	return fmt.Sprintf("(%s of this file masked: %s stands for each. Leave the lines with it as they are, because a write with it is refused.)\n",
		counted(secrets, "secret"), mask.Mark)
}

// errMasked refuses to write a mask into a file.
func errMasked(name string) error {
	return maskRefused{errorf("Nothing was changed: %s stands for a secret that you were not shown. It, or another mask such as ***, "+
		"written into %q in the place of a secret, would destroy that secret. "+
		"Leave the lines with it as they are: use edit_file or apply_patch on other lines only, without %s in any line. "+
		"If the secret itself must change, tell the person what to change.", mask.Mark, name, mask.Mark)}
}

// maskRefused is the sentence that refuses a mask. Result.Why names it.
type maskRefused struct{ error }

func (m maskRefused) Unwrap() error { return m.error }

// errShows refuses a change after which a secret is not masked.
func errShows(name string) error {
	return showRefused{errorf("Nothing was changed: after it, a secret of %q that you were not shown could be read, or would be another one. "+
		"Leave the names, signs and blanks beside %s as they are, and whatever says that the file has secrets. "+
		"If that must change, tell the person what to change.", name, mask.Mark)}
}

// showRefused is the sentence that refuses to show a secret. Result.Why names it.
type showRefused struct{ error }

func (s showRefused) Unwrap() error { return s.error }

// changed returns the content of a file whose veiled text was changed, or an error if it would get a mask, or show a secret.
func (f *Files) changed(name string, v mask.Veil, text []byte) ([]byte, error) {
	is := v.Whole(text)
	switch {
	case v.Harms(is, false):
		return nil, errMasked(name)
	case v.Shows(text):
		return nil, errShows(name)
	}
	return is, nil
}

// unseen says, for a file with masks, that a part that was not found may be under one.
func unseen(v mask.Veil) string {
	if !v.Hides() {
		return ""
	}
	return fmt.Sprintf(" Parts of this file are masked, with %s: a text with such a part is not found, and cannot be edited.", mask.Mark)
}
