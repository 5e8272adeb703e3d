package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// binary is the one-process deployment, and verifier what verifies a receipt, both
// built once for all tests; root is the folder of the module, in which they run.
var binary, verifier, root string

func TestMain(m *testing.M) {
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
		args = append(args, "-race") // the process is held to it as well
	}
	build := exec.Command("go", append(args, "./infra/local")...)
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("go build ./infra/local: %w", err)
	}
	verifier = filepath.Join(folder, "verify")
	build = exec.Command("go", "build", "-o", verifier, "./infra/verify")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("go build ./infra/verify: %w", err)
	}
	return m.Run(), nil
}
