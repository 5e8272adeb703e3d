package filetool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/mask"
)

func isNotFound(err error) bool { return errors.Is(err, workspace.ErrNotFound) }

// write answers write_file.
func (f *Files) write(ctx context.Context, a filespec.Arguments) (string, error) {
	name, text := fileName(a.Text("path")), a.Text("content")
	if a.Text("mode") == filespec.Append {
		return f.append(ctx, name, text)
	}
	was, err := f.store.Stat(ctx, name)
	if err != nil && !isNotFound(err) {
		return "", err
	}
	if mask.Like(text) {
		content, _, err := workspace.ReadAll(ctx, f.store, name, "")
		if err != nil && !isNotFound(err) {
			return "", err
		}
		if f.veiled(name, content).Harms([]byte(text), true) {
			return "", errMasked(name)
		}
	}
	if _, err := f.store.Write(ctx, name, []byte(text), was.Version); err != nil {
		return "", err
	}
	did := "Wrote"
	if was.Version != "" {
		did = "Replaced"
	}
	return fmt.Sprintf("%s %s: %s, %s.", did, name, counted(len(splitLines([]byte(text))), "line"), size(int64(len(text)))), nil
}

// append adds to the end of a file.
func (f *Files) append(ctx context.Context, name, text string) (string, error) {
	content, was, err := workspace.ReadAll(ctx, f.store, name, "")
	if err != nil && !isNotFound(err) {
		return "", err
	}
	if workspace.Binary(content) {
		return "", errorf("%q is binary: text cannot be added to it.", name)
	}
	note := ""
	if len(content) > 0 {
		if content[len(content)-1] != '\n' {
			note = " Its last line had no line end: the text continues that line."
		}
		text = withLineEnds(plain(text), lineEnd(content, "\n"))
	}
	v := f.veiled(name, content)
	next, err := f.changed(name, v, append(bytes.Clone(v.Text), text...))
	if err != nil {
		return "", err
	}
	if _, err := f.store.Write(ctx, name, next, was.Version); err != nil {
		return "", err
	}
	return fmt.Sprintf("Added %s to %s.%s", counted(len(splitLines([]byte(text))), "line"), name, note), nil
}

// withLineEnds gives a plain text the line ends of the file that it goes into.
func withLineEnds(text, end string) string {
	if end == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", end)
}

// mostEchoed is the largest file whose edited lines an edit shows, in bytes: in a larger one the secrets take too long to find.
const mostEchoed = 1 << 20

// edit answers edit_file.
func (f *Files) edit(ctx context.Context, a filespec.Arguments) (string, error) {
	name, old, next := fileName(a.Text("path")), plain(a.Text("old_str")), plain(a.Text("new_str"))
	if old == next {
		return "", errorf("old_str and new_str are the same: nothing would change.")
	}
	content, was, err := workspace.ReadAll(ctx, f.store, name, "")
	switch {
	case err != nil:
		return "", f.missing(ctx, name, err)
	case workspace.Binary(content):
		return "", errorf("%q is binary: only text can be edited.", name)
	}
	v := f.veiled(name, content)
	d := newDocument(v.Text)
	text := bytes.ReplaceAll(d.body, []byte("\r\n"), []byte("\n"))
	at := bytes.Index(text, []byte(old))
	if at < 0 && mask.In(old) && v.Secrets > 0 {
		return "", errMasked(name)
	}
	if at < 0 {
		return "", errorf("%s%s", absent(name, text, old), unseen(v))
	}
	if again := occurrences(text, old); len(again) > 1 {
		return "", errorf("old_str is in %q %s, at the lines %s: nothing was changed. Give more of the text around the one that you mean.",
			name, counted(len(again), "time"), firstFew(again))
	}
	from, to := d.position(at), d.position(at+len(old))
	replaced := d.body[from:to]
	end := lineEnd(replaced, lineEnd(d.body, "\n"))
	body := bytes.Join([][]byte{d.body[:from], []byte(withLineEnds(next, end)), d.body[to:]}, nil)
	is, err := f.changed(name, v, d.content(body))
	if err != nil {
		return "", err
	}
	if _, err := f.store.Write(ctx, name, is, was.Version); err != nil {
		return "", err
	}
	first := bytes.Count(text[:at], []byte("\n")) + 1
	if len(is) > mostEchoed {
		return fmt.Sprintf("Edited %s from line %d on.", name, first), nil
	}
	safe, _ := f.masked(name, is)
	after, _ := numbered(newDocument(safe).lines(), max(1, first-2), strings.Count(next, "\n")+5, 1_500)
	return fmt.Sprintf("Edited %s from line %d on. It is there now:\n%s", name, first, after), nil
}

// position returns the position in the body of a position in the body with "\n" as its only line end.
func (d document) position(at int) int {
	i := 0
	for ; at > 0; at-- {
		if d.body[i] == '\r' && i+1 < len(d.body) && d.body[i+1] == '\n' {
			i++
		}
		i++
	}
	return i
}

// occurrences returns the lines at which a text begins, also where it overlaps itself. It stops at 100.
func occurrences(text []byte, part string) []int {
	var lines []int
	line, from := 1, 0
	for len(lines) < 100 {
		i := bytes.Index(text[from:], []byte(part))
		if i < 0 {
			break
		}
		line += bytes.Count(text[from:from+i], []byte("\n"))
		lines = append(lines, line)
		if text[from+i] == '\n' {
			line++
		}
		from += i + 1
	}
	return lines
}

// firstFew writes the first numbers of a list.
func firstFew(lines []int) string {
	const most = 10
	var all []string
	for _, n := range lines[:min(most, len(lines))] {
		all = append(all, fmt.Sprint(n))
	}
	if len(lines) > most {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}

// absent says that old_str is not there, and where its first line is, if that is there: then its spaces or its other
// lines differ.
func absent(name string, text []byte, old string) error {
	first := ""
	for line := range strings.Lines(old) {
		if first = strings.TrimSpace(line); first != "" {
			break
		}
	}
	if first != "" {
		if lines := occurrences(text, first); len(lines) > 0 {
			return errorf("old_str is not in %q: nothing was changed. Its first line is at line %s, with other spaces or other lines after it: read that part with read_file, and copy it exactly.",
				name, firstFew(lines))
		}
	}
	return errorf("old_str is not in %q: nothing was changed. Read the file with read_file, and copy the part exactly.", name)
}

// remove answers delete_file.
func (f *Files) remove(ctx context.Context, a filespec.Arguments) (string, error) {
	name := fileName(a.Text("path"))
	was, err := f.store.Stat(ctx, name)
	if err != nil {
		return "", f.missing(ctx, name, err)
	}
	if err := f.store.Delete(ctx, name, was.Version); err != nil {
		return "", err
	}
	return fmt.Sprintf("Deleted %s (%s).", name, size(was.Size)), nil
}
