package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	chapter = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fence   = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// A newcomer's first page fits on two screens. Every link in it, and in the pages that it links, has a target.
func TestDocsAreShortAndLinksHaveTargets(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(readme), "\n"); n > 120 {
		t.Errorf("README.md has %d lines; what is longer has a page in docs", n)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	adrs, err := filepath.Glob(filepath.Join(root, "docs", "adr", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, name := range []string{"README.md", "CHANGELOG.md", "SECURITY.md"} {
		pages = append(pages, filepath.Join(root, name))
	}
	for _, page := range append(pages, adrs...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linked.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if why := linkProblem(page, m[1]); why != "" {
				t.Errorf("%s: %s: %s", filepath.Base(page), m[1], why)
			}
		}
	}
	if links < 30 {
		t.Errorf("only %d links were found", links)
	}
}

// TestResultsHaveTheTotals: docs/results.md has the totals of the files that the measurements write.
func TestResultsHaveTheTotals(t *testing.T) {
	page := readPage(t, "docs/results.md")
	total := regexp.MustCompile(`(?m)^(?:.* rounds failed\.|- .+: localaws \d+/\d+.*|\| (?:questions|orders|all) \|.*)$`)
	for file, want := range map[string]int{
		"infra/crash/matrix.md": 1, "infra/crash/matrix-functions.md": 1, "infra/localaws/conformance/results.md": 3, "infra/confirmations/results.md": 3,
	} {
		lines := total.FindAllString(readPage(t, file), -1)
		if len(lines) != want {
			t.Errorf("%s has %d lines with totals, and %d are known", file, len(lines), want)
		}
		for _, line := range lines {
			if !strings.Contains(page, line) {
				t.Errorf("docs/results.md lacks this line of %s:\n%s", file, line)
			}
		}
	}
}

// linkProblem returns the reason why a link of a page has no target, or "".
func linkProblem(page, link string) string {
	file, part, _ := strings.Cut(link, "#")
	to := page
	if file != "" {
		to = filepath.Join(filepath.Dir(page), file)
	}
	info, err := os.Stat(to)
	if err != nil {
		return "there is no such file"
	}
	if part == "" || info.IsDir() {
		return ""
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err.Error()
	}
	for _, m := range chapter.FindAllStringSubmatch(string(text), -1) {
		if anchor(m[1]) == part {
			return ""
		}
	}
	return "it has no such chapter"
}

// anchor returns the name that GitHub gives a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
