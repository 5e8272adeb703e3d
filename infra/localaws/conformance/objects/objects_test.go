package objects_test

import (
	"flag"
	"localaws/conformance/objects"
	"localaws/disk"
	"localaws/inproc"
	"localaws/s3"
	"path/filepath"
	"testing"
)

// go test ./infra/localaws/conformance/objects -endpoint http://127.0.0.1:9000
var endpoint = flag.String("endpoint", "", "URL of the S3 to test instead of the embedded engine in process")

func TestChecks(t *testing.T) {
	env := open(t)
	for _, c := range objects.Checks() {
		t.Run(c.Area+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), env); err != nil {
				t.Error(err)
			}
		})
	}
}

func open(t *testing.T) *objects.Env {
	t.Helper()
	at, dir := *endpoint, t.TempDir()
	if at != "" {
		env, err := objects.Open(t.Context(), at, nil)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	engine, err := s3.Open(store, filepath.Join(dir, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	env, err := objects.Open(t.Context(), "http://s3.local", inproc.Transport{Handler: engine})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestNamesAreUnique, because known differences refer to checks by name.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range objects.Checks() {
		if seen[c.Area+"/"+c.Name] || len(c.Steps) == 0 {
			t.Errorf("two checks are called %s/%s, or it has no step", c.Area, c.Name)
		}
		seen[c.Area+"/"+c.Name] = true
	}
	if len(seen) < 45 {
		t.Errorf("%d checks", len(seen))
	}
}
