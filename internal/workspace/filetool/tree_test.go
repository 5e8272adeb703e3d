package filetool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filetool"
)

// counting is a store that counts what is read. version, if it is not "", is that of all its listings.
type counting struct {
	*memory.Store
	version string
	mu      sync.Mutex
	reads   []string
}

func (s *counting) Read(ctx context.Context, name, version string, from, n int64) ([]byte, workspace.File, error) {
	s.mu.Lock()
	s.reads = append(s.reads, name)
	s.mu.Unlock()
	return s.Store.Read(ctx, name, version, from, n)
}

func (s *counting) List(ctx context.Context) (workspace.Listing, error) {
	l, err := s.Store.List(ctx)
	if s.version != "" {
		l.Version = s.version
	}
	return l, err
}

func tree(t testing.TB, f *filetool.Files) string {
	t.Helper()
	text, err := f.Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTreeLeavesOutWhatIsNotWork(t *testing.T) {
	files := map[string]string{"data/large.csv": strings.Repeat("x", 1<<20+1), "data/.gitignore": "*.tmp\n", "data/a.tmp": "", "data/a.csv": ""}
	for name, content := range project {
		files[name] = content
	}
	f, _ := over(files)
	const want = `build/ (left out)
data/
  .gitignore
  a.csv
  large.csv (1.0 MB: left out, can be read)
docs/
  picture.png
  ñandú.md
node_modules/ (left out)
src/
  api/
    server.go
    server_test.go
  main.go
  run.go
web/
  node_modules/ (left out)
  a.ts
  b.tsx
.gitignore
README.md`
	if diff := cmp.Diff(want, tree(t, f)); diff != "" {
		t.Error(diff)
	}
	if r := call(t, f, "read_file", args{"path": "data/large.csv"}); !r.OK {
		t.Errorf("what the tree leaves out cannot be read: %+v", r)
	}
	empty, _ := over(nil)
	if got := tree(t, empty); got != "(there are no files)" {
		t.Error(got)
	}
}

func TestTreeHasAtMost300Lines(t *testing.T) {
	deep, wide, flat := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range 2_000 {
		deep[fmt.Sprintf("src/p%d/q%d/file%d.go", i%10, i%50, i)] = ""
		wide[fmt.Sprintf("p%d/file.go", i)] = ""
		flat[fmt.Sprintf("%04d%s.txt", i, strings.Repeat("ñ", 100))] = ""
	}
	for _, c := range []struct {
		what  string
		files map[string]string
		has   []string
	}{
		{"deep", deep, []string{"src/\n  p0/\n    q0/\n      file0.go\n", "    q9/ (40 files)"}},
		{"wide", wide, []string{"p0/ (1 file)\np1/ (1 file)\n", "… 1701 more entries: see them with list_files"}},
		{"flat", flat, []string{"… 1701 more entries"}},
	} {
		f, _ := over(c.files)
		got := tree(t, f)
		if n := strings.Count(got, "\n") + 1; n > 300 {
			t.Errorf("%s: %d lines", c.what, n)
		}
		for _, has := range c.has {
			if !strings.Contains(got, has) {
				t.Errorf("%s: %q is not in\n%s", c.what, has, got)
			}
		}
	}
}

func TestTreeIsMadeAgainOnlyIfTheListingChanged(t *testing.T) {
	s := &counting{Store: memory.With(map[string]string{".gitignore": "*.log\n", "web/.gitignore": "b\n", "a.log": "", "web/b": "", "c": ""})}
	f := filetool.New(s, filetool.Options{})
	first := tree(t, f)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if tree(t, f) != first {
				t.Error("the tree changed")
			}
			call(t, f, "find_files", args{"pattern": "*"})
		})
	}
	wg.Wait()
	if got := strings.Join(s.reads, " "); got != ".gitignore web/.gitignore" {
		t.Errorf("read: %s", got)
	}
	s.reads = nil
	if _, err := s.Write(t.Context(), "d.log", nil, ""); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, f); got != first || len(s.reads) > 0 {
		t.Errorf("after a file that is left out:\n%s\nread: %v", got, s.reads)
	}
	was, _ := s.Stat(t.Context(), ".gitignore")
	if _, err := s.Write(t.Context(), ".gitignore", []byte("*.txt\n"), was.Version); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, f); !strings.Contains(got, "a.log") || strings.Join(s.reads, " ") != ".gitignore" {
		t.Errorf("after another .gitignore:\n%s\nread: %v", got, s.reads)
	}
}

func TestTreeIsKeptForTheVersionOfTheListing(t *testing.T) {
	s := &counting{Store: memory.With(map[string]string{"a": ""}), version: "same"}
	f := filetool.New(s, filetool.Options{})
	tree(t, f)
	if _, err := s.Write(t.Context(), "b", nil, ""); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, f); got != "a" {
		t.Errorf("a tree was made again for the same version:\n%s", got)
	}
	s.version = "other"
	if got := tree(t, f); got != "a\nb" {
		t.Errorf("for another version:\n%s", got)
	}
}

func TestTreeFailsWithTheStore(t *testing.T) {
	failure := errors.New("no network")
	f := filetool.New(failing{Store: memory.With(map[string]string{".gitignore": ""}), err: failure}, filetool.Options{})
	if _, err := f.Tree(t.Context()); !errors.Is(err, failure) {
		t.Error(err)
	}
}

func BenchmarkTree(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f, _ := over(benchmarkFiles(1_999))
		b.StartTimer()
		tree(b, f)
	}
}
