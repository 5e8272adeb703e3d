package filetool

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/mask"
	"piloto/internal/workspace/overlay"
)

// patch answers apply_patch. The files are changed in an overlay first, so that a hunk that does not fit changes none
// of them.
func (f *Files) patch(ctx context.Context, a filespec.Arguments) (string, error) {
	sections, err := readPatch(fileName(a.Text("path")), plain(a.Text("patch")))
	if err != nil {
		return "", err
	}
	v, err := overlay.New(f.store, overlay.Set{}, overlay.Options{Now: func() time.Time { return time.Time{} }})
	if err != nil {
		return "", err
	}
	hides := map[string]bool{} // names of files with masks
	for _, s := range sections {
		if err := f.patchFile(ctx, v, s, hides); err != nil {
			return "", err
		}
	}
	set := v.Changes()
	if len(set.Changes) == 0 {
		return "", errorf("The patch changes nothing.")
	}
	if done, err := overlay.Apply(ctx, f.store, set); err != nil {
		return "", f.takeBack(ctx, set, done, err)
	}
	var lines []string
	for _, c := range set.Changes {
		counts := fmt.Sprintf(" (+%d −%d)", c.Added, c.Removed)
		if hides[c.Name] { // a line that equals one that is not seen changes them
			counts = ""
		}
		lines = append(lines, c.Name+counts)
	}
	return "Patched " + strings.Join(lines, ", ") + ".", nil
}

// takeBack reverts the files of a patch that were written before one of its files could not be.
func (f *Files) takeBack(ctx context.Context, set overlay.Set, done []overlay.Done, cause error) error {
	if len(done) == 0 {
		return cause
	}
	back, err := overlay.Undo(ctx, f.store, set, done)
	if err == nil {
		_, err = overlay.Apply(ctx, f.store, back)
	}
	if err == nil {
		return cause
	}
	var names []string
	for _, d := range done {
		names = append(names, d.Name)
	}
	return errorf("Only a part of the patch was applied, to %s. Why it stopped: %s", strings.Join(names, ", "), explain(cause))
}

// section is the part of a patch for one file.
type section struct {
	*gitdiff.File
	name     string
	prefixed bool // the name may begin with a/ or b/, which is not part of it
}

// readPatch parses a patch. Every line of it must belong to a header or to a hunk: the library passes over others, and
// so over hunks that are not well written.
func readPatch(path, text string) ([]section, error) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if trimmed := strings.TrimLeft(text, "\n"); path != "" && strings.HasPrefix(trimmed, "@@") {
		text = "--- " + path + "\n+++ " + path + "\n" + trimmed
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, errorf("patch: %s. Nothing was changed. Each hunk begins with @@ -line,count +line,count @@, where the counts are those of its lines.",
			strings.TrimPrefix(err.Error(), "gitdiff: "))
	}
	if stray := strayLine(files, text); stray != "" {
		return nil, errorf("patch: the line %.80q belongs to no hunk: a count after @@ is too small, or the line of the @@ is not complete. Nothing was changed.", stray)
	}
	var list []section
	for _, file := range files {
		s := section{File: file, name: file.NewName, prefixed: !strings.Contains("\n"+text, "\ndiff --git ")} // git's are read without them
		if file.IsDelete {
			s.name = file.OldName
		}
		list = append(list, s)
	}
	switch {
	case len(list) == 0:
		return nil, errorf("patch: it is no unified diff: it has no --- and +++ lines with a hunk after them. Nothing was changed.")
	case path != "" && len(list) > 1:
		return nil, errorf("path: the patch has %d files: leave path out. Nothing was changed.", len(list))
	case path != "" && path != list[0].name && path != list[0].bareName():
		return nil, errorf("path: the patch is for %q, and path is %q. Nothing was changed.", list[0].bareName(), path)
	case path != "":
		list[0].name, list[0].prefixed = path, false
	}
	return list, nil
}

