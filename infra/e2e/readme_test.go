package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pasted = regexp.MustCompile("(?s)```bash\n(.*?)```")
	shown  = regexp.MustCompile("(?s)```console\n(.*?)```")
)

// TestReadmeTranscriptRuns pastes the transcript into a shell, completely, against a process without configuration,
// and looks for the lines that the README shows, in their order.
func TestReadmeTranscriptRuns(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: no bash on this machine")
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
	install, script, _ := strings.Cut(string(commands[1]), "\n")
	if !strings.HasPrefix(install, "make install ") {
		t.Fatalf("the first line is %q", install)
	}
	said := shell(t, "export PILOTO_DATA="+d.data+" LANG=en_US.UTF-8 XDG_CONFIG_HOME="+t.TempDir()+" PATH="+filepath.Dir(binary)+":$PATH\n"+script)
	lines, at := strings.Split(said, "\n"), 0
	for want := range strings.Lines(strings.ReplaceAll(string(answers[1]), "http://127.0.0.1:8080", d.url())) {
		if want = strings.TrimSpace(want); want == "…" {
			continue
		}
		found := slices.IndexFunc(lines[at:], func(line string) bool { return strings.TrimSpace(line) == want })
		if found < 0 {
			t.Fatalf("%q does not follow in\n%s", want, said)
		}
		at += found + 1
	}
	if at == 0 {
		t.Fatal("the README shows no answer")
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
