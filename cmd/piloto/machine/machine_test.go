package machine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/ground/locale"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// person answers every question, and keeps the texts that were shown.
type person struct {
	says  bool
	err   error
	shown []string
}

func (p *person) ask(shown, _ string) (bool, error) {
	p.shown = append(p.shown, shown)
	return p.says, p.err
}

// newMachine returns an open workspace with a file, a hidden one and a folder beside it.
func newMachine(t *testing.T, o Options, who *person) *Machine {
	t.Helper()
	o.Root, o.History = t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"a.txt": "uno\ndos\n", ".env": "SECRET=xyzzy\n"} {
		if err := os.WriteFile(filepath.Join(o.Root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if who != nil {
		o.Ask = who.ask
	}
	o.Now, o.Log, o.Tag = time.Now, io.Discard, locale.Spanish
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func (m *Machine) one(ctx context.Context, name string, arguments any) string {
	return m.told(ctx, name, jsonOf(arguments)).Output
}

func jsonOf(arguments any) string {
	raw, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (m *Machine) told(ctx context.Context, name, arguments string) job.ToolResult {
	return slices.Collect(m.Answer(ctx, []job.OpenCall{{ID: "1.0", Name: name, Arguments: arguments}}))[0]
}

func (m *Machine) content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type args map[string]any

// TestWhoIsAskedAboutWhat has a row for each mode and kind of call.
func TestWhoIsAskedAboutWhat(t *testing.T) {
	read := func(m *Machine) string { return m.one(t.Context(), "read_file", args{"path": "a.txt"}) }
	write := func(m *Machine) string {
		return m.one(t.Context(), "edit_file", args{"path": "a.txt", "old_str": "dos", "new_str": "tres"})
	}
	safe := func(m *Machine) string { return m.one(t.Context(), "run_command", args{"command": "cat a.txt"}) }
	sensitive := func(m *Machine) string { return m.one(t.Context(), "run_command", args{"command": "touch b.txt"}) }
	for _, c := range []struct {
		mode agent.Mode
		name string
		call func(*Machine) string
		asks int
	}{
		{agent.ConfirmAll, "read", read, 1},
		{agent.ConfirmAll, "write", write, 1},
		{agent.ConfirmAll, "safe", safe, 1},
		{agent.ConfirmAll, "sensitive", sensitive, 1},
		{agent.ConfirmSensitive, "read", read, 0},
		{agent.ConfirmSensitive, "write", write, 1},
		{agent.ConfirmSensitive, "safe", safe, 0},
		{agent.ConfirmSensitive, "sensitive", sensitive, 1},
		{agent.Yolo, "read", read, 0},
		{agent.Yolo, "write", write, 0},
		{agent.Yolo, "safe", safe, 0},
		{agent.Yolo, "sensitive", sensitive, 1},
	} {
		t.Run(string(c.mode)+" "+c.name, func(t *testing.T) {
			unconfined := sandbox.Check(t.Context()) != nil
			if unconfined && c.name == "safe" {
				t.Skip("nothing is safe without a sandbox, which this machine does not have")
			}
			yes := &person{says: true}
			m := newMachine(t, Options{Mode: c.mode, Commands: true, Unconfined: unconfined}, yes)
			if got := c.call(m); strings.Contains(got, `"error"`) || len(yes.shown) != c.asks {
				t.Errorf("asked %d times: %s", len(yes.shown), got)
			}
			no := &person{}
			m = newMachine(t, Options{Mode: c.mode, Commands: true, Unconfined: unconfined}, no)
			if got := c.call(m); strings.Contains(got, "the person refused") != (c.asks > 0) {
				t.Errorf("after a no: %s", got)
			}
			nobody := newMachine(t, Options{Mode: c.mode, Commands: true, Unconfined: unconfined}, nil)
			if got := c.call(nobody); strings.Contains(got, "nobody is here") != (c.asks > 0) {
				t.Errorf("without a person: %s", got)
			}
			for _, m := range []*Machine{m, nobody} { // a refused change was not made
				_, err := os.Stat(filepath.Join(m.Root, "b.txt"))
				if changed := m.content(t, "a.txt") != "uno\ndos\n" || err == nil; changed && c.asks > 0 {
					t.Error("it was done")
				}
			}
		})
	}
}

// TestNothingIsSafeWithoutASandbox: a command that only reads there could read anything.
func TestNothingIsSafeWithoutASandbox(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive, Commands: true, Unconfined: true}, nil)
	if got := m.one(t.Context(), "run_command", args{"command": "cat a.txt"}); !strings.Contains(got, "nobody is here") {
		t.Error(got)
	}
}

// TestBinaryThatBecomesATextIsShown: the old content cannot be shown, and the new one is confirmed.
func TestBinaryThatBecomesATextIsShown(t *testing.T) {
	who := &person{says: true}
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive}, who)
	if err := os.WriteFile(filepath.Join(m.Root, "bin"), []byte("a\x00b"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.one(t.Context(), "write_file", args{"path": "bin", "content": "rm -rf ~\n"})
	if len(who.shown) != 1 || !strings.Contains(who.shown[0], "rm -rf ~") {
		t.Errorf("%q", who.shown)
	}
}

// TestStoppedJobChangesNothing: it may be stopped elsewhere while the person reads.
func TestStoppedJobChangesNothing(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive}, &person{says: true})
	m.Wanted = func(context.Context) bool { return false }
	if got := m.one(t.Context(), "write_file", args{"path": "a.txt", "content": "x"}); !strings.Contains(got, "stopped") || m.content(t, "a.txt") != "uno\ndos\n" {
		t.Error(got)
	}
}

