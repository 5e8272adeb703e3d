package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// costly lists the libraries that make a program large, or slow to start, with the functions that need them. No
// other function may link them, even indirectly.
var costly = map[string][]string{
	"github.com/santhosh-tekuri/jsonschema":    {}, // compiles its meta-schemas at each start: tests compare with it
	"piloto/internal/tools/schema":             {"agent", "chat", "mcp", "router", "step", "turn"},
	"github.com/modelcontextprotocol/go-sdk":   {"agent", "chat", "mcp", "router", "step", "turn"},
	"github.com/yuin/goldmark":                 {"web"},
	"codeberg.org/go-pdf/fpdf":                 {"records"},
	"github.com/aws/aws-sdk-go-v2/service/kms": {"lifecycle", "sweep"},
	"github.com/aws/aws-sdk-go-v2/config":      {}, // reads files and queries the network
	"html/template":                            {}, // calls methods by name, so that the linker drops none
}

func TestFunctionsLinkOnlyNeededLibraries(t *testing.T) {
	imports := map[string][]string{} // of each folder of the project
	for _, f := range sources(t, false) {
		imports[f.dir()] = append(imports[f.dir()], f.imports()...)
	}
	for dir := range imports {
		if path.Dir(dir) != "functions" {
			continue
		}
		for library, users := range costly {
			if way := importPath(imports, dir, library, map[string]bool{}); way != nil && !slices.Contains(users, path.Base(dir)) {
				t.Errorf("%s holds %s, which is for %v: %s", dir, library, users, strings.Join(way, " → "))
			}
		}
	}
}

// importPath returns the imports that lead from a folder to a library, or nil.
func importPath(imports map[string][]string, dir, library string, been map[string]bool) []string {
	been[dir] = true
	for _, imported := range imports[dir] {
		if within(imported, library) {
			return []string{dir, imported}
		}
		if ours, ok := strings.CutPrefix(imported, "piloto/"); ok && !been[ours] {
			if way := importPath(imports, ours, library, been); way != nil {
				return append([]string{dir}, way...)
			}
		}
	}
	return nil
}
