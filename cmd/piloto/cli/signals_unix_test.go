//go:build linux || darwin

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"piloto/cmd/piloto/sandbox"
)

// itself makes the test program the command piloto.
const itself = "PILOTO_TEST_IS_PILOTO"

func TestMain(m *testing.M) {
	sandbox.Main()
	if os.Getenv(itself) != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	os.Exit(m.Run())
}

// Guarantee I25. However a command is ended, what it left for git to obey is moved away; after SIGKILL, when the next one starts.
func TestASignalLeavesNothingForGit(t *testing.T) {
	// A child begins with the default of what is handled here, also when nohup began the tests.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(handled)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",`+
			`"tool_calls":[{"id":"c","type":"function","function":{"name":"run_command","arguments":"{\"command\":\"sh plant.sh\"}"}}]}}],`+
			`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	defer model.Close()
	home := t.TempDir()
	folder := filepath.Join(home, "work")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "plant.sh"), []byte("mkdir .git; touch begun; sleep 30"), 0o600); err != nil {
		t.Fatal(err)
	}
	// during runs until the command is under way, and then sends signals. It returns what is said and the exit code.
	during := func(signals ...syscall.Signal) (string, int) {
		_ = os.Remove(filepath.Join(folder, "begun"))
		c := exec.CommandContext(t.Context(), os.Args[0], "--data", filepath.Join(home, "data"), "--at", "here", "--lang", "en",
			"run", "-w", folder, "--mode", "yolo", "--no-sandbox", "--dev", "sh plant.sh", "x")
		c.Env = append(os.Environ(), itself+"=1", "HOME="+home, "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=k", "OPENAI_MODEL=m")
		var said strings.Builder
		c.Stdout, c.Stderr = &said, &said
		c.WaitDelay = time.Second
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for range 160 {
			if _, err := os.Stat(filepath.Join(folder, "begun")); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		for _, s := range signals {
			_ = c.Process.Signal(s)
		}
		_ = c.Wait()
		return said.String(), c.ProcessState.ExitCode()
	}
	for _, one := range []struct {
		signals []syscall.Signal
		code    int
	}{
		{[]syscall.Signal{syscall.SIGINT}, 130},
		{[]syscall.Signal{syscall.SIGHUP}, 129},
		{[]syscall.Signal{syscall.SIGQUIT}, 131},
		{[]syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGINT}, 0}, // the code is that of one of them
		{[]syscall.Signal{syscall.SIGKILL}, -1},
	} {
		said, code := during(one.signals...)
		_, err := os.Lstat(filepath.Join(folder, ".git"))
		killed := one.signals[0] == syscall.SIGKILL
		if one.code != 0 && code != one.code || (err == nil) != killed || strings.Contains(said, ".git was moved away") == killed {
			t.Errorf("%v: %d, %v\n%s", one.signals, code, err, said)
		}
	}
	if said, _ := during(syscall.SIGTERM); strings.Count(said, ".git was moved away") != 2 { // once for the one that was killed
		t.Error(said)
	}
}
