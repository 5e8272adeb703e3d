package sandbox

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
)

// kept are files of a repository that have a copy in a sandbox, or are hidden there.
var kept = map[string]string{
	"conf.yml": "db:\n  password: tortugaverde\n  port: 80\n", ".npmrc": "//r.example.org/:_authToken=npm-tok-Zk4481aa\nalways-auth=true\n",
	".env.example": "A=1\n", "certs/ca.pem": "x\n", "debug.keystore": "\x00\x01binary", ".env.d/a": "x\n", "src/x.py": "key = 'sk_live_51H8x2eZvKYlo2C0aBcDeFgHi'\n",
	"src/b.yml": "password: tortuganegra\n", "a.txt": "one\n",
}

// gitIn runs git as the person.
func gitIn(t *testing.T, folder string, args ...string) string {
	t.Helper()
	args = append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"}, args...)
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// newKept makes a repository of the files of kept in a folder.
func newKept(t *testing.T, folder string, how ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	for name, text := range kept {
		write(t, filepath.Join(folder, name), text)
	}
	gitIn(t, folder, append([]string{"init", "-q"}, how...)...)
	gitIn(t, folder, "add", "-f", ".")
	gitIn(t, folder, "commit", "-qm", "first")
}

// protected runs a line as an agent does.
func protected(t *testing.T, c Command, line string) Result {
	t.Helper()
	c.Line = line
	g, err := c.Protect(workspace.Shown{})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, c)
	if moved := g.Clear(t.TempDir(), at); len(moved) > 0 {
		t.Errorf("%s: moved %+v", line, moved)
	}
	return r
}

// looks are lines that ask git whether something was changed, and that say nothing if nothing was.
var looks = []string{
	"git status --short", "git -C . status -s", "git status -s; true", "git diff --color=never", "git ls-files -m -- conf.yml .npmrc .env.example certs", "git diff-index HEAD", "git diff-files",
	"git diff conf.yml .npmrc src/x.py", "git diff HEAD --stat", "git diff --word-diff", "bash -c 'git stat''us -s'", "git diff | cat", "git diff HEAD -- .env.example", "git diff --numstat HEAD",
	"git --no-pager diff --exit-code", "git status --porcelain=v2", "for f in *; do git diff $f; done", "cp .git/index /tmp/i && GIT_INDEX_FILE=/tmp/i git status -s",
}

// repositories make a repository in a folder, and return the workspace; "" if this git cannot.
var repositories = map[string]func(t *testing.T, folder string) (workspace string){
	"plain": func(t *testing.T, folder string) string { newKept(t, folder); return folder },
	"version 4": func(t *testing.T, folder string) string {
		newKept(t, folder)
		gitIn(t, folder, "update-index", "--index-version=4")
		return folder
	},
	"split": func(t *testing.T, folder string) string {
		newKept(t, folder)
		gitIn(t, folder, "update-index", "--split-index")
		return folder
	},
	"sha256": func(t *testing.T, folder string) string { newKept(t, folder, "--object-format=sha256"); return folder },
	"without sums": func(t *testing.T, folder string) string {
		newKept(t, folder)
		gitIn(t, folder, "config", "index.skipHash", "true")
		return folder
	},
	"end of lines": func(t *testing.T, folder string) string {
		newKept(t, folder)
		gitIn(t, folder, "config", "core.autocrlf", "true")
		for name := range kept {
			_ = os.Remove(filepath.Join(folder, name))
		}
		gitIn(t, folder, "checkout", "-f", ".")
		return folder
	},
	"sparse": func(t *testing.T, folder string) string {
		write(t, filepath.Join(folder, "far", "b", "conf.yml"), kept["conf.yml"])
		newKept(t, folder)
		gitIn(t, folder, "sparse-checkout", "set", "--cone", "--sparse-index", "certs", "src", ".env.d")
		return folder
	},
	"nested": func(t *testing.T, folder string) string {
		newKept(t, filepath.Join(folder, "a"))
		newKept(t, filepath.Join(folder, "b", "c"))
		return folder
	},
	"another worktree": func(t *testing.T, folder string) string {
		newKept(t, filepath.Join(folder, "main"))
		gitIn(t, filepath.Join(folder, "main"), "worktree", "add", "-q", filepath.Join(folder, "tree"))
		return folder
	},
	"a submodule": func(t *testing.T, folder string) string {
		newKept(t, filepath.Join(folder, "one"))
		newKept(t, filepath.Join(folder, "two"))
		gitIn(t, filepath.Join(folder, "two"), "submodule", "--quiet", "add", filepath.Join(folder, "one"), "sub")
		gitIn(t, filepath.Join(folder, "two"), "commit", "-qm", "sub")
		return filepath.Join(folder, "two")
	},
	"a separate folder": func(t *testing.T, folder string) string {
		write(t, filepath.Join(folder, "meta", "x"), "")
		newKept(t, filepath.Join(folder, "w"), "--separate-git-dir="+filepath.Join(folder, "meta", "g"))
		return folder
	},
}

