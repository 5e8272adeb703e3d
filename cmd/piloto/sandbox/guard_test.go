package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/workspace"
)

var at = time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)

// guarded runs a line, as of an unconfined command, in a workspace with files, and returns the moved files, and their new
// folder.
func guarded(t *testing.T, line string, files ...string) (workspaceFolder string, moved []Moved) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		write(t, filepath.Join(folder, name), text)
	}
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", folder).Run() })
	c := Command{Workspace: folder}
	g, err := c.Protect(workspace.Shown{})
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", line)
	shell.Dir = folder
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder, g.Clear(filepath.Join(t.TempDir(), "aside"), at)
}

func TestWhatGitWouldObeyIsMovedAway(t *testing.T) {
	const bare = "mkdir -p x/objects x/refs; echo 'ref: refs/heads/main' > x/HEAD; echo > x/config; "
	repository := []string{".git/HEAD=ref: refs/heads/main", ".git/config=[core]\n\tbare = false\n", ".git/hooks/pre-commit=#!/bin/sh\n", ".git/hooks/a.sample=x", "sub/a=x"}
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"nothing":                         {"echo > b; mkdir c; touch HEAD objects", ""},
		"a .git":                          {"mkdir sub/.git", "sub/.git"},
		"a .git in capitals":              {"mkdir sub/.GIT", "sub/.GIT"},
		"a gitdir file":                   {"echo 'gitdir: ../x' > sub/.git", "sub/.git"},
		"a link":                          {"ln -s nowhere sub/.git", "sub/.git"},
		"in a closed folder":              {"mkdir sub/.git; chmod 0555 sub/.git; chmod 0111 sub", "sub/.git"},
		"deep in closed folders":          {"mkdir -p a/b/c/.git/d; chmod 0 a/b/c/.git; chmod 0555 a/b/c; chmod 0111 a/b a", "a/b/c/.git"},
		"a FIFO":                          {"mkfifo sub/.git", "sub/.git"},
		"a bare one":                      {bare, "x"},
		"a bare one around other files":   {bare + "touch x/code.go", "x/HEAD"},
		"a bare one around the workspace": {bare + "mv x/* .", "HEAD"},
		"a .git in a bare one":            {bare + "mkdir -p x/code/.git", "x/HEAD x/code/.git"},
		"a common folder":                 {bare + "mkdir y; mv x/HEAD y; echo ../x > y/commondir", "y"},
		"a commondir":                     {"echo ../sub > .git/commondir", ".git/commondir"},
		"a hook":                          {"echo > .git/hooks/post-merge", ".git/hooks/post-merge"},
		"a changed hook":                  {"echo >> .git/hooks/pre-commit", ".git/hooks/pre-commit*"},
		"a hook that runs now":            {"chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit*"},
		"a hook that keeps its time":      {"cp -p .git/hooks/pre-commit x; echo '#!/bin/zz' > .git/hooks/pre-commit; touch -r x .git/hooks/pre-commit", ".git/hooks/pre-commit*"},
		"a sample":                        {"echo > .git/hooks/b.sample", ""},
		"a linked folder of hooks":        {"mv .git/hooks h; ln -s ../h .git/hooks", ".git/hooks"},
		"a removed hook":                  {"rm .git/hooks/pre-commit", ""},
		"a remote and a branch":           {`printf '[remote "a"]\n\turl = https://x\n\tfetch = +refs/*\n[branch "b"]\n\tremote = a\n' >> .git/config`, ""},
		"an alias":                        {`printf '[alias]\n\tst = !id\n' >> .git/config`, ".git/config*"},
		"an include":                      {`printf '[include]\n\tpath = x\n' >> .git/config`, ".git/config*"},
		"hooks elsewhere":                 {`printf '[core]\n\thooksPath = sub\n' >> .git/config`, ".git/config*"},
		"a section in its line":           {`printf '[core] pager = id\n' >> .git/config`, ".git/config*"},
		"a setting over two lines":        {`printf '[user]\n\tname = \\\n[core]\n' >> .git/config`, ".git/config*"},
		"a setting of worktrees":          {`printf '[core]\n\teditor = id\n' > .git/config.worktree`, ".git/config.worktree"},
		"a linked configuration":          {"mv .git/config c; ln -s ../c .git/config", ".git/config*"},
		"another name":                    {"mkdir d; mv .git sub d", ""},
		"another name and a hook":         {"mkdir d; mv .git d; echo > d/.git/hooks/post-merge", "d/.git/hooks/post-merge"},
		"another one in its place":        {"mv .git old; mkdir .git", ".git"},
		"a workspace that is gone":        {"rm -rf .git sub", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder, moved := guarded(t, c.line, repository...)
			var names []string
			for _, m := range moved {
				if m.Err != nil {
					t.Error(m.Err)
				}
				mark := ""
				if m.Put {
					mark = "*"
				}
				names = append(names, m.Name+mark)
				_, err := os.Lstat(filepath.Join(folder, m.Name))
				if (err == nil) != m.Put {
					t.Errorf("%s: %v, and it was put back: %v", m.Name, err, m.Put)
				}
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("moved are %q, want %q", got, c.want)
			}
		})
	}
}

