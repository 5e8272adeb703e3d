package tables_test

import (
	"flag"
	"localaws/conformance/tables"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/inproc"
	"net/http"
	"path/filepath"
	"testing"
)

// go test ./infra/localaws/conformance/tables -endpoint http://127.0.0.1:8000
var endpoint = flag.String("endpoint", "", "URL of the DynamoDB to test instead of the embedded engine in process")

func TestChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of checks")
	}
	env := open(t)
	for _, c := range tables.Checks() {
		t.Run(c.Area+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), env); err != nil {
				t.Error(err)
			}
		})
	}
}

func open(t *testing.T) *tables.Env {
	t.Helper()
	if *endpoint != "" {
		env, err := tables.Open(t.Context(), *endpoint, nil)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	store, err := disk.Open(filepath.Join(t.TempDir(), "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	engine, err := dynamodb.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	env, err := tables.Open(t.Context(), "http://dynamodb.local", inproc.Transport{Handler: http.Handler(engine)})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestNamesAreUnique, because known differences refer to checks by name.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range tables.Checks() {
		if seen[c.Area+"/"+c.Name] {
			t.Errorf("two checks are called %s/%s", c.Area, c.Name)
		}
		seen[c.Area+"/"+c.Name] = true
	}
	if len(seen) < 120 {
		t.Errorf("%d checks", len(seen))
	}
}
