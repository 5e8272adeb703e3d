package folder_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piloto/internal/workspace"
	"piloto/internal/workspace/folder"
)

// tree makes 2,000 files of 4 KB in 100 folders, and node_modules with as many.
func tree(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	files := map[string]string{".gitignore": "*.log\n/build/\n**/tmp/\n"}
	for i := range workspace.MaxFiles - 1 {
		name := fmt.Sprintf("src/module%d/package%d/file%d.go", i%10, i%100, i)
		files[name] = strings.Repeat(fmt.Sprintf("line %d\n", i), 1000)[:4096]
		files[fmt.Sprintf("node_modules/m%d/%d.js", i%100, i)] = "x"
	}
	put(b, root, files)
	return root
}

// after is a clock by which the files changed long ago.
func after() time.Time { return time.Now().Add(time.Minute) }

func BenchmarkListUnchanged(b *testing.B) {
	f := in(b, folder.Config{Root: tree(b), Now: after})
	for b.Loop() {
		if l, err := f.List(b.Context()); err != nil || len(l.Files) != workspace.MaxFiles {
			b.Fatal(len(l.Files), err)
		}
	}
}

func BenchmarkListFirst(b *testing.B) {
	root, history := tree(b), b.TempDir()
	for b.Loop() {
		f, err := folder.Open(folder.Config{Root: root, History: history, Now: after})
		if err != nil {
			b.Fatal(err)
		}
		if l, err := f.List(b.Context()); err != nil || len(l.Files) != workspace.MaxFiles {
			b.Fatal(len(l.Files), err)
		}
		f.Close()
	}
}

// BenchmarkReadAll reads every file of the list, as a search does.
func BenchmarkReadAll(b *testing.B) {
	f := in(b, folder.Config{Root: tree(b), Now: after})
	for b.Loop() {
		l, err := f.List(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, file := range l.Files {
			if _, _, err := f.Read(b.Context(), file.Name, "", 0, workspace.MaxFileBytes); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	f := in(b, folder.Config{Root: tree(b), History: filepath.Join(b.TempDir(), "h"), Now: after})
	name := "src/module0/package0/file0.go"
	now, err := f.Stat(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if now, err = f.Write(b.Context(), name, fmt.Appendf(nil, "content %d", i), now.Version); err != nil {
			b.Fatal(err)
		}
	}
}
