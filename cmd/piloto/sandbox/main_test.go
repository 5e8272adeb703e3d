package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"piloto/internal/ground/locale"
)

// TestMain also is the program that tests run in the sandbox: "TESTBINARY probe NAME …".
func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 2 && os.Args[1] == "probe" {
		probes[os.Args[2]](os.Args[3:])
		syscall.Exit(0) // not os.Exit, with which the race detector waits for a second
	}
	os.Exit(m.Run())
}

// probes are what the tests run as commands. They print what they find.
var probes = map[string]func(args []string){}

// needSandbox skips a test on a machine that cannot confine. It fails the test where another program gets namespaces
// from the same kernel, so that a mistake of ours is not taken for a property of the machine.
func needSandbox(t *testing.T) {
	t.Helper()
	err := Check(context.Background())
	switch {
	case err == nil:
	case errors.Is(err, ErrSetup), errors.Is(err, ErrNamespaces) && unshare() == nil:
		t.Fatal(err)
	default:
		t.Skipf("this machine cannot confine a command: %v", err)
	}
}

// unshare makes the same namespaces with a program of the system.
var unshare = sync.OnceValue(func() error {
	return exec.Command("unshare", "--user", "--map-current-user", "--net", "--pid", "--mount", "--ipc", "--uts", "--fork", "--mount-proc", "true").Run()
})

// probe returns a command that runs a probe of this test binary.
func probe(t *testing.T, workspace, name string, args ...string) Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{
		Line: `"$1" probe "${@:2}"`, Args: append([]string{self, name}, args...),
		Workspace: workspace, ReadOnly: []string{filepath.Dir(self)}, Language: locale.English,
	}
}

func run(t *testing.T, c Command) Result {
	t.Helper()
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantOutput compares the lines of an output.
func wantOutput(t *testing.T, r Result, want ...string) {
	t.Helper()
	if r.Output != strings.Join(want, "\n") {
		t.Errorf("the output is\n%s\nwant\n%s", r.Output, strings.Join(want, "\n"))
	}
}