func TestChangeIsShownBeforeItIsMade(t *testing.T) {
	who := &person{says: true}
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive}, who)
	m.one(t.Context(), "edit_file", args{"path": "a.txt", "old_str": "dos", "new_str": "tres"})
	if len(who.shown) != 1 || !strings.Contains(who.shown[0], "-dos\n+tres") || !strings.Contains(who.shown[0], "a.txt (+1 −1)") {
		t.Errorf("%q", who.shown)
	}
	if got := m.content(t, "a.txt"); got != "uno\ntres\n" {
		t.Errorf("%q", got)
	}
}

// TestEachFileOfAPatchIsAskedAbout: a refused file stays, and the model hears its name.
func TestEachFileOfAPatchIsAskedAbout(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive}, nil)
	answers := []bool{true, false}
	m.Ask = func(string, string) (bool, error) {
		yes := answers[0]
		answers = answers[1:]
		return yes, nil
	}
	patch := "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+c\n"
	got := m.one(t.Context(), "apply_patch", args{"patch": patch})
	if !strings.Contains(got, "c.txt: it was not done") || m.content(t, "b.txt") != "b\n" {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(filepath.Join(m.Root, "c.txt")); err == nil {
		t.Error("the refused file is there")
	}
}

func TestPersonWhoIsGoneAgreesToNothing(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive}, &person{says: true, err: errors.New("the terminal is closed")})
	if got := m.one(t.Context(), "write_file", args{"path": "a.txt", "content": "x"}); !strings.Contains(got, "did not answer") || m.content(t, "a.txt") != "uno\ndos\n" {
		t.Errorf("%s", got)
	}
}

func TestWrongCallsAreAnsweredWithWhatIsWrong(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Unconfined: true, AllowedOnly: true}, nil)
	for name, c := range map[string]struct {
		tool string
		args any
		says string
	}{
		"no tool":             {"look", args{}, "there is no tool"},
		"a hidden file":       {"read_file", args{"path": ".env"}, "secrets"},
		"a way out":           {"write_file", args{"path": "../x", "content": "x"}, "“.” or “..”"},
		"deletion":            {"delete_file", args{"path": "a.txt"}, "there is no tool"},
		"no line":             {"run_command", args{"command": " "}, "command must not be empty"},
		"two faults":          {"run_command", args{"command": "", "timeout_s": 601}, "timeout_s must be"},
		"another member":      {"run_command", args{"command": "ls", "shell": "zsh"}, "shell"},
		"a folder outside":    {"run_command", args{"command": "ls", "cwd": "../"}, "cwd must be"},
		"a command not asked": {"run_command", args{"command": "touch b.txt"}, "only safe commands"},
	} {
		if got := m.one(t.Context(), c.tool, c.args); !strings.Contains(got, c.says) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := m.told(t.Context(), "run_command", "{"); !strings.Contains(got.Output, "must be one JSON object") {
		t.Errorf("no JSON: %+v", got)
	}
}

func TestHookIsToldToTheModel(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo, Unconfined: true, Hooks: []sandbox.Hook{{Name: "count", Command: "wc -l {file}", FilePatterns: []string{"*.txt"}}}}, nil)
	if got := m.one(t.Context(), "write_file", args{"path": "n.txt", "content": "1\n2\n3\n"}); !strings.Contains(got, "count") || !strings.Contains(got, "3 n.txt") {
		t.Errorf("%s", got)
	}
	if got := m.one(t.Context(), "write_file", args{"path": "n.go", "content": "1\n"}); strings.Contains(got, "count") {
		t.Errorf("for another file: %s", got)
	}
}

// TestAnswersOfARoundFitTogether: a job takes 64 KB of them.
func TestAnswersOfARoundFitTogether(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo}, nil)
	if err := os.WriteFile(filepath.Join(m.Root, "long.txt"), []byte(strings.Repeat("0123456789\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := make([]job.OpenCall, 20)
	for i := range calls {
		calls[i] = job.OpenCall{ID: string(rune('a' + i)), Name: "read_file", Arguments: `{"path":"long.txt"}`}
	}
	all := 0
	for told := range m.Answer(t.Context(), calls) {
		all += len(told.Output)
	}
	if all > 64<<10 || all < 20<<10 {
		t.Errorf("%d bytes", all)
	}
}

func TestPromptHasATreeWithoutSecrets(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo}, nil)
	tree, err := m.Context(t.Context())
	if err != nil || !strings.Contains(tree, "a.txt") || strings.Contains(tree, ".env") {
		t.Errorf("%q %v", tree, err)
	}
	for _, tool := range m.Tools() {
		if tool.Name == "run_command" || tool.Name == "delete_file" {
			t.Errorf("%s is there although nothing allows it", tool.Name)
		}
	}
}
