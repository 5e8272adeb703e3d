//go:build linux || darwin

package cli

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"piloto/cmd/piloto/cli/ending"
	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace"
)

// TestOnlyAPlainFileIsPut: a FIFO would never answer, and a device never end.
func TestOnlyAPlainFileIsPut(t *testing.T) {
	workspaceOf := deploymentFor(t, memory.With(nil))
	must(t, syscall.Mkfifo("fifo", 0o600))
	must(t, os.Mkdir("folder", 0o700))
	must(t, os.WriteFile("large", make([]byte, workspace.MaxFileBytes+1), 0o600))
	must(t, os.WriteFile("most", make([]byte, workspace.MaxFileBytes), 0o600))
	for name, want := range map[string]string{"/dev/null": "no es un archivo normal", "fifo": "no es un archivo normal", "folder": "no es un archivo normal", "large": "pasa de 10485760 bytes"} {
		if code, out, errOut := workspaceOf("put", name, "x.txt", "--project", someProject); code != ending.Usage || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: %d, %q, %q", name, code, out, errOut)
		}
	}
	if code, _, errOut := workspaceOf("put", "most", "--project", someProject); code != ending.Success {
		t.Errorf("the largest file: %d, %q", code, errOut)
	}
}
