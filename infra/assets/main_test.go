package main

import (
	"io/fs"
	"mime"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"piloto/internal/edge/webui"
)

// TestWrittenFilesAreThoseThatAreServed compares the files of the bucket with the answers of the page's function at
// the same paths.
func TestWrittenFilesAreThoseThatAreServed(t *testing.T) {
	to := t.TempDir()
	if err := write(to); err != nil {
		t.Fatal(err)
	}
	page := webui.New(webui.Deps{})
	n := 0
	err := fs.WalkDir(os.DirFS(to), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		body, err := fs.ReadFile(os.DirFS(to), name)
		if err != nil {
			return err
		}
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest("GET", "/"+name, nil))
		if w.Code != 200 || w.Body.String() != string(body) {
			t.Errorf("/%s: %d, and %d bytes instead of %d", name, w.Code, w.Body.Len(), len(body))
		}
		if got := w.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("/%s: Cache-Control %q: a bucket would serve it for ever", name, got)
		}
		// Who puts it into a bucket says its type, by its name. A browser refuses a script of another type.
		served, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
		if byName, _, _ := mime.ParseMediaType(mime.TypeByExtension(name[strings.LastIndex(name, "."):])); byName != served {
			t.Errorf("/%s is served as %q, and by its name %q", name, served, byName)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 5 {
		t.Errorf("%d files", n)
	}
}
