package archtest

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const localaws = "infra/localaws"

func TestLocalawsKnowsNothingOfPiloto(t *testing.T) {
	for _, f := range sources(t, true) {
		if !within(f.dir(), localaws) {
			continue
		}
		for _, imported := range f.imports() {
			if within(imported, "piloto") {
				t.Errorf("%s imports %s: a service that knew Piloto would prove nothing about it", f.path, imported)
			}
		}
		text, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(text)), "piloto") {
			t.Errorf("%s speaks of Piloto", f.path)
		}
	}
}

// TestLocalawsStandsAlone copies the module out of the tree. There it must build with its tests, pass the tests of
// two packages, and serve a table to a client.
func TestLocalawsStandsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	dir := filepath.Join(t.TempDir(), "localaws")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, localaws))); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off")
		return c
	}
	for _, args := range [][]string{
		{"vet", "./..."},
		{"test", "-short", "./template", "./apigateway"},
		{"build", "-o", "served", "./cmd/localaws"},
	} {
		if said, err := command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
	serving := command(filepath.Join(dir, "served"), "-listen", "127.0.0.1:0", "-data", "data")
	out, err := serving.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it said nothing")
	}
	_, url, _ := strings.Cut(lines.Text(), " ready on ")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || string(body) != `{"TableNames":[]}` {
		t.Errorf("ListTables: %d %s %v", res.StatusCode, body, err)
	}
	if err := serving.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serving.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
