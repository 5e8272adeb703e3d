package filetool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/mask"
)

// Limits of a search.
const (
	maxProgram     = 1_000    // instructions of a compiled pattern
	maxSearched    = 64 << 20 // bytes of all files
	maxLineMatched = 64 << 10 // bytes of a line that a pattern is tried on
	maxMatchLine   = 240      // bytes of a line that are shown
	maxMatches     = 1_000    // of one file
	readAtOnce     = 8        // files
	maxAhead       = 8 << 20  // bytes that are read before their matches are written
)

// grep answers grep.
func (f *Files) grep(ctx context.Context, a filespec.Arguments) (answer, error) {
	text := a.Text("text")
	if a.Flag("ignore_case") {
		m, err := pattern("(?i)" + regexp.QuoteMeta(text))
		if err != nil {
			return answer{}, err
		}
		return f.scan(ctx, a.Text("path"), m, 0)
	}
	needle := []byte(text)
	return f.scan(ctx, a.Text("path"), matcher{literal: needle, find: func(line []byte) int { return bytes.Index(line, needle) }}, 0)
}

// search answers search_code.
func (f *Files) search(ctx context.Context, a filespec.Arguments) (answer, error) {
	expression := a.Text("pattern")
	if a.Flag("ignore_case") {
		expression = "(?i)" + expression
	}
	m, err := pattern(expression)
	if err != nil {
		return answer{}, err
	}
	return f.scan(ctx, a.Text("path"), m, a.Number("context", 2))
}

// matcher finds the position of a match in a line, -1 for none. A file without the literal has none.
type matcher struct {
	literal []byte
	find    func(line []byte) int
}

// pattern compiles an expression. Its time is linear in the text, but also in the size of the compiled pattern, which
// is bounded here.
func pattern(expression string) (matcher, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return matcher{}, errorf("pattern: %s. It is RE2: no look-around and no back-references; write \\( for a bracket.", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return matcher{}, errorf("pattern: it is too large when it is compiled: use smaller repetitions, or search in two steps.")
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return matcher{}, err
	}
	literal, _ := re.LiteralPrefix()
	return matcher{literal: []byte(literal), find: func(line []byte) int {
		at := re.FindIndex(line[:min(len(line), maxLineMatched)])
		if at == nil {
			return -1
		}
		return at[0]
	}}, nil
}

// found are the matches of one file. The lines are bounded, the count is not.
type found struct {
	lines   []shownLine
	matches int
	secrets int // that are masked
	binary  bool
	lost    bool // it cannot be read, or went away
}

// shownLine is a line of the answer. hit says that it matches.
type shownLine struct {
	text string
	hit  bool
}

// tally is the answer of a search that goes on.
type tally struct {
	page
	full                bool // a line had no room
	total, shown        int  // matches
	files, binary, lost int  // files with matches, and those not searched
	secrets             int  // in files with matches, masked
	searched            int64
	stopped             string // why it ended early
}

// take adds the matches of one file.
func (t *tally) take(one found, size int64) {
	t.searched += size
	t.total += one.matches
	t.secrets += one.secrets
	t.files += flagged(one.matches > 0)
	t.binary += flagged(one.binary)
	t.lost += flagged(one.lost)
	for _, line := range one.lines {
		if t.full = t.full || !t.add(line.text); t.full {
			return
		}
		t.shown += flagged(line.hit)
	}
}

// scan searches files. The answer has the first matches that fit, and the number of all.
func (f *Files) scan(ctx context.Context, scope string, m matcher, around int) (answer, error) {
	files, left, err := f.scope(ctx, scope)
	if err != nil {
		return answer{}, err
	}
	t := tally{page: page{most: body - 100}}
	for len(files) > 0 && t.stopped == "" {
		n, ahead := 0, int64(0)
		for ; n < len(files) && n < 4*readAtOnce && ahead < maxAhead; n++ {
			ahead += files[n].Size
		}
		batch, err := f.scanBatch(ctx, files[:n], m, around)
		if errors.Is(err, context.DeadlineExceeded) && t.total > 0 {
			t.stopped = "it took too long"
			break
		}
		if err != nil {
			return answer{}, err
		}
		for i, one := range batch {
			t.take(one, files[i].Size)
		}
		if files = files[n:]; t.searched > maxSearched && len(files) > 0 {
			t.stopped = size(t.searched) + " were searched"
		}
	}
	return answer{t.b.String() + t.summary() + t.notes(left), t.secrets}, nil
}

func flagged(b bool) int {
	if b {
		return 1
	}
	return 0
}