// Guarantee I25. For any line that asks git, and any kind of repository, a file that has a copy looks as the person left
// it.
func TestGitTakesNoCopyForAChange(t *testing.T) {
	needSandbox(t)
	for how, make := range repositories {
		t.Run(how, func(t *testing.T) {
			folder := make(t, t.TempDir())
			before := list(t, folder)
			for _, line := range looks {
				if how != "plain" {
					line = `for g in $(find . -name .git); do (cd $(dirname $g) && git status -s 2>&- && git diff HEAD 2>&- && git diff-index HEAD --stat 2>&-); done`
				}
				r := protected(t, Command{Workspace: folder}, line)
				if how == "split" { // it is told
					if why := strings.Join(r.Masks.Explain(locale.English), ""); !strings.Contains(why, "conf.yml: git compares") || !strings.Contains(why, ".env.example: git compares") {
						t.Error(r.Output, why)
					}
					break
				}
				if r.Code != 0 || r.Output != "" || len(r.Masks.told) > 0 {
					t.Errorf("%s: %d %s %v", line, r.Code, r.Output, r.Masks)
				}
				if how != "plain" {
					break
				}
			}
			if after := list(t, folder); !maps.Equal(before, after) {
				t.Errorf("the folder was changed: %v", after)
			}
		})
	}
}

