package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"piloto/internal/ground/locale"
)

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

// marked returns the processes of this machine that have a mark among their arguments.
func marked(t *testing.T, mark string) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), mark) {
			continue
		}
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))); pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// mark returns a text that no other process has among its arguments.
func mark(t *testing.T) string { return fmt.Sprint(t.Name(), "-", os.Getpid()) }

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

// wantOutput compares the lines of an output.
func wantOutput(t *testing.T, r Result, want ...string) {
	t.Helper()
	if r.Output != strings.Join(want, "\n") {
		t.Errorf("the output is\n%s\nwant\n%s", r.Output, strings.Join(want, "\n"))
	}
}