// TestWhatASettingRunsByItsNameIsHeld: modules of Python, and the files that make and its like read.
func TestWhatASettingRunsByItsNameIsHeld(t *testing.T) {
	for line, files := range map[string]string{
		"python3 -m tool.conv":             "tool/conv.py tool/__init__.py",
		"python3.12 -I -mtool.conv x":      "tool/conv.py",
		"env A=1 /usr/bin/python -um tool": "tool/__main__.py tool/__init__.py",
		"cd lib && python3 -m conv":        "lib/conv.py",
		"PYTHONPATH=lib python3 -m conv":   "lib/conv.py",
		"python3 -W ignore -m tool":        "tool.py",
		"make -s fsm":                      "Makefile",
		"gmake":                            "GNUmakefile",
		"make -f rules fsm":                "rules",
		"make -Clib fsm":                   "lib/makefile",
		"make --directory=lib":             "lib/Makefile",
		"just fmt":                         ".justfile",
		"npm run -s fmt":                   "package.json",
		"npm --prefix lib run fmt":         "lib/package.json",
		"pnpm fmt":                         "package.json",
		"yarn fmt || true":                 "package.json",
		"bun run fmt":                      "package.json",
		"rake fsm":                         "Rakefile",
		"task fsm":                         "Taskfile.yml",
		"composer run fsm":                 "composer.json",
		"deno task fsm":                    "deno.json",
	} {
		for setting, holds := range map[string]bool{"[core]\n\tfsmonitor = ": true, "[diff \"z\"]\n\ttextconv = ": true, "[alias]\n\tz = !": false} {
			for name := range strings.FieldsSeq(files) {
				for how, before := range map[string]string{"changed": name + "=mine", "new": "lib/x=x"} {
					_, moved := guarded(t, "mkdir -p \"$(dirname "+name+")\"; echo evil > "+name, ".git/HEAD=ref: refs/heads/main", ".git/config="+setting+line+"\n", before)
					if held := len(moved) == 1 && moved[0].Name == name && moved[0].Put == (how == "changed"); held != holds && (holds || len(moved) > 0) {
						t.Errorf("%s%s: %s, %s: %+v", setting, line, name, how, moved)
					}
				}
			}
		}
	}
	if _, moved := guarded(t, "echo > tool.py; echo > Makefile; echo > package.json", ".git/HEAD=x", ".git/config=[core]\n\teditor = vim -m tool\n"); len(moved) > 0 {
		t.Errorf("other programs: %+v", moved)
	}
}

