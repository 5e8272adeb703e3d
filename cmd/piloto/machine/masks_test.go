package machine

import (
	"strings"
	"testing"
	"time"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/locale"
)

// TestMasksInFilesAreTold: a command that copies a masked copy writes masks into a file, and one that writes the copy fails.
// The model and the person hear why.
func TestMasksInFilesAreTold(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	const secret = "//registry.npmjs.org/:_authToken=npm-tok-Zk4481aa\nalways-auth=true\n"
	for _, c := range []struct {
		line string
		file string // that has masks; "": none
		busy bool   // the masked copy could not be written
	}{
		{line: "cp .npmrc npmrc.new", file: "npmrc.new"},
		{line: "cp -p .npmrc npmrc.new", file: "npmrc.new"},
		{line: "mkdir -p b/c; cat .npmrc > b/c/x.txt", file: "b/c/x.txt"},
		{line: "sed 's/always/never/' .npmrc > out", file: "out"},
		{line: "cut -d= -f2 .npmrc > out", file: "out"},
		{line: "cat .npmrc >> a.txt", file: "a.txt"},
		{line: "(echo start; sed 's/^/# /' .npmrc) > .hold", file: ".hold"},
		{line: "grep always .npmrc > out"},
		{line: "cp mask.go mask2.go; touch mask.go"},
		{line: "sed -i s/true/false/ .npmrc", busy: true},
		{line: "mv .npmrc x", busy: true},
		{line: "rm -f .npmrc", busy: true},
		{line: "echo a >> .npmrc", busy: true},
		{line: "cp a.txt .npmrc", busy: true},
		{line: "touch b.txt; false"},
	} {
		var told []string
		m := newMachine(t, Options{
			Mode: agent.Yolo, Commands: true, Tag: locale.Spanish, Tell: func(text string) { told = append(told, text) },
			Dev: []string{"cp", "cat", "sed", "cut", "mkdir", "echo", "grep", "mv", "rm", "touch", "false"},
		}, &person{says: true})
		m.put(t, ".npmrc", secret)
		m.put(t, "mask.go", "const Mark = \"[redacted]\" // it stands for a secret\n")
		got := m.one(t.Context(), "run_command", args{"command": c.line})
		if c.file != "" && (!strings.Contains(got, c.file+" has masks") || len(told) != 1 || !strings.Contains(told[0], c.file+" tiene máscaras")) {
			t.Errorf("%s: told %q: %s", c.line, told, got)
		}
		if busy := strings.Contains(got, "cannot write, rename or remove"); busy != c.busy || busy && !strings.Contains(got, "edit_file") {
			t.Errorf("%s: %s", c.line, got)
		}
		if c.file == "" && (len(told) > 0 || strings.Contains(got, "has masks")) {
			t.Errorf("%s: told %q: %s", c.line, told, got)
		}
		if m.content(t, ".npmrc") != secret {
			t.Errorf("%s: it was changed", c.line)
		}
	}
}

// TestALostSecretIsTold: a script that writes a mask in the place of a secret fails, or is told.
func TestALostSecretIsTold(t *testing.T) {
	for _, unconfined := range []bool{false, true} {
		if !unconfined && sandbox.Check(t.Context()) != nil {
			continue
		}
		var told []string
		m := newMachine(t, Options{
			Mode: agent.Yolo, Commands: true, Unconfined: unconfined, Dev: []string{"bash", "cat"}, Tag: locale.Spanish, Tell: func(text string) { told = append(told, text) },
		}, nil)
		for name, text := range byContent {
			m.put(t, name, text)
		}
		m.one(t.Context(), "run_command", args{"command": "cat src/x.py"})
		for name, script := range map[string]string{
			"conf.yml":               "cat > conf.yml <<'E'\ndb:\n  password: [redacted]\n  port: 81\nE\n",
			"application.properties": "sed -i 's/=.*/=[redacted]/' application.properties\n",
			"src/x.py":               "echo \"key = '[redacted]'\" > src/x.py\n",
			"run.sh":                 "echo 'export GITHUB_TOKEN=[redacted]' > run.sh\n",
		} {
			told = nil
			m.put(t, "up.sh", script)
			time.Sleep(30 * time.Millisecond) // what was changed before
			got := m.one(t.Context(), "run_command", args{"command": "bash up.sh"})
			switch {
			case m.content(t, name) == byContent[name]:
				if unconfined || !strings.Contains(got, "masked copy") {
					t.Errorf("%s was not written: %s", name, got)
				}
			case len(told) != 1 || !strings.Contains(told[0], name) || !strings.Contains(got, name+" had secrets") && name != "run.sh":
				t.Errorf("%s (unconfined: %v): told %q: %s", name, unconfined, told, got)
			}
		}
	}
}
