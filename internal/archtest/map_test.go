package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"piloto/internal/runs/plan"
)

var (
	quoted = regexp.MustCompile("`([^`\n]+)`")
	arrow  = regexp.MustCompile(`(?m)^  (\w+) --> (\w+)`)
)

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns the text of a page from one heading to the next.
func section(t *testing.T, text, title string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "\n## "+title+"\n")
	if !found {
		t.Fatalf("there is no chapter %q", title)
	}
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}

// TestMapShowsRooms compares the diagram of rooms with their READMEs: an arrow is an import that a README allows,
// and every allowed import is reached by arrows.
func TestMapShowsRooms(t *testing.T) {
	allowed := rooms(t)
	delete(allowed, "archtest")
	below := map[string][]string{}
	for _, m := range arrow.FindAllStringSubmatch(section(t, readPage(t, "docs/architecture.md"), "The rooms"), -1) {
		below[m[1]] = append(below[m[1]], m[2])
	}
	for room, may := range allowed {
		reached, todo := map[string]bool{}, slices.Clone(below[room])
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			if !reached[next] {
				reached[next] = true
				todo = append(todo, below[next]...)
			}
		}
		for _, to := range may {
			if !reached[to] {
				t.Errorf("%s may import %s, and the diagram leads no way there", room, to)
			}
		}
	}
	for room, list := range below {
		for _, to := range list {
			if !slices.Contains(allowed[room], to) {
				t.Errorf("the diagram has %s → %s, which no README allows", room, to)
			}
		}
	}
}

func TestLifecycleDiagramMatchesTable(t *testing.T) {
	drawn := map[[2]plan.Status]bool{}
	for _, m := range arrow.FindAllStringSubmatch(section(t, readPage(t, "docs/architecture.md"), "The life of a run"), -1) {
		drawn[[2]plan.Status{plan.Status(m[1]), plan.Status(m[2])}] = true
	}
	for _, from := range plan.Statuses() {
		for _, to := range plan.Statuses() {
			if edge := [2]plan.Status{from, to}; from.CanBecome(to) != drawn[edge] {
				t.Errorf("%s → %s: may be %v, drawn %v", from, to, from.CanBecome(to), drawn[edge])
			}
			delete(drawn, [2]plan.Status{from, to})
		}
	}
	for edge := range drawn {
		t.Errorf("%s → %s is drawn, and one of them is no state", edge[0], edge[1])
	}
}

// TestPathsOfMapExist checks that every path in the map and the READMEs exists.
func TestPathsOfMapExist(t *testing.T) {
	pages := map[string]string{"docs/architecture.md": "", "docs/contributing.md": "", "docs/rough-edges.md": ""}
	for _, room := range names(t, "internal", "") {
		pages[filepath.Join("internal", room, "README.md")] = filepath.Join("internal", room)
	}
	found := 0
	for name, base := range pages {
		text := readPage(t, name)
		if base != "" { // in a README the files to read first are relative to the room
			_, text, _ = strings.Cut(text, "Read first:")
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			path := m[1]
			if base == "" && !strings.HasPrefix(path, "internal/") && !strings.HasPrefix(path, "infra/") && !strings.HasPrefix(path, "functions/") ||
				strings.ContainsAny(path, "… *") {
				continue
			}
			found++
			path = strings.TrimPrefix(path, "./")
			if _, err := os.Stat(filepath.Join(root, base, path)); err != nil {
				t.Errorf("%s sends to %s, which is not there", name, filepath.Join(base, path))
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d paths were found", found)
	}
}
