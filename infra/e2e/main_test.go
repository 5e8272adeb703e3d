package e2e

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"localaws/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"piloto/infra/local/process"
)

// lambdaMode selects how every deployment here runs its functions: the same tests pass in both modes.
var lambdaMode = flag.String("lambda", process.InProcess, "how functions run: inprocess, or process")

// asked is "" for go test by hand, "change" for `make test`, and "every" for every round of the tests that take long.
var asked = os.Getenv("PILOTO_TESTS")

var every = asked == "every"

// functions is the folder of their executables, built once; it is empty when functions run in the process.
var functions string

// asProcesses reports whether functions are processes of their own.
func asProcesses() bool { return *lambdaMode == process.AsProcess }

// binary is the command, built once for all tests. root is the folder of the module, in which they run.
var binary, root string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() && asked == "" { // these tests build the process, and run it
		fmt.Println("e2e: left out with -short")
		return
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// lookAtInputs looks at the files that only the process reads, and the build of the command. `go test` notes what a test
// looks at, and takes an earlier result only while that is unchanged.
func lookAtInputs() error {
	for _, input := range []string{"cmd", "statemachines", "template.yaml", "go.mod"} {
		if err := filepath.WalkDir(filepath.Join(root, input), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func buildAndRun(m *testing.M) (int, error) {
	here, err := os.Getwd() // go test starts it in the folder of its package
	if err != nil {
		return 1, err
	}
	root = filepath.Join(here, "..", "..")
	if err := lookAtInputs(); err != nil {
		return 1, err
	}
	folder, err := os.MkdirTemp("", "piloto-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary = filepath.Join(folder, "piloto")
	args := []string{"build", "-o", binary}
	if raceDetector {
		args = append(args, "-race") // the process runs with the race detector too
	}
	build := exec.Command("go", append(args, "./cmd/piloto")...)
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("go build ./cmd/piloto: %w", err)
	}
	if asProcesses() {
		functions = filepath.Join(root, "build", runtime.GOARCH) // as `make build` does: executables that are up to date stay
		tpl, err := template.Read(filepath.Join(root, "template.yaml"))
		if err != nil {
			return 1, err
		}
		if err := process.BuildFunctions(context.Background(), root, functions, tpl.Functions); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}
