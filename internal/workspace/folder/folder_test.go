package folder_test

import (
	"path/filepath"
	"testing"
	"time"

	"piloto/infra/local/fixture/storetest"
	"piloto/internal/workspace"
	"piloto/internal/workspace/folder"
)

// in opens a folder.
func in(t testing.TB, c folder.Config) *folder.Folder {
	t.Helper()
	if c.Root == "" {
		c.Root = t.TempDir()
	}
	if c.History == "" {
		c.History = filepath.Join(t.TempDir(), "history")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	f, err := folder.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestFolderIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, limits workspace.Limits) workspace.Store {
		return in(t, folder.Config{Limits: limits})
	})
}
