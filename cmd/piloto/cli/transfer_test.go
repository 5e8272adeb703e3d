package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/cmd/piloto/cli/ending"
	"piloto/infra/local/fixture/memory"
	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/serve"
)

const someProject = "01K0000000000000000000000B"

// anyPlace has every chat and project but one.
type anyPlace struct{}

func (anyPlace) Project(_ context.Context, _ ids.Account, id string) (conversation.Project, error) {
	if id != someProject {
		return conversation.Project{}, conversation.ErrProjectNotFound
	}
	return conversation.Project{ID: id}, nil
}

func (anyPlace) Chat(_ context.Context, _ ids.Account, id string) (conversation.Chat, error) {
	return conversation.Chat{ID: id, ProjectID: someProject}, nil
}

// deploymentFor serves the files of a project, and returns a function that runs piloto workspace there.
func deploymentFor(t *testing.T, store workspace.Store) func(args ...string) (code ending.Code, out, errOut string) {
	t.Helper()
	service := serve.New(serve.Config{
		Store: func(files.Place) workspace.Store { return store }, Objects: &memory.Objects{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	routes := httpapi.Workspaces(httpapi.Config{Now: time.Now, Trace: func(context.Context) string { return "" }}, service, anyPlace{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer token-of-ana" {
			r = r.WithContext(auth.NewContext(r.Context(), auth.Principal{Account: "a", User: "ana", Scopes: []auth.Scope{auth.ScopeChat}}))
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	return func(args ...string) (ending.Code, string, string) {
		a, out, errOut := newApp(map[string]string{"PILOTO_TOKEN": "token-of-ana", "LANG": "es_ES.UTF-8"}, "")
		code := a.run(append([]string{"workspace", "--at", s.URL}, args...))
		return code, out.String(), errOut.String()
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfADeployment(t *testing.T) {
	binary := "\x00\xff\r\nbinary\x1b[31m"
	store := memory.With(map[string]string{"docs/a.txt": "uno\n", "b.bin": binary, "esc.txt": "rojo \x1b[31m\u202e\n"})
	workspaceOf := deploymentFor(t, store)
	project := []string{"--project", someProject}
	for _, c := range []struct {
		args []string
		code ending.Code
		out  string // stdout has it; "=": it is exactly
		err  string
	}{
		{[]string{"ls"}, 0, "docs/a.txt", ""},
		{[]string{"ls", "--json"}, 0, `"name":"docs/a.txt"`, ""},
		{[]string{"cat", "docs/a.txt"}, 0, "=uno\n", ""},
		{[]string{"cat", "b.bin"}, 0, "=" + binary, ""},
		{[]string{"cat", "none"}, 1, "=", "No existe el archivo"},
		{[]string{"cat", "../x"}, 1, "=", "no puede ser el nombre"},
		{[]string{"get", "b.bin"}, 0, "=", ""},
		{[]string{"get", "b.bin"}, 1, "=", "ya existe"},
		{[]string{"get", "b.bin", "--force"}, 0, "=", ""},
		{[]string{"put", "b.bin", "copia/b.bin"}, 0, "copia/b.bin", ""},
		{[]string{"put", "none.txt"}, 3, "=", "none.txt"},
		{[]string{"put", "b.bin", ".env"}, 1, "=", "secretos"},
		{[]string{"log", "docs/a.txt"}, 0, "docs/a.txt", ""},
		{[]string{"push", "no-folder"}, 3, "=", ""},
	} {
		code, out, errOut := workspaceOf(append(c.args, project...)...)
		exact, isExact := strings.CutPrefix(c.out, "=")
		if code != c.code || isExact && out != exact || !strings.Contains(out, strings.TrimPrefix(c.out, "=")) || !strings.Contains(errOut, c.err) {
			t.Errorf("%v: %d, %q, %q", c.args, code, out, errOut)
		}
		if strings.ContainsAny(errOut, "\x1b\u202e") {
			t.Errorf("%v: a control character on stderr: %q", c.args, errOut)
		}
	}
	got, err := os.ReadFile("b.bin")
	if err != nil || string(got) != binary {
		t.Errorf("%q, %v", got, err)
	}
	for _, args := range [][]string{{"pull", "x"}, {"get", "a"}, {"ls", "--project", someProject, "--chat", someProject}} {
		if code, _, errOut := workspaceOf(args...); code != ending.Usage {
			t.Errorf("%v: %d %s", args, code, errOut)
		}
	}
	if code, _, errOut := workspaceOf("ls", "--project", "01K0000000000000000000000Z"); code != ending.Failed || !strings.Contains(errOut, "No existe ese proyecto") {
		t.Errorf("%d %s", code, errOut)
	}
	if code, out, _ := workspaceOf("ls", "--chat", someProject); code != 0 || !strings.Contains(out, "b.bin") {
		t.Errorf("a chat of the project: %d %s", code, out)
	}
}

func TestAVersionOfADeploymentIsComparedAndRestored(t *testing.T) {
	store := memory.With(map[string]string{"some-file": "x"})
	var versions []string
	for i, content := range []string{"uno\n", "dos\n"} {
		f, err := store.Write(t.Context(), "a.txt", []byte(content), append([]string{""}, versions...)[i])
		must(t, err)
		versions = append(versions, f.Version)
	}
	workspaceOf := deploymentFor(t, longVersions{store})
	first := "version-" + versions[0]
	if code, out, errOut := workspaceOf("diff", "a.txt", first, "--project", someProject); code != 0 || !strings.Contains(out, "-dos\n+uno\n") {
		t.Fatalf("%d %q %q", code, out, errOut)
	}
	if code, out, errOut := workspaceOf("restore", "a.txt", first, "--project", someProject); code != 0 || out != "" || !strings.Contains(errOut, "a.txt") {
		t.Errorf("%d %q %q", code, out, errOut)
	}
	content, _, err := workspace.ReadAll(t.Context(), store, "a.txt", "")
	if err != nil || string(content) != "uno\n" {
		t.Errorf("%q, %v", content, err)
	}
}

// TestAVersionThatThereIsNotLeadsToThoseOfTheSameFile: its line is about the same place.
func TestAVersionThatThereIsNotLeadsToThoseOfTheSameFile(t *testing.T) {
	workspaceOf := deploymentFor(t, memory.With(map[string]string{"-a b": "x"}))
	must(t, os.Mkdir("a folder", 0o700))
	must(t, os.WriteFile("a folder/-a b", []byte("x"), 0o600))
	for _, whose := range [][]string{{"--project", someProject}, {"--chat", someProject}, {"--workspace", "a folder"}, {"--workspace", "a folder", "--show", "*.x", "--show", "y"}} {
		for _, command := range []string{"restore", "diff", "cat"} {
			code, _, said := workspaceOf(slices.Concat([]string{command}, whose, []string{"--", "-a b", "zzzzzzzz"})...)
			quoted := strings.NewReplacer("a folder", "'a folder'", "*.x", "'*.x'").Replace(strings.Join(whose, " "))
			if code != ending.Usage || !strings.Contains(said, " workspace log "+quoted+" -- '-a b' ") {
				t.Errorf("%s %v: %d %s", command, whose, code, said)
			}
		}
	}
}

// longVersions is a store whose versions are as long as those of a bucket.
type longVersions struct{ workspace.Store }

func (l longVersions) name(f workspace.File, err error) (workspace.File, error) {
	f.Version = "version-" + f.Version
	return f, err
}

func bare(version string) string { return strings.TrimPrefix(version, "version-") }

func (l longVersions) List(ctx context.Context) (workspace.Listing, error) {
	all, err := l.Store.List(ctx)
	for i := range all.Files {
		all.Files[i], _ = l.name(all.Files[i], nil)
	}
	return all, err
}

func (l longVersions) Read(ctx context.Context, name, version string, from, n int64) ([]byte, workspace.File, error) {
	content, f, err := l.Store.Read(ctx, name, bare(version), from, n)
	f, err = l.name(f, err)
	return content, f, err
}

func (l longVersions) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	return l.name(l.Store.Write(ctx, name, content, bare(version)))
}

func (l longVersions) Versions(ctx context.Context, name string) ([]workspace.File, error) {
	all, err := l.Store.Versions(ctx, name)
	for i := range all {
		all[i], _ = l.name(all[i], nil)
	}
	return all, err
}

func TestAFolderIsPushedAndPulled(t *testing.T) {
	store := memory.With(map[string]string{"old.txt": "viejo\n"})
	workspaceOf := deploymentFor(t, store)
	run := func(want ending.Code, args ...string) string {
		t.Helper()
		code, out, errOut := workspaceOf(append(args, "--project", someProject, "--json")...)
		if code != want {
			t.Fatalf("%v: %d, %s, %s", args, code, out, errOut)
		}
		var r struct{ Written, Deleted, Conflicts []string }
		must(t, json.Unmarshal([]byte(out), &r))
		return strings.Join(r.Written, " ") + "|" + strings.Join(r.Deleted, " ") + "|" + strings.Join(r.Conflicts, " ")
	}
	write := func(name, content string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(name), 0o750))
		must(t, os.WriteFile(name, []byte(content), 0o600))
	}
	write("f/a.txt", "uno\n")
	write("f/src/b.go", "package b\n")
	write("f/.env", "SECRET=1\n")
	write("f/dist.log", "x\n")
	write("f/.gitignore", "*.log\n")
	if got := run(0, "push", "f", "--dry-run"); got != ".gitignore a.txt src/b.go||" {
		t.Errorf("a dry run: %s", got)
	}
	if l, err := store.List(t.Context()); err != nil || len(l.Files) != 1 {
		t.Errorf("a dry run wrote: %+v, %v", l, err)
	}
	if got := run(0, "push", "f"); got != ".gitignore a.txt src/b.go||" {
		t.Errorf("the first push: %s", got)
	}
	if got := run(0, "push", "f"); got != "||" {
		t.Errorf("a push of nothing new: %s", got)
	}
	if got := run(0, "pull", "f"); got != "old.txt||" {
		t.Errorf("a pull: %s", got)
	}
	write("f/a.txt", "aquí\n")
	there, err := store.Stat(t.Context(), "a.txt")
	must(t, err)
	_, err = store.Write(t.Context(), "a.txt", []byte("allí\n"), there.Version)
	must(t, err)
	for _, direction := range []string{"push", "pull"} {
		if got := run(1, direction, "f"); got != "||a.txt" {
			t.Errorf("%s of what both changed: %s", direction, got)
		}
	}
	if got := run(0, "pull", "f", "--force"); got != "a.txt||" {
		t.Errorf("%s", got)
	}
	if content, err := os.ReadFile("f/a.txt"); err != nil || string(content) != "allí\n" {
		t.Errorf("%q, %v", content, err)
	}
	must(t, os.Remove("f/src/b.go"))
	if got := run(0, "push", "f", "--delete"); got != "|src/b.go|" {
		t.Errorf("a push that deletes: %s", got)
	}
	if got := run(0, "pull", "new"); got != ".gitignore a.txt old.txt||" {
		t.Errorf("a pull into a new folder: %s", got)
	}
}

// TestWhatIsNotSentIsNamed: a push that leaves a file here says so, and deletes nothing that it never had.
func TestWhatIsNotSentIsNamed(t *testing.T) {
	store := memory.With(map[string]string{"theirs.txt": "x"})
	workspaceOf := deploymentFor(t, store)
	must(t, os.MkdirAll("f/node_modules", 0o700))
	must(t, os.MkdirAll("f/src", 0o700))
	must(t, os.MkdirAll("f/.github", 0o700))
	for _, name := range []string{"good.txt", "src/con", "a?b", "two\nlines", "e\u0301.txt", "one.txt", ".env", "x.log", "src/y.tmp", "src/large", "node_modules/a?b", ".github/z.tmp", ".github/w?"} {
		must(t, os.WriteFile("f/"+name, []byte(name), 0o600))
	}
	must(t, os.Truncate("f/src/large", workspace.MaxFileBytes+1))
	must(t, os.WriteFile("f/.gitignore", []byte("*.log\n"), 0o600))
	must(t, os.WriteFile("f/src/.gitignore", []byte("*.tmp\n"), 0o600))
	must(t, os.WriteFile("f/.github/.gitignore", []byte("*.tmp\nw?\n"), 0o600))
	must(t, os.Link("f/one.txt", "f/other.txt"))
	must(t, os.Symlink("good.txt", "f/link"))
	must(t, os.Symlink("src", "f/vendor"))

	code, out, errOut := workspaceOf("push", "f", "--delete", "--json", "--quiet", "--project", someProject)
	if code != ending.Partial {
		t.Errorf("%d, %s", code, errOut)
	}
	var r struct {
		Written, Deleted, Strange []string
		Skipped                   []struct{ Name, Code, Why string }
	}
	must(t, json.Unmarshal([]byte(out), &r))
	got := map[string]string{}
	for _, s := range r.Skipped {
		got[s.Name] = s.Code
		if !strings.Contains(errOut, s.Why) {
			t.Errorf("%q is not on stderr: %s", s.Why, errOut)
		}
	}
	want := map[string]string{
		"a?b": "workspace.name", "two\nlines": "workspace.name", "e\u0301.txt": "workspace.name", "src/con": "workspace.name",
		"one.txt": "workspace.special", "other.txt": "workspace.special", "link": "workspace.special", "src/large": "workspace.too_large",
	}
	if !maps.Equal(got, want) {
		t.Errorf("skipped: %v", got)
	}
	if len(r.Deleted) > 0 || !slices.Contains(r.Strange, "theirs.txt") || !slices.Contains(r.Written, "good.txt") {
		t.Errorf("%s", out)
	}
	if l, err := store.List(t.Context()); err != nil || !slices.ContainsFunc(l.Files, func(f workspace.File) bool { return f.Name == "theirs.txt" }) {
		t.Errorf("a folder that was never copied deleted a file: %+v, %v", l, err)
	}
	if !strings.Contains(errOut, "theirs.txt") {
		t.Error(errOut)
	}
	if code, _, errOut := workspaceOf("push", "f", "--project", "01K0000000000000000000000Z"); code != ending.Failed || !strings.Contains(errOut, "No existe ese proyecto") {
		t.Errorf("a push that failed: %d, %s", code, errOut)
	}
}
