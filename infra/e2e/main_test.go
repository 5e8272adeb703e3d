package e2e

import (
	"context"
	"flag"
	"fmt"
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

// functions is the folder of their executables, built once; it is empty when functions run in the process.
var functions string

// asProcesses reports whether functions are processes of their own.
func asProcesses() bool { return *lambdaMode == process.AsProcess }

// binary is the command, built once for all tests. root is the folder of the module, in which they run.
var binary, root string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() { // these tests build the process, and run it
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

func buildAndRun(m *testing.M) (int, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return 1, fmt.Errorf("no source file to find the module by")
	}
	root = filepath.Join(filepath.Dir(here), "..", "..")
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
