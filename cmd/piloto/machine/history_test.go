package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
)

// TestGitTellsNoOldSecret: of a file that was changed or deleted since, neither a diff nor a version tells a secret.
func TestGitTellsNoOldSecret(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil || sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox, or no git")
	}
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Dev: []string{"git", "cat"}}, nil)
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", m.Root, "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	m.put(t, "conf.yml", "db:\n  password: tortugaverde\n  port: 80\n")
	m.put(t, "prod.tfvars", "db = \"tortuganegra\"\n")
	m.put(t, "sub/k8.yml", "kind: Secret\nstringData:\n  uno: tortugaverde\n")
	m.put(t, "far.tfvars", "db = \"correct tortugaverde "+strings.Repeat("battery ", 12)+"\"\n"+strings.Repeat("  x: 1\n", 20)+"  y: 1\n")
	git("init", "-q")
	git("add", "-f", ".")
	git("commit", "-qm", "one")
	m.put(t, "conf.yml", "db:\n  password: cigarraroja\n  port: 81\n")
	m.put(t, "prod.tfvars", "db = \"gaviotagris\"\n")
	if err := os.Remove(filepath.Join(m.Root, "sub", "k8.yml")); err != nil {
		t.Fatal(err)
	}
	m.put(t, "far.tfvars", "db = \"correct tortugaverde "+strings.Repeat("battery ", 12)+"\"\n"+strings.Repeat("  x: 1\n", 20)+"  y: 2\n")
	lines := []string{
		"git diff", "git diff HEAD", "git diff -U0", "git diff --word-diff", "git diff --color-words", "git diff -R", "git diff --no-prefix", "git log -p", "git log -p --graph",
		"git show", "git show HEAD:conf.yml", "git show :conf.yml", "git show HEAD:./prod.tfvars", "git cat-file -p HEAD:sub/k8.yml", "git cat-file blob HEAD:prod.tfvars",
		"cd sub && git show HEAD:sub/k8.yml", "git show 'HEAD:conf.yml' | cat", "git show HEAD:prod.tfvars HEAD:conf.yml", "git format-patch --stdout --root HEAD", "git diff | cat",
	}
	for i := range 2 {
		for _, line := range lines {
			got := m.one(t.Context(), "run_command", args{"command": line})
			for _, secret := range []string{"tortuga", "cigarra", "gaviota"} {
				if strings.Contains(got, secret) || !strings.Contains(got, "[redacted]") {
					t.Errorf("%s: %s", line, got)
				}
			}
		}
		if i > 0 {
			break
		}
		git("commit", "-qam", "two")
		lines = []string{"git show", "git log -p", "git show HEAD~1:conf.yml", "git diff HEAD~1", "git diff HEAD~1 HEAD", "git log -p -- sub/k8.yml", "git stash list -p; git show HEAD^:prod.tfvars"}
	}
	if got := m.one(t.Context(), "run_command", args{"command": "git diff HEAD~1 -- conf.yml"}); !strings.Contains(got, "+  port: 81") {
		t.Error(got)
	}
}
