package filetool

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/ignore"
)

// Limits of the output of a read.
const (
	maxLine = 400             // bytes of a line that are shown
	body    = MaxOutput - 300 // bytes: the rest is for the lines around it
)

// list answers list_files.
func (f *Files) list(ctx context.Context, a filespec.Arguments) (string, error) {
	v, err := f.view(ctx)
	if err != nil {
		return "", err
	}
	folder := folderName(a.Text("path"))
	files := v.below(folder)
	switch {
	case len(files) == 0 && folder == "":
		return "There are no files yet.", nil
	case len(files) == 0:
		if file, err := f.store.Stat(ctx, folder); err == nil {
			return "", errorf("%q is a file of %s: read it with read_file.", folder, size(file.Size))
		}
		return "", v.unknown(folder)
	}
	lines := v.entries(folder, files, a.Flag("recursive"))
	p := page{most: body}
	for i, line := range lines {
		if !p.add(line) {
			return p.b.String() + fmt.Sprintf("… %d more: name a folder in path, or use find_files.", len(lines)-i), nil
		}
	}
	return p.b.String(), nil
}

// entries returns a line for each folder and each file in a folder, the folders first.
func (v *view) entries(folder string, files []workspace.File, recursive bool) []string {
	var folders, lines []string
	inside := map[string]int{}
	for _, file := range files {
		name := strings.TrimPrefix(strings.TrimPrefix(file.Name, folder), "/")
		first, _, deeper := strings.Cut(name, "/")
		if deeper && !recursive {
			if inside[first]++; inside[first] == 1 {
				folders = append(folders, first)
			}
			continue
		}
		lines = append(lines, fmt.Sprintf("%s (%s)", name, size(file.Size)))
	}
	for i, name := range folders {
		note := ""
		if v.out[path.Join(folder, name)] {
			note = ", left out of searches"
		}
		folders[i] = fmt.Sprintf("%s/ (%s%s)", name, counted(inside[name], "file"), note)
	}
	return append(folders, lines...)
}

// find answers find_files. Files that are left out of searches are named only if there are no others.
func (f *Files) find(ctx context.Context, a filespec.Arguments) (string, error) {
	glob, err := ignore.Glob(fileName(a.Text("pattern")))
	if err != nil {
		return "", errorf("pattern: a bracket or a backslash at its end is not complete, or it has over %d bytes.", filespec.MaxGlob)
	}
	v, err := f.view(ctx)
	if err != nil {
		return "", err
	}
	var found, left []string
	for _, file := range v.listing.Files {
		switch {
		case !glob.MatchString(file.Name):
		case v.out[file.Name] || v.out[ignore.Parent(file.Name)]:
			left = append(left, file.Name)
		default:
			found = append(found, file.Name)
		}
	}
	switch {
	case len(found)+len(left) == 0:
		return "No file has such a name.", nil
	case len(found) == 0:
		found = append([]string{"Only in what is left out of searches:"}, left...)
	case len(left) > 0:
		found = append(found, fmt.Sprintf("(and %d in what is left out of searches)", len(left)))
	}
	p := page{most: body}
	for i, name := range found {
		if !p.add(name) {
			return p.b.String() + fmt.Sprintf("… %d more: use a narrower pattern.", len(found)-i), nil
		}
	}
	return p.b.String(), nil
}

// read answers read_file.
func (f *Files) read(ctx context.Context, a filespec.Arguments) (answer, error) {
	name := fileName(a.Text("path"))
	content, _, err := workspace.ReadAll(ctx, f.store, name, "")
	switch {
	case err != nil:
		return answer{}, f.missing(ctx, name, err)
	case len(content) == 0:
		return answer{text: name + " is empty."}, nil
	case workspace.Binary(content):
		return answer{text: fmt.Sprintf("%s is binary (%s): it cannot be shown.", name, size(int64(len(content))))}, nil
	}
	d := newDocument(content)
	lines := d.lines()
	from := a.Number("from", 1)
	if from > max(1, len(lines)) {
		return answer{}, errorf("from: %s has %s.", name, counted(len(lines), "line"))
	}
	part := lines[from-1 : min(len(lines), from-1+a.Number("lines", filespec.MaxLines))]
	hides, secrets, err := f.withoutSecrets(ctx, name, content, part, from)
	if err != nil {
		return answer{}, err
	}
	note := maskedNote(secrets)
	shown, last := numbered(hides, from, a.Number("lines", filespec.MaxLines), body-len(note))
	head := fmt.Sprintf("%s, lines %d to %d of %d", cut(name, 150), from, last, len(lines))
	if traits := d.traits(); traits != "" {
		head += " (" + traits + ")"
	}
	if last < len(lines) {
		shown += fmt.Sprintf("(%d lines follow: go on with from %d)", len(lines)-last, last+1)
	}
	return answer{head + "\n" + shown + note, secrets}, nil
}

// numbered writes lines with their numbers, at least one, and returns the last that had room.
func numbered(lines [][]byte, from, n, most int) (text string, last int) {
	p := page{most: most}
	for last = from - 1; last < min(len(lines), from-1+n); last++ {
		line := cut(strings.ToValidUTF8(string(bare(lines[last])), "\uFFFD"), maxLine)
		if !p.add(fmt.Sprintf("%6d\t%s", last+1, line)) {
			break
		}
	}
	return p.b.String(), last
}

// missing adds to the error for a file that is not there whether there is a folder, or a file with a name like it.
func (f *Files) missing(ctx context.Context, name string, err error) error {
	if !isNotFound(err) {
		return err
	}
	v, viewErr := f.view(ctx)
	if viewErr != nil {
		return err
	}
	if slices.ContainsFunc(v.listing.Files, func(file workspace.File) bool { return strings.HasPrefix(file.Name, folderName(name)+"/") }) {
		return errorf("%q is a folder: see its files with list_files.", name)
	}
	return v.unknown(name)
}
