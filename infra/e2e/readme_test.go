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
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	chatInReadme = regexp.MustCompile(`"chat_id":"([0-9A-Z]{26})"`)
	// What of an answer the README shows as it is: its kind and state, and what
	// the chat says of a step or a run.
	shownInReadme = regexp.MustCompile(`"(?:kind|status)":"[a-z]+"|"✅[^"…]+`)
)

// TestTheTranscriptOfTheReadmeWorksByHand runs it in a shell, command by command,
// against a process with nothing configured, and looks for what it shows.
func TestTheTranscriptOfTheReadmeWorksByHand(t *testing.T) {
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
	block := consoleBlock.FindSubmatch(readme)
	if block == nil {
		t.Fatal("README.md has no transcript")
	}
	d := newDeployment(t, "PILOTO_TOKEN=")
	d.mustStart(t)
	text := strings.NewReplacer(".piloto/token", filepath.Join(d.data, "token"),
		"http://localhost:8080", d.url(), "http://127.0.0.1:8080", d.url()).Replace(string(block[1]))
	chat := chatInReadme.FindStringSubmatch(text)
	if chat == nil {
		t.Fatal("the transcript makes no chat")
	}
	before, actual := "", chat[1] // what the shell remembers, and the real chat
	asked, looked := 0, 0
	for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, shows, _ := strings.Cut(part, "\n")
		command = strings.ReplaceAll(command, chat[1], actual)
		if !strings.HasPrefix(command, "say ") {
			before += command + "\n"
			continue
		}
		said := ""
		if err := eventually(patience, func() error { // the run it shows takes a moment
			said = shell(t, before+command)
			for _, want := range shownInReadme.FindAllString(shows, -1) {
				if err := matches(regexp.QuoteMeta(strings.TrimSpace(strings.TrimPrefix(want, `"✅`))), said); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if made := chatInReadme.FindStringSubmatch(said); asked == 0 && made != nil {
			actual = made[1]
		}
		asked++
		looked += len(shownInReadme.FindAllString(shows, -1))
	}
	if asked < 4 || looked < 4 {
		t.Errorf("only %d requests and %d answers in the transcript", asked, looked)
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