// summary says how many matches there are, and how many of them are shown.
func (t *tally) summary() string {
	switch {
	case t.total == 0:
		return "No line matches."
	case t.shown < t.total:
		return fmt.Sprintf("(%d of %d matches in %s: name a file or a folder in path, or search for more of the line.)", t.shown, t.total, counted(t.files, "file"))
	case t.total == 1:
		return "(1 match)"
	}
	return fmt.Sprintf("(%d matches in %s)", t.total, counted(t.files, "file"))
}

// notes names the files and folders that were not searched.
func (t *tally) notes(left int) string {
	var b strings.Builder
	if left > 0 {
		fmt.Fprintf(&b, " %s left out because of .gitignore or the folder: name it in path to search there.", counted(left, "file"))
	}
	if t.binary > 0 {
		fmt.Fprintf(&b, " %s not searched: binary.", counted(t.binary, "file"))
	}
	if t.secrets > 0 {
		fmt.Fprintf(&b, " %s of these files masked: %s stands for each, and is not to be written.", counted(t.secrets, "secret"), mask.Mark)
	}
	if t.lost > 0 {
		fmt.Fprintf(&b, " %s not searched: not readable.", counted(t.lost, "file"))
	}
	if t.stopped != "" {
		fmt.Fprintf(&b, " The search ended early (%s): name a folder in path.", t.stopped)
	}
	return b.String()
}

// scanBatch searches some files at once.
func (f *Files) scanBatch(ctx context.Context, files []workspace.File, m matcher, around int) ([]found, error) {
	list := make([]found, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAtOnce)
	for i, file := range files {
		g.Go(func() error {
			content, err := f.listed(ctx, file)
			switch {
			case err == nil:
				list[i], err = f.scanFile(ctx, file.Name, content, m, around)
			case ctx.Err() != nil:
				return ctx.Err()
			case fault.KindOf(err) == fault.Internal || fault.KindOf(err) == fault.Unavailable:
				return err
			default:
				list[i].lost, err = true, nil
			}
			return err
		})
	}
	return list, g.Wait()
}

// listed returns the content of a file that is listed. A store may have that version at hand. If it changed meanwhile,
// and the version is not kept, the content is the present one.
func (f *Files) listed(ctx context.Context, file workspace.File) ([]byte, error) {
	content, _, err := workspace.ReadAll(ctx, f.store, file.Name, file.Version)
	if errors.Is(err, workspace.ErrNotFound) {
		content, _, err = workspace.ReadAll(ctx, f.store, file.Name, "")
	}
	return content, err
}

// scanFile searches one file. Where it has secrets, the masked text is searched, because a match must not reveal a secret.
func (f *Files) scanFile(ctx context.Context, name string, content []byte, m matcher, around int) (found, error) {
	if workspace.Binary(content) {
		return found{binary: true}, nil
	}
	if !bytes.Contains(content, m.literal) {
		return found{}, nil
	}
	lines := newDocument(content).lines()
	hits, err := m.hits(ctx, lines)
	if err != nil || len(hits) == 0 {
		return found{}, err
	}
	safe, secrets := f.masked(name, content)
	if secrets > 0 {
		lines = newDocument(safe).lines()
		if hits, err = m.hits(ctx, lines); err != nil || len(hits) == 0 {
			return found{}, err
		}
	}
	return found{lines: excerpt(name, lines, hits, around), matches: len(hits), secrets: secrets}, nil
}

// hits returns the lines that match, each with the position of the match in it.
func (m matcher) hits(ctx context.Context, lines [][]byte) (map[int]int, error) {
	hits := map[int]int{}
	unchecked := 0
	for i, line := range lines {
		if unchecked += min(len(line), maxLineMatched); unchecked > maxLineMatched {
			unchecked = 0
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if at := m.find(bare(line)); at >= 0 {
			hits[i] = at
		}
		if len(hits) == maxMatches {
			break
		}
	}
	return hits, nil
}

// excerpt returns the lines with a match and those around them, under the name of the file.
func excerpt(name string, lines [][]byte, hits map[int]int, around int) []shownLine {
	if len(hits) == 0 {
		return nil
	}
	list := []shownLine{{text: name}}
	bytesShown, last := 0, -1
	for _, hit := range slices.Sorted(maps.Keys(hits)) {
		for i := max(last+1, hit-around); i <= min(len(lines)-1, hit+around) && bytesShown < body; i++ {
			if around > 0 && last >= 0 && i > last+1 {
				list = append(list, shownLine{text: "     …"})
			}
			at, isHit := hits[i]
			sign := '-'
			if isHit {
				sign = ':'
			}
			text := fmt.Sprintf("%6d%c %s", i+1, sign, window(strings.ToValidUTF8(string(bare(lines[i])), "\uFFFD"), at, maxMatchLine))
			list = append(list, shownLine{text, isHit})
			bytesShown, last = bytesShown+len(text), i
		}
	}
	return list
}
