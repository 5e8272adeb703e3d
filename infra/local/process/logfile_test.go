package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogFileIsPrivate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	var also bytes.Buffer
	log := NewLog(folder, &also)
	if _, err := os.Stat(folder); err == nil {
		t.Fatal("the folder is made before there is anything to say")
	}
	line := strings.Repeat("x", 1<<20) + "\n"
	for range 25 {
		if _, err := log.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if also.Len() != 25*len(line) {
		t.Errorf("%d bytes were written beside it", also.Len())
	}
	for path, mode := range map[string]os.FileMode{folder: 0o700, filepath.Join(folder, LogFile): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}
