package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pasted = regexp.MustCompile("(?s)```bash\n(.*?)```")
	shown  = regexp.MustCompile("(?s)```console\n(.*?)```")
	// The parts of an answer that the README shows unchanged: its kind and state, the chat's messages about a step or
	// a run, and what an answer says up to what is left out.
	asItIs = regexp.MustCompile(`"(?:kind|status)":"[a-z]+"|"✅[^"…]+|"content":"[^"…\n]+|- Sala [^…\n]+\)`)
)

// TestReadmeTranscriptRuns pastes the transcript into a shell, completely, against a process without configuration,
// and looks for the answers that the README shows.
func TestReadmeTranscriptRuns(t *testing.T) {
	t.Parallel()
	for _, need := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("skipped: no %s on this machine", need)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands, answers := pasted.FindSubmatch(readme), shown.FindSubmatch(readme)
	if commands == nil || answers == nil {
		t.Fatal("README.md has no transcript")
	}
	d := newDeployment(t, "PILOTO_TOKEN=")
	d.mustStart(t)
	script := strings.NewReplacer(".piloto/token", filepath.Join(d.data, "token"), "http://localhost:8080", d.url()).Replace(string(commands[1]))
	said := shell(t, script+"\necho $CHAT")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	chat := lines[len(lines)-1]
	wanted := asItIs.FindAllString(string(answers[1]), -1)
	if len(wanted) < 4 {
		t.Fatalf("the README shows only %q", wanted)
	}
	setup, _, _ := strings.Cut(script, "\n\n")
	if err := eventually(patience, func() error { // the run may take longer than the transcript waits
		all := said + shell(t, setup+"\nsay /api/chats/"+chat+"/messages")
		for _, want := range wanted {
			if err := matches(regexp.QuoteMeta(strings.TrimSpace(strings.TrimPrefix(want, `"✅`))), all); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, problems.String())
	}
	return string(out)
}
