package workspace_test

import (
	"slices"
	"strings"
	"testing"

	"piloto/internal/workspace"
)

func TestHiddenUnlessConfigurationNamesIt(t *testing.T) {
	const nothing = ""
	for _, c := range []struct {
		globs, name string
		hidden      bool
	}{
		{nothing, ".env", true},
		{nothing, ".ENV", true},
		{nothing, ".env.local", true},
		{nothing, ".envrc", true},
		{nothing, "a/.env/b", true},
		{nothing, "certs/server.pem", true},
		{nothing, "SERVER.PEM", true},
		{nothing, "tls.key", true},
		{nothing, "id_rsa", true},
		{nothing, "ID_RSA.pub", true},
		{nothing, "ıd_rsa", true}, // a system may take the dotless i for an i
		{nothing, ".git/config", true},
		{nothing, ".GIT/hooks/pre-commit", true},
		{nothing, "sub/.git", true},
		{nothing, "sub/.git/HEAD", true},
		{nothing, "env", false},
		{nothing, ".gitignore", false},
		{nothing, ".github/workflows/ci.yml", false},
		{nothing, "key", false},
		{nothing, "id_cards/list.go", false},
		{nothing, "monkey.go", false},
		{".env.example", ".env.example", false},
		{".env.example", "deep/.env.example", false},
		{".env.example", ".env", true},
		{".env.example", ".ENV.EXAMPLE", true},
		{"*.pem", "a/b.pem", false},
		{"/id_test.go", "id_test.go", false},
		{"/id_test.go", "a/id_test.go", true},
		{"**/id_*.go", "a/b/id_token.go", false},
		{"config", ".git/config", true},
		{".git/config", ".git/config", false},
		{".git/**", ".git/hooks/pre-commit", false},
		{".git/*", ".git/hooks/pre-commit", true},
	} {
		shown, err := workspace.Show(strings.Fields(c.globs)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown.Hidden(c.name); got != c.hidden {
			t.Errorf("%q with %q: hidden is %v", c.name, c.globs, got)
		}
		if got := why(t, shown.Check(c.name)); slices.Contains([]string{"hidden", "git", "own"}, got) != c.hidden || c.hidden && strings.Contains(strings.ToLower(c.name), ".git") != (got == "git") {
			t.Errorf("%q with %q: Check says %q", c.name, c.globs, got)
		}
	}
}

func TestFoldersAreEnteredOnlyForWhatCanBeThere(t *testing.T) {
	shown, err := workspace.Show(".env.example", "sub/.git/conf*", "vendor/**/*.go", "dist/x")
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][2]bool{
		"src": {true, false}, ".git": {false, false}, "sub/.git": {true, true}, "sub/.git/hooks": {false, false}, "vendor": {true, true},
		"vendor/a/b": {true, true}, "dist": {true, true}, "dist/x": {true, false}, "other/vendor": {true, false},
	} {
		if got := [2]bool{shown.Enters(folder), shown.NamesBelow(folder)}; got != want {
			t.Errorf("%s: %v, want %v", folder, got, want)
		}
	}
}

func TestShowRefusesWhatIsNoGlob(t *testing.T) {
	for _, glob := range []string{"[", "a//b", "", "a/", "x/[", `\`} {
		if _, err := workspace.Show(glob); err == nil {
			t.Errorf("%q is a glob", glob)
		}
	}
}
