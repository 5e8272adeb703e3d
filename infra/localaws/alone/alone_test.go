package alone

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestADeploymentsContentsStay: the engines alone, in the data folder of a deployment, remove none of its contents.
func TestADeploymentsContentsStay(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	content := filepath.Join(folder, "objects", "content")
	if err := os.Mkdir(filepath.Dir(content), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(content, []byte("of the deployment"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready := writer(func(text string) {
		if strings.Contains(text, "ready") {
			stop()
		}
	})
	if err := Serve(ctx, Options{Listen: "127.0.0.1:0", Data: folder}, ready, io.Discard); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(content); string(text) != "of the deployment" {
		t.Errorf("%q, %v", text, err)
	}
}

// writer calls a function with each text.
type writer func(text string)

func (w writer) Write(text []byte) (int, error) {
	w(string(text))
	return len(text), nil
}