// list returns the contents of the files of a folder.
func list(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			text, failed := os.ReadFile(path)
			all[path], err = string(text), failed
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// Output that is true of a file is shown, and output that is true of its copy only is explained.
func TestGitShowsWhatWasChanged(t *testing.T) {
	needSandbox(t)
	folder := t.TempDir()
	newKept(t, folder)
	write(t, filepath.Join(folder, "conf.yml"), "db:\n  password: tortugaverde\n  port: 81\n")
	write(t, filepath.Join(folder, ".npmrc"), kept[".npmrc"]+"save=true")
	write(t, filepath.Join(folder, ".env.example"), "A=2\n")
	write(t, filepath.Join(folder, "a.txt"), "two\n")
	for _, c := range []struct{ line, has, hasNot, why string }{
		{"git status -s", " M .npmrc\n M a.txt\n M conf.yml", "x.py", ".env.example differs"},
		{"git diff", "   password: [redacted]\n-  port: 80\n+  port: 81", "-  password", ".env.example differs"},
		{"git -C . diff --color=always HEAD | cat", " //r.example.org/:_authToken=[redacted]\n always-auth=true\n+save=true", "-//r", ""},
		{"git diff --stat", "conf.yml", "", "conf.yml: git compares"},
		{"git diff | wc -l", "", "", "conf.yml: git compares"},
		{"git diff --shortstat", "3 files changed", "", "conf.yml: git compares"},
		{"git diff --word-diff conf.yml", "{+81+}", "tortuga", "conf.yml: git compares"},
		{"git blame src/x.py", "", "sk_live", "src/x.py is a masked copy here: git blame"},
		{"git grep -n password", "conf.yml:2:  password: [redacted]", "tortuga", "conf.yml: git compares"},
		{"git show HEAD:conf.yml", "  password: [redacted]", "tortuga", ""},
		{"git stash", "", "", ".git cannot be written"},
		{"git checkout -- conf.yml", "Read-only", "", ".git cannot be written"},
		{"git add -A || true", "Read-only", "", ".git cannot be written"},
		{"cat .env.example", "", "A=", ".env.example is hidden"},
		{"echo x >> .env.example", "", "", ".env.example is hidden"},
		{"mv conf.yml x", "", "", "conf.yml is a masked copy in the sandbox"},
		{"cat a.txt", "two", "", ""},
	} {
		before := list(t, folder)
		r := protected(t, Command{Workspace: folder}, c.line)
		why := strings.Join(r.Masks.Explain(locale.English), "\n")
		if !strings.Contains(r.Output, c.has) || c.hasNot != "" && strings.Contains(r.Output, c.hasNot) || !strings.Contains(why, c.why) || c.line == "cat a.txt" && why != "" || c.why == "" && strings.Contains(why, "compares") {
			t.Errorf("%s: %s\n%s", c.line, r.Output, why)
		}
		if !maps.Equal(before, list(t, folder)) {
			t.Errorf("%s changed files", c.line)
		}
	}
}

// Git does not see a change of a copy until the next command, and that is told.
func TestGitDoesNotSeeWhatIsCarriedOver(t *testing.T) {
	needSandbox(t)
	folder := t.TempDir()
	newKept(t, folder)
	r := protected(t, Command{Workspace: folder}, "echo 'x: 1' >> conf.yml; git status -s")
	if why := strings.Join(r.Masks.Explain(locale.English), ""); r.Output != "" || !strings.HasPrefix(why, "conf.yml differs from what git has") {
		t.Error(r.Output, why)
	}
	wantOutput(t, protected(t, Command{Workspace: folder}, "git diff -U0 --no-prefix | tail -n +5"), "@@ -3,0 +4 @@ db:", "+x: 1")
}

// Each file is explained once, where several have its name.
func TestWhatIsHeldIsNamedOnce(t *testing.T) {
	needSandbox(t)
	folder := t.TempDir()
	for _, sub := range []string{"", "a", "b/c"} {
		newKept(t, filepath.Join(folder, sub))
	}
	write(t, filepath.Join(folder, "tools", "hooks", "pre-commit"), "x")
	gitIn(t, folder, "config", "core.hooksPath", "tools/hooks")
	for line, want := range map[string]string{
		"echo x >> tools/hooks/pre-commit": "tools/hooks/pre-commit", "mv tools x": "tools", "rm -rf tools/hooks": "tools/hooks/pre-commit", "git add .": ".git", "git -C a add .": "a/.git", "cd b/c && git commit --amend -m x": "b/c/.git", "git stash": ".git", "cat .env.example": ".env.example",
		"cat a/.env.example": "a/.env.example", "echo x >> b/c/.env.example": "b/c/.env.example", "rm -rf .env.d": ".env.d", "ls .gitignore .git*": "", "cat a.txt": "",
	} {
		r := protected(t, Command{Workspace: folder}, line)
		var names []string
		for _, a := range r.Masks.explained {
			if a.sentence == "held" || a.sentence == "hidden" || a.sentence == "above" {
				names = append(names, a.name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q: %s", line, got, want, r.Output)
		}
	}
}

// A file in a conflict, or of which only the name is staged, is compared by its copy.
func TestAConflictIsExplained(t *testing.T) {
	needSandbox(t)
	folder := t.TempDir()
	newKept(t, folder)
	gitIn(t, folder, "checkout", "-q", "-b", "other")
	write(t, filepath.Join(folder, "conf.yml"), "db:\n  password: tortugaverde\n  port: 81\n")
	gitIn(t, folder, "commit", "-qam", "other")
	gitIn(t, folder, "checkout", "-q", "-")
	write(t, filepath.Join(folder, "conf.yml"), "db:\n  password: tortugaverde\n  port: 82\n")
	gitIn(t, folder, "commit", "-qam", "mine")
	_ = exec.Command("git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "merge", "-q", "other").Run()
	write(t, filepath.Join(folder, "new.yml"), "password: tortugaazul\n")
	gitIn(t, folder, "add", "-N", "new.yml")
	for line, want := range map[string]string{"git diff conf.yml": "conf.yml: git compares", "git status -s": "", "git diff new.yml": "new.yml: git compares"} {
		r := protected(t, Command{Workspace: folder}, line)
		why := strings.Join(r.Masks.Explain(locale.English), "\n")
		if !strings.Contains(why, want) || want == "" && (why != "" || r.Output != "UU conf.yml\n A new.yml") || strings.Contains(r.Output, "tortuga") {
			t.Errorf("%s: %s\n%s", line, r.Output, why)
		}
	}
}

// Guarantee I24. A git folder that commands may write gets no copy, and keeps no mark.
func TestNoCopyIsStaged(t *testing.T) {
	needSandbox(t)
	folder := t.TempDir()
	newKept(t, folder)
	changed := map[string]string{"conf.yml": "db:\n  password: tortugaverde\n  port: 81\n", ".env.example": "A=2\n", "a.txt": "two\n", "new.yml": "password: tortugaazul\n", "cert.pem": "x\n"}
	for name, text := range changed {
		write(t, filepath.Join(folder, name), text)
	}
	git := filepath.Join(folder, ".git")
	gitIn(t, folder, "config", "user.name", "a")
	gitIn(t, folder, "config", "user.email", "a@b.c")
	for _, line := range []string{
		"git add -A && git commit -qm x", "git commit -qam x", "git commit -qm x conf.yml .npmrc", "git add conf.yml .env.example cert.pem; git commit -qm x .env.example", "git stash; git stash pop",
		"git add . && git commit -qm x; git reset -q --hard", "git update-index --really-refresh; git add -u; git commit -qm x", "touch .git/index.lock; git status; rm .git/index.lock; git add -A", "touch .git/index.lock",
	} {
		protected(t, Command{Workspace: folder, Write: []string{git}}, line)
		if shown := gitIn(t, folder, "log", "-p", "--all") + gitIn(t, folder, "diff", "--cached"); strings.Contains(shown, "redacted") || strings.Contains(shown, "-A=1") || strings.Contains(shown, "tortugaazul") {
			t.Fatalf("%s: %s", line, shown)
		}
		if marks := gitIn(t, folder, "ls-files", "-v"); strings.Contains(marks, "h ") {
			t.Fatalf("%s left marks: %s", line, marks)
		}
		if got := gitIn(t, folder, "status", "-s"); !strings.Contains(got, " M conf.yml") || !strings.Contains(got, " M .env.example") || strings.Contains(got, ".npmrc") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	if err := os.Remove(filepath.Join(git, "index.lock")); err != nil { // it is left alone
		t.Error(err)
	}
	if got := gitIn(t, folder, "log", "--format=%s", "--", "a.txt"); got != "x\nfirst\n" {
		t.Errorf("a.txt was not committed: %s", got)
	}
	r := protected(t, Command{Workspace: folder, Write: []string{git}}, "git add -f new.yml")
	if told := strings.Join(r.Masks.Tell(locale.English), "\n"); !strings.Contains(told, "git has the masked copy of new.yml") {
		t.Error(told)
	}
}

// A repository below a folder that commands may write is read only, and its index is not touched.
func TestOnlyANamedIndexIsMarked(t *testing.T) {
	needSandbox(t)
	folder, beside := t.TempDir(), t.TempDir()
	newKept(t, folder)
	newKept(t, filepath.Join(beside, "repo"))
	before := list(t, filepath.Join(folder, ".git"))
	c := Command{Workspace: filepath.Join(folder, "src"), Write: []string{beside, filepath.Join(folder, "certs")}, ReadOnly: []string{filepath.Join(folder, ".git")}}
	r := protected(t, c, "export GIT_DISCOVERY_ACROSS_FILESYSTEM=1; git status -s .; git diff .; git ls-files -v | grep ^h; cat "+filepath.Join(beside, "repo", ".git", "index")+" > /dev/null")
	if r.Output != "h b.yml" {
		t.Error(r.Output)
	}
	if !maps.Equal(before, list(t, filepath.Join(folder, ".git"))) {
		t.Error("the index was changed")
	}
	if marks := gitIn(t, filepath.Join(beside, "repo"), "ls-files", "-v"); strings.Contains(marks, "h ") {
		t.Error(marks)
	}
}

// Marks that a killed Piloto left go with the next start.
func TestMarksGoAfterADeath(t *testing.T) {
	needSandbox(t)
	folder, record := t.TempDir(), filepath.Join(t.TempDir(), "record")
	newKept(t, folder)
	c := Command{Workspace: folder, Write: []string{filepath.Join(folder, ".git")}, Line: "true"}
	g, err := c.Protect(workspace.Shown{})
	if err == nil {
		err = g.Keep(record)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, c)
	if marks := gitIn(t, folder, "ls-files", "-v"); !strings.Contains(marks, "h conf.yml") {
		t.Fatal(marks)
	}
	if g, err = Kept(record); err != nil {
		t.Fatal(err)
	}
	g.Clear(t.TempDir(), at)
	if marks := gitIn(t, folder, "ls-files", "-v"); strings.Contains(marks, "h ") {
		t.Error(marks)
	}
}

// A copy that git has nevertheless is told in every place: git compares the copies that cannot be marked.
func TestACopyThatGitHasIsTold(t *testing.T) {
	needSandbox(t)
	for line, want := range map[string]string{
		"git update-index --split-index; git read-tree HEAD; git add -A; git commit -qm x": ".env.example .npmrc conf.yml",
		"git read-tree HEAD; git add -A":                                                        ".env.example .npmrc conf.yml",
		"rm .git/index; git reset -q; git add -A":                                               ".env.example .npmrc conf.yml",
		"git read-tree HEAD; git commit -qam x; git reset -q --soft HEAD~1; git read-tree HEAD": ".npmrc conf.yml",
		"export GIT_INDEX_FILE=/tmp/i; git read-tree HEAD; git add -A; git write-tree":          ".npmrc conf.yml",
		"git add -A; git commit -qm x":                                                          "",
	} {
		folder := t.TempDir()
		newKept(t, folder)
		gitIn(t, folder, "config", "user.name", "a")
		gitIn(t, folder, "config", "user.email", "a@b.c")
		r := protected(t, Command{Workspace: folder, Write: []string{filepath.Join(folder, ".git")}}, line)
		told := strings.Join(r.Masks.Tell(locale.English), "\n")
		for _, name := range []string{".env.example", ".npmrc", "conf.yml"} {
			if has := strings.Contains(told, "git has the masked copy of "+name); has != slices.Contains(strings.Fields(want), name) && (!has || want == "") {
				t.Errorf("%s: %s is told: %v: %s\n%s", line, name, has, told, r.Output)
			}
		}
	}
}

// A copy that git does not know is not staged in any layout of a repository, and that git does not see it is told to the person.
func TestANewCopyIsNotStaged(t *testing.T) {
	needSandbox(t)
	for about, make := range map[string]func(folder string) (git string){
		"its own": func(folder string) string { newKept(t, folder); return filepath.Join(folder, ".git") },
		"without exclude": func(folder string) string {
			newKept(t, folder)
			if err := os.RemoveAll(filepath.Join(folder, ".git", "info")); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(folder, ".git")
		},
		"without an index": func(folder string) string {
			gitIn(t, folder, "init", "-q")
			return filepath.Join(folder, ".git")
		},
		"of another work tree": func(folder string) string {
			main := t.TempDir()
			newKept(t, main)
			gitIn(t, main, "worktree", "add", "-q", filepath.Join(folder, "w"))
			return filepath.Join(main, ".git")
		},
	} {
		folder := t.TempDir()
		git := make(folder)
		if strings.HasPrefix(about, "of another") {
			folder = filepath.Join(folder, "w")
		}
		gitIn(t, folder, "config", "user.name", "a")
		gitIn(t, folder, "config", "user.email", "a@b.c")
		write(t, filepath.Join(folder, ".gitignore"), "local.yml\n")
		write(t, filepath.Join(folder, "local.yml"), "password: tortugaazul\n")
		write(t, filepath.Join(folder, "sub", "new.yml"), "password: tortugaazul\n")
		r := protected(t, Command{Workspace: folder, Write: []string{git}}, "git add -A && git commit -qm x")
		if shown := gitIn(t, folder, "show"); !strings.Contains(shown, "+local.yml") || strings.Contains(shown, "redacted") {
			t.Errorf("%s: %s\n%s", about, shown, r.Output)
		}
		told := strings.Join(r.Masks.Tell(locale.English), "\n")
		if !strings.Contains(told, "sub/new.yml differs") || strings.Contains(told, "local.yml") {
			t.Errorf("%s: told %q", about, told)
		}
		if status := gitIn(t, folder, "status", "-s"); status != "?? sub/\n" {
			t.Errorf("%s: %s", about, status)
		}
	}
}

// Copies that git has are told also where its index is not understood.
func TestACopyInASplitIndexIsTold(t *testing.T) {
	needSandbox(t)
	folder := t.TempDir()
	newKept(t, folder)
	gitIn(t, folder, "config", "user.name", "a")
	gitIn(t, folder, "config", "user.email", "a@b.c")
	gitIn(t, folder, "update-index", "--split-index")
	r := protected(t, Command{Workspace: folder, Write: []string{filepath.Join(folder, ".git")}}, "echo y >> a.txt; git commit -qam m")
	told := strings.Join(r.Masks.Tell(locale.English), "\n")
	for _, name := range []string{".env.example", ".npmrc", "conf.yml"} {
		if !strings.Contains(told, "git has the masked copy of "+name) {
			t.Errorf("%s: %s\n%s", name, told, r.Output)
		}
	}
}