// bareName returns the name without the a/ or b/ that programs write before it.
func (s section) bareName() string {
	if s.prefixed && (strings.HasPrefix(s.name, "a/") || strings.HasPrefix(s.name, "b/")) {
		return s.name[2:]
	}
	return s.name
}

// headers lists how lines of a patch begin that are outside of hunks.
var headers = []string{
	"diff ", "index ", "--- ", "+++ ", "new file mode ", "deleted file mode ", "old mode ", "new mode ",
	"similarity index ", "dissimilarity index ", "rename ", "copy ", "Binary files ", "GIT binary patch", `\ `,
}

// strayLine returns the first line of a patch that is neither a header nor in a hunk, and "" if there is none.
func strayLine(files []*gitdiff.File, text string) string {
	var hunks []*gitdiff.TextFragment
	for _, file := range files {
		if file.IsBinary {
			return ""
		}
		hunks = append(hunks, file.TextFragments...)
	}
	inside := 0
	for line := range strings.Lines(text) {
		isHeader := slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(line, h) })
		switch {
		case inside > 0 && !strings.HasPrefix(line, `\ `):
			inside--
		case strings.HasPrefix(line, "@@ -") && len(hunks) > 0:
			inside, hunks = len(hunks[0].Lines), hunks[1:]
		case !isHeader && strings.TrimSpace(line) != "":
			return strings.TrimSuffix(line, "\n")
		}
	}
	return ""
}

// patchFile changes one file in the overlay. It adds the name of one with masks to hides.
func (f *Files) patchFile(ctx context.Context, v *overlay.Overlay, s section, hides map[string]bool) error {
	switch {
	case s.IsRename || s.IsCopy:
		return errorf("patch: a file is not renamed or copied by a patch: write the new file, and delete the old one. Nothing was changed.")
	case s.IsBinary:
		return errorf("patch: %q is binary: only text can be patched. Nothing was changed.", s.name)
	case s.IsDelete && !f.options.AllowDelete:
		return errorf("patch: it deletes %q, and files may not be deleted here. Nothing was changed.", s.name)
	case len(s.TextFragments) == 0 && !s.IsNew && !s.IsDelete:
		return errorf("patch: it has no hunk for %q. Nothing was changed.", s.name)
	}
	name := s.name
	if _, err := v.Stat(ctx, name); isNotFound(err) {
		name = s.bareName()
	}
	content, was, err := workspace.ReadAll(ctx, v, name, "")
	switch {
	case s.IsNew && err == nil:
		return errorf("patch: it makes %q, which is there already. Nothing was changed.", name)
	case s.IsNew && isNotFound(err):
	case err != nil:
		return f.missing(ctx, name, err)
	case workspace.Binary(content):
		return errorf("patch: %q is binary: only text can be patched. Nothing was changed.", name)
	}
	veil := f.veiled(name, content)
	hides[name] = hides[name] || veil.Hides()
	d := newDocument(veil.Text)
	body, err := d.apply(name, s.TextFragments, newDocument(veil.Safe).lines())
	switch {
	case err != nil && veil.Secrets > 0 && s.hasMask():
		return errMasked(name)
	case err != nil:
		return errorf("%s%s", err, unseen(veil))
	case s.IsDelete && len(body) > 0:
		return errorf("patch: it deletes %q, and does not have all of its lines. Nothing was changed.", name)
	case s.IsDelete:
		return v.Delete(ctx, name, was.Version)
	}
	is, err := f.changed(name, veil, d.content(body))
	if err != nil {
		return err
	}
	_, err = v.Write(ctx, name, is, was.Version)
	return err
}

// hasMask reports whether a line of a section has a mask.
func (s section) hasMask() bool {
	return slices.ContainsFunc(s.TextFragments, func(h *gitdiff.TextFragment) bool {
		return slices.ContainsFunc(h.Lines, func(line gitdiff.Line) bool { return mask.In(line.Line) })
	})
}

