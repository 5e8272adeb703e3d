package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
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

// probes are commands of the tests. They print their findings.
var probes = map[string]func(args []string){}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
