package machine

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
)

// evil makes a git folder $1 of the files in $2. Its settings and its hook mark the folder $MARK.
const evil = `evil() {
	mkdir -p "$1/objects" "$1/refs" "$1/hooks"; echo "ref: refs/heads/main" > "$1/HEAD"
	printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "%s"\n\tfsmonitor = "touch %s/fsmonitor; false"\n' "$2" "$MARK" > "$1/config"
	hook "$1/hooks"
}
hook() { mkdir -p "$1"; printf '#!/bin/sh\ntouch "%s"/hook\n' "$MARK" > "$1/pre-commit"; chmod +x "$1/pre-commit"; }
`

// plants are ways in which a command may have the git of a person run its code. The workspace is a repository with a
// nested one in deep/nested, the hooks of tools/hooks, and an included tools/gitconfig.
var plants = map[string]string{
	"a repository":              `evil sub/.git "$PWD/sub"`,
	"a renamed parent":          `mv deep old; mkdir -p deep/nested && evil deep/nested/.git "$PWD/deep/nested"`,
	"a renamed nested one":      `mv deep/nested deep/old; evil deep/nested/.git "$PWD/deep/nested"`,
	"an exchanged parent":       `mkdir -p new/nested && evil new/nested/.git "$PWD/deep/nested"; mv --exchange new deep || { mv deep x; mv new deep; }`,
	"a gitdir file":             `evil "$PWD/store" "$PWD/sub"; echo "gitdir: $PWD/store" > sub/.git`,
	"a bare one":                `evil "$PWD/sub/x" "$PWD/sub/x"`,
	"a bare one around code":    `evil "$PWD/store" "$PWD/sub"; cp -r store/* sub/`,
	"a bare one as workspace":   `evil "$PWD/store" "$PWD"; rm -rf .git; cp -r store/* .; mv .git .gone`,
	"a link":                    `evil "$PWD/store" "$PWD/sub"; ln -s ../store sub/.git`,
	"a replaced link":           `evil "$PWD/store" "$PWD/linked"; rm -f linked/.git; ln -s ../store linked/.git`,
	"a closed folder":           `evil sub/.git "$PWD/sub"; chmod 0111 sub; chmod 0555 sub/.git`,
	"a deeper closed folder":    `mkdir -p a/b/c && evil a/b/c/.git "$PWD/a/b/c"; chmod 0111 a/b a`,
	"a read-only folder":        `evil sub/.git "$PWD/sub"; chmod -R a-w sub`,
	"a folder of secrets":       `evil .env.d/.git "$PWD/.env.d"`,
	"a hook":                    `hook deep/nested/.git/hooks`,
	"a linked folder of hooks":  `hook h; rm -rf deep/nested/.git/hooks; ln -s ../../../h deep/nested/.git/hooks`,
	"a hook of the nested one":  `evil deep/nested/.git "$PWD/deep/nested"`,
	"a setting":                 `printf '[core]\n\tfsmonitor = "touch %s/fsmonitor; false"\n' "$MARK" >> .git/config`,
	"a setting over two lines":  `printf '[core] fsmonitor = \\\n"touch %s/fsmonitor; false"\n' "$MARK" >> .git/config`,
	"a hook of a hooksPath":     `hook tools/hooks`,
	"a renamed hooksPath":       `mv tools old; hook tools/hooks`,
	"an included configuration": `printf '[core]\n\tfsmonitor = "touch %s/fsmonitor; false"\n' "$MARK" > tools/gitconfig`,
	"another git folder":        `rm -rf .git; evil .git "$PWD"`,
	"a hook of a submodule":     `hook .git/modules/module/hooks`,
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// newRepository makes the workspace of a machine a repository with nested ones.
func newRepository(t *testing.T, root string) {
	t.Helper()
	put := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const settings = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	for folder, more := range map[string]string{
		".git": "\thooksPath = tools/hooks\n[include]\n\tpath = ../tools/gitconfig\n", "deep/nested/.git": "", "linked/own": "",
		".git/modules/module": "\tworktree = ../../../module\n",
	} {
		for _, empty := range []string{"objects", "refs/heads", "hooks"} {
			if err := os.MkdirAll(filepath.Join(root, folder, empty), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		put(folder+"/HEAD", "ref: refs/heads/main\n")
		put(folder+"/config", settings+more)
	}
	put("sub/a.txt", "x")
	put("tools/hooks/README", "x")
	put("module/.git", "gitdir: ../.git/modules/module\n")
	if err := os.Symlink("own", filepath.Join(root, "linked", ".git")); err != nil {
		t.Fatal(err)
	}
}

// work runs the usual git commands of a person in every folder that git may take for a repository.
func work(t *testing.T, root string) {
	t.Helper()
	folders := []string{filepath.Join(root, "sub"), filepath.Join(root, "a", "b", "c")} // git enters unreadable folders
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && (e.Name() == ".git" || e.Name() == "HEAD") {
			folders = append(folders, filepath.Dir(path))
		}
		if e != nil && slices.Contains([]string{".git", "objects", "refs"}, e.Name()) && e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	for _, folder := range folders {
		c := exec.Command("git", "commit", "--allow-empty", "-m", "x") // it reads the index, and so asks core.fsmonitor
		c.Dir = folder
		_ = c.Run()
	}
}

// Guarantee I25. The git of a person runs nothing that a command left in the workspace. Without the guard it would run
// once.
func TestGitRunsNothingThatACommandLeft(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	t.Setenv("HOME", t.TempDir())
	git(t, ".", "config", "--global", "user.name", "x")
	git(t, ".", "config", "--global", "user.email", "x@example.com")
	confined := sandbox.Check(t.Context()) == nil
	for name, line := range plants {
		for how, o := range map[string]Options{"confined": {}, "unconfined": {Unconfined: true}, "unguarded": {Unconfined: true}} {
			t.Run(name+" "+how, func(t *testing.T) {
				if how == "confined" && !confined || how != "confined" && testing.Short() {
					t.Skip("there is no sandbox here, or no time")
				}
				mark := t.TempDir()
				o.Mode, o.Commands, o.Env = agent.Yolo, true, map[string]string{"MARK": mark}
				m := newMachine(t, o, &person{says: true})
				newRepository(t, m.Root)
				t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", m.Root, m.History).Run() })
				var got string
				if how == "unguarded" {
					_, err := sandbox.Run(t.Context(), sandbox.Command{Line: evil + line, Workspace: m.Root, Env: o.Env, Unconfined: true})
					got = fmt.Sprint(err)
				} else {
					got = m.one(t.Context(), "run_command", args{"command": evil + line})
				}
				work(t, m.Root)
				if marks, _ := filepath.Glob(filepath.Join(mark, "*")); (len(marks) > 0) != (how == "unguarded") || strings.Contains(got, `"error"`) {
					t.Errorf("git ran %q after\n%s", marks, got)
				}
			})
		}
	}
}

// Whoever is not asked, such as in yolo, is told.
func TestFilesThatGitObeysAreMovedAwayAndTold(t *testing.T) {
	var told []string
	m := newMachine(t, Options{Mode: agent.Yolo, Unconfined: true, Commands: true, Hooks: []sandbox.Hook{{Name: "plant", Command: "mkdir -p sub/.git; : {file}", FilePatterns: []string{"b.txt"}}}}, &person{says: true})
	m.Tell = func(text string) { told = append(told, text) }
	for _, c := range []struct{ tool, name, moved string }{
		{"write_file", "x/objects/a", ""},
		{"write_file", "x/refs/a", ""},
		{"write_file", "x/HEAD", "x"},
		{"write_file", "b.txt", "sub/.git"},
		{"run_command", "mkdir .git", ".git"},
		{"run_command", "mkdir nothing", ""},
	} {
		told = nil
		call := m.told(t.Context(), c.tool, jsonOf(args{"path": c.name, "content": "ref: refs/heads/main"}))
		got := call.Output
		if c.tool == "run_command" {
			got = m.one(t.Context(), c.tool, args{"command": c.name})
		}
		if c.moved == "" {
			if len(told) > 0 {
				t.Errorf("%s: %q", c.name, told)
			}
			continue
		}
		if _, err := os.Lstat(filepath.Join(m.Root, c.moved)); err == nil {
			t.Errorf("%s is still there", c.moved)
		}
		// earlier files in x were moved with it
		if taken := c.name == "x/HEAD"; taken && (len(call.Did) != 3 || call.Did[0].Refused != job.RefusedGit || call.Did[0].Added != 0 || !call.Did[1].Deleted || !call.Did[2].Deleted) {
			t.Errorf("%s was taken back, and its deed is %+v", c.name, call.Did)
		}
		_, back, _ := strings.Cut(strings.Join(told, ""), "Para devolverlo a su sitio: ")
		if len(told) != 1 || !strings.HasPrefix(told[0], c.moved+" se ha apartado") || !strings.Contains(got, c.moved+" was moved away") || !strings.Contains(got, back) {
			t.Errorf("%s: %q\n%s", c.name, told, got)
		}
		if out, err := exec.Command("sh", "-c", back).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", back, err, out)
		}
		if _, err := os.Lstat(filepath.Join(m.Root, c.moved)); err != nil {
			t.Errorf("%s did not come back", c.moved)
		}
	}
}
