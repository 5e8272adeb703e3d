package archtest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A room is a folder of internal. The line "May import" of its README lists the rooms that its packages may import.
// The test reads these lines, and has no list of its own.
var mayImport = regexp.MustCompile(`(?m)^May import: (.+)$`)

// maxReadme is the maximum number of lines of a room's README. It describes the content of the room, the allowed
// imports, and where to start.
const maxReadme = 20

// rooms returns the allowed imports of each room.
func rooms(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, room := range names(t, "internal", "") {
		text, err := os.ReadFile(filepath.Join(root, "internal", room, "README.md"))
		if err != nil {
			t.Fatalf("internal/%s has no README: %v", room, err)
		}
		if n := strings.Count(string(text), "\n"); n > maxReadme {
			t.Errorf("internal/%s/README.md has %d lines, over %d", room, n, maxReadme)
		}
		line := mayImport.FindSubmatch(text)
		switch {
		case line == nil:
			t.Fatalf("internal/%s/README.md does not say what the room may import", room)
		case string(line[1]) == "nothing":
			all[room] = nil
		default:
			all[room] = strings.Split(string(line[1]), ", ")
		}
	}
	return all
}

// roomOf returns the room of a package of internal.
func roomOf(dir string) string {
	below, ok := strings.CutPrefix(dir, "internal/")
	if !ok {
		return ""
	}
	room, _, _ := strings.Cut(below, "/")
	return room
}

func TestRoomsImportOnlyAllowedRooms(t *testing.T) {
	allowed := rooms(t)
	used := map[string]map[string]bool{}
	for _, f := range sources(t, false) {
		from := roomOf(f.dir())
		if from == "" || from == "archtest" {
			continue
		}
		if used[from] == nil {
			used[from] = map[string]bool{}
		}
		for _, imported := range f.imports() {
			dir, ours := strings.CutPrefix(imported, "piloto/")
			to := roomOf(dir)
			switch {
			case !ours || to == from || dir == "statemachines":
			case to == "":
				t.Errorf("%s imports %s: nothing that is deployed knows where it is run", f.path, dir)
			case !slices.Contains(allowed[from], to):
				t.Errorf("%s imports %s, and internal/%s/README.md does not let it", f.path, dir, from)
			}
			used[from][to] = true
		}
	}
	for from, list := range allowed {
		for _, to := range list {
			if from != "archtest" && !used[from][to] {
				t.Errorf("internal/%s/README.md lets %s in, which nothing there imports", from, to)
			}
		}
	}
}

// TestRoomsFormNoCycle checks that the rooms can be ordered so that each imports only earlier ones. Go refuses a
// cycle of packages, but not one of folders.
func TestRoomsFormNoCycle(t *testing.T) {
	allowed := rooms(t)
	delete(allowed, "archtest")
	for len(allowed) > 0 {
		free := slices.Collect(maps.Keys(allowed))
		free = slices.DeleteFunc(free, func(room string) bool {
			return slices.ContainsFunc(allowed[room], func(to string) bool { return contains(allowed, to) })
		})
		if len(free) == 0 {
			t.Fatalf("these rooms import one another in a circle: %v", slices.Sorted(maps.Keys(allowed)))
		}
		for _, room := range free {
			delete(allowed, room)
		}
	}
}

func contains(m map[string][]string, key string) bool {
	_, ok := m[key]
	return ok
}

// outside lists the libraries that reach the world outside the program. A package that imports one is an adapter:
// the other packages know it by an interface of their own, and only boot by name.
var outside = []string{"net/http", "os", "os/exec", "github.com/aws"}

