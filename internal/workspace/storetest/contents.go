package storetest

import (
	"testing"

	"piloto/internal/workspace"
)

// Contents returns the contents of all files of a store, by name. List and Read must say the same of each.
func Contents(t testing.TB, s workspace.Store) map[string]string {
	t.Helper()
	l, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range l.Files {
		content, read, err := workspace.ReadAll(t.Context(), s, f.Name, "")
		if err != nil {
			t.Fatal(err)
		}
		if !read.At.Equal(f.At) || read.Version != f.Version || read.Size != f.Size || read.Name != f.Name {
			t.Errorf("List says %+v, and Read %+v", f, read)
		}
		all[f.Name] = string(content)
	}
	return all
}
