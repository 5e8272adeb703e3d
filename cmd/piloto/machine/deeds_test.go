package machine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
)

func (m *Machine) deeds(t *testing.T, name string, arguments any) string {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, d := range m.told(t.Context(), name, string(raw)).Did {
		text := fmt.Sprintf("%s %s +%d -%d (+%d -%d)", d.Kind, d.Name, d.Added, d.Removed, d.AllAdded, d.AllRemoved)
		if d.Kind == job.DeedCommand {
			text = fmt.Sprintf("command %s %d", d.Name, d.ExitCode)
		}
		if d.Masked > 0 {
			text += fmt.Sprintf(" %d masked", d.Masked)
		}
		for _, flag := range []struct {
			name string
			set  bool
		}{{"made", d.Made}, {"deleted", d.Deleted}, {"failed", d.Failed}, {"same", d.Same}, {"was " + string(d.Refused), d.Refused != ""}} {
			if flag.set {
				text += " " + flag.name
			}
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// TestEachCallTellsWhatItCameTo: the record of a job is made of its deeds, and not of the text of its model.
func TestEachCallTellsWhatItCameTo(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Unconfined: true, AllowDelete: true, Dev: []string{"sh", "cat"}}, nil)
	m.put(t, "m.yml", "user: ana\npassword: hunter2\ntoken: zorro77\n")
	patch := "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-uno\n+1\n tres\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+c\n"
	for _, c := range []struct {
		tool string
		with args
		want string
	}{
		{"read_file", args{"path": "a.txt"}, "read a.txt +0 -0 (+0 -0)"},
		{"read_file", args{"path": "m.yml"}, "read m.yml +0 -0 (+0 -0) 2 masked"},
		{"grep", args{"text": "user"}, "read user +0 -0 (+0 -0) 2 masked"},
		{"run_command", args{"command": "cat m.yml"}, "command cat m.yml 0 2 masked"},
		{"read_file", args{"path": "no.txt"}, "read no.txt +0 -0 (+0 -0) failed"},
		{"read_file", args{"path": ".env"}, "read .env +0 -0 (+0 -0) was hidden"},
		{"read_file", args{"path": "./.env"}, "read ./.env +0 -0 (+0 -0) was hidden"},
		{"read_file", args{"path": ".git/config"}, "read .git/config +0 -0 (+0 -0) was git"},
		{"read_file", args{"path": ".piloto/keys"}, "read .piloto/keys +0 -0 (+0 -0) was own"},
		{"read_file", args{"path": "../../../../etc/passwd"}, "read ../../../../etc/passwd +0 -0 (+0 -0) was outside"},
		{"read_file", args{"path": "/etc/passwd"}, "read /etc/passwd +0 -0 (+0 -0) was outside"},
		{"read_file", args{"path": m.Root + "/a.txt"}, "read " + m.Root + "/a.txt +0 -0 (+0 -0) failed"},
		{"grep", args{"text": "x", "path": ".env"}, "read .env +0 -0 (+0 -0) was hidden"},
		{"search_code", args{"query": "x", "path": "../x"}, "read ../x +0 -0 (+0 -0) was outside"},
		{"list_files", args{"path": ".."}, "read .. +0 -0 (+0 -0) was outside"},
		{"list_files", args{"path": "nowhere"}, "read nowhere +0 -0 (+0 -0) failed"},
		{"read_file", args{"path": "a..b"}, "read a..b +0 -0 (+0 -0) failed"},
		{"edit_file", args{"path": "a.txt", "old_str": "dos", "new_str": "tres"}, "change a.txt +1 -1 (+1 -1)"},
		{"edit_file", args{"path": "a.txt", "old_str": "nada", "new_str": "x"}, "change a.txt +0 -0 (+0 -0) failed"},
		{"write_file", args{"path": "b.txt", "content": "1\n2\n"}, "change b.txt +2 -0 (+2 -0) made"},
		{"edit_file", args{"path": "b.txt", "old_str": "2\n", "new_str": ""}, "change b.txt +0 -1 (+1 -0) made"},
		{"apply_patch", args{"patch": patch}, "change a.txt +1 -1 (+2 -2), change c.txt +1 -0 (+1 -0) made"},
		{"delete_file", args{"path": "a.txt"}, "change a.txt +0 -2 (+0 -2) deleted"},
		{"write_file", args{"path": "a.txt", "content": "uno\ndos\n"}, "change a.txt +2 -0 (+0 -0) same"},
		{"write_file", args{"path": ".env", "content": "x"}, "change .env +0 -0 (+0 -0) was hidden"},
		{"write_file", args{"path": "/x", "content": "x"}, "change /x +0 -0 (+0 -0) was outside"},
		{"write_file", args{"path": "../x", "content": "x"}, "change ../x +0 -0 (+0 -0) was outside"},
		{"run_command", args{"command": "sh -c 'exit 3'"}, "command sh -c 'exit 3' 3"},
		{"run_command", args{"command": "touch z"}, "command touch z 0 was nobody"},
		{"edit_file", args{"path": "a2.txt", "old_str": "x", "new_str": "x [redacted]"}, "change a2.txt +0 -0 (+0 -0) failed"}, // there is no such file
		{"run_command", args{"command": " "}, "command run_command 0 failed"},
		{"look", args{}, "change look +0 -0 (+0 -0) was tool"},
		{"write_file", args{"path": ".git/hooks/pre-commit", "content": "x"}, "change .git/hooks/pre-commit +0 -0 (+0 -0) was git"},
		{"write_file", args{"path": "sub/.Git/config", "content": "x"}, "change sub/.Git/config +0 -0 (+0 -0) was git"},
		{"write_file", args{"path": "sub/.git", "content": "gitdir: x"}, "change sub/.git +0 -0 (+0 -0) was git"},
		{"write_file", args{"path": ".piloto/x", "content": "x"}, "change .piloto/x +0 -0 (+0 -0) was own"},
		{"write_file", args{"path": "x.pem", "content": "x"}, "change x.pem +0 -0 (+0 -0) was hidden"},
		{"apply_patch", args{"patch": strings.ReplaceAll(patch, "c.txt", ".git/x")}, "change a.txt +0 -0 (+0 -0) failed, change .git/x +0 -0 (+0 -0) was git"},
		{"delete_file", args{"path": "no.txt"}, "change no.txt +0 -0 (+0 -0) deleted failed"},
		{"delete_file", args{"path": ".env"}, "change .env +0 -0 (+0 -0) deleted was hidden"},
		{"apply_patch", args{"patch": "--- a/no.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}, "change no.txt +0 -0 (+0 -0) deleted failed"},
	} {
		if got := m.deeds(t, c.tool, c.with); got != c.want {
			t.Errorf("%s %v:\n %s\nnot %s", c.tool, c.with, got, c.want)
		}
	}
}

// TestWhatACommandMakesOfAChangedFileIsTold: the record has each file that a tool changed as it is now, whoever changed it since.
func TestWhatACommandMakesOfAChangedFileIsTold(t *testing.T) {
	hooks := []sandbox.Hook{{Name: "trim", Command: "sed -i /junk/d {file}", FilePatterns: []string{"*.md"}}}
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Unconfined: true, Hooks: hooks, Dev: []string{"rm", "sh", "mkdir"}}, &person{says: true})
	m.put(t, "m.md", "x\n")
	run := func(line string) args { return args{"command": line} }
	for _, c := range []struct {
		tool string
		with args
		want string
	}{
		{"write_file", args{"path": "n.txt", "content": "1\n"}, "change n.txt +1 -0 (+1 -0) made"},
		{"run_command", run("printf '2\n3\n' >> n.txt"), "command printf '2\n3\n' >> n.txt 0, change n.txt +0 -0 (+3 -0) made"},
		{"run_command", run("ls"), "command ls 0"},
		{"run_command", run("rm n.txt"), "command rm n.txt 0, change n.txt +0 -0 (+0 -0) made deleted same"},
		{"run_command", run("rm -f n.txt"), "command rm -f n.txt 0"},
		{"run_command", run("mkdir n.txt"), "command mkdir n.txt 0"},
		{"edit_file", args{"path": "a.txt", "old_str": "dos", "new_str": "tres"}, "change a.txt +1 -1 (+1 -1)"},
		{"run_command", run("printf 'uno\ndos\n' > a.txt; false"), "command printf 'uno\ndos\n' > a.txt; false 1, change a.txt +0 -0 (+0 -0) same"},
		{"run_command", run("rm a.txt"), "command rm a.txt 0, change a.txt +0 -0 (+0 -2) deleted"},
		{"write_file", args{"path": "a.txt", "content": "uno\n"}, "change a.txt +1 -0 (+0 -1)"},
		{"write_file", args{"path": "m.md", "content": "x\ny\njunk\n"}, "change m.md +2 -0 (+2 -0), change m.md +0 -0 (+1 -0)"},
		{"write_file", args{"path": "m.md", "content": "x\njunk\n"}, "change m.md +1 -1 (+1 -0), change m.md +0 -0 (+0 -0) same"},
		{"read_file", args{"path": "m.md"}, "read m.md +0 -0 (+0 -0)"},
	} {
		if got := m.deeds(t, c.tool, c.with); got != strings.ReplaceAll(c.want, "\n", `\n`) && got != c.want {
			t.Errorf("%s %v:\n %s\nnot %s", c.tool, c.with, got, c.want)
		}
	}
	for i := range 120 { // more than a call may tell
		m.deeds(t, "write_file", args{"path": fmt.Sprintf("d/%d.txt", i), "content": "1\n"})
	}
	if n := strings.Count(m.deeds(t, "run_command", run("rm -r d")), "deleted same"); n != 99 {
		t.Errorf("%d files are told", n)
	}
	if n := strings.Count(m.deeds(t, "run_command", run("ls")), "deleted same"); n != 21 {
		t.Errorf("%d more are told", n)
	}
}

// TestWhatWasNotAgreedToIsTold has a row for each reason.
func TestWhatWasNotAgreedToIsTold(t *testing.T) {
	unconfined := sandbox.Check(t.Context()) != nil
	for want, m := range map[job.Refused]*Machine{
		job.RefusedNobody: newMachine(t, Options{Mode: agent.ConfirmAll, Commands: true, Unconfined: unconfined}, nil),
		job.RefusedPerson: newMachine(t, Options{Mode: agent.ConfirmAll, Commands: true, Unconfined: unconfined}, &person{}),
	} {
		for tool, with := range map[string]args{"read_file": {"path": "a.txt"}, "write_file": {"path": "b.txt", "content": "x"}, "run_command": {"command": "touch b.txt"}} {
			if got := m.deeds(t, tool, with); !strings.HasSuffix(got, " was "+string(want)) {
				t.Errorf("%s: %s", tool, got)
			}
		}
	}
}
