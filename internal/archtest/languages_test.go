package archtest

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
)

// spokenFolders returns the folders with sentences: that of package locale, and those of the packages that add theirs.
func spokenFolders(t *testing.T) (dirs []string) {
	t.Helper()
	dirs = []string{"internal/ground/locale"}
	for _, f := range sources(t, false) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && nameOf(call.Fun) == "locale.Add" {
				dirs = append(dirs, f.dir())
			}
			return true
		})
	}
	if len(dirs) < 6 {
		t.Fatalf("only %v have sentences: the scan no longer finds them", dirs)
	}
	return dirs
}

// sentencesOf returns the sentences of the files in a folder, and the names of the files.
func sentencesOf(t *testing.T, dir string) (all map[string]string, files []string) {
	t.Helper()
	all = map[string]string{}
	files, err := filepath.Glob(filepath.Join(root, dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		text, err := os.ReadFile(name)
		if files[i] = filepath.Base(name); err == nil && strings.HasSuffix(name, ".json") {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			t.Errorf("%s/%s: %v", dir, files[i], err)
		}
	}
	return all, files
}

// TestEveryLanguageHasEverySentence of each package, with the same placeholders, and every prompt and help text. It names all
// that is missing, where a process would stop at the first folder that it does not find.
func TestEveryLanguageHasEverySentence(t *testing.T) {
	placeholder := regexp.MustCompile(`\{([a-z_]+)`)
	names := func(text string) []string {
		list := placeholder.FindAllString(text, -1)
		slices.Sort(list)
		return slices.Compact(list)
	}
	compare := func(dir string, of, tag locale.Tag) {
		here, there := filepath.Join(dir, string(tag)), filepath.Join(dir, string(of))
		want, files := sentencesOf(t, there)
		got, own := sentencesOf(t, here)
		if missing := without(files, own); len(missing) > 0 {
			t.Errorf("%s lacks these files of %s:\n  %s", here, there, strings.Join(missing, "\n  "))
		}
		if len(own) == 0 {
			return // the files say enough
		}
		var wrong []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			switch text, ok := got[key]; {
			case !ok || text == "":
				wrong = append(wrong, key)
			case !slices.Equal(names(text), names(want[key])):
				wrong = append(wrong, key+", with the placeholders "+strings.Join(names(want[key]), "} ")+"}")
			}
		}
		if len(wrong) > 0 {
			t.Errorf("%s lacks these %d sentences of %s:\n  %s", here, len(wrong), there, strings.Join(wrong, "\n  "))
		}
	}
	for _, tag := range locale.Tags() {
		for _, dir := range spokenFolders(t) {
			compare(filepath.Join(dir, "text"), locale.Tags()[0], tag)
			compare(filepath.Join(dir, "text"), tag, locale.Tags()[0])
		}
		compare("internal/ground/locale/prompts", locale.Tags()[0], tag)
		if _, err := os.Stat(filepath.Join(root, "cmd/piloto/cli/help", string(tag)+".json")); err != nil && tag != locale.English {
			t.Errorf("cmd/piloto/cli/help lacks %s.json, the help of the commands; help.go there reads it", tag)
		}
	}
}

// without returns the texts of a list that another one lacks.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// decided has the files whose code is another one for another language, with the languages for which it was thought of.
var decided = map[string]string{
	"internal/ground/locale/money.go":   "es en",
	"internal/edge/webui/views.go":      "es en",
	"internal/edge/httpapi/field.go":    "es en",
	"internal/chats/proposal/reason.go": "es en",
	"cmd/piloto/cli/help.go":            "es en",
	"infra/local/demo/english.go":       "es en",
}

// TestEveryPlaceOfALanguageKnowsAll: a table or a choice by language has each of them.
func TestEveryPlaceOfALanguageKnowsAll(t *testing.T) {
	constants, found := languagesByName(t), map[string]bool{}
	for _, f := range sources(t, false) {
		if within(f.dir(), "infra/confirmations", "infra/crash") { // measurements in the languages that they have
			continue
		}
		constant := func(e ast.Expr) string {
			name := nameOf(e)
			if f.dir() == "internal/ground/locale" {
				name = "locale." + name[strings.IndexByte(name, '.')+1:]
			}
			return constants[name]
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			known := map[string]bool{}
			add := func(e ast.Expr, texts bool) {
				text, isText := literal(e)
				if tag := constant(e); tag != "" {
					known[tag] = true
				} else if isText && texts && slices.Contains(locale.Tags(), locale.Tag(text)) {
					known[text] = true
				}
			}
			switch n := n.(type) {
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						add(pair.Key, true)
					} else { // a text in a list may be a word
						add(e, false)
					}
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					add(e, true)
				}
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					found[f.path] = found[f.path] || constant(n.X) != "" || constant(n.Y) != ""
				}
			}
			if len(known) > 1 && len(known) < len(locale.Tags()) {
				t.Errorf("%s: this has %v, and the languages are %v: add the others", f.at(n), slices.Sorted(maps.Keys(known)), locale.Tags())
			}
			return true
		})
	}
	for path, decides := range found {
		for _, tag := range locale.Tags() {
			if decides && !slices.Contains(strings.Fields(decided[path]), string(tag)) {
				t.Errorf("%s decides by the language, and nobody thought of %s there: see to it, and add it in decided", path, tag)
			}
		}
	}
	for path := range decided {
		if !found[path] {
			t.Errorf("%s decides nothing by the language any more: take it off the list", path)
		}
	}
}

// languagesByName returns the languages by the names of their constants.
func languagesByName(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range sources(t, false) {
		if f.dir() != "internal/ground/locale" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Type != nil && nameOf(spec.Type) == "Tag" {
				all["locale."+spec.Names[0].Name], _ = literal(spec.Values[0])
			}
			return true
		})
	}
	if len(all) != len(locale.Tags()) {
		t.Errorf("package locale has the languages %v, and Tags returns %v", all, locale.Tags())
	}
	return all
}