// apply applies all hunks. The lines of the file stay as they are; added lines get the line end of the line before. An
// error has lines of the file as safe has them.
func (d document) apply(name string, hunks []*gitdiff.TextFragment, safe [][]byte) ([]byte, error) {
	hunks = slices.Clone(hunks)
	slices.SortStableFunc(hunks, func(a, b *gitdiff.TextFragment) int { return cmp.Compare(a.OldPosition, b.OldPosition) })
	p := patcher{lines: d.lines(), safe: safe, end: lineEnd(d.body, "\n")}
	for i, h := range hunks {
		if err := p.apply(h); err != nil {
			return nil, errorf("patch: hunk %d does not fit %q: %s Nothing was changed.", i+1, name, err)
		}
	}
	p.copy(len(p.lines))
	return p.out.Bytes(), nil
}

// patcher is the state of a patch of one file.
type patcher struct {
	lines [][]byte
	safe  [][]byte // as a model may read them
	end   string   // the line end of the file
	at    int      // the lines before it are written
	out   bytes.Buffer
}

// put writes a line. The one before gets a line end if it has none.
func (p *patcher) put(line []byte, end string) {
	if n := p.out.Len(); n > 0 && p.out.Bytes()[n-1] != '\n' {
		p.out.WriteString(end)
	}
	p.out.Write(line)
}

// copy writes the lines of the file up to one.
func (p *patcher) copy(to int) {
	for ; p.at < to; p.at++ {
		p.put(p.lines[p.at], p.end)
	}
}

// apply applies one hunk, and says why it does not fit.
func (p *patcher) apply(h *gitdiff.TextFragment) error {
	start := int(min(h.OldPosition, int64(len(p.lines)+1))) - 1
	if h.OldLines == 0 { // the added lines come after that line
		start++
	}
	start = max(start, 0)
	if start < p.at {
		return errorf("its lines are in the hunk before, too.")
	}
	if start > len(p.lines) {
		return errorf("it begins at line %d, and the file has %s.", h.OldPosition, counted(len(p.lines), "line"))
	}
	p.copy(start)
	for _, line := range h.Lines {
		text := []byte(line.Line)
		if line.Op == gitdiff.OpAdd {
			p.added(text)
			continue
		}
		if p.at >= len(p.lines) {
			return errorf("the file ends at line %d, and the patch has %.80q there.%s", len(p.lines), bare(text), p.elsewhere(h))
		}
		if raw := p.lines[p.at]; !bytes.Equal(bare(raw), bare(text)) {
			return errorf("line %d is %.80q, and the patch has %.80q there.%s", p.at+1, bare(p.safe[p.at]), bare(text), p.elsewhere(h))
		}
		if line.Op == gitdiff.OpContext {
			p.put(p.lines[p.at], p.end)
		}
		p.at++
	}
	return nil
}

// added writes a new line.
func (p *patcher) added(text []byte) {
	end := p.end
	if p.at > 0 {
		end = lineEnd(p.lines[p.at-1], end)
	}
	line, ended := bytes.CutSuffix(text, []byte("\n"))
	if ended {
		line = append(bytes.Clone(line), end...)
	}
	p.put(line, end)
}

// elsewhere says where the lines of a hunk are, if they are somewhere.
func (p *patcher) elsewhere(h *gitdiff.TextFragment) string {
	const mostLines, mostOld = 50_000, 1_000 // their product is the time of the search
	var old [][]byte
	for _, line := range h.Lines {
		if line.Old() {
			old = append(old, bare([]byte(line.Line)))
		}
	}
	if len(old) > mostOld {
		return ""
	}
	var found []int
	for i := 0; i+len(old) <= min(len(p.lines), mostLines) && len(found) <= 10; i++ {
		k := 0
		for k < len(old) && bytes.Equal(bare(p.lines[i+k]), old[k]) {
			k++
		}
		if k == len(old) {
			found = append(found, i+1)
		}
	}
	if len(found) == 0 {
		return " Read that part with read_file, and make the patch again."
	}
	return fmt.Sprintf(" The old lines of the hunk are at line %s: correct the numbers after @@.", firstFew(found))
}
