package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"piloto/internal/workspace"
)

func TestANamedGitFolderCanBeWritten(t *testing.T) {
	needSandbox(t)
	folder := t.TempDir()
	git, bare, file := filepath.Join(folder, ".git"), filepath.Join(folder, "x", "bare"), filepath.Join(folder, "x", "hook")
	write(t, filepath.Join(git, "config"), "[core]\n\thooksPath = x\n")
	write(t, file, "")
	for _, name := range []string{"HEAD", "objects/x", "refs/x", "config"} {
		write(t, filepath.Join(bare, name), "")
	}
	c := Command{Line: "echo x > .git/config && echo x > x/bare/config && echo x > x/hook && echo yes", Workspace: folder, Write: []string{git, bare, file}}
	g, err := c.Protect(workspace.Shown{})
	if err != nil {
		t.Fatal(err)
	}
	wantOutput(t, run(t, c), "yes")
	if moved := g.Clear(t.TempDir(), at); len(moved) > 0 {
		t.Errorf("%+v", moved)
	}
}

// Held folders can be renamed and removed nowhere, in any writable folder, one in the other too.
func TestFoldersAboveWhatIsHeldStay(t *testing.T) {
	needSandbox(t)
	whole := t.TempDir()
	folder, beside := filepath.Join(whole, "a", "workspace"), t.TempDir()
	for _, root := range []string{folder, beside, whole} {
		write(t, filepath.Join(root, "b", "c", ".git", "config"), "x")
		write(t, filepath.Join(root, "d", "e"), "x")
	}
	c := Command{
		Line: `for r in "$@"; do for f in b b/c b/c/.git; do mv "$r/$f" "$r/x" 2>&-; rm -rf "$r/$f" 2>&-; done; mv "$r/d" "$r/g" || echo no; done; mv "$3/a" "$3/x" 2>&-`,
		Args: []string{folder, beside, whole}, Workspace: folder, Write: []string{beside, whole, filepath.Join(folder, "d")},
	}
	if _, err := c.Protect(workspace.Shown{}); err != nil {
		t.Fatal(err)
	}
	run(t, c)
	for _, root := range []string{folder, beside, whole} {
		if text, err := os.ReadFile(filepath.Join(root, "b", "c", ".git", "config")); string(text) != "x" {
			t.Errorf("%s: %q, %v", root, text, err)
		}
		if _, err := os.Stat(filepath.Join(root, "g", "e")); err != nil && root != folder { // there d is a mount of its own
			t.Error(err)
		}
	}
}