// TestAdaptersAreKnownToBootAlone checks that only boot imports an adapter.
func TestAdaptersAreKnownToBootAlone(t *testing.T) {
	adapters := map[string]string{}
	for _, f := range sources(t, false) {
		room := roomOf(f.dir())
		if room == "" || room == "boot" || room == "archtest" || f.dir() == "internal/ground/failpoint" {
			continue
		}
		for _, imported := range f.imports() {
			if within(imported, outside...) {
				adapters[f.dir()] = imported
			}
			if room == "ground" && within(imported, outside...) {
				t.Errorf("%s imports %s: what everything stands on has no effects", f.path, imported)
			}
			if within(imported, "os", "os/exec") && (imported != "os" || filing[f.dir()] == "") {
				t.Errorf("%s imports %s: what an adapter needs from the machine it is given by boot", f.path, imported)
			}
		}
	}
	if len(adapters) < 8 {
		t.Errorf("only %d adapters were found: %v", len(adapters), adapters)
	}
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal", "functions") || within(f.dir(), "internal/boot", "internal/archtest") {
			continue
		}
		for _, imported := range f.imports() {
			dir := strings.TrimPrefix(imported, "piloto/")
			if within(f.dir(), "internal/store") && dir == "internal/store/kv" {
				continue // the stores are one adapter: kv makes their calls
			}
			if why := adapters[dir]; why != "" && dir != f.dir() {
				t.Errorf("%s imports %s, which imports %s: two that meet could not be replaced one by one", f.path, dir, why)
			}
		}
	}
}

// TestMainImportsOnlyBoot checks that each function is put together in one place.
func TestMainImportsOnlyBoot(t *testing.T) {
	for _, f := range sources(t, false) {
		if !within(f.dir(), "functions") {
			continue
		}
		for _, imported := range f.imports() {
			if !within(imported, "piloto/internal/boot") {
				t.Errorf("%s imports %s: a main wires and starts, nothing else", f.path, imported)
			}
		}
	}
}

// library returns the third-party library of an import path. It is empty for the standard library, golang.org/x,
// the packages of this project, and the parts that all AWS clients share. Each AWS service is a library of its own.
func library(imported string) string {
	parts := strings.Split(imported, "/")
	switch {
	case !strings.Contains(parts[0], "."), parts[0] == "golang.org", strings.HasPrefix(imported, "github.com/aws/smithy-go"):
		return ""
	case strings.HasPrefix(imported, "github.com/aws/aws-sdk-go-v2/service/"):
		return strings.Join(parts[:5], "/")
	case strings.HasPrefix(imported, "github.com/aws/aws-sdk-go-v2/"):
		return ""
	}
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// TestEachLibraryHasOneOwner checks that only one package imports a library. boot may import any, because it
// creates the clients, and so may packages that are not deployed.
func TestEachLibraryHasOneOwner(t *testing.T) {
	owners := map[string]string{}
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal", "functions") || within(f.dir(), "internal/boot", "internal/archtest") {
			continue
		}
		for _, imported := range f.imports() {
			l := library(imported)
			if l == "" {
				continue
			}
			if owner := owners[l]; owner != "" && owner != f.dir() {
				t.Errorf("%s imports %s, which is %s's to wrap", f.path, imported, owner)
				continue
			}
			owners[l] = f.dir()
		}
	}
	if len(owners) < 12 {
		t.Errorf("only %d libraries were found: %v", len(owners), owners)
	}
}

func TestOnlyBootReadsTheEnvironment(t *testing.T) {
	for _, f := range sources(t, false) {
		if within(f.dir(), "internal/boot", "infra", "cmd") {
			continue
		}
		for _, n := range calls(f, "os", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv") {
			t.Errorf("%s reads the environment: configuration is one struct per function, read once in boot", f.at(n))
		}
	}
}

func TestOnlyBootReadsTheClock(t *testing.T) {
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal", "functions", "statemachines") || within(f.dir(), "internal/boot") {
			continue
		}
		for _, n := range calls(f, "time", "Now", "Since", "Until") {
			t.Errorf("%s reads the clock: time is an argument, or the now function that boot hands over", f.at(n))
		}
	}
}
