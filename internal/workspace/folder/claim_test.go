package folder

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"piloto/internal/workspace"
)

// TestOneJobWorksOnAFolder: another one is told, until the first has ended.
func TestOneJobWorksOnAFolder(t *testing.T) {
	config := Config{Root: t.TempDir(), History: filepath.Join(t.TempDir(), "history"), Now: time.Now}
	open := func() *Folder {
		f, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	if err := first.Claim(); err != nil {
		t.Fatal(err)
	}
	if err := second.Claim(); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("%v", err)
	}
	if _, err := second.Write(t.Context(), "a", []byte("x"), ""); err != nil {
		t.Errorf("who has no job may write: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Claim(); err != nil {
		t.Errorf("after its end: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
