package process

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatAnswersForAFolderIsOnThisMachine: a folder may have a socket, or a link to one, of somebody else.
func TestWhatAnswersForAFolderIsOnThisMachine(t *testing.T) {
	folder, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	listener, err := net.Listen("unix", filepath.Join(folder, controlSocket))
	if err != nil {
		t.Fatal(err)
	}
	origin := ""
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(Address{Origin: origin, Token: "t"})
	})}
	go func() { _ = s.Serve(listener) }()
	defer func() { _ = s.Close() }()
	for given, here := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://127.9.9.9:1": true,
		"": false, "https://evil.example": false, "http://evil.example:8080": false, "http://203.0.113.9:8080": false, "http://localhost.evil.example": false,
		"http://127.0.0.1@evil.example/": false, "http://user:pass@127.0.0.1:8080": false, "http://0x7f000001.evil.example": false, "//127.0.0.1": false, "file:///127.0.0.1": false,
	} {
		origin = given
		at, err := Find(context.Background(), folder)
		if (err == nil) != here || err != nil && at != (Address{}) {
			t.Errorf("%q: %+v, %v", given, at, err)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own { // of a process that other machines reach
		if n, ok := a.(*net.IPNet); ok && !isHere("http://"+net.JoinHostPort(n.IP.String(), "80")) {
			t.Errorf("%v is of this machine", a)
		}
	}
}

func TestGitTakesNothingOfADataFolder(t *testing.T) {
	work := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", work}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
		return string(out)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	git("init", "-q")
	data := filepath.Join(work, ".piloto")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "token"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := keepFromGit(data); err != nil {
			t.Fatal(err)
		}
	}
	if seen := git("status", "--porcelain", "-uall"); strings.TrimSpace(seen) != "" {
		t.Errorf("git sees %s", seen)
	}
}

// TestACommandTakesAnotherAddress when a program has taken its own since it was found free; a process of a person does not.
func TestACommandTakesAnotherAddress(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, passing := range []bool{true, false} {
		ctx, stop := context.WithCancel(t.Context())
		at := ""
		o := Options{Addr: taken.Addr().String(), Data: filepath.Join(t.TempDir(), "d"), Passing: passing, Log: io.Discard, Ready: func(a Address) { at = a.Origin; stop() }}
		err := Serve(ctx, o, Settings{}, io.Discard)
		stop()
		if (err == nil) != passing || (at != "") != passing || strings.HasSuffix(at, taken.Addr().String()) {
			t.Errorf("passing %v: at %q, %v", passing, at, err)
		}
	}
}