// TestWhatASettingMayRunIsHeld: its words are looked for wherever the line may look for them.
func TestWhatASettingMayRunIsHeld(t *testing.T) {
	for line, name := range map[string]string{
		"cd tools && ./fs": "tools/fs", "cd tools; fs": "tools/fs", "x=tools/fs; $x": "tools/fs", "PATH=tools:$PATH fs": "tools/fs", "BASH_ENV=tools/fs bash -c true": "tools/fs",
		"sh -s < tools/fs": "tools/fs", "bash -c 'cd tools; ./fs'": "tools/fs", "sh fs": "fs", ". fs": "fs", "make -sCtools x": "tools/Makefile",
		`python3 -c \"import tools.conv\"`: "tools/conv.py", `python3 -c \"exec(open('tools/fs').read())\"`: "tools/fs", `node -e \"require('./tools/x.js')\"`: "tools/x.js",
		"exec tools/fs": "tools/fs", "timeout 5 nice tools/fs": "tools/fs", "echo x | xargs tools/fs": "tools/fs", "'my tools/fs'": "my tools/fs", "$(git rev-parse --show-toplevel)/tools/fs": "tools/fs",
	} {
		for _, setting := range []string{"[core]\n\tfsmonitor = \"", "[filter \"z\"]\n\tclean = \""} {
			_, moved := guarded(t, "echo evil > '"+name+"'", ".git/HEAD=ref: refs/heads/main", ".git/config="+setting+line+"\"\n", name+"=mine")
			if len(moved) != 1 || moved[0].Name != name || !moved[0].Put {
				t.Errorf("%s%s: %+v", setting, line, moved)
			}
		}
	}
	for line, held := range map[string]bool{"tools/x.sh": true, "exec tools/x.sh": true, "sh tools/x.sh": true, "cd tools; sh x.sh": true, "vim README.md": false, "git log -- README.md": false} {
		_, moved := guarded(t, "echo evil > tools/x.sh; echo > README.md", ".git/HEAD=x", ".git/config=[alias]\n\tz = \"!"+line+"\"\n", "tools/x.sh=mine", "README.md=mine")
		if len(moved) != flag(held) {
			t.Errorf("the alias %s: %+v", line, moved)
		}
	}
	if _, moved := guarded(t, "echo > code; echo > less; echo > true", ".git/HEAD=x", ".git/config=[core]\n\teditor = code --wait\n\tpager = less\n\tx = true\n", "code=x", "less=x", "true=x"); len(moved) > 0 {
		t.Errorf("words that are no files: %+v", moved)
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The commands of the sentence are run as they are.
func TestWhatWasMovedComesBack(t *testing.T) {
	for _, folder := range []string{"plain", "it's", "a b", "$(touch x)", "-rf", "new\nline", "\x1b[31m", "\xff", "ñ", `\`, strings.Repeat("l", 250)} {
		t.Run(fmt.Sprintf("%.20q", folder), func(t *testing.T) {
			root, moved := guarded(t, "mkdir .git/hooks; echo new > .git/hooks/pre-commit; for d in */; do mkdir \"./$d/.git\"; echo text > \"./$d/.git/config\"; done", ".git/HEAD=x", "./"+folder+"/file=x")
			if len(moved) != 2 {
				t.Fatalf("%+v", moved)
			}
			for _, m := range moved {
				if out, err := exec.Command("bash", "-c", m.Back).CombinedOutput(); err != nil || strings.ContainsFunc(m.Back, func(r rune) bool { return r < ' ' }) {
					t.Errorf("%q: %v\n%s", m.Back, err, out)
				}
			}
			for name, want := range map[string]string{filepath.Join(folder, ".git", "config"): "text\n", ".git/hooks/pre-commit": "new\n"} {
				if text, err := os.ReadFile(filepath.Join(root, name)); string(text) != want {
					t.Errorf("%q holds %q, %v", name, text, err)
				}
			}
		})
	}
}

func TestAReplacedFileIsPutBack(t *testing.T) {
	folder, moved := guarded(t, "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; rm sub/.git; ln -s ../x sub/.git", ".git/hooks/pre-commit=mine", "sub/.git=gitdir: ../store")
	for name, want := range map[string]string{".git/hooks/pre-commit": "mine", "sub/.git": "gitdir: ../store"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		info, _ := os.Lstat(filepath.Join(folder, name))
		if string(text) != want || info.Mode() != 0o644 {
			t.Errorf("%s holds %q, %v, %v", name, text, err, info.Mode())
		}
	}
	for _, m := range moved {
		if out, err := exec.Command("sh", "-c", m.Back).CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", m.Back, err, out)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(folder, ".git", "hooks", "pre-commit")); string(text) != "evil\n" {
		t.Errorf("the hook holds %q", text)
	}
}

// A data folder may be on another file system.
func TestATreeIsCopiedWhole(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	write(t, filepath.Join(from, "a", "run"), "x")
	write(t, filepath.Join(from, "closed", "b"), "y")
	for name, mode := range map[string]fs.FileMode{"a/run": 0o711, "closed/b": 0o000, "closed": 0o111} {
		if err := os.Chmod(filepath.Join(from, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mkfifo", filepath.Join(from, "fifo")).Run(); err != nil {
		t.Skip(err)
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	var names []string
	_ = filepath.WalkDir(to, func(path string, _ fs.DirEntry, _ error) error {
		rel, _ := filepath.Rel(to, path)
		names = append(names, rel)
		return nil
	})
	info, err := os.Stat(filepath.Join(to, "a", "run"))
	if err != nil || info.Mode().Perm() != 0o711 || !slices.Equal(names, []string{".", "a", "a/run", "closed", "closed/b", "link"}) {
		t.Errorf("%q, %v, %v", names, info, err)
	}
}

// BenchmarkGuard measures the cost of a command beside itself in a workspace of 50,000 files: it has to be below 200 ms,
// and the index of git below 50 ms.
//
// go test ./cmd/piloto/sandbox -run '^$' -bench Guard
func BenchmarkGuard(b *testing.B) {
	folder := b.TempDir()
	for i := range 50_000 {
		dir := filepath.Join(folder, fmt.Sprint("d", i/1000), fmt.Sprint("e", i/20%50))
		if i%20 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i, ".go")), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 20 {
		for _, dir := range []string{"objects", "refs", "hooks"} {
			if err := os.MkdirAll(filepath.Join(folder, fmt.Sprint("d", i), ".git", dir), 0o755); err != nil {
				b.Fatal(err)
			}
		}
	}
	c := Command{Workspace: folder}
	g, err := c.Protect(workspace.Shown{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("before", func(b *testing.B) {
		for b.Loop() {
			c := Command{Workspace: folder}
			if _, err := c.Protect(workspace.Shown{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("index", func(b *testing.B) {
		for _, args := range [][]string{{"init", "-q"}, {"add", "*.go"}} {
			if err := exec.Command("git", append([]string{"-C", folder}, args...)...).Run(); err != nil {
				b.Skip(err)
			}
		}
		for b.Loop() {
			c := Command{Workspace: folder, indexes: map[string][]string{filepath.Join(folder, ".git", "index"): {folder}}, Hidden: []string{"d0/e0/file1.go"}, git: &gitSight{}}
			copies := map[string]string{"": filepath.Join(folder, "d0", "e0", "file2.go")}
			if err := c.marked(b.TempDir(), copies); err != nil || len(copies) != 2 {
				b.Fatal(err, copies)
			}
		}
		if err := os.RemoveAll(filepath.Join(folder, ".git")); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("after", func(b *testing.B) {
		for b.Loop() {
			if moved := g.Clear(b.TempDir(), at); len(moved) != 0 {
				b.Fatal(moved)
			}
		}
	})
}
