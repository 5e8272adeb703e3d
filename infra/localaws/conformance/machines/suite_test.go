package machines

import (
	"bufio"
	"context"
	"localaws/conformance/outcome"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// engines starts the real program with the suite's Lambda API and returns its URL.
func engines(t *testing.T, s *Suite) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "localaws")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "localaws/cmd/localaws").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	cmd := exec.Command(binary, "-listen", "127.0.0.1:0", "-data", filepath.Join(dir, "data"), "-lambda", s.LambdaURL())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the engines ended with %v", err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), " ready on "); ok {
			go func() { // until the process ends
				for lines.Scan() {
				}
			}()
			return url
		}
	}
	t.Fatal("the engines did not start")
	return ""
}

// TestRealEnginesRunEveryCase runs the program itself: with sockets, the SDK, a Lambda API, and
// real time.
func TestRealEnginesRunEveryCase(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts a process; cases wait in real time")
	}
	ctx := context.Background()
	s, err := Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	outcomes, err := s.Run(ctx, outcome.Subject{Name: "localaws", URL: engines(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, o := range outcomes {
		if why, failed := o.Failed["localaws"]; failed {
			t.Errorf("%s: %s", o.Name, why)
		}
		if _, skipped := o.Skipped["localaws"]; !skipped {
			ran++
		}
	}
	if ran < 90 {
		t.Errorf("only %d cases ran", ran)
	}
}
