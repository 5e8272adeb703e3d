package machine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
)

// Guarantee I25. Control files of git that a command left when this program was killed are moved away when the next job
// begins, and told.
func TestWhatAKilledCommandLeftIsMovedAway(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo, Unconfined: true, Commands: true}, nil)
	m.put(t, ".git/config", "[core]\n\tbare = false\n")
	m.put(t, ".git/hooks/pre-commit", "mine")
	m.put(t, "sub/x", "")
	beside := t.TempDir()
	c := sandbox.Command{Workspace: m.Root, Write: []string{beside}}
	guard, err := c.Protect(m.shown)
	if err == nil {
		err = guard.Keep(m.underWay())
	}
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", `mkdir sub/.git "$0/.git"; echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-merge; echo '[alias] x = !id' >> .git/config`, beside)
	shell.Dir = m.Root
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, want := range []string{".git/config .git/hooks/post-merge .git/hooks/pre-commit sub/.git " + beside + "/.git", ""} {
		var told []string
		o := m.Options
		o.Tell = func(text string) { told = append(told, strings.Fields(text)[0]) }
		next, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Claim(); err != nil {
			t.Error(err)
		}
		if err := next.Close(); err != nil {
			t.Error(err)
		}
		for _, name := range strings.Fields(want) {
			if !strings.Contains(strings.Join(told, " "), name) {
				t.Errorf("told is %q, not %s", told, name)
			}
		}
		if len(told) != len(strings.Fields(want)) {
			t.Errorf("told is %q, want %q", told, want)
		}
	}
	if text := m.content(t, ".git/hooks/pre-commit"); text != "mine" {
		t.Errorf("the hook has %q", text)
	}
	if _, err := os.Lstat(filepath.Join(m.Root, "sub", ".git")); err == nil {
		t.Error("a repository is left")
	}
}

func TestABrokenRecordIsTold(t *testing.T) {
	for _, text := range []string{"", "x", "\x03\x04\x00"} {
		m := newMachine(t, Options{}, nil)
		if err := os.WriteFile(m.underWay(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := m.Claim(); !errors.Is(err, sandbox.ErrRecord) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A command that ended, in any way, leaves nothing for the next job to look for.
func TestNothingIsUnderWayAfterACommand(t *testing.T) {
	began, ended := 0, 0
	m := newMachine(t, Options{Mode: agent.Yolo, Unconfined: true, Commands: true, Hooks: []sandbox.Hook{{Name: "h", Command: "true {file}"}}}, &person{says: true})
	m.During = func() func() { began++; return func() { ended++ } }
	m.one(t.Context(), "run_command", args{"command": "exit 1"})
	m.one(t.Context(), "write_file", args{"path": "b.txt", "content": "x"})
	func() {
		defer func() { _ = recover() }()
		_, _ = m.guarded(func(sandbox.Command) error { panic("x") })
	}()
	if _, err := os.Lstat(m.underWay()); err == nil || began != 4 || ended != began {
		t.Errorf("%v, %d began and %d ended", err, began, ended)
	}
}
