package bucket_test

import (
	"strings"
	"testing"
	"time"

	"piloto/internal/workspace"
	"piloto/internal/workspace/bucket"
)

// BenchmarkList lists 2,000 files, of an engine in this process.
func BenchmarkList(b *testing.B) {
	e, prefix := serve(b), prefixOf("a", "p")
	large(b, e, prefix)
	s := bucket.New(bucket.Config{Client: client(e), Name: name, Prefix: prefix, Now: time.Now})
	for b.Loop() {
		if l, err := s.List(b.Context()); err != nil || len(l.Files) != workspace.MaxFiles {
			b.Fatal(len(l.Files), err)
		}
	}
}

// BenchmarkWrite replaces a file of 4 KB in a workspace without others.
func BenchmarkWrite(b *testing.B) {
	s := open(client(serve(b)), workspace.Limits{})
	content := []byte(strings.Repeat("line\n", 800))
	version := ""
	for b.Loop() {
		f, err := s.Write(b.Context(), "a", content, version)
		if err != nil {
			b.Fatal(err)
		}
		version, content[0] = f.Version, content[0]+1
	}
}
