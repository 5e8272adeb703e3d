package deployment

import (
	"archive/zip"
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"piloto/infra/local/fixture"
)

var update = flag.Bool("update", false, "make the copy of the files again")

// TestCopyIsThatOfFiles holds the copy in the executable to template.yaml and the state machines: `make run` and an
// installed executable run the same deployment.
func TestCopyIsThatOfFiles(t *testing.T) {
	root := fixture.Root(t, "")
	names := []string{Template}
	machines, err := filepath.Glob(filepath.Join(root, "statemachines", "*.asl.json"))
	if err != nil || len(machines) < 3 {
		t.Fatalf("%d state machines: %v", len(machines), err)
	}
	for _, m := range machines {
		names = append(names, "statemachines/"+filepath.Base(m))
	}
	if *update {
		write(t, root, names)
		return
	}
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	var copied []string
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			copied = append(copied, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if slices.Sort(copied); !slices.Equal(copied, names) {
		t.Errorf("the copy has %q, and the tree %q", copied, names)
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := fs.ReadFile(files, name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s changed (%v): go test ./infra/local/deployment -args -update", name, err)
		}
	}
}

func write(t *testing.T, root string, names []string) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("deployment.zip", out.Bytes(), 0o644); err != nil { //nolint:gosec // a file of the source tree
		t.Fatal(err)
	}
}
