package process

import (
	"context"
	"encoding/json"
	"io"
	"localaws/template"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	runtime "github.com/aws/aws-lambda-go/lambda"

	"piloto/internal/boot"
)

// TestMain is also the executable of every function, for the tests that only need functions that
// start.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		runtime.Start(func(context.Context, json.RawMessage) (struct{}, error) { return struct{}{}, nil })
		return
	}
	ours := sync.OnceValues(func() (*template.Template, error) { return template.Read(templateFile) })
	readFile = func(path string) (*template.Template, error) {
		if path != templateFile {
			return template.Read(path)
		}
		t, err := ours()
		if err != nil {
			return nil, err
		}
		own := *t // each process names its stack
		return &own, nil
	}
	os.Exit(m.Run())
}

// templateFile is the template of this tree.
const templateFile = "../../../template.yaml"

// executables returns a folder with an executable for each function.
func executables(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, err := template.Read("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, fn := range read.Functions {
		if err := os.Mkdir(filepath.Join(folder, fn.Name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(self, filepath.Join(folder, fn.Name, bootstrap)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestDemonstrationCountsWrongKeys also runs with functions in processes of their own, which count
// the requests to the API.
func TestDemonstrationCountsWrongKeys(t *testing.T) {
	for name, o := range map[string]Options{
		InProcess: {},
		AsProcess: {Lambda: AsProcess, Functions: executables(t)},
	} {
		t.Run(name, func(t *testing.T) {
			o.Data, o.Template, o.Log = t.TempDir()+"/data", "../../../template.yaml", io.Discard
			p, err := Open(t.Context(), o, Settings{Demo: true, Parameters: map[string]string{"BadTokensPerMinute": "2"}}, "http://127.0.0.1:1")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
			if _, _, err := installToken(t.Context(), p.Stores.Access, o.Data, testToken, boot.Clock()); err != nil {
				t.Fatal(err)
			}
			handler, err := p.Handler()
			if err != nil {
				t.Fatal(err)
			}
			status := func(token string) int {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/demo/rooms/rooms", http.NoBody)
				r.Header.Set("Authorization", "Bearer "+token)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				return w.Code
			}
			if got := status(testToken); got != http.StatusOK {
				t.Fatalf("its owner: %d", got)
			}
			for range 30 {
				if got := status("a-guess"); got != http.StatusUnauthorized {
					t.Fatalf("a guess: %d", got)
				}
			}
			if got := status(testToken); got != http.StatusOK {
				t.Errorf("its owner, after thirty guesses of the same address: %d", got)
			}
		})
	}
}
